import BrumeModel
import Foundation
import Testing

@testable import BrumeKit

@Suite("A field's value")
struct FieldValueTests {
    private func canonical(_ value: any CKRecordValueProtocol) throws -> FieldValue {
        try FieldValue(value, in: .default)
    }

    @Test("has one form for every kind of number")
    func numbers() throws {
        let sevens: [any CKRecordValueProtocol] = [
            7, Int8(7), Int16(7), Int32(7), Int64(7), UInt(7), UInt8(7), UInt16(7), UInt32(7), UInt64(7),
            NSNumber(value: 7), NSNumber(value: UInt64(7)),
        ]
        for seven in sevens {
            #expect(try canonical(seven) == .int64(7), "\(type(of: seven))")
        }
        #expect(try canonical(true) == .int64(1))
        #expect(try canonical(NSNumber(value: false)) == .int64(0))
        #expect(try canonical(1.0) == .double(1))
        #expect(try canonical(Float(0.5)) == .double(0.5))
        #expect(try canonical(NSNumber(value: 2.0)) == .double(2))
        #expect(try canonical(NSNumber(value: Float(2.5))) == .double(2.5))
        #expect(try canonical(Int64.min) == .int64(.min))
    }

    @Test("is refused when a number does not fit into 64 signed bits")
    func tooLarge() {
        #expect(throws: UnsupportedFieldValue.self) { try canonical(UInt64.max) }
        #expect(throws: UnsupportedFieldValue.self) { try canonical(NSNumber(value: UInt64.max)) }
        #expect(throws: UnsupportedFieldValue.self) { try canonical([1, UInt64.max]) }
    }

    @Test("is equal from Swift's types and from their Objective-C forms")
    func objects() throws {
        let date = Date(timeIntervalSinceReferenceDate: 12.25)
        #expect(try canonical(NSString(string: "s")) == canonical("s"))
        #expect(try canonical(date as NSDate) == canonical(date))
        #expect(try canonical(date) == .date(12.25))
        #expect(try canonical(Data([1]) as NSData) == canonical(Data([1])))
        #expect(try canonical(NSArray(array: ["a", "b"])) == .strings(["a", "b"]))
        #expect(try canonical(NSArray(array: [NSNumber(value: 1), NSNumber(value: 2)])) == .int64s([1, 2]))
    }

    @Test("is a list of one kind, with integers beside floating-point numbers as such")
    func lists() throws {
        let date = Date(timeIntervalSinceReferenceDate: 1)
        let place = CLLocation(latitude: 1, longitude: 2)
        let reference = CKRecord.Reference(recordID: CKRecord.ID(recordName: "r"), action: .deleteSelf)
        #expect(try canonical(["a"]) == .strings(["a"]))
        #expect(try canonical([1, 2]) == .int64s([1, 2]))
        #expect(try canonical([true, false]) == .int64s([1, 0]))
        #expect(try canonical([1.5]) == .doubles([1.5]))
        #expect(try canonical([Data([9])]) == .bytesList([[9]]))
        #expect(try canonical([date]) == .dates([1]))
        #expect(try canonical([place]) == .locations([place.modelLocation]))
        #expect(try canonical([reference]) == .references([Reference(recordName: "r", deletesSelf: true)]))
        #expect(try canonical([String]()) == .emptyList)
        #expect(try canonical(NSArray()) == .emptyList)
        #expect(try canonical(NSArray(array: [NSNumber(value: 1), NSNumber(value: 1.5)])) == .doubles([1, 1.5]))
    }

    @Test("is refused as a list of several kinds, of lists, or of what no field can hold")
    func badLists() {
        #expect(throws: UnsupportedFieldValue.self) { try canonical(NSArray(array: ["a", NSNumber(value: 1)])) }
        #expect(throws: UnsupportedFieldValue.self) { try canonical(NSArray(array: [NSNumber(value: 1), "a"])) }
        #expect(throws: UnsupportedFieldValue.self) { try canonical([["a"]]) }
        #expect(throws: UnsupportedFieldValue.self) { try canonical(NSArray(array: [NSNull()])) }
    }

    @Test("is refused as a reference into another zone")
    func foreignReference() {
        let id = CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "Other"))
        #expect(throws: UnsupportedFieldValue.self) { try canonical(CKRecord.Reference(recordID: id, action: .none)) }
    }

    @Test("reads back as each number type that holds it")
    func readNumbers() {
        let record = CKRecord(recordType: "Note")
        record["one"] = 1
        record["large"] = 70_000
        record["half"] = 0.5
        record["flags"] = [true, false]
        record["numbers"] = [1, 2]
        #expect(record["one"] as? Int == 1)
        #expect(record["one"] as? Int8 == 1)
        #expect(record["one"] as? UInt64 == 1)
        #expect(record["one"] as? Double == 1)
        #expect(record["one"] as? Bool == true)
        #expect(record["one"] as? NSNumber == 1)
        #expect(record["one"] as? String == nil)
        #expect(record["large"] as? Int32 == 70_000)
        #expect(record["large"] as? Int8 == nil)
        #expect(record["half"] as? Int == nil)
        #expect(record["half"] as? Float == 0.5)
        #expect(record["flags"] as? [Bool] == [true, false])
        #expect(record["numbers"] as? [Int32] == [1, 2])
        #expect(record["numbers"] as? [Double] == [1, 2])
        #expect(record["numbers"] as? NSArray == [1, 2])
        let typed: Int16? = record["one"]
        #expect(typed == 1)
        let wrong: String? = record["one"]
        #expect(wrong == nil)
    }

    @Test("reads back as it was set, in Swift's and in Objective-C's form")
    func readOthers() {
        let record = CKRecord(recordType: "Note")
        let date = Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)
        let place = CLLocation(latitude: 1, longitude: 2)
        let reference = CKRecord.Reference(recordID: CKRecord.ID(recordName: "r"), action: .deleteSelf)
        record["string"] = "a\u{0}ä"
        record["date"] = date
        record["data"] = Data([0, 255])
        record["place"] = place
        record["reference"] = reference
        record["strings"] = ["a"]
        record["dates"] = [date]
        record["datas"] = [Data()]
        record["places"] = [place]
        record["references"] = [reference]
        record["empty"] = [Int]()
        #expect(record["string"] as? String == "a\u{0}ä")
        #expect(record["string"] as? NSString == "a\u{0}ä")
        #expect(record["date"] as? Date == date)
        #expect(record["date"] as? NSDate == date as NSDate)
        #expect(record["data"] as? NSData == Data([0, 255]) as NSData)
        #expect(record["place"] as? CLLocation == place)
        #expect(record["reference"] as? CKRecord.Reference == reference)
        #expect(record["strings"] as? NSArray == ["a"])
        #expect(record["dates"] as? [Date] == [date])
        #expect(record["datas"] as? [Data] == [Data()])
        #expect(record["places"] as? [CLLocation] == [place])
        #expect(record["references"] as? [CKRecord.Reference] == [reference])
        #expect(record["empty"] as? [Int] == [])
        #expect(record["empty"] as? [Date] == [])
    }
}
