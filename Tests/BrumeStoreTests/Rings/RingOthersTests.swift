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
        guest: RingGuest? = nil, isGuest: Bool = true, quota: StorageQuota? = nil
    ) throws(ServiceError) -> Commit? {
        var others = RingOthers()
        others.statements = statements.map { .init(user: Self.user(user), chain: chain, bytes: $0) }
        if let selected { others.selected = [(Self.user(user), selected)] }
        others.guest = guest
        return try database.join(
            others, root: "", inZone: 0, isGuest: isGuest, quota: quota, nowMilliseconds: 5)
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
        while database.rings.statementBytes + 480_000 <= Limits.ringStatementBytesPerZone / 2 {
            number += 1
            try join(number, (0..<10).map { Self.statement($0, bytes: 48_000) })
        }
        let before = database.sequence
        let more = (0..<10).map { Self.statement($0, bytes: 48_000) }
        #expect(refusal { try join(number + 1, more) } == .limitExceeded && database.sequence == before)
        try join(number + 1, more, isGuest: false)
        while database.rings.statementBytes + 480_000 <= Limits.ringStatementBytesPerZone {
            number += 1
            try join(number + 1, more, isGuest: false)
        }
        #expect(refusal { try join(number + 2, more, isGuest: false) } == .limitExceeded)
        let audit = database.audit()
        #expect(audit.kept == audit.recounted)
    }

    @Test("has room for so many users of a zone, and guests of a ring who are still there") func users() throws {
        try beginRing()
        for number in 1...Limits.ringUsersPerZone / 2 { try join(number, [Self.statement(1)]) }
        #expect(refusal { try join(Limits.ringUsersPerZone, [Self.statement(1)]) } == .limitExceeded)
        for number in Limits.ringUsersPerZone / 2 + 1...Limits.ringUsersPerZone {
            try join(number, [Self.statement(1)], isGuest: false)
        }
        #expect(refusal { try join(5_000, [Self.statement(1)], isGuest: false) } == .limitExceeded)
        for number in 1...Limits.ringGuestsPerRing { try join(number, [], guest: Self.guest(number)) }
        #expect(database.rings.guestCount(ofZone: 0, root: "") == Limits.ringGuestsPerRing)
        try join(1, [], guest: Self.guest(1, hash: 7))
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
            ringStatements: [statement(), statement(2)], ringChains: [selected], ringGuests: [guest])
        #expect(problem(good) == nil)
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
