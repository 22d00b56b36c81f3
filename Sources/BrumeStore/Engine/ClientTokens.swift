internal import BrumeModel

/// The client tokens of a zone: each device's latest.
///
/// Bounded: when there are too many devices, the one whose token changed longest ago is forgotten. It then gets no
/// token with the feed, and assumes that its latest request may not have arrived.
struct ClientTokens: Equatable, Sendable {
    /// Ordered by their last change, oldest first.
    private(set) var all: [ClientToken] = []

    /// The token of a device; empty when it has none.
    subscript(device: [UInt8]) -> [UInt8] { all.first { $0.device == device }?.bytes ?? [] }

    var count: Int { all.count }

    /// Keeps a device's token in place of its earlier one.
    mutating func put(_ token: ClientToken) {
        all.removeAll { $0.device == token.device }
        all.append(token)
        if all.count > Limits.clientTokensPerZone { all.removeFirst() }
    }

    /// The bytes that a quota counts.
    var storedBytes: Int { all.reduce(0) { $0 + $1.storedBytes } }

    /// The size of a device's id, and what the two arrays take themselves.
    private static let entryBytes = 128

    var approximateBytes: Int { all.reduce(0) { $0 + $1.bytes.count + Self.entryBytes } }
}
