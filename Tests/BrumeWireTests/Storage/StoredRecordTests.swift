import BrumeModel
@testable import BrumeWire
import CBrumeProto
import CProtobufC
import Testing

/// A record's bytes are canonical and are what protobuf says a `brume.v1.Record` is.
struct StoredRecordTests {
    @Test("a record comes back from its bytes, decoded and in parts")
    func roundTrip() throws {
        let bytes = MessageSamples.recordBytes
        #expect(try bytes.decoded(StoredRecord.decode) == MessageSamples.record)
        let parts = try StoredRecord.parts(of: bytes)
        #expect(parts.system == MessageSamples.system)
        #expect(parts.fields == MessageSamples.encodedFields)
    }

    @Test("decoding and encoding again gives the same bytes, in whatever order the fields came")
    func canonical() throws {
        let bytes = MessageSamples.recordBytes
        let record = try bytes.decoded(StoredRecord.decode)
        let fields = record.fields.map { StoredRecord.encodeField(key: $0.key, value: $0.value) }
        for order in [fields, fields.reversed(), fields.sorted { $0.key > $1.key }] {
            #expect(StoredRecord.encode(record.system, fields: order) == bytes)
        }
        let parts = try StoredRecord.parts(of: bytes)
        #expect(StoredRecord.encode(parts.system, fields: parts.fields) == bytes)
    }

    @Test("the sign of zero survives in numbers and dates", arguments: ["number", "date", "list"])
    func signOfZero(kind: String) throws {
        let value: FieldValue = kind == "number" ? .double(-0.0) : kind == "date" ? .date(-0.0) : .doubles([-0.0])
        let field = StoredRecord.encodeField(key: "k", value: value)
        let bytes = StoredRecord.encode(MessageSamples.system, fields: [field])
        switch try bytes.decoded(StoredRecord.decode).fields["k"] {
        case .double(let number), .date(let number): #expect(number.sign == .minus)
        case .doubles(let numbers): #expect(numbers.map(\.sign) == [.minus])
        default: Issue.record("another kind came back")
        }
    }

    @Test("protobuf-c reads the bytes as a brume.v1.Record and packs it to the same bytes")
    func isTheMessage() throws {
        let systems = [MessageSamples.system, SystemFields(name: "", type: ""), SystemFields(name: "n", type: "T")]
        for system in systems {
            let bytes = StoredRecord.encode(system, fields: MessageSamples.encodedFields)
            let arena = MessageArena(bytesLimit: .max)
            try withExtendedLifetime(arena) {
                let message = try #require(bytes.withUnsafeBytes { arena.unpack(brume__v1__record__unpack, $0) })
                #expect(packed(message) == bytes)
                #expect(message.pointee.base.n_unknown_fields == 0)
                #expect(text(message.pointee.name) == system.name)
                #expect(message.pointee.created_milliseconds == system.createdMilliseconds)
                #expect(text(message.pointee.parent) == system.parent ?? "")
                #expect(message.pointee.n_fields == MessageSamples.values.count)
                for index in 0..<message.pointee.n_fields {
                    let field = try #require(message.pointee.fields[index])
                    let key = text(field.pointee.key)
                    let value = try #require(field.pointee.value)
                    #expect(FieldValue(value) == MessageSamples.fields[key])
                }
            }
        }
    }

    private func text(_ data: ProtobufCBinaryData) -> String {
        String(decoding: UnsafeBufferPointer(start: data.data, count: data.len), as: UTF8.self)
    }

