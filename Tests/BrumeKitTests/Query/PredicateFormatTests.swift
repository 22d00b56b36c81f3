import CloudKit
import Testing

@Suite("The text of a predicate")
struct PredicateFormatTests {
    @Test(
        "reads as its canonical form",
        arguments: [
            ("truepredicate", "TRUEPREDICATE"),
            ("(FALSEPREDICATE)", "FALSEPREDICATE"),
            ("a=1", "a == 1"),
            ("a <> -1", "a != -1"),
            ("a=<1.50", "a <= 1.5"),
            ("a => 0x1F", "a >= 31"),
            ("a == 0b101 || a == 0o17", "a == 5 OR a == 15"),
            ("a == .5e1", "a == 5.0"),
            ("a == 1E-3", "a == 0.001"),
            ("a == YES AND b == false", "a == 1 AND b == 0"),
            ("a == nil OR b == NULL", "a == nil OR b == nil"),
            ("a == 'it\\'s'", "a == \"it's\""),
            ("a == \"say \\\"hi\\\"\\n\"", "a == \"say \\\"hi\\\"\\n\""),
            ("a == '\\u00e9\\uD83D\\uDE00'", "a == \"é😀\""),
            ("a==1&&b==2||c==3", "a == 1 AND b == 2 OR c == 3"),
            ("a == 1 and (b == 2 or c == 3)", "a == 1 AND (b == 2 OR c == 3)"),
            ("(a == 1 and b == 2) and c == 3", "(a == 1 AND b == 2) AND c == 3"),
            ("not a == 1 and b == 2", "NOT a == 1 AND b == 2"),
            ("!(a == 1 and b == 2)", "NOT (a == 1 AND b == 2)"),
            ("NOT !a == 1", "NOT NOT a == 1"),
            ("((a)) == ((1))", "a == 1"),
            ("some a in {1,2}", "ANY a IN {1, 2}"),
            ("all a > 1", "ALL a > 1"),
            ("none a == 1", "NOT ANY a == 1"),
            ("a in {}", "a IN {}"),
            ("a in {1, {2, 'x'}}", "a IN {1, {2, \"x\"}}"),
            ("a contains[CD] 'x'", "a CONTAINS[cd] \"x\""),
            ("a ==[ldc] 'x'", "a ==[cdl] \"x\""),
            ("self contains 'x'", "SELF CONTAINS \"x\""),
            ("self.name == 'x'", "name == \"x\""),
            ("#in == 1", "#in == 1"),
            ("#name == 1", "name == 1"),
            ("owner.name == 1", "owner.name == 1"),
            ("tags.@count > 1", "tags.@count > 1"),
            ("first == 1 and last == 2 and size == 3", "first == 1 AND last == 2 AND size == 3"),
            ("größe > 1", "größe > 1"),
            ("a == $B", "a == $B"),
            ("a between {1, $C}", "a BETWEEN {1, $C}"),
            ("now() > a", "now() > a"),
            ("distanceToLocation:fromLocation:(a,b)<1", "distanceToLocation:fromLocation:(a, b) < 1"),
            ("allTokens tokenmatches[cdl] 'x'", "allTokens TOKENMATCHES[cdl] \"x\""),
            ("a like 'x*' or a matches '.' or a endswith 'y'", "a LIKE \"x*\" OR a MATCHES \".\" OR a ENDSWITH \"y\""),
            ("a == CAST(5, 'NSDate')", "a == CAST(5.0, \"NSDate\")"),
            ("a == cast({'n', 'Zone', '_o'}, 'CKRecordID')", "a == CAST({\"n\", \"Zone\", \"_o\"}, \"CKRecordID\")"),
            ("a == '%@'", "a == \"%@\""),
            ("\n a\t==\r\n1 ", "a == 1"),
        ])
    func canonical(text: String, expected: String) throws {
        let predicate = try NSPredicate(validatingFormat: text)
        #expect(predicate.canonicalFormat == expected)
        let again = try NSPredicate(validatingFormat: expected)
        #expect(again.saysTheSame(as: predicate) && again == predicate && again.canonicalFormat == expected)
    }

