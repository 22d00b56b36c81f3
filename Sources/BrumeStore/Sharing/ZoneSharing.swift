internal import BrumeModel
internal import BrumeRecord

/// The shares of a zone and their roots, as the records say: kept in step with them, so that no rule has to search.
struct ZoneSharing: Equatable, Sendable {
    /// The slots of shares, by name.
    private(set) var shares: [String: Int32] = [:]
    /// The slots of roots, by the name of their share. A share of the whole zone has none.
    private(set) var roots: [String: Int32] = [:]
    /// The slots of what is a root or was one, by secret.
    private var secrets: [[UInt8]: Int32] = [:]
    /// The users who take part in the whole zone, without its owner.
    private(set) var members: [String: ZoneMember] = [:]
    /// The share of the whole zone, while it stands elsewhere for those who do not manage it.
    private(set) var quietShare: QuietShare?

    var isEmpty: Bool { shares.isEmpty && secrets.isEmpty && roots.isEmpty }

    /// Notes a record that is in a slot now.
    mutating func add(_ record: RecordSlot, at slot: Int32) {
        guard let part = record.sharing else { return }
        if !part.storedShare.isEmpty {
            let name = record.name
            shares[name] = slot
            if name == Names.zoneShare, let share = part.decodedShare {
                members = ZoneMember.all(of: share)
                quietShare = QuietShare(share, at: slot, changed: record.position)
            }
        }
        if !part.share.isEmpty { roots[part.share] = slot }
        if !part.secret.isEmpty { secrets[part.secret] = slot }
    }

    /// Notes that a record leaves its slot, for good or for a newer version.
    mutating func remove(_ record: RecordSlot, at slot: Int32) {
        guard let part = record.sharing else { return }
        if !part.storedShare.isEmpty {
            let name = record.name
            shares[name] = nil
            if name == Names.zoneShare { (members, quietShare) = ([:], nil) }
        }
        // Another record may be the root by now.
        if roots[part.share] == slot { roots[part.share] = nil }
        if secrets[part.secret] == slot { secrets[part.secret] = nil }
    }

    /// The slot of the record that is the root of the shares with a secret, or was.
    func root(ofSecret secret: [UInt8]) -> Int32? { secrets[secret] }

    /// About what it takes in memory: a look-up by name for each share and root, and one by secret.
    var approximateBytes: Int { (shares.count + roots.count + secrets.count + members.count) * ZoneSharing.entryBytes }

    private static let entryBytes = 96
}
