import BrumeModel
import CloudKit
import Testing

private typealias Tree = BrumeModel.Predicate

private func name(_ key: String) -> QueryKey { .field(key) }

private func reference(_ name: String) -> FieldValue { .reference(Reference(recordName: name, deletesSelf: false)) }

@Suite("A predicate for the server")
struct PredicateTranslationTests {
    struct Row: @unchecked Sendable, CustomTestStringConvertible {
        let predicate: NSPredicate
        let expected: BrumeModel.Predicate

        init(_ predicate: NSPredicate, _ expected: BrumeModel.Predicate) {
            self.predicate = predicate
            self.expected = expected
        }

        var testDescription: String { predicate.canonicalFormat }
    }

    private static let place = CLLocation(latitude: 48.2, longitude: 16.4)
    private static let author = CKRecord.ID(recordName: "author")
    private static let moment = Date(timeIntervalSinceReferenceDate: 7.5)

    static let rows: [Row] = [
        Row(NSPredicate(value: true), .constant(true)),
        Row(NSPredicate(format: "FALSEPREDICATE"), .constant(false)),
        Row(NSPredicate(format: "title == 'a'"), .comparison(name("title"), .equal, .string("a"))),
        Row(NSPredicate(format: "title = %@", "a"), .comparison(name("title"), .equal, .string("a"))),
        Row(NSPredicate(format: "pages != 5"), .comparison(name("pages"), .notEqual, .int64(5))),
        Row(NSPredicate(format: "pages <> 5"), .comparison(name("pages"), .notEqual, .int64(5))),
        Row(NSPredicate(format: "pages => %d", 5), .comparison(name("pages"), .greaterOrEqual, .int64(5))),
        Row(NSPredicate(format: "pages =< %f", 5.5), .comparison(name("pages"), .lessOrEqual, .double(5.5))),
        Row(NSPredicate(format: "5 < pages"), .comparison(name("pages"), .greater, .int64(5))),
        Row(NSPredicate(format: "5 >= pages"), .comparison(name("pages"), .lessOrEqual, .int64(5))),
        Row(NSPredicate(format: "done == YES"), .comparison(name("done"), .equal, .int64(1))),
        Row(NSPredicate(format: "done == %@", true), .comparison(name("done"), .equal, .int64(1))),
        Row(NSPredicate(format: "title BEGINSWITH %@", "ab"), .comparison(name("title"), .beginsWith, .string("ab"))),
        Row(NSPredicate(format: "pages BETWEEN {1, 5}"), .between(name("pages"), .int64(1), .int64(5))),
        Row(NSPredicate(format: "pages BETWEEN %@", [1, 5.5]), .between(name("pages"), .double(1), .double(5.5))),
        Row(NSPredicate(format: "pages IN {1, 2}"), .isIn(name("pages"), [.int64(1), .int64(2)])),
        Row(NSPredicate(format: "title IN %@", ["a", "b"]), .isIn(name("title"), [.string("a"), .string("b")])),
        Row(NSPredicate(format: "title IN %@", [String]()), .isIn(name("title"), [])),
        Row(NSPredicate(format: "{'a', 'b'} CONTAINS title"), .isIn(name("title"), [.string("a"), .string("b")])),
        Row(NSPredicate(format: "tags CONTAINS 'x'"), .anyElement(name("tags"), .equal, .string("x"))),
        Row(NSPredicate(format: "%@ IN tags", "x"), .anyElement(name("tags"), .equal, .string("x"))),
        Row(NSPredicate(format: "ANY tags == 'x'"), .anyElement(name("tags"), .equal, .string("x"))),
        Row(NSPredicate(format: "SOME marks > 3"), .anyElement(name("marks"), .greater, .int64(3))),
        Row(NSPredicate(format: "ANY tags BEGINSWITH 'x'"), .anyElement(name("tags"), .beginsWith, .string("x"))),
        Row(
            NSPredicate(format: "ANY tags IN %@", ["x", "y"]),
            .anyElementIsIn(name("tags"), [.string("x"), .string("y")])),
        Row(
            NSPredicate(format: "ANY {'red', 'green'} = color"),
            .isIn(name("color"), [.string("red"), .string("green")])),
        Row(NSPredicate(format: "ANY %@ == color", ["red"]), .isIn(name("color"), [.string("red")])),
        Row(NSPredicate(format: "NONE tags == 'x'"), .not(.anyElement(name("tags"), .equal, .string("x")))),
        Row(NSPredicate(format: "self CONTAINS 'a b'"), .text("a b", .anyWord)),
        Row(NSPredicate(format: "SELF CONTAINS[cd] %@", "a"), .text("a", .anyWord)),
        Row(NSPredicate(format: "allTokens TOKENMATCHES[cdl] %@", "a b"), .text("a b", .allWords)),
        Row(NSPredicate(format: "self TOKENMATCHES[cdl] tokenize:using:(%@, 'cdl')", "a"), .text("a", .allWords)),
        Row(
            NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < %f", place, 500.0),
            .distance(name("place"), latitude: 48.2, longitude: 16.4, metres: 500, isInclusive: false)),
        Row(
            NSPredicate(format: "1000 >= distanceToLocation:fromLocation:(%@, place)", place),
            .distance(name("place"), latitude: 48.2, longitude: 16.4, metres: 1000, isInclusive: true)),
        Row(NSPredicate(format: "due < %@", moment as NSDate), .comparison(name("due"), .less, .date(7.5))),
        Row(
            NSPredicate(format: "creationDate > %@", moment), .comparison(.creationDate, .greater, .date(7.5))),
        Row(
            NSPredicate(format: "folder == %@", CKRecord.Reference(recordID: author, action: .deleteSelf)),
            .comparison(name("folder"), .equal, reference("author"))),
        Row(NSPredicate(format: "recordID == %@", author), .comparison(.recordID, .equal, reference("author"))),
        Row(
            NSPredicate(format: "creatorUserRecordID = %@", CKRecord.Reference(recordID: author, action: .none)),
            .comparison(.creatorUserRecordID, .equal, reference("author"))),
        Row(
            NSPredicate(format: "recordID IN %@", [author, CKRecord.ID(recordName: "b")]),
            .isIn(.recordID, [reference("author"), reference("b")])),
        Row(
            NSPredicate(format: "folder == %@", CKRecord(recordType: "Folder", recordID: author)),
            .comparison(name("folder"), .equal, reference("author"))),
        Row(
            NSPredicate(format: "%K CONTAINS %@", "folders", CKRecord.Reference(recordID: author, action: .none)),
            .anyElement(name("folders"), .equal, reference("author"))),
        Row(
            NSPredicate(format: "a == 1 AND b == 2 OR NOT c == 3"),
            .or([
                .and([.comparison(name("a"), .equal, .int64(1)), .comparison(name("b"), .equal, .int64(2))]),
                .not(.comparison(name("c"), .equal, .int64(3))),
            ])),
        Row(NSCompoundPredicate(andPredicateWithSubpredicates: []), .constant(true)),
        Row(NSCompoundPredicate(orPredicateWithSubpredicates: []), .constant(false)),
        Row(
            NSCompoundPredicate(andPredicateWithSubpredicates: [NSPredicate(format: "a == 1")]),
            .comparison(name("a"), .equal, .int64(1))),
        Row(
            NSPredicate(format: "a == $A").withSubstitutionVariables(["A": 5]),
            .comparison(name("a"), .equal, .int64(5))),
        Row(
            NSComparisonPredicate(
                leftExpression: NSExpression(forKeyPath: "a"), rightExpression: NSExpression(forConstantValue: 2.5),
                modifier: .direct, type: .lessThan), .comparison(name("a"), .less, .double(2.5))),
    ]