    @Test("takes its arguments in their order")
    func arguments() throws {
        let id = CKRecord.ID(recordName: "r")
        let values: [(String, Any, String)] = [
            ("%@", "a\"b", "\"a\\\"b\""),
            ("%@", "x" as NSString, "\"x\""),
            ("%@", 5, "5"),
            ("%@", UInt8(7), "7"),
            ("%@", NSNumber(value: 5), "5"),
            ("%@", NSNumber(value: 5.0), "5.0"),
            ("%@", NSNumber(value: true), "1"),
            ("%@", false, "0"),
            ("%@", 2.5, "2.5"),
            ("%@", CGFloat(2.5), "2.5"),
            ("%@", Double.infinity, "CAST(\"inf\", \"NSNumber\")"),
            ("%@", NSNull(), "nil"),
            ("%@", Date(timeIntervalSinceReferenceDate: 1), "CAST(1.0, \"NSDate\")"),
            ("%@", NSDate(timeIntervalSinceReferenceDate: 1), "CAST(1.0, \"NSDate\")"),
            ("%@", Data([1, 2]), "CAST(\"AQI=\", \"NSData\")"),
            ("%@", id, "CAST({\"r\", \"_defaultZone\", \"__defaultOwner__\"}, \"CKRecordID\")"),
            (
                "%@", CKRecord(recordType: "T", recordID: id),
                "CAST({\"r\", \"_defaultZone\", \"__defaultOwner__\"}, \"CKRecordID\")"
            ),
            (
                "%@", CKRecord.Reference(recordID: id, action: .deleteSelf),
                "CAST({\"r\", \"_defaultZone\", \"__defaultOwner__\", 1}, \"CKReference\")"
            ),
            (
                "%@",
                CLLocation(
                    coordinate: CLLocationCoordinate2D(latitude: 1, longitude: -2.5), altitude: 0,
                    horizontalAccuracy: 0,
                    verticalAccuracy: -1, timestamp: Date(timeIntervalSinceReferenceDate: 3)),
                "CAST({1.0, -2.5, 0.0, 0.0, -1.0, -1.0, -1.0, 3.0}, \"CLLocation\")"
            ),
            ("%@", ["a", "b"], "{\"a\", \"b\"}"),
            ("%@", [1, "b"] as [Any], "{1, \"b\"}"),
            ("%@", NSArray(array: [1, 2]), "{1, 2}"),
            ("%@", Set(["a"]), "{\"a\"}"),
            ("%@", NSSet(object: 3), "{3}"),
            ("%@", NSExpression(forVariable: "V"), "$V"),
            ("%K", "name", "name"),
            ("%K", "in", "#in"),
            ("%K", "self.x", "#self.x"),
            ("%K", "a b", "CAST(\"a b\", \"NSKeyPath\")"),
            ("%d", -5, "-5"), ("%i", Int8(5), "5"), ("%u", UInt(5), "5"), ("%ld", 5, "5"), ("%lu", 5, "5"),
            ("%lld", Int64.min, "-9223372036854775808"), ("%llu", UInt64(5), "5"), ("%d", true, "1"),
            ("%x", 255, "255"),
            ("%f", 1.5, "1.5"), ("%lf", Float(0.5), "0.5"), ("%g", CGFloat(3), "3.0"),
        ]
        for (placeholder, value, expected) in values {
            let predicate = try NSPredicate(validatingFormat: "a == \(placeholder)", argumentArray: [value])
            #expect(predicate.canonicalFormat == "a == \(expected)", "\(placeholder) of \(type(of: value))")
            #expect(try NSPredicate(validatingFormat: predicate.canonicalFormat) == predicate)
        }
        let nothing: String? = nil
        let something: Int? = 5
        #expect(NSPredicate(format: "a == %@ AND b == %d", nothing, something).canonicalFormat == "a == nil AND b == 5")
    }

