import CloudKit
import Foundation
import Testing

@Suite("Predicates and sort descriptors in archives")
struct PredicateArchiveTests {
    private func archived(_ object: Any) throws -> Data {
        try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
    }

    private static let here = CLLocation(latitude: 52.5, longitude: 13.4)

    private static var predicates: [NSPredicate] {
        [
            NSPredicate(value: true), NSPredicate(value: false),
            NSPredicate(format: "title BEGINSWITH %@", "a\"\\ \0é"),
            NSPredicate(format: "a == %d AND (b < %f OR NOT c IN %@)", 1, 2.5, ["x", "y"]),
            NSPredicate(format: "d > %@", Date(timeIntervalSinceReferenceDate: 0.1) as NSDate),
            NSPredicate(format: "up == %@", CKRecord.ID(recordName: "r")),
            NSPredicate(format: "blob == %@", Data([0, 255])),
            NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < 500", here),
            NSPredicate(format: "self CONTAINS %@", "some words"), NSPredicate(format: "ANY tags == $TAG"),
            NSComparisonPredicate(
                leftExpression: NSExpression(forKeyPath: "a"), rightExpression: NSExpression(forConstantValue: 1),
                modifier: .direct, type: .equalTo),
        ]
    }

    @Test("a predicate comes out of an archive as it went in, by itself and in a list")
    func predicate() throws {
        for predicate in Self.predicates { try check(predicate) }
    }

