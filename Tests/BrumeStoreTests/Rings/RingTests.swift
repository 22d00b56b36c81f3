import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// Who has keys of a database's zones. What an entry says only devices know.
@Suite("Rings that are kept")
struct RingTests {
    private let desk = Desk()

    private var database: Database { desk.database }

    private static func entry(_ number: UInt32, bytes: Int = 40) -> SharedBytes {
        SharedBytes([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes))
    }

    @discardableResult
    private func append(
        _ number: UInt32, _ entry: SharedBytes? = nil, root: String = "", to zone: String = "notes",
        quota: StorageQuota? = nil
    ) throws(ServiceError) -> Commit? {
        try database.append(
            ringEntry: entry ?? Self.entry(number), number: number, root: root, zone: ZoneID(name: zone), quota: quota,
            nowMilliseconds: 5)
    }

    @Test("stand in the order of their numbers, one ring apart from the other, and one that comes again has no effect")
    func order() throws {
        for number in 1...3 as ClosedRange<UInt32> {
            let commit = try #require(try append(number))
            #expect(commit.entry.operationID.isEmpty && commit.zones.isEmpty)
            #expect(try append(number) == nil && database.sequence == commit.sequence)
        }
        try append(1, root: "list")
        for number in [0, 1, 2, 5, .max] as [UInt32] {
            let error = #expect(throws: ServiceError.self) { try append(number, Self.entry(9)) }
            #expect(error?.code == .serverRecordChanged, "\(number)")
        }
        #expect(try database.ring(of: ZoneID(name: "notes"), root: "").entries == (1...3).map { Self.entry($0) })
        #expect(try database.ring(of: ZoneID(name: "notes"), root: "list").last == 1)
        #expect(try database.ring(of: .defaultZone, root: "").last == 0)
        let error = #expect(throws: ServiceError.self) { try append(1, to: "missing") }
        #expect(error?.code == .zoneNotFound)
        #expect(database.audit().kept == database.audit().recounted)
    }

    @Test("come in pages")
    func pages() throws {
        for number in 1...10 as ClosedRange<UInt32> {
            try append(number, Self.entry(number, bytes: 190_000), to: Names.defaultZone)
        }
        func page(_ after: UInt32) throws -> RingPage {
            try database.ringPage(FetchRingRequest(zone: .defaultZone, after: after), for: desk.caller)
        }
        #expect(try page(0).entries.count == 5 && page(0).last == 10)
        #expect(try page(5).entries.count == 5 && page(10) == RingPage(entries: [], last: 10))
        #expect(try page(.max).entries.isEmpty)
    }

