internal import BrumeEncryption
internal import BrumeModel
internal import BrumeStore

/// The keys that the statements of users beside a database's rings name: none is read again, and whoever is known is
/// read on from where it ended.
///
/// It takes at most ``statementsMax`` times 200 bytes, counted with the database, and goes with it. One zone alone
/// can't have as many statements: ``Limits/ringStatementBytesPerZone`` has room for some 45,000 of the smallest. Where
/// there are more, other zones are forgotten, one after the other, and users whose statements went: what a request has
/// read stays known while it looks at the same zone.
struct RingUserKeys {
    private struct Known {
        var chains: [StatementKeys] = []
        /// How many statements were read, and the last one of them.
        var count = 0
        var last: SharedBytes?
    }

    private var zones: [UInt64: [String: Known]] = [:]
    private var statementCount = 0
    /// How many statements were read, each time that one was.
    private(set) var readCount = 0

    static let statementsMax = 65_536

    /// About what it takes in memory.
    var approximateBytes: Int { statementCount * StatementKeys.approximateBytesPerStatement }

    /// The chains of a user beside the rings of a zone, in the order of their numbers; empty for none.
    ///
    /// - Parameter zone: The zone's incarnation.
    /// - Throws: Where what is kept can't be read.
    mutating func chains(
        of user: String, inZone zone: UInt64, _ rings: ZoneRings
    ) throws(EncryptionRefusal) -> [StatementKeys] {
        try chains(of: user, inZone: zone, rings.statements(of: user, inZone: zone), rings)
    }

    /// Whether a statement of a user has the keys of the newest one of the chain that is the user's now.
    mutating func areNewest(
        ofStatement hash: [UInt8], of user: String, inZone zone: UInt64, _ rings: ZoneRings
    ) throws(EncryptionRefusal) -> Bool {
        let statements = rings.statements(of: user, inZone: zone)
        let chains = try chains(of: user, inZone: zone, statements, rings)
        let index = Int(statements.current) - 1
        return chains.indices.contains(index) && chains[index].areNewest(ofStatement: hash)
    }

    private mutating func chains(
        of user: String, inZone zone: UInt64, _ statements: OtherStatements, _ rings: ZoneRings
    ) throws(EncryptionRefusal) -> [StatementKeys] {
        guard let last = statements.all.last?.bytes else { return [] }
        var known = Known()
        if let former = zones[zone]?[user] {
            if former.count == statements.all.count, former.last?.isSame(as: last) == true { return former.chains }
            forget(user, zone)
            let isBeginning =
                former.count > 0 && former.count <= statements.all.count
                && former.last?.isSame(as: statements.all[former.count - 1].bytes) == true
            if isBeginning { known = former }
        }
        readCount += statements.all.count - known.count
        if known.count == 0 {
            for chain in 1...statements.chainCount {
                known.chains.append(try Self.keys(of: statements.chain(chain), user))
            }
        } else {
            for kept in statements.all[known.count...] {
                if Int(kept.chain) == known.chains.count + 1 {
                    known.chains.append(try Self.keys(of: [kept.bytes], user))
                } else {
                    try known.chains[Int(kept.chain) - 1].append(kept: kept.bytes.array)
                }
            }
        }
        (known.count, known.last) = (statements.all.count, last)
        if statementCount + known.count > Self.statementsMax { makeRoom(for: known.count, zone, rings) }
        zones[zone, default: [:]][user] = known
        statementCount += known.count
        return known.chains
    }

    /// Forgets other zones, and then those users of this one who have no statements there any more: as many stay as a
    /// zone may have.
    private mutating func makeRoom(for count: Int, _ zone: UInt64, _ rings: ZoneRings) {
        while statementCount + count > Self.statementsMax, let other = zones.keys.first(where: { $0 != zone }) {
            forget(zone: other)
        }
        if statementCount + count <= Self.statementsMax { return }
        let gone = (zones[zone] ?? [:]).keys.filter { rings.statements(of: $0, inZone: zone).all.isEmpty }
        for user in gone { forget(user, zone) }
    }

    private static func keys(of chain: [SharedBytes], _ user: String) throws(EncryptionRefusal) -> StatementKeys {
        guard let keys = try StatementKeys(kept: chain.lazy.map(\.array)) else { throw .damaged }
        guard keys.scope.account == user else { throw .brokenChain }
        return keys
    }

    private mutating func forget(_ user: String, _ zone: UInt64) {
        if let gone = zones[zone]?.removeValue(forKey: user) { statementCount -= gone.count }
    }

    /// Forgets those of a zone that has no rings any more.
    mutating func forget(zone: UInt64) {
        for gone in zones.removeValue(forKey: zone)?.values ?? [:].values { statementCount -= gone.count }
    }
}
