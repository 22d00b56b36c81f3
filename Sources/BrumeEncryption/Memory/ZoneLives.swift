/// The lives of one zone that a device has seen, by the ids of their zone rings.
///
/// A zone that was deleted and made again has another ring. A server that shows an earlier life again would have a
/// device write for those who were in it.
package struct ZoneLives: Hashable, Sendable {
    package enum Meeting: Hashable, Sendable {
        case current
        /// The zone was made again: what is known of its rings is of no use any more.
        case new
        /// An earlier life, which is over: nothing of it is taken.
        case over
    }

    /// The newest last.
    package private(set) var ringIDs: [[UInt8]] = []

    package init(ringIDs: [[UInt8]] = []) { self.ringIDs = ringIDs }

    /// Compares the life that a server shows with those that are known.
    ///
    /// - Parameter chain: A ring of that life, checked against the owner that the device knows: an id alone is
    ///   anybody's word. The ring of a tree will do, as participants of a record's share see no other.
    /// - Throws: `damaged` for more lives than a zone has.
    package mutating func meet(_ chain: RingChain) throws(EncryptionRefusal) -> Meeting {
        let ringID = chain.head.ring.place.ringID
        if ringIDs.last == ringID { return .current }
        if ringIDs.contains(ringID) { return .over }
        guard ringIDs.count < Limits.zoneLives else { throw .damaged }
        ringIDs.append(ringID)
        return .new
    }
}