    @Test("have an end: in bytes of an entry, and in the quota")
    func limits() throws {
        for bytes in [0, Limits.ringEntryBytes + 1] {
            let error = #expect(throws: ServiceError.self) {
                try append(1, Self.entry(1, bytes: bytes), to: Names.defaultZone)
            }
            #expect(error?.code == .limitExceeded)
        }
        let quota = StorageQuota(limitBytes: 1_000)
        var number: UInt32 = 0
        var refusal: ErrorCode?
        while refusal == nil, number < 10_000 {
            number += 1
            do throws(ServiceError) {
                try append(number, Self.entry(number, bytes: 100_000), to: Names.defaultZone, quota: quota)
            } catch {
                refusal = error.code
            }
        }
        #expect(refusal == .quotaExceeded && Int(number) * 100_000 < Limits.overheadAllowanceBytes + 300_000)
        func taking() throws(ServiceError) -> Commit? {
            try database.append(
                ringEntry: Self.entry(number, bytes: 100_000), number: number, root: "", zone: .defaultZone,
                quota: quota,
                takesKeys: true, nowMilliseconds: 5)
        }
        while database.rings.byteCount + 100_000 <= Limits.ringReserveBytes {
            #expect(try taking() != nil)
            number += 1
        }
        let error = #expect(throws: ServiceError.self) { try taking() }
        #expect(error?.code == .quotaExceeded && database.quotaBytes > 1_000)
    }

    @Test("of names that no record can have are not kept")
    func names() throws {
        for root in ["_x", "é", String(repeating: "x", count: 256)] {
            let error = #expect(throws: ServiceError.self) { try append(1, root: root) }
            #expect(error?.code == .invalidArguments)
        }
    }

    @Test("are so many in a database and no more, which is damage in a snapshot that has more")
    func count() throws {
        var rings = ZoneRings()
        for number in 0..<Limits.ringsPerDatabase {
            let isTaken = rings.append(Self.entry(1, bytes: 1), zone: UInt64(number % 3), root: "r\(number)")
            #expect(isTaken)
        }
        let full = rings
        let (isMoreTaken, isLongerTaken) = (
            rings.append(Self.entry(1), zone: 0, root: "more"), rings.append(Self.entry(2), zone: 0, root: "r0")
        )
        #expect(!isMoreTaken && isLongerTaken && full.recounted == full)
        _ = rings.remove(ofZone: 0)
        #expect(rings == rings.recounted && rings.count < full.count)
        let isTaken = rings.append(Self.entry(1), zone: 1, root: "more")
        #expect(isTaken)
    }

    @Test("go with their zone, in memory and in the quota")
    func zones() throws {
        let empty = database.rings
        try append(1)
        try append(1, root: "list")
        #expect(database.rings.byteCount == 80)
        _ = database.modifyZones(
            ModifyZonesRequest(database: .private, deletions: [ZoneID(name: "notes")]), caller: desk.caller,
            nowMilliseconds: 6)
        #expect(database.rings == empty)
    }

    @Test("are damage in a journal where one is missing, too large, or in no zone")
    func damagedJournal() {
        func put(_ number: UInt32, zone: UInt64 = 0, bytes: Int = 40) -> Change {
            .ringEntry(zone: zone, root: "", number: number, Self.entry(number, bytes: bytes))
        }
        #expect(Desk.problemReplaying([put(1), put(2), .ringsEnd(zone: 0), put(1)], in: Desk.privateID) == nil)
        for changes: [Change] in [
            [put(0)], [put(2)], [put(1), put(1)], [put(1), put(3)], [put(1, zone: 7)], [.ringsEnd(zone: 0)],
            [put(1, bytes: 0)], [put(1, bytes: Limits.ringEntryBytes + 1)],
        ] {
            #expect(Desk.problemReplaying(changes, in: Desk.privateID)?.contains(" ") == true, "\(changes)")
        }
        #expect(Desk.problemReplaying([put(1)], in: Desk.publicID) != nil)
    }

    @Test("are damage in a snapshot where there is no zone, or they are nobody's")
    func damagedSnapshot() {
        func problem(_ entries: [SnapshotRingEntry], of id: DatabaseID = Desk.privateID) -> String? {
            let loader = DatabaseLoader(id: id, epoch: 7, sequence: 5)
            var content: [UInt8] = []
            StoreCoder.encodeSnapshotBlock(SnapshotBlock(ringEntries: entries), into: &content)
            return content.withUnsafeBytes { loader.add(content: $0) }
        }
        let good = SnapshotRingEntry(zone: 0, root: "", entry: Self.entry(1))
        #expect(problem([good, good]) == nil)
        #expect(problem([SnapshotRingEntry(zone: 9, root: "", entry: Self.entry(1))])?.contains(" ") == true)
        #expect(problem([good], of: Desk.publicID) != nil)
        #expect(problem([SnapshotRingEntry(zone: 0, root: "", entry: Self.entry(1, bytes: 0))]) != nil)
    }

    @Test("that fill several blocks of a snapshot are read in their order")
    func blocks() throws {
        let folder = try Folder()
        try folder.makeZone()
        for number in 1...40 as ClosedRange<UInt32> {
            for root in ["", "list"] {
                try folder.keep(
                    try #require(
                        try folder.desk.database.append(
                            ringEntry: Self.entry(number, bytes: 50_000), number: number, root: root,
                            zone: ZoneID(name: "notes"), quota: nil, nowMilliseconds: 1)))
            }
        }
        try folder.log.writeSnapshot(folder.desk.database.capture())
        try folder.log.trim()
        let again = try Folder(on: folder.disk.copy())
        #expect(again.log.report.entries == 0)
        #expect(again.desk.database.rings == folder.desk.database.rings)
    }

    @Test("of more zones than one commit deletes are not reset")
    func resets() throws {
        try statement()
        for number in 0...Limits.zonesPerReset {
            desk.makeZone("z\(number)")
            try append(1, to: "z\(number)")
        }
        let replaced = StatementTests.replaced(1)
        func reset() throws(ServiceError) -> Commit? {
            try database.replaceStatements(
                with: StatementTests.statement(2), replaced: replaced, nowMilliseconds: 5)
        }
        let sequence = database.sequence
        let error = #expect(throws: ServiceError.self) { try reset() }
        #expect(error?.code == .limitExceeded && database.sequence == sequence)
        #expect(database.statements.replaced.isEmpty && database.rings.zones.count == Limits.zonesPerReset + 1)
        _ = database.modifyZones(
            ModifyZonesRequest(database: .private, deletions: [ZoneID(name: "z0")]), caller: desk.caller,
            nowMilliseconds: 6)
        let commit = try #require(try reset())
        #expect(commit.entry.changes.count == Limits.zonesPerReset + 2)
        #expect(database.rings == ZoneRings() && database.zones.count == 2)
    }

    private func statement() throws {
        _ = try database.append(statement: StatementTests.statement(1), number: 1, nowMilliseconds: 1)
    }
}
