internal import BrumeRecord

/// The shares of a zone and their roots, as the records say: kept in step with them, so that no rule has to search.
struct ZoneSharing: Equatable, Sendable {
    /// The slots of shares, by name.
    private(set) var shares: [String: Int32] = [:]
    /// The slots of roots, by the name of their share. A share of the whole zone has none.
    private(set) var roots: [String: Int32] = [:]

    var isEmpty: Bool { shares.isEmpty && roots.isEmpty }

    /// Whether two roots of one share were added, which no batch makes.
    private(set) var hasRootTwice = false

    /// What is wrong with the records of a zone that was loaded; nil when nothing is.
    var problem: String? {
        if hasRootTwice { return "a share has two roots" }
        return roots.keys.allSatisfy { shares[$0] != nil } ? nil : "a record is the root of a share that is not there"
    }

    /// Notes a record that is in a slot now.
    mutating func add(_ record: RecordSlot, at slot: Int32) {
        guard let part = record.sharing else { return }
        if !part.storedShare.isEmpty { shares[record.name] = slot }
        if !part.share.isEmpty, roots.updateValue(slot, forKey: part.share) != nil { hasRootTwice = true }
    }

    /// Notes that a record leaves its slot, for good or for a newer version.
    mutating func remove(_ record: RecordSlot, at slot: Int32) {
        guard let part = record.sharing else { return }
        if !part.storedShare.isEmpty { shares[record.name] = nil }
        // Another record may be the root by now.
        if roots[part.share] == slot { roots[part.share] = nil }
    }

    /// About what it takes in memory: a look-up by name for each share and each root.
    var approximateBytes: Int { (shares.count + roots.count) * ZoneSharing.entryBytes }

    private static let entryBytes = 96
}
