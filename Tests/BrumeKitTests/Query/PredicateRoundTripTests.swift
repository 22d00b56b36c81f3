import BrumeRandom
import CloudKit
import Testing

@Suite("Random predicates")
struct PredicateRoundTripTests {
    /// The same trees for the same seed.
    private struct RandomTrees {
        var generator: SeededGenerator

        private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }

        private mutating func string() -> String {
            let pieces = ["a", "\"", "'", "\\", "\n", "\r\n", "\t", "é", "😀", "%@", " ", "in", "}", "\0", "e\u{301}"]
            return (0..<below(6)).map { _ in pieces[below(pieces.count)] }.joined()
        }

        private mutating func key() -> String {
            let keys = [
                "name", "in", "SELF", "self.x", "a.b.c", "größe", "a b", "", "1x", "a.", ".a", "now", "CAST", "x:y:",
                "t.@count",
            ]
            return below(4) == 0 ? string() : keys[below(keys.count)]
        }

        private mutating func date() -> Date {
            Date(
                timeIntervalSinceReferenceDate: below(5) == 0
                    ? .infinity : Double.random(in: -1e12...1e12, using: &generator))
        }

        private mutating func id() -> CKRecord.ID {
            let zone =
                below(2) == 0 ? CKRecordZone.ID.default : CKRecordZone.ID(zoneName: "Z\"", ownerName: string() + "o")
            return CKRecord.ID(recordName: "r\(below(9))\"\\", zoneID: zone)
        }

        private mutating func value(_ depth: Int) -> Any {
            switch below(depth > 2 ? 11 : 13) {
            case 0: NSNull()
            case 1: Int64.random(in: .min ... .max, using: &generator)
            case 2: Int64.min
            case 3: Double(bitPattern: generator.next() & 0xFFEF_FFFF_FFFF_FFFF)
            case 4: [0.1, -0.0, 1.5e-300, 1e300, .infinity, -.infinity, 3.0][below(7)]
            case 5, 6: string()
            case 7: date()
            case 8: Data(string().utf8)
            case 9:
                CLLocation(
                    coordinate: CLLocationCoordinate2D(latitude: 0.1, longitude: -1e-7), altitude: 1.5e-300,
                    horizontalAccuracy: 0,
                    verticalAccuracy: -1, timestamp: Date(timeIntervalSinceReferenceDate: 0.3))
            case 10:
                below(2) == 0 ? id() : CKRecord.Reference(recordID: id(), action: below(2) == 0 ? .none : .deleteSelf)
            default: (0..<below(4)).map { _ in value(depth + 1) }
            }
        }

        private mutating func expression(_ depth: Int) -> NSExpression {
            switch below(depth > 2 ? 6 : 8) {
            case 0, 1: NSExpression(forConstantValue: value(depth))
            case 2, 3: NSExpression(forKeyPath: key())
            case 4: .expressionForEvaluatedObject()
            case 5: NSExpression(forVariable: ["X", "in", "self"][below(3)])
            case 6: NSExpression(forAggregate: (0..<below(4)).map { _ in expression(depth + 1) })
            default:
                NSExpression(
                    forFunction: ["now", "f:g:", "distanceToLocation:fromLocation:", "a.b"][below(4)],
                    arguments: (0..<below(3)).map { _ in expression(depth + 1) })
            }
        }

        mutating func predicate(_ depth: Int = 0) -> NSPredicate {
            switch below(depth > 5 ? 6 : 10) {
            case 0: return NSPredicate(value: below(2) == 0)
            case 1...5:
                let types: [NSComparisonPredicate.Operator] = [
                    .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo, .equalTo, .notEqualTo, .matches,
                    .like, .beginsWith, .endsWith, .in, .contains, .between, .tokenMatches,
                ]
                return NSComparisonPredicate(
                    leftExpression: expression(0), rightExpression: expression(0),
                    modifier: [.direct, .direct, .any, .all][below(4)], type: types[below(types.count)],
                    options: NSComparisonPredicate.Options(rawValue: UInt(below(8))))
            case 6: return NSCompoundPredicate(notPredicateWithSubpredicate: predicate(depth + 1))
            default:
                let parts = (0..<below(4)).map { _ in predicate(depth + 1) }
                return below(2) == 0
                    ? NSCompoundPredicate(andPredicateWithSubpredicates: parts)
                    : NSCompoundPredicate(orPredicateWithSubpredicates: parts)
            }
        }
    }

    @Test("are equal to what their text says")
    func roundTrip() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("random predicates: seed \(seed)")
        var trees = RandomTrees(generator: SeededGenerator(seed: seed))
        for round in 0..<2_000 {
            let predicate = trees.predicate()
            let text = predicate.canonicalFormat
            let again = try NSPredicate(validatingFormat: text)
            try #require(
                again.saysTheSame(as: predicate),
                "seed \(seed), round \(round): \(text) became \(again.canonicalFormat)")
            #expect(again.canonicalFormat == text)
            // What is refused is refused with an error that an app can show.
            do {
                #expect(try predicate.translated() == again.translated() || text.contains("now()"))
            } catch {
                #expect(error.code == .invalidArguments || error.code == .limitExceeded)
            }
        }
    }
}
