import BrumeModel
import BrumeRandom
import BrumeRecord
import BrumeTestKit
import Testing

@testable import BrumeStore

/// Stored records with bytes that no server wrote, as a file with right checksums may hold them.
@Suite("Mutated records")
struct MutatedRecordTests {
    private static let fields: [String: FieldValue] = [
        "s": .string("some words"), "n": .int64(-3), "d": .double(2.5), "b": .bytes([1, 2]), "t": .date(7),
        "at": .location(Location(latitude: 52, longitude: 13)),
        "up": .reference(Reference(recordName: "boss", deletesSelf: true)),
        "ls": .strings(["one", "two"]), "ln": .int64s([1, -2]), "ld": .doubles([0.5]),
        "all": .references([Reference(recordName: "boss", deletesSelf: true)]), "none": .emptyList,
        "e": EncryptedSamples.value(.int64), "el": EncryptedSamples.value(.emptyList),
        "a": .asset(RecordSamples.asset(1, byteCount: 9)),
        "ea": EncryptedSamples.asset(RecordSamples.asset(2, byteCount: 9)),
        "eas": EncryptedSamples.assets([RecordSamples.asset(3, byteCount: 9), RecordSamples.asset(4, byteCount: 9)]),
    ]

    private static func record(_ type: String, _ sharing: SharingPart) -> [UInt8] {
        StoredRecord.encode(
            SystemFields(
                name: "r1", type: type, changeTag: "7-1a", creator: "_me", createdMilliseconds: 5, modifier: "_you",
                modifiedMilliseconds: 6, parent: "top"),
            sharing: sharing, fields: fields.map { StoredRecord.encodeField(key: $0.key, value: $0.value) })
    }

    private static let root = record("Note", SharingPart(share: "share", secret: secret))
    private static let share = record(
        Names.shareType, SharingPart(storedShare: ShareCoder.encode(Share(secret: secret))))

    private static let secret = [UInt8](repeating: 0x33, count: Share.secretByteCount)

    private static func passes(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { (try? RecordSlot.check($0)) != nil }
    }

    /// Each byte with each bit turned, every part cut out, and bytes changed here and there by chance; those that pass.
    private static func mutants(of record: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = []
        func add(_ bytes: [UInt8]) { if passes(bytes) { found.append(bytes) } }
        for index in record.indices {
            for bit in 0..<8 {
                var bytes = record
                bytes[index] ^= 1 << UInt8(bit)
                add(bytes)
            }
            add(Array(record[..<index]))
            add(Array(record[..<index] + record.dropFirst(index + 1)))
        }
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<2_000 {
            var bytes = record
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            add(bytes)
        }
        return found
    }

    @Test("a record without a value in a field, with another key twice, or with keys out of order does not pass")
    func refused() {
        func record(_ fields: [[UInt8]]) -> [UInt8] {
            let system = SystemFields(name: "r1", type: "Note", changeTag: "7-1a")
            return fields.reduce(StoredRecord.encode(system, fields: [])) { $0 + [0x7A, UInt8($1.count)] + $1 }
        }
        let (a, b) = ([0x0A, 1, 0x61, 0x12, 2, 0x10, 4] as [UInt8], [0x0A, 1, 0x62, 0x12, 2, 0x10, 4] as [UInt8])
        #expect(Self.passes(record([a, b])))
        #expect(!Self.passes(record([b, a])) && !Self.passes(record([a, a])))
        // No value, an empty one, one of an unknown kind, two members, another wire type.
        #expect(!Self.passes(record([[0x0A, 1, 0x61]])))
        #expect(!Self.passes(record([[0x0A, 1, 0x61, 0x12, 0]])))
        #expect(!Self.passes(record([[0x0A, 1, 0x61, 0x12, 3, 0x82, 0x01, 0]])))
        #expect(!Self.passes(record([[0x0A, 1, 0x61, 0x12, 4, 0x10, 4, 0x10, 6]])))
        #expect(!Self.passes(record([[0x0A, 1, 0x61, 0x12, 2, 0x08, 4]])))
        // No key, and the value before the key.
        #expect(!Self.passes(record([[0x12, 2, 0x10, 4]])))
        #expect(!Self.passes(record([[0x12, 2, 0x10, 4, 0x0A, 1, 0x61]])))
    }