    @Test("answers made of the server's views are the protocol's messages")
    func viewsAreTheMessages() throws {
        let coder = MessageCoder()
        let modified = coder.encodeModifyRecordsResponse([
            ZoneModificationResult(
                saves: [
                    SaveResult(outcome: .record(MessageSamples.storedRecord), fieldsOmitted: true),
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
            [.record(MessageSamples.storedRecord), .failure(MessageSamples.errorWithRecord), .deferred], [],
            [.failure(MessageSamples.error), .record(SharedBytes()), .failure(MessageSamples.errorWithRecord)],
        ])
        try expectSame(fetched, brume__v1__fetch_records_response__unpack)
        let long = SharedBytes(
            StoredRecord.encode(
                SystemFields(name: String(repeating: "n", count: 200), type: "Note"),
                fields: [StoredRecord.encodeField(key: "k", value: .bytes([UInt8](repeating: 7, count: 20_000)))]))
        for page in [
            ZoneChangesPage(
                records: [MessageSamples.storedRecord], deletions: [DeletedRecord(name: "n", type: "T")],
                token: [1] as [UInt8], moreComing: true),
            ZoneChangesPage(
                records: [SharedBytes(), long, MessageSamples.storedRecord],
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

    @Test("a projection keeps the system fields and the keys asked for, in whatever order")
    func projection() throws {
        let bytes = MessageSamples.storedRecord
        let system = StoredRecord.encode(MessageSamples.system, fields: [])
        #expect(StoredRecord.project(bytes, keys: []).array == system)
        let keys = ["field_7", "field_0", "field_12", "unknown", "field_1", "field", "field_77"]
        let projected = try StoredRecord.project(bytes, keys: keys).array.decoded(StoredRecord.decode)
        #expect(projected.system == MessageSamples.system)
        #expect(projected.fields == MessageSamples.fields.filter { keys.contains($0.key) })
        #expect(projected.fields.count == 4)
        #expect(StoredRecord.project(bytes, keys: Array(MessageSamples.fields.keys)) == bytes)
        #expect(StoredRecord.project(SharedBytes(), keys: ["a"]).isEmpty)
    }

    @Test("only references that delete their holder have cascade targets")
    func cascadeTargets() throws {
        for value in MessageSamples.values {
            let expected: [String]
            switch value {
            case .reference(let reference): expected = reference.deletesSelf ? [reference.recordName] : []
            case .references(let references): expected = references.filter(\.deletesSelf).map(\.recordName)
            default: expected = []
            }
            let fields = EncodedFields([StoredRecord.encodeField(key: "k", value: value)]).bytes
            let cascades = try fields.array.cascades()
            #expect(cascades.targets == expected && cascades.weight == expected.count)
        }
        // A checksum says that bytes are those that were written, not that they make sense.
        let damaged = EncodedFields([EncodedField(key: "k", bytes: [0x12, 0x03, 0x3A, 0x05, 0x0A])]).bytes
        #expect(throws: ServiceError.self) { try damaged.array.cascades() }
    }

    @Test("a field says its key and its kind, however long both are")
    func keysAndKinds() {
        let long = [127, 128, 16_384].map { FieldValue.bytes([UInt8](repeating: 0xFF, count: $0)) }
        for value in MessageSamples.values + long {
            for keyBytes in [1, 127, 128, 255] {
                let key = String(repeating: "k", count: keyBytes)
                let field = StoredRecord.encodeField(key: key, value: value)
                #expect(StoredRecord.kind(of: field) == FieldKind(value))
                var seen: [(String, FieldKind)] = []
                EncodedFields([field]).forEach {
                    seen.append((String(decoding: $0, as: UTF8.self), $1))
                    return true
                }
                #expect(seen.count == 1 && seen[0] == (key, FieldKind(value)))
            }
        }
    }

    @Test("bytes that are no record are an error")
    func damage() {
        let noKind = ProtoBytes().text(1, "n").message(15, ProtoBytes().text(1, "k").message(2, ProtoBytes())).bytes
        #expect(throws: ServiceError.self) { try noKind.decoded(StoredRecord.decode) }
        for bytes: [UInt8] in [[0x0A, 0x05, 0x61], [0x0A, 0x01, 0xFF], [0x0B], [0x80], [0x78, 0x01]] {
            #expect(throws: ServiceError.self) { try bytes.decoded(StoredRecord.decode) }
            #expect(throws: ServiceError.self) { try StoredRecord.parts(of: bytes) }
        }
    }
}

extension [UInt8] {
    /// What a record, or its fields alone, say of others.
    func cascades() throws -> StoredRecord.Cascades {
        try decoded { bytes throws(ServiceError) in try StoredRecord.cascades(of: bytes) }
    }
}
