import BrumeEncryption
import BrumeModel
import BrumeRecord
import BrumeSystem
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

/// A server that shows something else than it was given: what comes of it is never another value, and a reason says
/// why there is none.
@Suite("Encrypted values that a server moved, changed or made up")
struct LyingServerTests {
    private let zone: EncryptedZone

    init() throws { zone = try EncryptedZone() }

    private func expect(
        _ reason: CKRecord.UnreadableReason, _ what: String, _ value: EncryptedValue, record: String = "page",
        type: String = "Page"
    ) throws {
        let honest = try zone.seal(.int64(7), field: "other", record: record, type: type)
        let opened = zone.open(["secret": .encrypted(value), "other": .encrypted(honest)], record: record, type: type)
        #expect(opened.unreadable == ["secret": reason], "\(what)")
        // The others of the record are read all the same.
        #expect(opened.values == ["other": .int64(7)], "\(what)")
    }

    /// A value with some bytes of its header replaced.
    private func value(_ value: EncryptedValue, at offset: Int, _ bytes: [UInt8]) -> EncryptedValue {
        var changed = value.bytes
        changed.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        return EncryptedValue(value.kind, changed)
    }

    @Test("open where they belong")
    func honest() throws {
        #expect(zone.open(["secret": .encrypted(try zone.seal())]).values == ["secret": .string("word")])
        let below = try zone.seal(root: "shelf")
        #expect(zone.open(["secret": .encrypted(below)]).values == ["secret": .string("word")])
    }

    @Test("are damaged in another field, record, type or kind of value")
    func moved() throws {
        try expect(.damaged, "another field", try zone.seal(field: "other"))
        try expect(.damaged, "another field by its case", try zone.seal(field: "Secret"))
        try expect(.damaged, "another record of the tree", try zone.seal(record: "page2"))
        try expect(.damaged, "another record and tree", try zone.seal(record: "page2", root: "page2"))
        try expect(.damaged, "another type", try zone.seal(type: "Note"))
        let text = try zone.seal()
        for kind in FieldKind.allCases where kind.encrypted != nil && kind != .string {
            let asset = Asset(checksum: AssetChecksum(SHA256.digest([]))!, byteCount: 0, generation: 1)
            let value = EncryptedValue(kind, text.bytes, assets: kind.namesAssets ? [asset] : [])
            try expect(.damaged, "\(kind)", value)
        }
        try expect(.damaged, "the type of a list", EncryptedValue(.string, try zone.seal(.strings(["word"])).bytes))
    }

