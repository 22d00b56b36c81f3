import BrumeModel
import BrumeTestKit
@testable import BrumeRecord
import CBrumeProto
import Testing

/// A record's bytes are canonical and are what protobuf says a `brume.v1.Record` is.
struct StoredRecordTests {
    @Test("a record comes back from its bytes, decoded and in parts")
    func roundTrip() throws {
        let bytes = RecordSamples.recordBytes
        #expect(try bytes.decoded(StoredRecord.decode) == RecordSamples.record)
        let parts = try StoredRecord.parts(of: bytes)
        #expect(parts.system == RecordSamples.system)
        #expect(parts.fields == RecordSamples.encodedFields)
    }

    @Test("decoding and encoding again gives the same bytes, in whatever order the fields came")
    func canonical() throws {
        let bytes = RecordSamples.recordBytes
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
        let bytes = StoredRecord.encode(RecordSamples.system, fields: [field])
        switch try bytes.decoded(StoredRecord.decode).fields["k"] {
        case .double(let number), .date(let number): #expect(number.sign == .minus)
        case .doubles(let numbers): #expect(numbers.map(\.sign) == [.minus])
        default: Issue.record("another kind came back")
        }
    }

    @Test("protobuf-c reads the bytes as a brume.v1.Record and packs it to the same bytes")
    func isTheMessage() throws {
        let systems = [RecordSamples.system, SystemFields(name: "", type: ""), SystemFields(name: "n", type: "T")]
        for system in systems {
            let bytes = StoredRecord.encode(system, fields: RecordSamples.encodedFields)
            let arena = MessageArena(bytesLimit: .max)
            try withExtendedLifetime(arena) {
                let message = try #require(bytes.withUnsafeBytes { arena.unpack(brume__v1__record__unpack, $0) })
                #expect(packed(message) == bytes)
                #expect(message.pointee.base.n_unknown_fields == 0)
                #expect(text(message.pointee.name) == system.name)
                #expect(message.pointee.created_milliseconds == system.createdMilliseconds)
                #expect(text(message.pointee.parent) == system.parent ?? "")
                #expect(message.pointee.n_fields == RecordSamples.values.count)
                for index in 0..<message.pointee.n_fields {
                    let field = try #require(message.pointee.fields[index])
                    let key = text(field.pointee.key)
                    let value = try #require(field.pointee.value)
                    #expect(FieldValue(value) == RecordSamples.fields[key])
                }
            }
        }
    }

    private func text(_ data: ProtobufCBinaryData) -> String {
        String(decoding: UnsafeBufferPointer(start: data.data, count: data.len), as: UTF8.self)
    }

    @Test("a projection keeps the system fields and the keys asked for, in whatever order")
    func projection() throws {
        let bytes = RecordSamples.storedRecord
        let system = StoredRecord.encode(RecordSamples.system, fields: [])
        #expect(StoredRecord.project(bytes, keys: []).array == system)
        let keys = ["field_7", "field_0", "field_12", "unknown", "field_1", "field", "field_77"]
        let projected = try StoredRecord.project(bytes, keys: keys).array.decoded(StoredRecord.decode)
        #expect(projected.system == RecordSamples.system)
        #expect(projected.fields == RecordSamples.fields.filter { keys.contains($0.key) })
        #expect(projected.fields.count == 4)
        #expect(StoredRecord.project(bytes, keys: Array(RecordSamples.fields.keys)) == bytes)
        #expect(StoredRecord.project(SharedBytes(), keys: ["a"]).isEmpty)
    }

    /// What a record, or its fields alone, say of others.
    private static func cascades(_ bytes: [UInt8]) throws -> StoredRecord.Cascades {
        try bytes.decoded { bytes throws(ServiceError) in try StoredRecord.cascades(of: bytes) }
    }

