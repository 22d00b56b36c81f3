import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeRecord

/// Assets whose contents devices encrypted: the server keeps these, and so has to see each of them in a record.
@Suite("Encrypted assets of a record")
struct EncryptedAssetTests {
    private let one = RecordSamples.asset(1, byteCount: 136)
    private let two = RecordSamples.asset(2, byteCount: 4_096)

    private func record(_ fields: [String: FieldValue]) -> [UInt8] {
        StoredRecord.encode(
            SystemFields(name: "r", type: "Note"),
            fields: fields.sorted { $0.key < $1.key }.map { StoredRecord.encodeField(key: $0.key, value: $0.value) })
    }

    /// A record whose one field has a value in these bytes.
    private func record(value: ProtoBytes) -> [UInt8] {
        ProtoBytes().text(1, "r").message(15, ProtoBytes().text(1, "k").message(2, value)).bytes
    }

    private func assets(of record: [UInt8]) throws -> [Asset] {
        var assets: [Asset] = []
        try record.decoded { bytes throws(ServiceError) in
            try StoredRecord.forEachAsset(of: bytes) {
                assets.append($0)
                return true
            }
        }
        return assets
    }

    private func passes(_ record: [UInt8]) -> Bool {
        record.withUnsafeBytes { (try? StoredRecord.summary(of: $0)) != nil }
    }

    @Test("are read back as they were, and visited with the plain ones in the order of fields and lists")
    func reading() throws {
        let fields: [String: FieldValue] = [
            "a": EncryptedSamples.asset(one), "b": EncryptedSamples.assets([two, one, two]), "c": .asset(two),
            "d": EncryptedSamples.value(), "e": .assets([one]),
        ]
        let record = record(fields)
        #expect(try record.decoded(StoredRecord.decode).fields == fields)
        #expect(try assets(of: record) == [one, two, one, two, two, one])
        let summary = try record.withUnsafeBytes { try StoredRecord.summary(of: $0).holdsAssets }
        #expect(summary)
    }

    @Test("are noticed alone, and told apart from others") func differences() {
        let values: [FieldValue] = [
            .asset(one), EncryptedSamples.asset(one), EncryptedSamples.asset(two), EncryptedSamples.assets([one]),
            EncryptedSamples.assets([one, two]), EncryptedSamples.asset(one, filler: 1), .assets([one]),
        ]
        for (index, value) in values.enumerated() {
            record(["k": value, "x": .int64(1)]).withUnsafeBytes { bytes in
                #expect(StoredRecord.holdsAssets(bytes))
                for (other, otherValue) in values.enumerated() {
                    record(["j": .int64(2), "k": otherValue]).withUnsafeBytes {
                        #expect(StoredRecord.haveSameAssets(bytes, $0) == (index == other))
                    }
                }
            }
        }
    }

    @Test("queries take for missing, and pushes leave out") func opaqueness() {
        for value in [EncryptedSamples.asset(one), EncryptedSamples.assets([one, two])] {
            StoredRecord.encodeField(key: "k", value: value).bytes.withUnsafeBytes { field in
                guard case .opaque = StoredRecordReader.value(ofField: field) else {
                    Issue.record("\(value) is looked into")
                    return
                }
            }
        }
    }

    @Test("are damage in a stored record where an asset or what opens it is missing, twice there or out of place")
    func damage() {
        let asset = ProtoBytes().bytes(1, one.checksum.bytes).varint(2, 136)
        let secrets = [UInt8](repeating: 1, count: 159)
        func content(_ assets: Int) -> ProtoBytes {
            (0..<assets).reduce(ProtoBytes()) { message, _ in message.message(1, asset) }
        }
        for (number, count) in [(48, 1), (49, 1), (49, 3)] as [(UInt64, Int)] {
            let whole = content(count).bytes(2, secrets)
            #expect(passes(record(value: ProtoBytes().message(number, whole))))
            let wrong = [
                ProtoBytes(), content(count), ProtoBytes().bytes(2, secrets), content(count).bytes(2, []),
                content(count).varint(2, 1), ProtoBytes().bytes(2, secrets).message(1, asset),
                whole.message(1, asset), whole.bytes(2, secrets), whole.bytes(3, secrets),
                content(count).bytes(3, secrets),
                content(count - 1).message(1, ProtoBytes()).bytes(2, secrets),
                content(count - 1).message(1, asset.bytes(4, [1])).bytes(2, secrets),
                content(count - 1).varint(1, 1).bytes(2, secrets),
            ]
            for (index, content) in wrong.enumerated() {
                #expect(!passes(record(value: ProtoBytes().message(number, content))), "\(number): \(index)")
            }
            #expect(!passes(record(value: ProtoBytes().varint(number, 1))))
        }
        for count in [0, 2] {
            #expect(!passes(record(value: ProtoBytes().message(48, content(count).bytes(2, secrets)))))
        }
    }

    @Test("are no value for a client where their assets are missing, whatever a server sends")
    func hostileAnswers() {
        let asset = ProtoBytes().bytes(1, one.checksum.bytes)
        let contents = [
            ProtoBytes(), ProtoBytes().bytes(2, [1]), ProtoBytes().message(1, ProtoBytes()).bytes(2, [1]),
        ]
        for number: UInt64 in [48, 49] {
            for content in contents {
                #expect(throws: ServiceError.self) {
                    try record(value: ProtoBytes().message(number, content)).decoded(StoredRecord.decode)
                }
            }
        }
        #expect(throws: ServiceError.self) {
            let list = ProtoBytes().message(1, asset).message(1, ProtoBytes()).bytes(2, [1])
            _ = try record(value: ProtoBytes().message(49, list)).decoded(StoredRecord.decode)
        }
    }

    @Test("tell the key of what opens them, as any encrypted value does") func headers() {
        let header = EncryptedSamples.header(isShared: true, keyNumber: 9)
        let fields: [(String, FieldValue)] = [
            ("a", EncryptedSamples.asset(one, header: header)), ("b", EncryptedSamples.value()),
            ("c", EncryptedSamples.assets([one, two], header: EncryptedSamples.header(keyNumber: 3))),
            ("d", .asset(one)),
        ]
        var headers: [EncryptedHeader] = []
        EncodedFields(fields.map { StoredRecord.encodeField(key: $0.0, value: $0.1) }).forEachEncryptedHeader {
            headers.append($0)
            return true
        }
        #expect(headers == [header, EncryptedSamples.header(), EncryptedSamples.header(keyNumber: 3)])
    }
}
