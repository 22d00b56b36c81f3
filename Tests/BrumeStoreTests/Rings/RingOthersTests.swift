import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// What is kept beside the rings of a zone of users who do not own it. What a statement says only devices know.
@Suite("What users say beside rings")
struct RingOthersTests {
    private let desk = Desk()

    private var database: Database { desk.database }

    private static func user(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "_" + String(repeating: "0", count: 32 - digits.count) + digits
    }

    private static func statement(_ number: Int, bytes: Int = 40) -> SharedBytes {
        SharedBytes([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes))
    }

    private static func guest(_ number: Int, hash: UInt8 = 1, hasProof: Bool = false) -> RingGuest {
        RingGuest(
            user: user(number), statementHash: [UInt8](repeating: hash, count: 32),
            invitationID: hasProof ? [UInt8](repeating: 2, count: 16) : [],
            proof: hasProof ? [UInt8](repeating: 3, count: 64) : [])
    }

    private static let entry = SharedBytes([1, 2, 3])

    /// The ring that all of it is beside.
    private func beginRing(root: String = "") throws {
        _ = try database.append(
            ringEntry: Self.entry, number: 1, root: root, zone: .defaultZone, quota: nil, nowMilliseconds: 1)
    }

    @discardableResult
    private func join(
        _ user: Int, _ statements: [SharedBytes], chain: UInt32 = 1, selecting selected: UInt32? = nil,
        guest: RingGuest? = nil, isNamed: Bool = false
    ) throws(ServiceError) -> Commit? {
        var others = RingOthers()
        if isNamed { others.named = [Self.user(user)] }
        others.statements = statements.map { .init(user: Self.user(user), chain: chain, bytes: $0) }
        if let selected { others.selected = [(Self.user(user), selected)] }
        others.guest = guest
        return try database.join(
            others, root: "", inZone: 0, isGuest: !isNamed, quota: nil, nowMilliseconds: 5)
    }

    /// Has a user take part in a share of the zone.
    private func admit(_ user: Int) {
        let member = SnapshotTreeMember(zone: 0, user: Self.user(user), start: .start, floor: .start, ended: [])
        #expect(database.withZone(at: 0) { $0.trees.load(TreeMember(member), user: member.user) })
    }

    private func refusal(_ body: () throws -> Void) -> ErrorCode? {
        let error = #expect(throws: ServiceError.self) { try body() }
        #expect(error?.message.contains(" ") ?? false)
        return error?.code
    }

    @Test("is kept in its order, comes in pages, and counts in the quota and in memory") func keeping() throws {
        try beginRing()
        let empty = database.rings
        let before = database.sequence
        #expect(try join(1, []) == nil && database.sequence == before)
        try join(1, (1...3).map { Self.statement($0, bytes: 40_000) }, guest: Self.guest(1))
        try join(1, [Self.statement(4)], chain: 2)
        #expect(database.rings.byteCount > empty.byteCount + 120_000)
        #expect(database.rings.approximateBytes > empty.approximateBytes + 120_000)
        let kept = database.rings.statements(of: Self.user(1), inZone: 0)
        #expect(kept.last == 4 && kept.current == 2 && kept.chain(1).count == 3 && kept.chain(2) == [Self.statement(4)])
        #expect(kept.page(after: 1, bytes: 90_000).count == 3 && kept.page(after: 0, bytes: 1).count == 1)
        #expect(kept.page(after: 4, bytes: 90_000).isEmpty && kept.page(after: .max, bytes: 1).isEmpty)
        try join(1, [], selecting: 1, guest: Self.guest(1, hash: 9, hasProof: true))
        #expect(database.rings.statements(of: Self.user(1), inZone: 0).current == 1)
        #expect(database.rings.guests(ofZone: 0, root: "") == [Self.guest(1, hash: 9, hasProof: true)])
        let audit = database.audit()
        #expect(audit.kept == audit.recounted)
        #expect(database.rings.recounted == database.rings)
    }