    @Test("only references that delete their holder have cascade targets")
    func cascadeTargets() throws {
        for value in RecordSamples.values {
            let expected: [String]
            switch value {
            case .reference(let reference): expected = reference.deletesSelf ? [reference.recordName] : []
            case .references(let references): expected = references.filter(\.deletesSelf).map(\.recordName)
            default: expected = []
            }
            let fields = EncodedFields([StoredRecord.encodeField(key: "k", value: value)]).bytes
            let cascades = try Self.cascades(fields.array)
            #expect(cascades.targets == expected && cascades.weight == expected.count)
        }
        // A checksum says that bytes are those that were written, not that they make sense.
        let damaged = EncodedFields([EncodedField(key: "k", bytes: [0x12, 0x03, 0x3A, 0x05, 0x0A])]).bytes
        #expect(throws: ServiceError.self) { try Self.cascades(damaged.array) }
    }

    @Test("a field says its key and its kind, however long both are")
    func keysAndKinds() {
        let long = [127, 128, 16_384].map { FieldValue.bytes([UInt8](repeating: 0xFF, count: $0)) }
        for value in RecordSamples.values + long {
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

    @Test("an encrypted value holds neither an asset nor a reference, and queries take it for missing")
    func encryptedValues() throws {
        for kind in EncryptedSamples.kinds {
            let field = StoredRecord.encodeField(key: "k", value: EncryptedSamples.value(kind, contentBytes: 3_000))
            let record = StoredRecord.encode(SystemFields(name: "r", type: "T"), fields: [field])
            try record.withUnsafeBytes { bytes in
                #expect(!StoredRecord.holdsAssets(bytes) && StoredRecord.haveSameAssets(bytes, bytes))
                let summary = try StoredRecord.summary(of: bytes)
                #expect(!summary.holdsAssets && !summary.refersToOthers)
                var reader = StoredRecordReader(bytes)
                while let element = reader.next() {
                    guard case .field(_, let content) = element else { continue }
                    guard case .opaque = StoredRecordReader.value(ofField: content) else {
                        Issue.record("\(kind) is looked into")
                        continue
                    }
                }
            }
        }
    }

    @Test("a stamp is shown with whatever else is shown of a record, but not to who takes no part in a share")
    func stamps() throws {
        var system = RecordSamples.system
        system.stamp = EncryptedSamples.stamp()
        let secret = [UInt8](repeating: 1, count: Share.secretByteCount)
        let parts = [
            SharingPart(), SharingPart(share: "share", secret: secret), SharingPart(secret: secret),
            SharingPart(storedShare: [8, 1]),
        ]
        for part in parts {
            let record = SharedBytes(StoredRecord.encode(system, sharing: part, fields: RecordSamples.encodedFields))
            #expect(StoredRecord.sharing(of: record) == part)
            let all = [
                record, StoredRecord.shown(record), StoredRecord.shown(record, details: []),
                StoredRecord.project(record, keys: []), StoredRecord.withoutFields(record),
                try StoredRecord.introducingRoot(record),
            ]
            for bytes in all {
                #expect(try StoredRecord.parts(of: bytes).system.stamp == system.stamp)
                _ = try bytes.array.withUnsafeBytes { try StoredRecord.summary(of: $0) }
            }
            let strangers = try StoredRecord.introducing(record, details: [])
            #expect(try StoredRecord.parts(of: strangers).system.stamp.isEmpty)
        }
        system.stamp.removeLast()
        let cut = StoredRecord.encode(system, fields: [])
        #expect(throws: ServiceError.self) { try cut.withUnsafeBytes { try StoredRecord.summary(of: $0) } }
    }

    @Test("bytes that are no record are an error")
    func damage() {
        func record(_ field: ProtoBytes) -> [UInt8] { ProtoBytes().text(1, "n").message(15, field).bytes }
        let noValue = record(ProtoBytes().text(1, "k"))
        #expect(throws: ServiceError.self) { try noValue.decoded(StoredRecord.decode) }
        let noText = record(ProtoBytes().text(1, "k").message(2, ProtoBytes().bytes(1, [0xFF])))
        #expect(throws: ServiceError.self) { try noText.decoded(StoredRecord.decode) }
        for bytes: [UInt8] in [[0x0A, 0x05, 0x61], [0x0A, 0x01, 0xFF], [0x0B], [0x80], [0x78, 0x01]] {
            #expect(throws: ServiceError.self) { try bytes.decoded(StoredRecord.decode) }
            #expect(throws: ServiceError.self) { try StoredRecord.parts(of: bytes) }
        }
    }
}