    private func check(_ predicate: NSPredicate) throws {
        let again = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPredicate.self, from: archived(predicate)))
        #expect(again == predicate)
        #expect(again.canonicalFormat == predicate.canonicalFormat)
        let list = try NSKeyedUnarchiver.unarchivedObject(
            ofClasses: [NSArray.self, NSPredicate.self], from: archived([predicate, predicate] as NSArray))
        #expect((list as? [NSPredicate]) == [predicate, predicate])
    }

    @Test("a compound of Foundation's own making is read as what it is")
    func compound() throws {
        let compound = NSCompoundPredicate(andPredicateWithSubpredicates: Array(Self.predicates[..<4]))
        let again = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: NSCompoundPredicate.self, from: archived(compound)))
        #expect(again.canonicalFormat == compound.canonicalFormat)
        #expect(
            again.compoundPredicateType == .and && again.subpredicates == Array(Self.predicates[..<4])
        )
    }

    @Test("predicates are equal when they say the same, whichever way they were made")
    func equality() {
        let text = NSPredicate(format: "a == 1 AND b > 2")
        #expect(
            text == NSPredicate(format: "(a = %d) && b > %@", 1, 2)
                && text.hash == NSPredicate(format: "a==1 and b>2").hash)
        #expect(text != NSPredicate(format: "b > 2 AND a == 1") && text != NSPredicate(format: "a == 1 OR b > 2"))
        let made = NSCompoundPredicate(
            andPredicateWithSubpredicates: [NSPredicate(format: "a == 1"), NSPredicate(format: "b > 2")])
        #expect(text == made && made == text)
        #expect(NSPredicate(value: true) == NSPredicate(format: "TRUEPREDICATE"))
        #expect(NSPredicate(value: true) != NSPredicate(format: "FALSEPREDICATE"))
        #expect(NSPredicate(format: "a == 1") != NSPredicate(format: "a == 1.0"))
        #expect(Set([NSPredicate(format: "a == 1"), NSPredicate(format: "a = 1")]).count == 1)
        #expect(NSSortDescriptor(key: "a", ascending: true) == NSSortDescriptor(key: "a", ascending: true))
        #expect(NSSortDescriptor(key: "a", ascending: true) != NSSortDescriptor(key: "a", ascending: false))
        #expect(
            CKLocationSortDescriptor(key: "a", relativeLocation: Self.here)
                != CKLocationSortDescriptor(key: "a", relativeLocation: CLLocation(latitude: 1, longitude: 2)))
    }

    @Test("a sort descriptor comes out of an archive as it went in")
    func sortDescriptors() throws {
        for ascending in [true, false] {
            let descriptor = NSSortDescriptor(key: "title", ascending: ascending)
            let again = try NSKeyedUnarchiver.unarchivedObject(
                ofClass: NSSortDescriptor.self, from: archived(descriptor))
            #expect(again == descriptor && again?.key == "title")
        }
        let place = CKLocationSortDescriptor(key: "place", relativeLocation: Self.here)
        let again = try NSKeyedUnarchiver.unarchivedObject(
            ofClasses: [CKLocationSortDescriptor.self, CLLocation.self], from: archived(place))
        #expect(again as? CKLocationSortDescriptor == place)
        let ofProperty = NSSortDescriptor(keyPath: \CKRecord.creationDate, ascending: true)
        #expect(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: NSSortDescriptor.self, from: archived(ofProperty))?.key
                == CKRecord.SystemFieldKey.creationDate)
    }

    @Test("archives that hold no valid predicate or descriptor give none, and never a trap")
    func hostile() throws {
        func decoder(_ write: (NSKeyedArchiver) -> Void) throws -> NSKeyedUnarchiver {
            let archiver = NSKeyedArchiver(requiringSecureCoding: true)
            write(archiver)
            archiver.finishEncoding()
            let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
            unarchiver.requiresSecureCoding = true
            return unarchiver
        }
        #expect(NSPredicate(coder: try decoder { _ in }) == nil)
        #expect(NSSortDescriptor(coder: try decoder { _ in }) == nil)
        let deep = String(repeating: "(", count: 100_000) + "a == 1" + String(repeating: ")", count: 100_000)
        for text in [
            "", "a ==", "a == %@", "a == %d", deep, String(repeating: "NOT ", count: 100_000) + "a == 1", "\0",
        ] {
            #expect(NSPredicate(coder: try decoder { $0.encode(text as NSString, forKey: "PredicateFormat") }) == nil)
        }
        #expect(
            NSCompoundPredicate(
                coder: try decoder { $0.encode("a == 1" as NSString, forKey: "PredicateFormat") }) == nil,
            "a comparison is no compound")
        #expect(
            NSSortDescriptor(coder: try decoder { $0.encode("a" as NSString, forKey: "SortKey") }) == nil,
            "no direction")
        #expect(
            CKLocationSortDescriptor(
                coder: try decoder {
                    $0.encode("a" as NSString, forKey: "SortKey")
                    $0.encode(true, forKey: "SortAscending")
                }) == nil, "no place")
    }

    @Test("arguments in a C list are those that an array would have held")
    func variadic() {
        let date = Date(timeIntervalSinceReferenceDate: 7)
        let record = CKRecord.ID(recordName: "r")
        func made(_ format: String, _ arguments: any CVarArg...) -> NSPredicate {
            withVaList(arguments) { NSPredicate(format: format, arguments: $0) }
        }
        #expect(made("a == 1") == NSPredicate(format: "a == 1"))
        #expect(made("%K == %@", "title", "x") == NSPredicate(format: "title == 'x'"))
        #expect(
            made("a == %d AND b == %lld AND c < %f AND d == %u", -5, Int64.max, 2.5, UInt32.max)
                == NSPredicate(format: "a == -5 AND b == 9223372036854775807 AND c < 2.5 AND d == 4294967295"))
        // More than fit into registers, of both kinds.
        let format = (0..<20).map { "a\($0) == %d AND b\($0) == %f" }.joined(separator: " AND ")
        let arguments = (0..<20).flatMap { [$0, Double($0) + 0.5] as [any CVarArg] }
        #expect(
            withVaList(arguments) { NSPredicate(format: format, arguments: $0) }
                == NSPredicate(format: format, argumentArray: arguments))
        #expect(
            made(
                "d > %@ AND up == %@ AND t IN %@ AND b == %@ AND n == %@", date, record, ["x", "y"], Data([1]),
                NSNumber(value: 3))
                == NSPredicate(
                    format: "d > %@ AND up == %@ AND t IN %@ AND b == %@ AND n == %@", date, record, ["x", "y"],
                    Data([1]),
                    NSNumber(value: 3)))
        // Texts of arguments that are gone are forgotten.
        for number in 0..<1_000 {
            #expect(made("a == %@", NSNumber(value: number)) == NSPredicate(format: "a == %@", NSNumber(value: number)))
        }
    }
}