    @Test("every reader of stored records takes what passes the check", arguments: [root, share])
    func readers(record: [UInt8]) throws {
        let mutants = Self.mutants(of: record)
        #expect(mutants.count > 300)
        for bytes in mutants {
            let shared = SharedBytes(bytes)
            for field in try StoredRecord.parts(of: shared).fields { _ = StoredRecord.kind(of: field) }
            _ = StoredRecord.project(shared, keys: ["at", "n", "s"])
            _ = try? bytes.withUnsafeBytes { try StoredRecord.decode($0) }
            bytes.withUnsafeBytes { bytes in
                _ = (StoredRecord.parent(of: bytes), StoredRecord.creator(of: bytes), StoredRecord.head(of: bytes))
                var reader = StoredRecordReader(bytes)
                while let element = reader.next() {
                    guard case .field(_, let field) = element else { continue }
                    if case .list(var list) = StoredRecordReader.value(ofField: field) { while list.next() != nil {} }
                }
            }
            let summary = try bytes.withUnsafeBytes { try RecordSlot.check($0) }
            let slot = RecordSlot(new: shared, marks: .all, position: .start)
            let sharing = try #require(slot.sharing)
            #expect(sharing.isEmpty != summary.concernsSharing, "the check and the reader disagree")
            #expect(sharing.storedShare.isEmpty == summary.storedShare.isEmpty)
            _ = StoredRecord.shown(shared)
            _ = (slot.references, slot.name, slot.type, slot.hasTag("7-1"))
        }
    }

    @Test("a database with such records answers queries, learns, merges and deletes") func database() throws {
        let desk = Desk()
        desk.database.indexedZoneMinimum = 1
        let incarnation = try #require(desk.database.incarnation(of: Desk.zone))
        let sort = [QuerySort(key: .field("n"))]
        func query(_ predicate: Predicate, way: Int) throws {
            let run = try desk.database.startQuery(
                Query(recordType: "Note", predicate: predicate, sortDescriptors: way == 0 ? [] : sort), zone: nil)
            run.testOnly_choice = way
            while !run.step(1_000) {}
        }
        let predicates: [Predicate] = [
            .constant(true), .text("words", .anyWord), .comparison(.field("d"), .greater, .int64(1)),
            .comparison(.field("t"), .less, .date(9)), .anyElement(.field("ls"), .equal, .string("one")),
            .distance(.field("at"), latitude: 52, longitude: 13, metres: 5_000, isInclusive: true),
            .comparison(.recordID, .equal, .reference(Reference(recordName: "r1", deletesSelf: false))),
        ]
        var names = Set<String>()
        for (number, bytes) in Self.mutants(of: Self.root).enumerated() {
            names.insert(bytes.withUnsafeBytes { String(decoding: StoredRecord.head(of: $0).name, as: UTF8.self) })
            try desk.database.apply(
                JournalEntry(
                    database: desk.database.id, sequence: desk.database.sequence + 1, committedMilliseconds: 0,
                    changes: [.recordPut(zone: incarnation, record: SharedBytes(bytes))]))
            if number % 100 == 0 { for way in 0..<4 { for predicate in predicates { try query(predicate, way: way) } } }
            if number % 10 == 0 {
                var scan = LessonScan(type: "Note")
                while !desk.database.advance(&scan, places: 100) {}
                _ = desk.modify(policy: .allKeys, saves: [.of("r1", ["n": .int64(4), "zz": .string("new")])])
            }
        }
        _ = desk.modify(isAtomic: false, deletions: names.sorted())
    }
}
