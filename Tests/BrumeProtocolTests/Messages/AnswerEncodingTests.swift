import BrumeModel
import BrumeTestKit
import CBrumeProto
import Testing

@testable import BrumeProtocol
@testable import BrumeRecord

/// Answers are written without protobuf-c, and are what it would have written.
struct AnswerEncodingTests {
    @Test("answers made of the server's views are the protocol's messages")
    func viewsAreTheMessages() throws {
        let coder = MessageCoder()
        let modified = coder.encodeModifyRecordsResponse([
            ZoneModificationResult(
                saves: [
                    SaveResult(outcome: .record(RecordSamples.storedRecord), fieldsOmitted: true),
                    SaveResult(outcome: .failure(MessageSamples.errorWithRecord)),
                ], deletions: [nil, MessageSamples.error]),
            ZoneModificationResult(),
            ZoneModificationResult(
                saves: [
                    SaveResult(outcome: .failure(MessageSamples.error)), SaveResult(outcome: .record(SharedBytes())),
                    SaveResult(outcome: .failure(MessageSamples.errorWithRecord), fieldsOmitted: true),
                ], deletions: [MessageSamples.errorWithRecord, nil, MessageSamples.error]),
        ])
        try expectSame(modified, brume__v1__modify_records_response__unpack)
        let fetched = coder.encodeFetchRecordsResponse([
            [.record(RecordSamples.storedRecord), .failure(MessageSamples.errorWithRecord), .deferred], [],
            [.failure(MessageSamples.error), .record(SharedBytes()), .failure(MessageSamples.errorWithRecord)],
        ])
        try expectSame(fetched, brume__v1__fetch_records_response__unpack)
        let long = SharedBytes(
            StoredRecord.encode(
                SystemFields(name: String(repeating: "n", count: 200), type: "Note"),
                fields: [StoredRecord.encodeField(key: "k", value: .bytes([UInt8](repeating: 7, count: 20_000)))]))
        for page in [
            ZoneChangesPage(
                records: [RecordSamples.storedRecord], deletions: [DeletedRecord(name: "n", type: "T")],
                token: [1] as [UInt8], moreComing: true),
            ZoneChangesPage(
                records: [SharedBytes(), long, RecordSamples.storedRecord],
                deletions: [
                    DeletedRecord(name: "", type: ""), DeletedRecord(name: "é", type: ""),
                    DeletedRecord(name: String(repeating: "x", count: 255), type: "T"),
                ], token: [], moreComing: false, clientToken: [UInt8](repeating: 9, count: 300)),
            ZoneChangesPage(records: [], deletions: [], token: [], moreComing: false),
        ] {
            let changes = coder.encodeZoneChangesResponse(page)
            try expectSame(changes, brume__v1__zone_changes_response__unpack)
        }
    }

    /// The message of the protocol holds all of `bytes`, nothing of them unknown, and packs to them again.
    private func expectSame<Message>(_ bytes: [UInt8], _ unpack: Unpack<Message>) throws {
        let arena = MessageArena(bytesLimit: .max)
        try withExtendedLifetime(arena) {
            let message = try #require(bytes.withUnsafeBytes { arena.unpack(unpack, $0) })
            let base = UnsafeRawPointer(message).assumingMemoryBound(to: ProtobufCMessage.self)
            #expect(base.pointee.n_unknown_fields == 0)
            #expect(packed(message) == bytes)
        }
    }
}
