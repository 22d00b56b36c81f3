import CloudKit
import Testing

@Suite("A predicate that no server runs")
struct PredicateRefusalTests {
    struct Row: @unchecked Sendable, CustomTestStringConvertible {
        let predicate: NSPredicate
        let problem: String

        init(_ predicate: NSPredicate, _ problem: String) {
            self.predicate = predicate
            self.problem = problem
        }

        init(_ format: String, _ problem: String) {
            self.init(NSPredicate(format: format), problem)
        }

        var testDescription: String { predicate.canonicalFormat }
    }

    private static let place = CLLocation(latitude: 1, longitude: 2)

    static let rows: [Row] = [
        Row("name LIKE 'a*'", "LIKE is not supported; use BEGINSWITH"),
        Row("name MATCHES 'a.*'", "MATCHES is not supported; use BEGINSWITH"),
        Row("name ENDSWITH 'a'", "ENDSWITH is not supported; use BEGINSWITH"),
        Row("name TOKENMATCHES[cdl] 'a'", "write self or allTokens there"),
        Row("name ==[c] 'a'", "== takes no options such as [c]: fields are compared exactly"),
        Row("name BEGINSWITH[cd] 'a'", "BEGINSWITH takes no options"),
        Row("tags CONTAINS[c] 'a'", "CONTAINS takes no options"),
        Row("ALL tags == 'a'", "ALL is not supported; ANY and CONTAINS"),
        Row("name == nil", "\"name\" is compared with nil, and whether a field has a value can't be asked for"),
        Row("name != NULL", "is compared with nil"),
        Row("name IN {'a', nil}", "is compared with nil"),
        Row("owner.name == 'a'", "key path with a dot"),
        Row("tags.@count > 1", "key path with a dot"),
        Row("a == b", "== compares two keys"),
        Row("1 == 1", "== compares two values; one side has to be a key"),
        Row("'a' BEGINSWITH name", "BEGINSWITH needs the key on its left side"),
        Row("self == 'a'", "SELF is for searches alone"),
        Row("self IN {'a'}", "SELF is for searches alone"),
        Row("self CONTAINS 5", "a search for words takes a String"),
        Row("ANY self CONTAINS 'a'", "a search for words takes no ANY"),
        Row("_a == 1", "a field key starts with something else than an ASCII letter"),
        Row("größe == 1", "a field key holds something else"),
        Row("a == $X", "$X has no value; give it one with withSubstitutionVariables"),
        Row("a == lowercase:('A')", "the function lowercase: is not supported here"),
        Row("length:(a) == 5", "the function length: is not supported here"),
        Row("a IN 5", "\"a\" is compared by IN with something else than a list"),
        Row("a == {1, 2}", "is compared by == with a list; use IN"),
        Row("a IN {1, 'x'}", "a list of several kinds of values"),
        Row("a IN {1, {2}}", "is compared by == with a list"),
        Row("a BETWEEN {1}", "\"a\" BETWEEN needs a list of two values"),
        Row("a BETWEEN 5", "\"a\" BETWEEN needs a list of two values"),
        Row("a BETWEEN {1, 'x'}", "a list of several kinds of values"),
        Row("a BEGINSWITH 5", "BEGINSWITH with something else than a string"),
        Row("ANY a CONTAINS 'x'", "ANY \"a\" CONTAINS is not supported"),
        Row("tags CONTAINS {'a', 'b'}", "is asked for a list as its element"),
        Row("recordID == 'a'", "\"recordID\" is compared with something else than a record"),
        Row("recordID CONTAINS 'a'", "\"recordID\" is no list"),
        Row("creationDate > 5", "\"creationDate\" is compared with something else than a date"),
        Row(NSPredicate(format: "a < %@", CKRecord.ID(recordName: "r")), "is compared by < with a reference"),
        Row(NSPredicate(format: "a == %@", CKRecord.ID(recordName: "_r")), "is compared with a record that can't be"),
        Row(NSPredicate(format: "a == %@", Data([1])), "is compared with Data, which can't be searched for"),
        Row(NSPredicate(format: "a == %@", place), "write distanceToLocation:fromLocation:(a, %@) < metres"),
        Row(NSPredicate(format: "a == %@", UUID()), "UUID can't be stored in a record"),
        Row(NSPredicate(format: "a == %f", Double.nan), "a number is NaN"),
        Row(NSPredicate(format: "a < %f", Double.infinity), "a number that is not finite"),
        Row(NSPredicate(format: "a == %@", UInt64.max), "does not fit into a 64-bit signed integer"),
        Row(
            NSPredicate(format: "distanceToLocation:fromLocation:(p, %@) > 5", place),
            "a distance is compared by >; only records nearer"),
        Row(
            NSPredicate(format: "5 < distanceToLocation:fromLocation:(p, %@)", place), "a distance is compared by >"),
        Row(NSPredicate(format: "distanceToLocation:fromLocation:(p, %@) < -1", place), "a negative number"),
        Row(NSPredicate(format: "distanceToLocation:fromLocation:(p, %@) < 'x'", place), "give it metres"),
        Row("distanceToLocation:fromLocation:(p, q) < 5", "is compared with the key \"q\""),
        Row("distanceToLocation:fromLocation:(p) < 5", "takes a key and a CLLocation"),
        Row(NSPredicate(format: "distanceToLocation:fromLocation:(creationDate, %@) < 5", place), "field of places"),
        Row(
            NSPredicate(
                format: "distanceToLocation:fromLocation:(p, %@) < 5", CLLocation(latitude: 91, longitude: 0)),
            "degrees"),
        Row(NSPredicate { _, _ in true }, "predicates for CloudKit can't be blocks"),
        Row(
            NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate { _, _ in true }),
            "predicates for CloudKit can't be blocks"),
        Row(
            NSComparisonPredicate(
                leftExpression: NSExpression(forKeyPath: "a"), rightExpression: NSExpression(forConstantValue: 1),
                modifier: .direct, type: .customSelector), "can't call selectors"),
    ]

    @Test("is refused with invalidArguments and what to write instead", arguments: rows)
    func refusal(row: Row) {
        let query = CKQuery(recordType: "Note", predicate: row.predicate)
        let error = #expect(throws: CKError.self) { try query.translated() }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains(row.problem) == true, "\(error?.localizedDescription ?? "")")
        let secret = error?.localizedDescription.contains("'a'") == true
        #expect(!secret, "values stay out of errors")
    }

    @Test("is refused with limitExceeded when it is too large")
    func limits() {
        func code(_ predicate: NSPredicate) -> CKError.Code? {
            do {
                _ = try predicate.translated()
                return nil
            } catch { return error.code }
        }
        func joined(_ count: Int) -> NSPredicate {
            NSCompoundPredicate(
                orPredicateWithSubpredicates: (0..<count).map { NSPredicate(format: "a == %d", $0) })
        }
        #expect(code(joined(1_000)) == nil)
        #expect(code(joined(1_001)) == .limitExceeded)
        #expect(code(NSCompoundPredicate(andPredicateWithSubpredicates: [joined(600), joined(600)])) == .limitExceeded)
        #expect(code(NSPredicate(format: "a IN %@", Array(0..<10_000))) == nil)
        #expect(code(NSPredicate(format: "a IN %@", Array(0..<10_001))) == .limitExceeded)
        var deep = NSPredicate(format: "a == 1")
        for _ in 0..<63 { deep = NSCompoundPredicate(notPredicateWithSubpredicate: deep) }
        #expect(code(deep) == nil)
        for _ in 0..<1_000 { deep = NSCompoundPredicate(notPredicateWithSubpredicate: deep) }
        #expect(code(deep) == .limitExceeded)
    }
}
