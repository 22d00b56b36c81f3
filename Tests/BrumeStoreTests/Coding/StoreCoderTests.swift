import BrumeModel
import BrumeStore
import BrumeTestKit
import CBrumeProto
import Testing

/// The bodies of the data folder come back as they were written.
struct StoreCoderTests {
    @Test("a journal entry comes back with changes of every kind, behind what stood in the buffer")
    func journal() throws {
        var bytes: [UInt8] = [7, 7]
        StoreCoder.encodeJournalEntry(StoreSamples.journalEntry, into: &bytes)
        #expect(bytes.prefix(2) == [7, 7])
        #expect(try Array(bytes.dropFirst(2)).decoded(StoreCoder.decodeJournalEntry) == StoreSamples.journalEntry)
        let empty = JournalEntry(
            database: DatabaseID(container: "c", environment: .development, scope: .public, owner: ""), sequence: 1,
            committedMilliseconds: 0, changes: [])
        bytes = []
        StoreCoder.encodeJournalEntry(empty, into: &bytes)
        #expect(try bytes.decoded(StoreCoder.decodeJournalEntry) == empty)
    }

    @Test("a journal entry has the bytes that protobuf-c makes of the message")
    func journalBytes() throws {
        var entries = [StoreSamples.journalEntry]
        for (zone, record) in [(0, []), (0, [1]), (1, []), (UInt64.max, [UInt8](repeating: 9, count: 20_000))] {
            entries.append(
                JournalEntry(
                    database: DatabaseID(container: "c", environment: .production, scope: .public, owner: ""),
                    sequence: 0, committedMilliseconds: 0,
                    changes: [.recordPut(zone: zone, record: SharedBytes(record))]))
        }
        for entry in entries {
            var bytes: [UInt8] = []
            StoreCoder.encodeJournalEntry(entry, into: &bytes)
            let message = try #require(brume__store__v1__journal_entry__unpack(nil, bytes.count, bytes))
            defer { brume__store__v1__journal_entry__free_unpacked(message, nil) }
            var packed = [UInt8](repeating: 0, count: brume__store__v1__journal_entry__get_packed_size(message))
            #expect(brume__store__v1__journal_entry__pack(message, &packed) == packed.count)
            #expect(packed == bytes)
        }
    }

    @Test("a snapshot's header and blocks come back")
    func snapshot() throws {
        var bytes: [UInt8] = []
        StoreCoder.encodeSnapshotHeader(StoreSamples.header, into: &bytes)
        #expect(try bytes.decoded(StoreCoder.decodeSnapshotHeader) == StoreSamples.header)
        for block in [StoreSamples.block, SnapshotBlock()] {
            bytes = []
            StoreCoder.encodeSnapshotBlock(block, into: &bytes)
            #expect(try bytes.decoded(StoreCoder.decodeSnapshotBlock) == block)
        }
    }

    @Test("the account file comes back")
    func accounts() throws {
        let accounts = [
            StoredAccount(
                name: "ada", email: "", createdMilliseconds: 1, id: MessageSamples.operationID,
                tokenHashes: [[UInt8](repeating: 3, count: 32), []]),
            StoredAccount(name: "bob", email: "b@example.com", phone: "+4930123", createdMilliseconds: -1, id: []),
            StoredAccount(name: "cleo", email: "", createdMilliseconds: 0, id: [1], quotaBytes: 0),
            StoredAccount(name: "dan", email: "", createdMilliseconds: 0, id: [2], quotaBytes: 5 << 40),
        ]
        var bytes: [UInt8] = []
        StoreCoder.encodeAccounts(accounts, into: &bytes)
        #expect(try bytes.decoded(StoreCoder.decodeAccounts) == accounts)
    }

    @Test("a body that names an impossible database, reason or change is told, not trapped on")
    func impossible() {
        let owned = ProtoBytes().text(1, "c").varint(2, 1).varint(3, 1).text(4, "owner")
        let unowned = ProtoBytes().text(1, "c").varint(2, 1).varint(3, 2)
        let unknown = ProtoBytes().text(1, "c").varint(2, 9).varint(3, 1)
        // What a user sees as the shared database is none that is kept.
        let shared = ProtoBytes().text(1, "c").varint(2, 1).varint(3, 3).text(4, "owner")
        for database in [owned, unowned, unknown, shared] {
            #expect(throws: StoreCodingError.self) {
                try ProtoBytes().message(1, database).bytes.decoded(StoreCoder.decodeJournalEntry)
            }
            #expect(throws: StoreCodingError.self) {
                try ProtoBytes().message(1, database).bytes.decoded(StoreCoder.decodeSnapshotHeader)
            }
        }
        #expect(throws: StoreCodingError.self) { try [UInt8]().decoded(StoreCoder.decodeJournalEntry) }
        let good = ProtoBytes().text(1, "c").varint(2, 1).varint(3, 1)
        for change in [
            ProtoBytes(), ProtoBytes().message(4, ProtoBytes().varint(3, 3)),
            ProtoBytes().message(2, ProtoBytes().bytes(2, [0xFF])), ProtoBytes().message(5, ProtoBytes()),
        ] {
            let entry = ProtoBytes().message(1, good).message(4, change)
            #expect(throws: StoreCodingError.self) { try entry.bytes.decoded(StoreCoder.decodeJournalEntry) }
        }
    }

    /// What a checksum does not catch is refused or understood; it never crashes, is read past its end, or takes memory
    /// without limit.
    private static var bodies: [HostileBytes] {
        var journal: [UInt8] = []
        StoreCoder.encodeJournalEntry(StoreSamples.journalEntry, into: &journal)
        var block: [UInt8] = []
        StoreCoder.encodeSnapshotBlock(StoreSamples.block, into: &block)
        var header: [UInt8] = []
        StoreCoder.encodeSnapshotHeader(StoreSamples.header, into: &header)
        return [
            HostileBytes(journal) { _ = try StoreCoder.decodeJournalEntry($0) },
            HostileBytes(block) { _ = try StoreCoder.decodeSnapshotBlock($0) },
            HostileBytes(header) { _ = try StoreCoder.decodeSnapshotHeader($0) },
        ]
    }

    @Test("a body that is cut at any byte is refused or understood")
    func truncation() throws {
        for body in Self.bodies { try body.readCutAnywhere() }
    }

    @Test("5,000 bodies with random damage are refused or understood")
    func mutation() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        let understood = HostileBytes.readDamaged(Self.bodies, times: 5_000, seed: seed)
        #expect(understood < 5_000, "damage is noticed, seed \(seed)")
    }
}
