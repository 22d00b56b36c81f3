import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeTestKit

/// Predicates and queries for tests.
enum QuerySamples {
    static let singleValues: [FieldValue] = [
        .string(""), .string("a\0b"), .string("é 🍎"), .int64(.min), .int64(0), .double(-0.0), .double(1.5),
        .date(-62_135_769_600), .bytes([]), .bytes([0, 255]), .location(Location(latitude: -90, longitude: 180)),
        .reference(Reference(recordName: "target", deletesSelf: true)),
    ]

    static let terms: [Predicate] = [
        .constant(true), .constant(false),
        .comparison(.field("title"), .beginsWith, .string("ab")),
        .comparison(.field("title"), .less, .string("ab")),
        .comparison(.creationDate, .greaterOrEqual, .date(1.5)),
        .comparison(.modificationDate, .notEqual, .date(0)),
        .comparison(.recordID, .equal, .reference(Reference(recordName: "a", deletesSelf: false))),
        .comparison(
            .creatorUserRecordID, .equal, .reference(Reference(recordName: "__defaultOwner__", deletesSelf: false))),
        .isIn(
            .lastModifiedUserRecordID,
            [.reference(Reference(recordName: RecordSamples.userName, deletesSelf: false))]),
        .comparison(.parent, .notEqual, .reference(Reference(recordName: "p", deletesSelf: false))),
        .between(.field("count"), .int64(1), .double(2.5)),
        .isIn(.field("count"), []), .isIn(.field("any"), singleValues),
        .anyElement(.field("tags"), .equal, .string("x")), .anyElementIsIn(.field("tags"), [.string("x"), .int64(1)]),
        .text("a word\0 and another", .anyWord), .text("", .allWords),
        .distance(.field("place"), latitude: -90, longitude: 180, metres: 0, isInclusive: true),
        .distance(.field("place"), latitude: 48.2, longitude: 16.4, metres: 1e9, isInclusive: false),
    ]

    static func query(_ predicate: Predicate) -> QueryRequest {
        QueryRequest(database: .private, zone: nil, query: Query(recordType: "Note", predicate: predicate))
    }

    /// A tree of terms; shallow more often than deep.
    static func tree(_ generator: inout SeededGenerator, depth: Int = 6) -> Predicate {
        guard depth > 1, UInt8.random(in: 0..<4, using: &generator) > 0 else {
            return terms.randomElement(using: &generator)!
        }
        if UInt8.random(in: 0..<4, using: &generator) == 0 { return .not(tree(&generator, depth: depth - 1)) }
        let operands = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
            tree(&generator, depth: depth - 1)
        }
        return Bool.random(using: &generator) ? .and(operands) : .or(operands)
    }

    /// `levels` NOTs around a constant.
    static func nested(_ levels: Int) -> Predicate {
        (1..<levels).reduce(Predicate.constant(true)) { inner, _ in .not(inner) }
    }
}
