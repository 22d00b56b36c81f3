import BrumeRandom
@testable import BrumeKit
import BrumeSystem
import Foundation
import Testing

@Suite("What a key-value store writes")
struct KeyValueStoreFormatTests {
    private func roundTrip(_ value: Any) -> Any? { KeyValueCoding.encode(value).flatMap(KeyValueCoding.decode) }

    @Test("comes back as the same value, for each kind of property list")
    func values() {
        #expect(roundTrip("héllo\u{0}") as? String == "héllo\u{0}")
        #expect(roundTrip(Data([0, 255])) as? Data == Data([0, 255]))
        #expect(
            roundTrip(Date(timeIntervalSinceReferenceDate: 0.1)) as? Date == Date(timeIntervalSinceReferenceDate: 0.1))
        #expect(roundTrip(Int64.min) as? Int64 == .min)
        #expect(roundTrip(42) as? Int == 42)
        #expect(roundTrip(UInt64.max) as? UInt64 == .max)
        #expect(roundTrip(0.1) as? Double == 0.1)
        #expect(roundTrip(Float(0.5)) as? Double == 0.5)
        #expect(roundTrip(true) as? Bool == true)
        #expect(roundTrip(NSNumber(value: 2.5)) as? Double == 2.5)
        #expect(roundTrip("x" as NSString) as? String == "x")
        #expect((roundTrip([1, "two", [3]] as [Any]) as? [Any])?.count == 3)
        let nested: [String: Any] = ["a": ["b": [Data([1])]]]
        let back = roundTrip(nested) as? [String: Any]
        #expect(((back?["a"] as? [String: Any])?["b"] as? [Data]) == [Data([1])])
    }

    @Test("is refused when it is no property list, or nested too deeply")
    func refused() {
        #expect(KeyValueCoding.encode(URL(fileURLWithPath: "/")) == nil)
        #expect(KeyValueCoding.encode(["a": NSNull()]) == nil)
        var deep: Any = 1
        for _ in 0...KeyValueStoreLimits.nestingMax { deep = [deep] }
        #expect(KeyValueCoding.encode(deep) == nil)
    }

    @Test("is decoded whole or not at all, whatever the bytes are")
    func hostile() throws {
        let value: [String: Any] = ["list": [1, 2.5, true, "s", Data([1])] as [Any], "date": Date()]
        let bytes = try #require(KeyValueCoding.encode(value))
        for count in 0..<bytes.count { #expect(KeyValueCoding.decode(Array(bytes[..<count])) == nil) }
        #expect(KeyValueCoding.decode(bytes + [0]) == nil)
        // Lists inside of each other, as deep as bytes go; a count of four thousand million.
        var nest: [UInt8] = [1]
        for _ in 0..<100_000 { nest += [8, 1, 0, 0, 0] }
        #expect(KeyValueCoding.decode(nest) == nil)
        #expect(KeyValueCoding.decode([1, 8, 255, 255, 255, 255]) == nil)
        var random = SeededGenerator(seed: 3)
        for _ in 0..<2_000 {
            var damaged = bytes
            damaged[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
            _ = KeyValueCoding.decode(damaged)
        }
    }

    @Test("gives each key one name on the server, within its rules")
    func names() {
        for key in [
            "", "plain.key-1", "with space", "_x", "é", "e\u{301}", "%41", "日本", String(repeating: "ü", count: 32),
        ] {
            let name = KeyValueStoreRecord.recordName(forKey: key)
            #expect(CKRecord.ID.problem(withName: name) == nil)
            #expect(KeyValueStoreRecord.key(ofRecordName: name) == key)
        }
        #expect(KeyValueStoreRecord.recordName(forKey: "é") == KeyValueStoreRecord.recordName(forKey: "e\u{301}"))
        for name in ["x", "k-%", "k-%4", "k-%41", "k-%zz", "k-a b", "k-%C3", "K-a"] {
            #expect(KeyValueStoreRecord.key(ofRecordName: name) == nil, "\(name)")
        }
    }

    @Test("is kept in a file that is read whole or not at all")
    func file() {
        var contents = KeyValueStoreContents()
        contents.values = ["a": [1, 2], "b": []]
        contents.token = [9]
        contents.write([3], forKey: "early")
        contents.hasFetched = true
        contents.write(nil, forKey: "a")
        let bytes = KeyValueStoreFile.encode(contents)
        #expect(KeyValueStoreFile.decode(bytes) == contents)
        #expect(KeyValueStoreFile.decode(KeyValueStoreFile.encode(KeyValueStoreContents())) == KeyValueStoreContents())
        for count in 0..<bytes.count { #expect(KeyValueStoreFile.decode(Array(bytes[..<count])) == nil) }
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 1
            #expect(KeyValueStoreFile.decode(damaged) == nil, "byte \(index)")
        }
        // Somebody who can write the file can make its checksum too.
        var random = SeededGenerator(seed: 4)
        for _ in 0..<2_000 {
            var body = Array(bytes[44...])
            body[Int(random.next() % UInt64(body.count))] = UInt8(truncatingIfNeeded: random.next())
            _ = KeyValueStoreFile.decode(Array(bytes[..<12]) + SHA256.digest(body) + body)
        }
    }
}
