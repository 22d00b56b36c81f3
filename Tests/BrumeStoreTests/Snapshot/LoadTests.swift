import BrumeRandom
import BrumeModel
import BrumeTestKit
import Dispatch
import Testing

@testable import BrumeStore

/// Loading on several threads, and records that share arrays with their neighbours.
@Suite("Loading a snapshot")
struct LoadTests {
    private static let threads = LoadThreads(count: 4) { count, body in
        DispatchQueue.concurrentPerform(iterations: count) { body($0) }
    }

    /// A database of several blocks: records of all sizes, some of them changed and deleted, two zones.
    private static func desk(records: Int, seed: UInt64) throws -> Desk {
        let desk = Desk()
        desk.makeZone("others")
        var generator = SeededGenerator(seed: seed)
        for zone in [Desk.zone, ZoneID(name: "others"), .defaultZone] {
            for first in stride(from: 0, to: records, by: 100) {
                let saves = (first..<first + 100).map { number in
                    let size = generator.oneIn(40) ? 20_000 : Int.random(in: 0..<600, using: &generator)
                    let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
                    return RecordSave<CheckedFields>.of("r\(number)", ["b": .bytes(bytes)])
                }
                _ = desk.modify(zone, saves: saves)
            }
        }
        try desk.save("child", parent: .set("r1"))
        for number in 0..<20 { try desk.save("r\(number * 7)", ["n": .int64(1)], policy: .allKeys) }
        _ = desk.modify(deletions: ["r2", "r9"])
        return desk
    }

    private static func disk(_ desk: Desk) throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        try disk.makeDirectory(SnapshotFormat.folder)
        try SnapshotWriter.write(desk.database.capture(), to: disk)
        return disk
    }

    private static func load(
        from disk: SimulatedDisk, with threads: LoadThreads
    ) throws(StoreError) -> Database? {
        let path = SnapshotFormat.path(of: Desk.privateID, on: disk)
        guard var reader = try SnapshotReader(opening: path, on: disk) else { return nil }
        defer { reader.close() }
        guard let header = try reader.readHeader(expecting: Desk.privateID) else { return nil }
        return try SnapshotLoad(reader, header: header, epoch: 7, while: { true }).run(with: threads)
    }

    @Test("several threads make the database that one makes")
    func threads() throws {
        let desk = try LoadTests.desk(records: 700, seed: 1)
        let disk = try LoadTests.disk(desk)
        let expected = try SnapshotTests.portrait(desk.database)
        for threads in [LoadThreads.one, LoadTests.threads] {
            let loaded = try #require(try LoadTests.load(from: disk, with: threads))
            #expect(try SnapshotTests.portrait(loaded) == expected)
            #expect(loaded.audit().kept == loaded.audit().recounted)
        }
    }

    @Test("several threads tell the damage that one tells")
    func damage() throws {
        let disk = try LoadTests.disk(try LoadTests.desk(records: 300, seed: 2))
        let path = SnapshotFormat.path(of: Desk.privateID, on: disk)
        let size = try #require(disk.contents(of: path)).count
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<60 {
            let damaged = disk.copy()
            // Often in two places: the first counts.
            for _ in 0..<Int.random(in: 1...2, using: &generator) {
                damaged.flip(
                    1 << UInt8.random(in: 0..<8, using: &generator), at: Int.random(in: 0..<size, using: &generator),
                    of: path)
            }
            var errors: [StoreError] = []
            for threads in [LoadThreads.one, LoadTests.threads] {
                do throws(StoreError) {
                    _ = try LoadTests.load(from: damaged, with: threads)
                } catch {
                    errors.append(error)
                }
            }
            #expect(errors.count == 2 && errors.first == errors.last, "\(errors)")
        }
    }

    @Test("a name that stands there twice is told")
    func twice() throws {
        let capture = try LoadTests.desk(records: 100, seed: 4).database.capture()
        let loader = DatabaseLoader(id: Desk.privateID, epoch: 7, sequence: capture.sequence)
        #expect(loader.add(capture.header) == nil)
        var first: [UInt8] = []
        try capture.forEachBlock { block in
            if first.isEmpty { first = block }
            #expect(block.withUnsafeBytes { loader.add(content: $0) } == nil)
        }
        let records = try first.withUnsafeBytes { block in
            try LoadedBlock(block, upTo: capture.sequence).records[0]
        }
        let zone = try #require(loader.testOnly_database.zoneIndexOfIncarnation[records.zone])
        loader.testOnly_database.withZone(at: zone) { $0.load(records.records) }
        guard case .failure(let problem) = loader.finish() else { return #expect(Bool(false), "it was loaded") }
        #expect(problem.text == "a record stands there twice")
    }

    /// The bytes of all arrays in which records of a database stand.
    private static func heldBytes(_ database: Database) -> Int {
        var arrays: [UnsafeRawPointer: Int] = [:]
        for slot in database.zoneStates.flatMap({ $0.slots.chunks.joined() }) {
            slot.testOnly_storage.withUnsafeBytes { if let base = $0.baseAddress { arrays[base] = $0.count } }
        }
        return arrays.values.reduce(0, +)
    }

    @Test("records that were loaded together leave no more behind than what is left takes", arguments: [5, 6])
    func packs(seed: UInt64) throws {
        let desk = try LoadTests.desk(records: 1_000, seed: seed)
        let loaded = try #require(try LoadTests.load(from: try LoadTests.disk(desk), with: .one))
        let other = Desk(loaded, caller: desk.caller)
        // They do share arrays, and no byte more than theirs is kept.
        let slots = loaded.zoneStates[0].slots
        #expect((0..<Int32(slots.count)).count { slots.isPacked($0) } > 900)
        let tombstones = 200
        #expect(LoadTests.heldBytes(loaded) <= loaded.storedBytes + tombstones)
        var generator = SeededGenerator(seed: seed)
        for round in 0..<60 {
            let names = (0..<40).map { _ in "r\(Int.random(in: 0..<1_000, using: &generator))" }
            let zone = generator.oneIn(3) ? ZoneID.defaultZone : Desk.zone
            for desk in [desk, other] {
                if round % 3 == 0 {
                    _ = desk.modify(zone, deletions: Array(Set(names)))
                } else {
                    _ = desk.modify(
                        zone, policy: .allKeys,
                        saves: Set(names).sorted().map { .of($0, ["n": .int64(Int64(round)), "b": .bytes([])]) })
                }
            }
            let deleted = loaded.zoneStates.reduce(0) { $0 + $1.tombstoneCount } * 40
            #expect(LoadTests.heldBytes(loaded) <= 2 * loaded.storedBytes + deleted)
        }
        for number in 0..<1_000 {
            for zone in [Desk.zone, ZoneID(name: "others"), .defaultZone] {
                #expect(other.bytes("r\(number)", in: zone) == desk.bytes("r\(number)", in: zone))
            }
        }
        #expect(loaded.audit().kept == loaded.audit().recounted)
    }
}
