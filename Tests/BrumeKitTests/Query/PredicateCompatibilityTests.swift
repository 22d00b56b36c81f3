import CloudKit
import Foundation
import Testing

// Lines as CloudKit apps have them. Most of the test is that they compile: with Foundation imported, and without
// labels, types or conversions that Apple's systems don't need.

@Suite("An app's queries")
struct PredicateCompatibilityTests {
    @Test("compile and are understood")
    func queries() {
        let name = "Ann"
        let age = 18
        let price: Float = 9.5
        let radius: CGFloat = 5000
        let date = Date()
        let tags = ["swift", "linux"]
        let recordID = CKRecord.ID(recordName: "r1")
        let record = CKRecord(recordType: "List", recordID: recordID)
        let reference = CKRecord.Reference(recordID: recordID, action: .deleteSelf)
        let references = [reference]
        let location = CLLocation(latitude: 37.33, longitude: -122.03)
        let optional: String? = "x"
        let count: Int64 = 3
        let arguments: [Any] = [date, date]
        let variadic: [any CVarArg] = [name, age, date, reference, tags, Data()]
        let startOfDay = Calendar(identifier: .gregorian).startOfDay(for: date)

        func understood(_ predicate: NSPredicate) {
            let query = CKQuery(recordType: "Person", predicate: predicate)
            let order: [NSSortDescriptor] = [
                NSSortDescriptor(key: "name", ascending: true), NSSortDescriptor(key: "creationDate", ascending: false),
                CKLocationSortDescriptor(key: "place", relativeLocation: location),
            ]
            query.sortDescriptors = order
            #expect(throws: Never.self, "\(predicate)") { try query.translated() }
        }
        understood(NSPredicate(value: true))
        understood(NSPredicate(format: "TRUEPREDICATE"))
        understood(NSPredicate(format: "name == %@ AND age > %d", name, age))
        understood(NSPredicate(format: "name = %@", name))
        understood(NSPredicate(format: "name == '\(name)'"))
        understood(NSPredicate(format: "name == \"Ann\""))
        understood(NSPredicate(format: "%K == %@", "name", name))
        understood(NSPredicate(format: "%K = %@", argumentArray: ["name", name]))
        understood(NSPredicate(format: "name == %@", optional!))
        understood(NSPredicate(format: "name BEGINSWITH %@", name))
        understood(NSPredicate(format: "name beginswith 'A'"))
        understood(NSPredicate(format: "age >= %i && age <= %i", 18, 65))
        understood(NSPredicate(format: "age BETWEEN {18, 65}"))
        understood(NSPredicate(format: "age BETWEEN {%d, %d}", 18, 65))
        understood(NSPredicate(format: "age BETWEEN %@", [18, 65]))
        understood(NSPredicate(format: "count == %lld", count))
        understood(NSPredicate(format: "count == %ld", age))
        understood(NSPredicate(format: "price < %f", price))
        understood(NSPredicate(format: "price < \(price)"))
        understood(NSPredicate(format: "isDone == %@", NSNumber(value: false)))
        understood(NSPredicate(format: "isDone == %d", true))
        understood(NSPredicate(format: "isDone == NO AND isPublic = 1"))
        understood(NSPredicate(format: "date > %@", date as NSDate))
        understood(NSPredicate(format: "date > %@", date as any CVarArg))
        understood(NSPredicate(format: "startDate <= %@ AND endDate >= %@", argumentArray: arguments))
        understood(NSPredicate(format: "(date >= %@) AND (date < %@)", startOfDay as NSDate, date as NSDate))
        understood(NSPredicate(format: "modificationDate > %@", date as any CVarArg))
        understood(NSPredicate(format: "creationDate >= %@", argumentArray: [date]))
        understood(NSPredicate(format: "%K > %@", CKRecord.SystemFieldKey.modificationDate, date as NSDate))
        understood(NSPredicate(format: "creatorUserRecordID == %@", recordID))
        understood(NSPredicate(format: "creatorUserRecordID = %@", CKRecord.ID(recordName: CKCurrentUserDefaultName)))
        understood(NSPredicate(format: "recordID = %@", recordID))
        understood(NSPredicate(format: "recordID IN %@", references))
        understood(NSPredicate(format: "recordID IN %@", references as any CVarArg))
        understood(NSPredicate(format: "NOT (recordID IN %@)", references))
        understood(NSPredicate(format: "list == %@", reference))
        understood(NSPredicate(format: "list = %@", record))
        understood(NSPredicate(format: "list == %@", record.recordID))
        understood(NSPredicate(format: "list == %@", CKRecord.Reference(record: record, action: .none)))
        understood(NSPredicate(format: "%@ CONTAINS list", references))
        understood(NSPredicate(format: "tags CONTAINS %@", "swift"))
        understood(NSPredicate(format: "%@ IN tags", "swift"))
        understood(NSPredicate(format: "ANY tags IN %@", tags))
        understood(NSPredicate(format: "ANY %K = %@", "tags", "swift"))
        understood(NSPredicate(format: "type in {'a', 'b'}"))
        understood(NSPredicate(format: "type IN %@", NSArray(array: ["a", "b"])))
        understood(NSPredicate(format: "type IN %@", Set(tags)))
        understood(NSPredicate(format: "self contains %@", "some words"))
        understood(NSPredicate(format: "self contains 'bob'"))
        understood(NSPredicate(format: "allTokens TOKENMATCHES[cdl] %@", "after"))
        understood(NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < %f", location, 1000.0))
        understood(NSPredicate(format: "distanceToLocation:fromLocation:(%K,%@) < %f", "place", location, radius))
        understood(
            NSCompoundPredicate(type: .and, subpredicates: [NSPredicate(format: "a == 1"), NSPredicate(value: true)]))
        understood(NSCompoundPredicate(andPredicateWithSubpredicates: [NSPredicate(format: "a == 1")]))
        understood(
            NSCompoundPredicate(orPredicateWithSubpredicates: tags.map { NSPredicate(format: "tags CONTAINS %@", $0) }))
        understood(NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate(format: "a == 1")))
        understood(
            NSComparisonPredicate(
                leftExpression: NSExpression(forKeyPath: "a"), rightExpression: NSExpression(forConstantValue: 1),
                modifier: .direct, type: .equalTo, options: []))
        understood(
            NSPredicate(
                format: "a == %@ AND b == %d AND c < %@ AND d == %@ AND ANY e IN %@ AND f != %@",
                argumentArray: variadic.dropLast() + ["f"]))
        let all = NSPredicate(value: true)
        let some: NSPredicate? = NSPredicate(format: "a == 1")
        let both: NSCompoundPredicate = .init(andPredicateWithSubpredicates: [all, some!])
        understood(both)
        #expect(String(format: "%@ %@", NSNumber(value: 3), tags) == "3 [\"swift\", \"linux\"]")
    }
}
