import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// What a database keeps of its owner's keys and devices. What a statement says only devices know.
@Suite("Statements that are kept")
struct StatementTests {
    private let desk = Desk()

    private var database: Database { desk.database }

    static func statement(_ number: UInt32, bytes: Int = 40) -> SharedBytes {
        SharedBytes([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes))
    }

    static func replaced(_ number: Int) -> ReplacedStatements {
        let hash = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: ReplacedStatements.hashBytes)
        return ReplacedStatements(firstHash: hash, lastHash: hash)!
    }

    @discardableResult
    private func append(
        _ number: UInt32, _ statement: SharedBytes? = nil
    ) throws(ServiceError) -> Commit? {
        try database.append(statement: statement ?? Self.statement(number), number: number, nowMilliseconds: 5)
    }

    @Test("stand one behind the other, and a retry has one effect")
    func order() throws {
        for number in 1...3 as ClosedRange<UInt32> {
            let commit = try #require(try append(number))
            #expect(commit.entry.changes == [.statement(number: number, Self.statement(number))])
            #expect(commit.zones.isEmpty && commit.sequence == database.sequence)
            #expect(try append(number) == nil && database.sequence == commit.sequence)
        }
        #expect(try append(1) == nil, "a retry that took long")
        #expect(database.statements.all == (1...3).map { Self.statement($0) } && database.statements.last == 3)
        #expect(database.statements[3] == Self.statement(3))
        #expect(database.statements[0] == nil && database.statements[4] == nil && database.statements[.max] == nil)
    }

    @Test("of two devices' next ones the first is kept, and nothing may be missing between two")
    func conflicts() throws {
        try append(1)
        try append(2)
        let before = database.sequence
        for number in [0, 1, 2, 4, .max] as [UInt32] {
            let error = #expect(throws: ServiceError.self) { try append(number, Self.statement(9)) }
            #expect(error?.code == .serverRecordChanged, "\(number)")
        }
        #expect(database.sequence == before && database.statements.last == 2)
    }

    @Test("give their place to a first one in one commit")
    func replacing() throws {
        for number in 1...3 as ClosedRange<UInt32> { try append(number) }
        let anew = Self.statement(9)
        let replaced = Self.replaced(1)
        let commit = try #require(
            try database.replaceStatements(with: anew, replaced: replaced, nowMilliseconds: 5))
        #expect(commit.entry.changes == [.statementsReplaced(replaced), .statement(number: 1, anew)])
        #expect(database.statements.all == [anew] && database.statements.replaced == [replaced])
        #expect(database.statements.byteCount == 40 + 64)
        let replayed = Database(id: database.id, epoch: 7)
        try replayed.apply(
            JournalEntry(
                database: database.id, sequence: 1, committedMilliseconds: 1,
                changes: [.statement(number: 1, Self.statement(1))] + commit.entry.changes))
        #expect(replayed.statements == database.statements)
        try append(2)
    }

    @Test("are replaced so many times and no more, which is damage where there are more")
    func resets() throws {
        let most = Limits.statementResetsPerAccount
        for number in 0..<most {
            if number == 0 { try append(1) }
            _ = try database.replaceStatements(
                with: Self.statement(1), replaced: Self.replaced(number), nowMilliseconds: 5)
        }
        let before = database.statements
        let error = #expect(throws: ServiceError.self) {
            try database.replaceStatements(
                with: Self.statement(2), replaced: Self.replaced(most), nowMilliseconds: 5)
        }
        #expect(error?.code == .limitExceeded && database.statements == before)

        func isTaken(_ counts: [Int], of id: DatabaseID = Desk.privateID) -> Bool {
            let loader = DatabaseLoader(id: id, epoch: 7, sequence: 5)
            return counts.allSatisfy { count in
                let replaced = [ReplacedStatements](repeating: Self.replaced(1), count: count)
                var content: [UInt8] = []
                StoreCoder.encodeSnapshotBlock(SnapshotBlock(replacedStatements: replaced), into: &content)
                return content.withUnsafeBytes { loader.add(content: $0) } == nil
            }
        }
        #expect(isTaken([most]) && isTaken([most - 1, 1]) && !isTaken([most, 1]) && !isTaken([1], of: Desk.publicID))
    }

    @Test("have an end: in bytes of one, in number, and in bytes of all")
    func limits() throws {
        func refusal(_ number: UInt32, bytes: Int) -> ErrorCode? {
            do throws(ServiceError) {
                try append(number, Self.statement(number, bytes: bytes))
                return nil
            } catch {
                return error.code
            }
        }
        #expect(refusal(1, bytes: Limits.statementBytes + 1) == .limitExceeded)
        #expect(refusal(1, bytes: 0) == .limitExceeded, "nothing is no statement")
        #expect(refusal(1, bytes: Limits.statementBytes) == nil)
        var number: UInt32 = 2
        while database.statements.byteCount + Limits.statementBytes <= Limits.statementBytesPerAccount {
            #expect(refusal(number, bytes: Limits.statementBytes) == nil)
            number += 1
        }
        let left = Limits.statementBytesPerAccount - database.statements.byteCount
        #expect(refusal(number, bytes: left + 1) == .limitExceeded && refusal(number, bytes: left) == nil)

        var many = AccountStatements()
        for number in 0..<Limits.statementsPerAccount {
            let isTaken = many.append(Self.statement(UInt32(number)))
            #expect(isTaken)
        }
        let isTaken = many.append(Self.statement(1))
        #expect(!isTaken && AccountStatements(many.all, replaced: []) == many)
        #expect(AccountStatements(many.all + [Self.statement(1)], replaced: []) == nil)
    }

    @Test("come in pages")
    func pages() throws {
        #expect(database.statements(after: 0).isEmpty)
        for number in 1...5 as ClosedRange<UInt32> { try append(number) }
        #expect(Array(database.statements(after: 0)) == database.statements.all)
        #expect(Array(database.statements(after: 3)) == [Self.statement(4), Self.statement(5)])
        #expect(database.statements(after: 5).isEmpty && database.statements(after: .max).isEmpty)
        for (bytes, count) in [(0, 1), (40, 1), (79, 1), (80, 2), (200, 4)] {
            #expect(database.statements.page(after: 1, bytes: bytes).count == count, "\(bytes)")
        }
    }

    @Test("count towards a quota")
    func quota() throws {
        let before = database.overheadBytes
        try append(1)
        #expect(database.overheadBytes == before + 40)
        #expect(database.audit().kept == database.audit().recounted)
    }

    @Test("keep no more memory than they need")
    func memory() throws {
        let request = [UInt8](repeating: 7, count: 100_000)
        try append(1, SharedBytes(of: request, at: 10..<50))
        #expect(database.statements.all[0].storage.count == 40)
        #expect(database.approximateBytes >= 40)
    }

    // MARK: Damage

    private func replay(_ changes: [Change], in id: DatabaseID = Desk.privateID) -> String? {
        Desk.problemReplaying(changes, in: id)
    }

    @Test("are damage in a journal where one is missing, too large, or nobody's, or where none go")
    func damagedJournal() {
        func put(_ number: UInt32, bytes: Int = 40) -> Change {
            .statement(number: number, Self.statement(number, bytes: bytes))
        }
        let replaced = Change.statementsReplaced(Self.replaced(1))
        #expect(replay([put(1), put(2), .statementsEnd, put(1)]) == nil)
        #expect(replay([put(1), put(2), replaced, put(1), replaced, .statementsEnd, put(1)]) == nil)
        #expect(replay([replaced])?.contains(" ") == true && replay([put(1), replaced, put(2)]) != nil)
        for changes: [Change] in [
            [put(0)], [put(2)], [put(1), put(1)], [put(1), put(3)], [put(1), .statementsEnd, put(2)], [.statementsEnd],
            [put(1, bytes: 0)], [put(1, bytes: Limits.statementBytes + 1)],
        ] {
            #expect(replay(changes)?.contains(" ") == true, "\(changes)")
        }
        #expect(replay([put(1)], in: Desk.publicID) != nil && replay([.statementsEnd], in: Desk.publicID) != nil)
    }

    @Test("are damage in a snapshot where there are too many, or they are nobody's")
    func damagedSnapshot() {
        func problem(_ counts: [Int], of id: DatabaseID = Desk.privateID, bytes: Int = 40) -> String? {
            let loader = DatabaseLoader(id: id, epoch: 7, sequence: 5)
            for count in counts {
                let statements = [SharedBytes](repeating: Self.statement(1, bytes: bytes), count: count)
                var content: [UInt8] = []
                StoreCoder.encodeSnapshotBlock(SnapshotBlock(statements: statements), into: &content)
                if let problem = content.withUnsafeBytes({ loader.add(content: $0) }) { return problem }
            }
            return nil
        }
        let most = Limits.statementsPerAccount
        #expect(problem([most]) == nil && problem([most - 1, 1]) == nil)
        #expect(problem([most + 1])?.contains(" ") == true && problem([most, 1]) != nil)
        #expect(problem([1], of: Desk.publicID) != nil && problem([1], bytes: Limits.statementBytes + 1) != nil)
        #expect(problem([1], bytes: 0) != nil)
    }

    @Test("that fill several blocks of a snapshot are read in their order")
    func blocks() throws {
        let folder = try Folder()
        try folder.keep(
            try #require(
                try folder.desk.database.append(statement: Self.statement(1), number: 1, nowMilliseconds: 1)))
        for number in 1...3 {
            try folder.keep(
                try #require(
                    try folder.desk.database.replaceStatements(
                        with: Self.statement(1), replaced: Self.replaced(number), nowMilliseconds: 1)))
        }
        for number in 2...200 as ClosedRange<UInt32> {
            let statement = Self.statement(number, bytes: 10_000)
            try folder.keep(
                try #require(
                    try folder.desk.database.append(statement: statement, number: number, nowMilliseconds: 1)))
        }
        try folder.log.writeSnapshot(folder.desk.database.capture())
        try folder.log.trim()
        let again = try Folder(on: folder.disk.copy())
        #expect(again.log.report.entries == 0)
        #expect(again.desk.database.statements == folder.desk.database.statements)
    }
}