    @Test("means what its text says", arguments: rows)
    func translation(row: Row) throws {
        #expect(try row.predicate.translated() == row.expected)
        // The text says the same again.
        let again = NSPredicate(format: row.predicate.canonicalFormat)
        #expect(again.saysTheSame(as: row.predicate))
        #expect(again.canonicalFormat == row.predicate.canonicalFormat)
        #expect(try again.translated() == row.expected)
    }

    @Test("asks for the moment of the query with now()")
    func now() throws {
        let before = Date().timeIntervalSinceReferenceDate
        let tree = try NSPredicate(format: "due < now()").translated()
        guard case .comparison(.field("due"), .less, .date(let moment)) = tree else {
            Issue.record("\(tree)")
            return
        }
        #expect(moment >= before && moment <= Date().timeIntervalSinceReferenceDate)
    }
}

@Suite("A query for the server")
struct QueryTranslationTests {
    @Test("has type, predicate and order")
    func query() throws {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "pages > 3"))
        let place = CLLocation(latitude: 1, longitude: 2)
        query.sortDescriptors = [
            NSSortDescriptor(key: "title", ascending: true),
            NSSortDescriptor(key: "creationDate", ascending: false),
            NSSortDescriptor(keyPath: \CKRecord.modificationDate, ascending: false),
            CKLocationSortDescriptor(key: "place", relativeLocation: place),
        ]
        let expected = Query(
            recordType: "Note", predicate: .comparison(name("pages"), .greater, .int64(3)),
            sortDescriptors: [
                QuerySort(key: name("title")), QuerySort(key: .creationDate, isAscending: false),
                QuerySort(key: .modificationDate, isAscending: false),
                QuerySort(key: name("place"), relativeTo: QuerySort.Place(latitude: 1, longitude: 2)),
            ])
        #expect(try query.translated() == expected)
        let copy = try #require(query.copy() as? CKQuery)
        copy.sortDescriptors = nil
        #expect(try query.translated() == expected, "a copy shares nothing")

        let data = try NSKeyedArchiver.archivedData(withRootObject: query, requiringSecureCoding: true)
        let again = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQuery.self, from: data))
        #expect(try again.translated() == expected)
        #expect(again.sortDescriptors == query.sortDescriptors)
        #expect(again.predicate is NSComparisonPredicate)
    }

    @Test("is refused when the server has no such order or type")
    func refusals() {
        func problem(_ type: String = "Note", _ sort: NSSortDescriptor...) -> String {
            let query = CKQuery(recordType: type, predicate: NSPredicate(value: true))
            query.sortDescriptors = sort
            do {
                _ = try query.translated()
                return "none"
            } catch {
                return "\(error.code.rawValue): \(error.localizedDescription)"
            }
        }
        #expect(problem() == "none")
        #expect(problem("Users").hasPrefix("12: records of type \"Users\" can't be queried"))
        #expect(problem("No type").hasPrefix("12: a record type holds"))
        #expect(
            problem("Note", NSSortDescriptor(key: nil, ascending: true)).hasPrefix("12: a sort descriptor has no key"))
        #expect(problem("Note", NSSortDescriptor(key: "a.b", ascending: true)).contains("key path with a dot"))
        let nowhere = CLLocation(latitude: 100, longitude: 0)
        #expect(problem("Note", CKLocationSortDescriptor(key: "p", relativeLocation: nowhere)).contains("degrees"))
        let many = (0...16).map { NSSortDescriptor(key: "k\($0)", ascending: true) }
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        query.sortDescriptors = many
        #expect(throws: CKError.self) { try query.translated() }
    }
}