    @Test("is of users alone, and beside rings that there are") func refusals() throws {
        func refusal(_ others: RingOthers, root: String = "") -> ErrorCode? {
            self.refusal {
                _ = try database.join(
                    others, root: root, inZone: 0, isGuest: true, quota: nil, nowMilliseconds: 5)
            }
        }
        func statement(of user: String = Self.user(1)) -> RingOthers {
            var others = RingOthers()
            others.statements = [.init(user: user, chain: 1, bytes: Self.statement(1))]
            return others
        }
        #expect(refusal(statement()) == .invalidArguments, "there is no ring")
        try beginRing()
        let before = database.rings
        #expect(refusal(statement(), root: "none") == .invalidArguments)
        for user in ["", "x", database.id.owner] {
            #expect(refusal(statement(of: user)) == .invalidArguments)
            let error = #expect(throws: ServiceError.self) {
                _ = try database.append(
                    ringEntry: SharedBytes([4]), number: 2, root: "", zone: .defaultZone, quota: nil,
                    with: statement(of: user), nowMilliseconds: 1)
            }
            #expect(error?.code == .invalidArguments)
        }
        for guest in [
            Self.guest(2), RingGuest(user: Self.user(1), statementHash: [1]),
            RingGuest(user: Self.user(1), statementHash: Self.guest(1).statementHash, proof: [1]),
        ] {
            var others = statement()
            others.guest = guest
            #expect(refusal(others) == .invalidArguments)
        }
        #expect(database.rings == before)
    }

    @Test("goes with the rings") func going() throws {
        try beginRing()
        try join(1, [Self.statement(1)], guest: Self.guest(1))
        var builder = CommitBuilder(sequence: database.sequence + 1)
        database.forgetRings(into: &builder)
        #expect(database.rings == ZoneRings())
    }

    @Test("has limits: of a user, of a zone, and half of these for those whom no entry has taken in") func limits()
        throws
    {
        try beginRing()
        #expect(refusal { try join(1, [Self.statement(1, bytes: Limits.statementBytes + 1)]) } == .limitExceeded)
        #expect(refusal { try join(1, [SharedBytes()]) } == .limitExceeded)
        let many = (0..<Limits.ringStatementsPerUser).map { Self.statement($0) }
        #expect(refusal { try join(1, many + [Self.statement(0)]) } == .limitExceeded)
        let tooManyBytes = Limits.ringStatementBytesPerUser / Limits.statementBytes + 1
        let large = (0..<tooManyBytes).map { Self.statement($0, bytes: Limits.statementBytes) }
        #expect(refusal { try join(1, large) } == .limitExceeded)
        for chain in 1...UInt32(Limits.ringChainsPerUser) { try join(1, [Self.statement(1)], chain: chain) }
        #expect(
            refusal { try join(1, [Self.statement(1)], chain: UInt32(Limits.ringChainsPerUser) + 1) } == .limitExceeded)
        var number = 1
        let more = (0..<10).map { Self.statement($0, bytes: 48_000) }
        func fill(to limit: Int, with statements: [SharedBytes], isNamed: Bool = false) throws {
            let bytes = statements.reduce(0) { $0 + $1.count }
            while database.rings.statementBytes + bytes <= limit {
                number += 1
                if !isNamed { admit(number) }
                try join(number, statements, isNamed: isNamed)
            }
            let before = database.sequence
            #expect(refusal { try join(number + 1, statements, isNamed: isNamed) } == .limitExceeded)
            #expect(database.sequence == before)
        }
        admit(1)
        try fill(to: Limits.ringStatementBytesPerZone / 4, with: more)
        // Whoever has more than a small share of what is left finds no room, be it by a statement too many.
        let share = (1...Limits.ringStatementsPerUnnamedUser).map { Self.statement($0, bytes: 4_096) }
        while database.rings.statementBytes + 65_536 <= Limits.ringStatementBytesPerZone / 4 {
            number += 1
            admit(number)
            try join(number, share)
        }
        #expect(refusal { try join(number + 1, share + [Self.statement(1)]) } == .limitExceeded)
        let larger = [Self.statement(1, bytes: 4_097)] + share.dropLast()
        #expect(refusal { try join(number + 1, larger) } == .limitExceeded)
        try fill(to: Limits.ringStatementBytesPerZone / 2, with: share)
        try fill(to: Limits.ringStatementBytesPerZone, with: more, isNamed: true)
        let audit = database.audit()
        #expect(audit.kept == audit.recounted)
    }

    @Test("goes where others need room, of users whom no entry names and who take no part any more") func room()
        throws
    {
        let folder = try Folder()
        let database = folder.desk.database
        func keep(_ commit: Commit?) throws { try folder.keep(try #require(commit)) }
        func others(_ number: Int, bytes: Int = 40, guest: RingGuest? = nil) -> RingOthers {
            var others = RingOthers()
            others.statements = [.init(user: Self.user(number), chain: 1, bytes: Self.statement(number, bytes: bytes))]
            others.guest = guest
            return others
        }
        func join(_ others: RingOthers, root: String = "list") throws {
            try keep(
                try database.join(others, root: root, inZone: 0, isGuest: true, quota: nil, nowMilliseconds: 2))
        }
        func append(_ number: UInt32, _ others: RingOthers = RingOthers(), root: String = "list") throws {
            try keep(
                try database.append(
                    ringEntry: SharedBytes([UInt8(number)]), number: number, root: root, zone: .defaultZone,
                    quota: nil, with: others, nowMilliseconds: 1))
        }
        try append(1, root: "")
        try append(1)
        // 1 comes with an entry that names them, 2 is named later, 3 takes part, and nobody needs 4.
        var named = others(1)
        named.named = [Self.user(1)]
        try append(2, named)
        for number in 2...4 { try join(others(number, guest: Self.guest(number))) }
        try join(others(4, guest: Self.guest(4)), root: "")
        named.statements = []
        named.named = [Self.user(1), Self.user(2)]
        try append(3, named)
        let member = SnapshotTreeMember(zone: 0, user: Self.user(3), start: .start, floor: .start, ended: [])
        #expect(database.withZone(at: 0) { $0.trees.load(TreeMember(member), user: member.user) })
        for number in 5...Limits.ringUsersPerZone / 2 + 2 { try join(others(number)) }
        #expect(database.rings.unnamed(inZone: 0).count == Limits.ringUsersPerZone / 2)
        #expect(try Folder(on: folder.disk.copy()).desk.database.rings == database.rings)

        try join(others(1_000, guest: Self.guest(1_000)))
        let kept = Set([1, 2, 3, 1_000].map(Self.user))
        #expect(Set(database.rings.zonesByIncarnation[0]!.statements.keys) == kept)
        #expect(database.rings.guests(ofZone: 0, root: "list").map(\.user) == [2, 3, 1_000].map(Self.user))
        #expect(database.rings.guests(ofZone: 0, root: "").isEmpty)
        #expect(database.rings.unnamed(inZone: 0) == [3, 1_000].map(Self.user))
        let audit = database.audit()
        #expect(audit.kept == audit.recounted)
        #expect(try Folder(on: folder.disk.copy()).desk.database.rings == database.rings)
        try folder.log.writeSnapshot(database.capture())
        try folder.log.trim()
        let again = try Folder(on: folder.disk.copy())
        #expect(again.log.report.entries == 0 && again.desk.database.rings == database.rings)
    }

    @Test("makes room for an entry that brings others', and for a member's, but never its own") func roomForMembers()
        throws
    {
        try beginRing()
        var number = 0
        while database.rings.statementBytes + 480_000 <= Limits.ringStatementBytesPerZone * 3 / 4 {
            number += 1
            try join(number, (0..<10).map { Self.statement($0, bytes: 48_000) }, isNamed: true)
        }
        let members = number
        while database.rings.statementBytes + 65_536 <= Limits.ringStatementBytesPerZone {
            number += 1
            try join(number, (0..<16).map { Self.statement($0, bytes: 4_096) })
        }
        // The last one is named now.
        var others = RingOthers()
        others.named = [Self.user(number), Self.user(5_000)]
        others.statements = [Self.user(number), Self.user(5_000)].map {
            .init(user: $0, chain: 1, bytes: Self.statement(1, bytes: 48_000))
        }
        _ = try database.append(
            ringEntry: SharedBytes([4]), number: 2, root: "", zone: .defaultZone, quota: nil, with: others,
            nowMilliseconds: 1)
        #expect(database.rings.zonesByIncarnation[0]!.statements.count == members + 2)
        #expect(database.rings.statements(of: Self.user(number), inZone: 0).last == 17)
        #expect(database.rings.unnamed(inZone: 0).isEmpty)
        let audit = database.audit()
        #expect(audit.kept == audit.recounted)
    }

    @Test("has room for so many users of a zone, and guests of a ring who are still there") func users() throws {
        try beginRing()
        for number in 1...Limits.ringUsersPerZone / 2 {
            admit(number)
            try join(number, [Self.statement(1)])
        }
        #expect(refusal { try join(Limits.ringUsersPerZone, [Self.statement(1)]) } == .limitExceeded)
        for number in Limits.ringUsersPerZone / 2 + 1...Limits.ringUsersPerZone {
            try join(number, [Self.statement(1)], isNamed: true)
        }
        #expect(refusal { try join(5_000, [Self.statement(1)], isNamed: true) } == .limitExceeded)
        for number in Limits.ringUsersPerZone - Limits.ringGuestsPerRing + 1...Limits.ringUsersPerZone {
            try join(number, [], guest: Self.guest(number))
        }
        #expect(database.rings.guestCount(ofZone: 0, root: "") == Limits.ringGuestsPerRing)
        try join(Limits.ringUsersPerZone, [], guest: Self.guest(Limits.ringUsersPerZone, hash: 7))
        // None of them takes part: all make room.
        try join(300, [], guest: Self.guest(300))
        #expect(database.rings.guests(ofZone: 0, root: "") == [Self.guest(300)])
        let audit = database.audit()
        #expect(audit.kept == audit.recounted)
    }

    @Test("is damage in a journal that the server would not have written") func damagedJournal() {
        let ring = Change.ringEntry(zone: 0, root: "", number: 1, Self.entry)
        func put(
            _ number: UInt32, user: String = Self.user(1), zone: UInt64 = 0, chain: UInt32 = 1, bytes: Int = 40
        ) -> Change {
            .ringStatement(zone: zone, user: user, number: number, chain: chain, Self.statement(1, bytes: bytes))
        }
        func guest(_ guest: RingGuest, zone: UInt64 = 0, root: String = "") -> Change {
            .ringGuest(zone: zone, root: root, guest)
        }
        let end = Change.ringGuestEnd(zone: 0, root: "", user: Self.user(1))
        func users(_ numbers: [Int]) -> [String] { numbers.map { Self.user($0) } }
        func unnamed(_ numbers: Int..., zone: UInt64 = 0) -> Change {
            .ringUsersUnnamed(zone: zone, users: users(numbers))
        }
        func named(_ numbers: Int...) -> Change { .ringUsersNamed(zone: 0, users: users(numbers)) }
        func gone(_ numbers: Int...) -> Change { .ringUsersEnd(zone: 0, users: users(numbers)) }
        let few = [ring, put(1), put(1, user: Self.user(2)), unnamed(1, 2)]
        #expect(Desk.problemReplaying(few + [named(1), gone(2)], in: Desk.privateID) == nil)
        for changes: [Change] in [
            [ring, put(1), unnamed()], [ring, put(1), unnamed(1), unnamed(1)], [ring, put(1), unnamed(1, 1)],
            [ring, put(1), unnamed(1, 2)], [ring, put(1), unnamed(1, zone: 9)], [ring, unnamed(1)], [unnamed(1)],
            [ring, put(1), named(1)], [ring, put(1), gone(1)], few + [gone()], few + [gone(1, 3)], few + [gone(1, 1)],
            few + [gone(1), gone(1)], few + [named(1), gone(1)], few + [named(1, 1)], few + [gone(1), named(1)],
            few + [gone(1), guest(Self.guest(1))],
        ] {
            #expect(Desk.problemReplaying(changes, in: Desk.privateID)?.contains(" ") == true, "\(changes)")
        }
        #expect(Desk.problemReplaying([unnamed(1)], in: Desk.publicID) != nil)
        let good = [
            ring, put(1), put(2), put(3, chain: 2), .ringChain(zone: 0, user: Self.user(1), chain: 1), put(4, chain: 2),
            guest(Self.guest(1)), guest(Self.guest(1, hasProof: true)), end, .ringsEnd(zone: 0),
        ]
        #expect(Desk.problemReplaying(good, in: Desk.privateID) == nil)
        let select = { (chain: UInt32) in Change.ringChain(zone: 0, user: Self.user(1), chain: chain) }
        for changes: [Change] in [
            [put(1)], [ring, put(0)], [ring, put(2)], [ring, put(1), put(1)], [ring, put(.max)],
            [ring, put(1, user: "")], [ring, put(1, user: "x")], [ring, put(1, user: Desk.privateID.owner)],
            [ring, put(1, zone: 9)], [ring, put(1, chain: 0)], [ring, put(1, chain: 2)], [ring, put(1, chain: .max)],
            [ring, put(1, bytes: 0)], [ring, put(1, bytes: Limits.statementBytes + 1)], [ring, select(1)],
            [ring, put(1), select(1)], [ring, put(1), select(0)], [ring, put(1), select(2)],
            [ring, put(1), select(.max)],
            [ring, guest(Self.guest(1))], [ring, put(1), guest(Self.guest(1), root: "x")],
            [ring, put(1), guest(Self.guest(1), zone: 9)], [ring, put(1), end],
            [ring, put(1), guest(RingGuest(user: Self.user(1), statementHash: [1]))],
            [
                ring, put(1),
                guest(RingGuest(user: Self.user(1), statementHash: Self.guest(1).statementHash, proof: [1])),
            ],
        ] {
            #expect(Desk.problemReplaying(changes, in: Desk.privateID)?.contains(" ") == true, "\(changes)")
        }
        #expect(Desk.problemReplaying([put(1)], in: Desk.publicID) != nil)
    }

    @Test("is damage in a snapshot that the server would not have written") func damagedSnapshot() {
        func problem(_ block: SnapshotBlock, of id: DatabaseID = Desk.privateID) -> String? {
            let loader = DatabaseLoader(id: id, epoch: 7, sequence: 5)
            var block = block
            if id == Desk.privateID { block.ringEntries = [SnapshotRingEntry(zone: 0, root: "", entry: Self.entry)] }
            var content: [UInt8] = []
            StoreCoder.encodeSnapshotBlock(block, into: &content)
            return content.withUnsafeBytes { loader.add(content: $0) }
        }
        func statement(_ chain: UInt32 = 1, zone: UInt64 = 0, user: String = Self.user(1)) -> SnapshotRingStatement {
            SnapshotRingStatement(zone: zone, user: user, chain: chain, statement: Self.statement(1))
        }
        let guest = SnapshotRingGuest(zone: 0, root: "", guest: Self.guest(1))
        let selected = SnapshotRingChain(zone: 0, user: Self.user(1), chain: 1)
        let good = SnapshotBlock(
            ringStatements: [statement(), statement(2)], ringChains: [selected], ringGuests: [guest],
            ringUsersUnnamed: [SnapshotRingUsers(zone: 0, users: [Self.user(1)])])
        #expect(problem(good) == nil)
        for users in [[], [Self.user(2)], [Self.user(1), Self.user(1)], [Desk.privateID.owner]] {
            let unnamed = [SnapshotRingUsers(zone: 0, users: users)]
            #expect(problem(SnapshotBlock(ringStatements: [statement()], ringUsersUnnamed: unnamed)) != nil)
        }
        for block in [
            SnapshotBlock(ringStatements: [statement(2)]), SnapshotBlock(ringStatements: [statement(zone: 7)]),
            SnapshotBlock(ringStatements: [statement(user: Desk.privateID.owner)]),
            SnapshotBlock(ringStatements: [statement(user: "b")]), SnapshotBlock(ringChains: [selected]),
            SnapshotBlock(ringStatements: [statement()], ringChains: [selected]), SnapshotBlock(ringGuests: [guest]),
            SnapshotBlock(
                ringStatements: [statement()],
                ringGuests: [SnapshotRingGuest(zone: 0, root: "none", guest: Self.guest(1))]),
            SnapshotBlock(
                ringStatements: (0...Limits.ringStatementsPerUser).map { _ in statement() }),
        ] { #expect(problem(block)?.contains(" ") == true) }
        for block in [
            SnapshotBlock(ringStatements: [statement()]), SnapshotBlock(ringChains: [selected]),
            SnapshotBlock(ringGuests: [guest]),
        ] { #expect(problem(block, of: Desk.publicID) != nil) }
    }

    @Test("that fills several blocks of a snapshot is read as it was") func blocks() throws {
        let folder = try Folder()
        let database = folder.desk.database
        for root in ["", "list"] {
            try folder.keep(
                try #require(
                    try database.append(
                        ringEntry: Self.entry, number: 1, root: root, zone: .defaultZone, quota: nil,
                        nowMilliseconds: 1)))
        }
        for number in 1...60 {
            var others = RingOthers()
            others.statements = (1...2).map {
                .init(user: Self.user(number), chain: $0, bytes: Self.statement(number, bytes: 40_000))
            }
            others.guest = Self.guest(number, hasProof: number % 2 == 0)
            if number % 3 == 0 { others.selected = [(Self.user(number), 1)] }
            try folder.keep(
                try #require(
                    try database.join(
                        others, root: number % 2 == 0 ? "list" : "", inZone: 0, isGuest: true, quota: nil,
                        nowMilliseconds: 2)))
        }
        let replayed = try Folder(on: folder.disk.copy())
        #expect(replayed.log.report.entries > 0 && replayed.desk.database.rings == database.rings)
        try folder.log.writeSnapshot(database.capture())
        try folder.log.trim()
        let again = try Folder(on: folder.disk.copy())
        #expect(again.log.report.entries == 0 && again.desk.database.rings == database.rings)
    }
}