    /// What opens assets, sealed as a device does for a field.
    private func sealed(_ value: FieldValue, lengths: [UInt64], field: String = "secret") throws -> EncryptedValue {
        let record = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "page", zoneID: zone.zoneID))
        record.updateState { $0.set(value, forKey: field) }
        for (asset, length) in zip(value.assets, lengths) {
            var encryptor = AssetEncryptor(key: .random(), layout: try #require(AssetLayout(length: length)))
            var blob: [UInt8] = []
            let file = [UInt8](repeating: 1, count: Int(length))
            file.withUnsafeBytes { encryptor.encrypt($0, appendingTo: &blob) }
            let secret = encryptor.finish()
            record.updateState { $0.contents.setSecret(secret, of: asset) }
        }
        guard case .encrypted(let sealed)?? = try zone.sent(record)[field] else { throw Steps.Broken() }
        return sealed
    }

    @Test(
        "of assets are damaged in another field, beside contents of other sizes, in another number and as another kind")
    func assets() throws {
        let (small, large) = (RecordSamples.asset(1, byteCount: 72), RecordSamples.asset(2, byteCount: 136))
        let one = try sealed(.asset(small), lengths: [30])
        let two = try sealed(.assets([small, large]), lengths: [30, 90])
        let opened = zone.open(["secret": .encrypted(one)])
        #expect(opened.secrets["secret"]?.map(\.layout.length) == [30] && opened.unreadable.isEmpty)
        #expect(zone.open(["secret": .encrypted(two)]).secrets["secret"]?.map(\.layout.length) == [30, 90])
        let seen = zone.fetched(["secret": .encrypted(one)])
        #expect((seen["secret"] as? CKAsset)?.storedByteCount == 30 && seen.encryptedValues.allKeys().isEmpty)
        try expect(.damaged, "another field", try sealed(.asset(small), lengths: [30], field: "other"))
        try expect(.damaged, "a content of another size", EncryptedValue(.asset, one.bytes, assets: [large]))
        try expect(.damaged, "a list of one", EncryptedValue(.assets, one.bytes, assets: [small]))
        try expect(.damaged, "the other order", EncryptedValue(.assets, two.bytes, assets: [large, small]))
        try expect(.damaged, "fewer", EncryptedValue(.assets, two.bytes, assets: [small]))
        try expect(.damaged, "more", EncryptedValue(.assets, two.bytes, assets: [small, large, small]))
        try expect(.damaged, "a text", EncryptedValue(.asset, try zone.seal().bytes, assets: [small]))
        try expect(.damaged, "as data", EncryptedValue(.bytes, one.bytes))
    }

    @Test("of two assets are damaged beside one content, which would pass for both")
    func oneContentForTwo() throws {
        let (first, second) = (RecordSamples.asset(1, byteCount: 72), RecordSamples.asset(2, byteCount: 72))
        let (one, other) = (
            try sealed(.asset(first), lengths: [30], field: "a"), try sealed(.asset(second), lengths: [31], field: "b")
        )
        let honest = zone.open(["a": .encrypted(one), "b": .encrypted(other)])
        #expect(honest.secrets.count == 2 && honest.unreadable.isEmpty)
        let lie = EncryptedValue(.asset, other.bytes, assets: [first])
        #expect(zone.open(["a": .encrypted(one), "b": .encrypted(lie)]).unreadable == ["a": .damaged, "b": .damaged])
        let list = try sealed(.assets([first, second]), lengths: [30, 31])
        let both = EncryptedValue(.assets, list.bytes, assets: [first, first])
        try expect(.damaged, "a list of one content", both)
        // As a plain file of the same record.
        #expect(zone.open(["a": .encrypted(one), "plain": .asset(first)]).unreadable == ["a": .damaged])
        // In a merge neither record's file is taken for the other's.
        var (ours, theirs) = (AssetContents(), AssetContents())
        ours.setSecret(honest.secrets["a"]![0], of: first)
        ours[first] = .init(url: URL(fileURLWithPath: "/file"), lease: nil)
        theirs.setSecret(honest.secrets["b"]![0], of: first)
        var merged = theirs
        merged.merge(ours)
        #expect(merged[first] == nil)
        merged = ours
        merged.merge(ours)
        #expect(merged[first] != nil)
        merged.setSecret(honest.secrets["b"]![0], of: first)
        #expect(merged[first] == nil)
    }

    @Test("leave no file of theirs where a server puts a plain one in their place") func plainAssets() throws {
        let plain = FieldValue.asset(RecordSamples.asset(1, byteCount: 72))
        #expect(zone.open(["secret": plain]).unreadable.isEmpty)
        let encrypting = try EncryptedZone(encryptsAssets: true)
        #expect(encrypting.open(["secret": plain]).unreadable == ["secret": .notEncrypted])
        // So it is where the keys can't be had, and what was kept of the ring says so.
        let record = Record(system: SystemFields(name: "page", type: "Page", changeTag: "1"), fields: ["secret": plain])
        for isKept in [false, true] {
            let opener = FieldOpener(zones: [
                ZoneRingID(zone: "Diary"): .init(reason: .noKeys, keptEncryptsAssets: isKept)
            ])
            #expect(opener.open(record, in: zone.zoneID).unreadable.keys.sorted() == (isKept ? ["secret"] : []))
        }
        let seen = encrypting.fetched(["secret": plain, "title": .string("Sea")])
        #expect(seen["secret"] == nil && seen["title"] == "Sea" && seen.allKeys() == ["title"])
        #expect(seen.unreadableFields == ["secret": .notEncrypted])
    }

    @Test("are damaged in another zone, life of the zone, account, container or environment")
    func places() throws {
        let others = [
            ("zone", try EncryptedZone(zone: "Other")), ("life", try EncryptedZone()),
            ("account", try EncryptedZone(account: "_bob")), ("container", try EncryptedZone(container: "other")),
            ("environment", try EncryptedZone(environment: "production")),
        ]
        for (what, other) in others {
            let value = try other.seal()
            try expect(.damaged, what, value)
            // With the header of a value that belongs here.
            try expect(.damaged, what, self.value(value, at: 0, Array(try zone.seal().bytes.prefix(23))))
        }
    }

    @Test("of another tree, kind or number than their header says don't open")
    func headers() throws {
        let value = try zone.seal()
        let other = try zone.seal(root: "shelf")
        try expect(.damaged, "another tree", self.value(value, at: 2, Array(other.bytes[2..<18])))
        try expect(.keyMissing, "a shared tree", self.value(value, at: 18, [1]))
        try expect(.damaged, "no kind", self.value(value, at: 18, [2]))
        try expect(.damaged, "an older key", self.value(value, at: 19, [1, 0, 0, 0]))
        try expect(.damaged, "no key", self.value(value, at: 19, [0, 0, 0, 0]))
        try expect(.keyMissing, "a newer key", self.value(value, at: 19, [3, 0, 0, 0]))
        try expect(.keyMissing, "a far key", self.value(value, at: 19, [255, 255, 255, 255]))
        try expect(.newerVersion, "another format", self.value(value, at: 0, [2]))
        try expect(.newerVersion, "another suite", self.value(value, at: 1, [2]))
    }

    @Test("are refused with any byte flipped, cut or added")
    func bytes() throws {
        let value = try zone.seal()
        for index in value.bytes.indices {
            let reason: CKRecord.UnreadableReason =
                switch index {
                case 0, 1: .newerVersion
                case 19..<23: .keyMissing
                default: .damaged
                }
            let flipped = value.bytes[index] ^ 1 << (index % 8)
            try expect(reason, "byte \(index)", self.value(value, at: index, [flipped]))
            try expect(.damaged, "\(index) bytes", EncryptedValue(.string, Array(value.bytes.prefix(index))))
        }
        try expect(.damaged, "one byte more", EncryptedValue(.string, value.bytes + [0]))
    }

    @Test("that hold something else than the kind of value that they are for are damaged")
    func contents() throws {
        let cipher = try #require(zone.keys.cipher(root: "page")).record(named: "page", type: "Page")
        let coder = ValueCoder()
        func sealed(_ bytes: [UInt8]) -> EncryptedValue {
            EncryptedValue(.string, cipher.seal(bytes, field: "secret", valueType: "STRING"))
        }
        try expect(.damaged, "a number", sealed(coder.encode(.int64(1))))
        try expect(.damaged, "a list", sealed(coder.encode(.strings(["word"]))))
        let reference = FieldValue.reference(Reference(recordName: "other", deletesSelf: false))
        try expect(.damaged, "a reference", sealed(coder.encode(reference)))
        try expect(.damaged, "a value in a value", sealed(coder.encode(.encrypted(try zone.seal()))))
        try expect(.damaged, "nothing", sealed([]))
        try expect(.damaged, "no value", sealed([255, 255, 255]))
        try expect(.damaged, "a value that is cut", sealed(coder.encode(.string("word")).dropLast()))
    }

    @Test("are never seen where a plain value stands in their place")
    func plain() throws {
        let record = zone.fetched(["secret": .string("plain"), "other": .encrypted(try zone.seal(field: "other"))])
        #expect(record.encryptedValues.allKeys() == ["other"] && record.encryptedValues["secret"] == nil)
        #expect(record.unreadableFields.isEmpty && record["secret"] == "plain")
        #expect(record["other"] == nil && record.allKeys() == ["secret"])
    }

    @Test("stay closed with a reason where the keys can't be had, but for those that are known")
    func withoutKeys() throws {
        let known = try zone.seal()
        let missing = value(known, at: 19, [3, 0, 0, 0])
        let fields: [String: FieldValue] = ["secret": .encrypted(known), "other": .encrypted(missing)]
        for (reason, expected) in [
            (nil, .keyMissing), (.noKeys, .keyMissing), (.keyMissing, .keyMissing), (.newerVersion, .newerVersion),
        ] as [(CKRecord.UnreadableReason?, CKRecord.UnreadableReason)] {
            let opened = zone.open(fields, reason: reason)
            #expect(opened.values == ["secret": .string("word")] && opened.unreadable == ["other": expected])
        }
        let record = Record(system: SystemFields(name: "page", type: "Page", changeTag: "1"), fields: fields)
        for (reason, expected) in [(nil, .noKeys), (.newerVersion, .newerVersion), (.keyMissing, .keyMissing)]
            as [(CKRecord.UnreadableReason?, CKRecord.UnreadableReason)]
        {
            let opener = FieldOpener(zones: [ZoneRingID(zone: "Diary"): .init(reason: reason)])
            let opened = opener.open(record, in: zone.zoneID)
            #expect(opened.values.isEmpty && opened.unreadable == ["secret": expected, "other": expected])
        }
        // Keys of another zone open nothing here.
        let other = FieldOpener(zones: [ZoneRingID(zone: "Other"): .init(rings: [zone.keys])]).open(
            record, in: zone.zoneID)
        #expect(other.isEmpty)
    }
}
