internal import BrumeModel

/// The client tokens of a zone: each device's latest.
///
/// Bounded: of too many devices the one is forgotten whose token changed longest ago. It gets none with the feed then,
/// and takes it that its latest request may not have arrived.
struct ClientTokens: Equatable, Sendable {
    /// The one that changed longest ago first.
    private(set) var all: [ClientToken] = []

    /// A device's; empty when it has none.
    subscript(device: [UInt8]) -> [UInt8] { all.first { $0.device == device }?.bytes ?? [] }

    /// Keeps a device's token instead of the one before.
    mutating func put(_ token: ClientToken) {
        all.removeAll { $0.device == token.device }
        all.append(token)
        if all.count > Limits.clientTokensPerZone { all.removeFirst() }
    }

    /// What a quota counts of them.
    var storedBytes: Int { all.reduce(0) { $0 + $1.storedBytes } }

    /// A device's id and the two lists' own.
    private static let entryBytes = 128

    var approximateBytes: Int { all.reduce(0) { $0 + $1.bytes.count + Self.entryBytes } }
}
