/// A share in which the caller takes part now. The server's form of `Content` is the encoded record, the client's is
/// ``Record``.
package struct AcceptedShare<Content: Equatable & Sendable>: Equatable, Sendable {
    /// The zone that it is in, with its owner.
    package var zone: ZoneID
    /// The share's record, as whoever takes part sees it.
    package var share: Content

    package init(zone: ZoneID, share: Content) {
        self.zone = zone
        self.share = share
    }
}
