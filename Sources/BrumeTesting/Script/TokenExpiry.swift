internal import BrumeLock
internal import BrumeModel

/// The change tokens that devices have at a moment are expired from then on; those that they get afterwards are not.
///
/// Tokens are opaque and look the same where nothing changed in between, so a device's are taken for old ones until it
/// has fetched from nil.
final class TokenExpiry: Sendable {
    /// A fetch of changes.
    struct Use {
        let database: DatabaseScope
        /// Nil: of the database.
        let zone: ZoneID?
        /// Empty: from nil.
        let token: [UInt8]
    }

    private struct Scope: Hashable {
        let device: [UInt8]
        let database: DatabaseScope
        let zone: ZoneID?
    }

    private let zone: String?
    private let renewed = Lock<Set<Scope>>([])

    /// - Parameter zone: Nil: tokens of all zones, and of databases.
    init(zone: String?) {
        self.zone = zone
    }

    /// Whether the fetch's token has expired.
    func hasExpired(_ use: Use, device: [UInt8]) -> Bool {
        if let zone, use.zone?.name != zone { return false }
        let scope = Scope(device: device, database: use.database, zone: use.zone)
        return renewed.withLock { renewed in
            if use.token.isEmpty { renewed.insert(scope) }
            return !renewed.contains(scope)
        }
    }
}