    @Test("makes comparisons and compounds, as Foundation's does")
    func classes() throws {
        let comparison = try #require(NSPredicate(format: "5 <[c] a.b") as? NSComparisonPredicate)
        #expect(comparison.predicateOperatorType == .lessThan && comparison.options == .caseInsensitive)
        #expect(comparison.comparisonPredicateModifier == .direct)
        #expect(comparison.leftExpression.expressionType == .constantValue)
        #expect(comparison.leftExpression.constantValue as? Int == 5)
        #expect(comparison.rightExpression.expressionType == .keyPath && comparison.rightExpression.keyPath == "a.b")

        let compound = try #require(NSPredicate(format: "a == 1 OR NOT b IN {1, $X}") as? NSCompoundPredicate)
        #expect(compound.compoundPredicateType == .or && compound.subpredicates.count == 2)
        let negation = try #require(compound.subpredicates.last as? NSCompoundPredicate)
        #expect(negation.compoundPredicateType == .not)
        let membership = try #require(negation.subpredicates.first as? NSComparisonPredicate)
        #expect(membership.rightExpression.expressionType == .aggregate)
        let elements = try #require(membership.rightExpression.collection as? [NSExpression])
        #expect(elements.map(\.description) == ["1", "$X"])

        let call = try #require(NSPredicate(format: "f:g:(SELF, 1) == 2") as? NSComparisonPredicate).leftExpression
        #expect(call.expressionType == .function && call.function == "f:g:")
        #expect(call.arguments?.map(\.expressionType) == [.evaluatedObject, .constantValue])
        #expect(NSExpression(format: "%K", "a") == NSExpression(forKeyPath: "a"))

        #expect(NSPredicate(format: "TRUEPREDICATE") == NSPredicate(value: true))
        #expect(NSPredicate(value: true) != NSPredicate(value: false))
        let substituted = NSPredicate(format: "a IN {1, $X}").withSubstitutionVariables(["X": "y"])
        #expect(substituted.canonicalFormat == "a IN {1, \"y\"}" && substituted is NSComparisonPredicate)
    }

    @Test("has Foundation's raw values")
    func rawValues() {
        let operators: [NSComparisonPredicate.Operator] = [
            .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo, .equalTo, .notEqualTo, .matches, .like,
            .beginsWith, .endsWith, .in, .customSelector, .contains, .between,
        ]
        #expect(operators.map(\.rawValue) == Array(0...11) + [99, 100])
        #expect([NSComparisonPredicate.Modifier.direct, .all, .any].map(\.rawValue) == [0, 1, 2])
        let options: [NSComparisonPredicate.Options] = [.caseInsensitive, .diacriticInsensitive, .normalized]
        #expect(options.map(\.rawValue) == [1, 2, 4])
        #expect([NSCompoundPredicate.LogicalType.not, .and, .or].map(\.rawValue) == [0, 1, 2])
        let kinds: [NSExpression.ExpressionType] = [
            .constantValue, .evaluatedObject, .variable, .keyPath, .function, .aggregate,
        ]
        #expect(kinds.map(\.rawValue) == [0, 1, 2, 3, 4, 14])
    }

    @Test("is the same for what Foundation joined")
    func joined() throws {
        let (first, second) = (NSPredicate(format: "a == 1"), NSPredicate(value: true))
        let compound = NSCompoundPredicate(andPredicateWithSubpredicates: [first, second])
        #expect(compound.canonicalFormat == "a == 1 AND TRUEPREDICATE")
        let parsed = NSPredicate(format: "a == 1 AND TRUEPREDICATE")
        #expect(parsed == compound && parsed.saysTheSame(as: compound) && !parsed.saysTheSame(as: first))
        #expect(parsed.description == "a == 1 AND TRUEPREDICATE" && first.description == "a == 1")
        #expect(parsed.copy() as? NSPredicate === parsed)
        #expect(parsed == NSPredicate(format: "a == 1 && TRUEPREDICATE"))
        #expect(parsed.hash == NSPredicate(format: "a == 1 && TRUEPREDICATE").hash)
        #expect(first == NSPredicate(format: "a = 1") && first.hash == NSPredicate(format: "a = 1").hash)
        let negation = NSCompoundPredicate(notPredicateWithSubpredicate: compound)
        #expect(negation.canonicalFormat == "NOT (a == 1 AND TRUEPREDICATE)")
    }

    @Test("is what archives of queries and expressions hold")
    func archive() throws {
        let id = CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "Z", ownerName: "_o"))
        let compound = NSPredicate(format: "a == %@ OR NOT b IN %@", id, [Date(), Date.distantPast])
        let query = CKQuery(recordType: "Note", predicate: compound)
        let queryData = try NSKeyedArchiver.archivedData(withRootObject: query, requiringSecureCoding: true)
        let again = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQuery.self, from: queryData))
        #expect(again.predicate == compound && again.sortDescriptors == nil)
        let expression = NSExpression(format: "f(%@, b)", id)
        let data = try NSKeyedArchiver.archivedData(withRootObject: expression, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSExpression.self, from: data) == expression)
    }
}
