import BrumeRandom
import BrumeModel

/// Values, records' fields and predicates by chance, from so few values that they often meet.
struct RandomQueries {
    var generator: SeededGenerator

    static let words = ["apple", "berry", "cherry", "date", "elder", "fig", "grape", "hazel", "APPLE", "Äpple"]
    static let names = (0..<12).map { "r\($0)" }
    static let texts = [
        "", "a", "ab", "abc", "abcdefg", "abcdefgh", "abcdefgi", "abcdefgh1", "abcdefgh2", "ab\u{0}", "b", "ä", "日本",
        "apple berry", "fig", "grape apple date", "\u{0}", "fourteen bytes", "fourteen bytes\u{0}",
        "fourteen bytes and 1",
        "fourteen bytes and 2",
    ]
    static let integers: [Int64] = [
        0, 1, 2, 3, -1, .max, .min, 1 << 53, 1 << 53 + 1, 1 << 53 + 2, 9_000_000_000_000_000, 8_999_999_999_999_999,
    ]
    static let doubles: [Double] = [
        0, -0.0, 1, 1.5, 2, -1, .infinity, -.infinity, .nan, 9_007_199_254_740_992, 9_007_199_254_740_994, 1e300,
        9_223_372_036_854_775_808,
    ]
    static let dates: [Double] = [0, 1, 100, -5, .nan]
    static let places: [(Double, Double)] = [
        (0, 0), (0.01, 0.01), (52.52, 13.405), (52.53, 13.41), (48.137, 11.575), (0, 180), (0, -180), (0, 179.9),
        (90, 0),
        (89.99, 120), (-90, 0), (100, 0),
    ]

    mutating func scalar(_ kind: Int) -> FieldValue {
        switch kind {
        case 0: .string(generator.pick(Self.texts))
        case 1: .int64(generator.pick(Self.integers))
        case 2: .double(generator.pick(Self.doubles))
        case 3: .bytes(Array(generator.pick(Self.texts).utf8))
        case 4: .date(generator.pick(Self.dates))
        case 5: .location(place())
        default: .reference(Reference(recordName: generator.pick(Self.names), deletesSelf: false))
        }
    }

    private mutating func place() -> Location {
        let place = generator.pick(Self.places)
        return Location(
            latitude: place.0, longitude: place.1, timestamp: Double(Int.random(in: 0...1, using: &generator)))
    }

    mutating func list(_ kind: Int) -> FieldValue {
        let count = Int.random(in: 0...3, using: &generator)
        if count == 0 { return .emptyList }
        switch kind {
        case 0: return .strings((0..<count).map { _ in generator.pick(Self.texts) })
        case 1: return .int64s((0..<count).map { _ in generator.pick(Self.integers) })
        case 2: return .doubles((0..<count).map { _ in generator.pick(Self.doubles) })
        case 3: return .bytesList((0..<count).map { _ in Array(generator.pick(Self.texts).utf8) })
        case 4: return .dates((0..<count).map { _ in generator.pick(Self.dates) })
        case 5: return .locations((0..<count).map { _ in place() })
        default:
            return .references(
                (0..<count).map { _ in Reference(recordName: generator.pick(Self.names), deletesSelf: false) })
        }
    }

    /// A key that holds values of one kind, as a schema would have it: `s0` to `s6` single values, `l0` to `l6` lists,
    /// `any` whatever comes.
    mutating func fields() -> [String: FieldValue] {
        var fields: [String: FieldValue] = [:]
        for kind in 0..<7 {
            if generator.oneIn(3) { fields["s\(kind)"] = scalar(kind) }
            if generator.oneIn(4) { fields["l\(kind)"] = list(kind) }
        }
        if generator.oneIn(2) {
            let kind = Int.random(in: 0..<7, using: &generator)
            fields["any"] = generator.oneIn(3) ? list(kind) : scalar(kind)
        }
        if generator.oneIn(2) {
            fields["body"] = .string(
                (0..<Int.random(in: 0...4, using: &generator)).map { _ in generator.pick(Self.words) }
                    .joined(separator: " "))
        }
        return fields
    }

    mutating func predicate(depth: Int = 3) -> Predicate {
        if depth > 0, generator.oneIn(2) {
            let operands = (0..<Int.random(in: 0...3, using: &generator)).map { _ in predicate(depth: depth - 1) }
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1: return .and(operands)
            case 2, 3: return .or(operands)
            default: return .not(predicate(depth: depth - 1))
            }
        }
        return term()
    }

    private mutating func term() -> Predicate {
        let kind = Int.random(in: 0..<7, using: &generator)
        let constantKind =
            generator.oneIn(8) ? Int.random(in: 0..<7, using: &generator) : kind == 2 && generator.oneIn(3) ? 1 : kind
        let key = generator.oneIn(8) ? QueryKey.field("any") : .field("s\(kind)")
        let listKey = generator.oneIn(8) ? QueryKey.field("any") : .field("l\(kind)")
        let comparison = generator.pick(ComparisonOperator.allCases)
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: return .constant(!generator.oneIn(3))
        case 1, 2, 3: return .comparison(key, comparison, scalar(constantKind))
        case 4: return .between(key, scalar(constantKind), scalar(constantKind))
        case 5:
            let count = generator.pick([0, 1, 2, 6])
            return .isIn(
                key,
                (0..<count).map { _ in scalar(generator.oneIn(10) ? Int.random(in: 0..<7, using: &generator) : kind) })
        case 6: return .anyElement(listKey, comparison, scalar(constantKind))
        case 7: return .anyElementIsIn(listKey, (0..<2).map { _ in scalar(constantKind) })
        case 8:
            let words = (0..<Int.random(in: 0...2, using: &generator)).map { _ in generator.pick(Self.words) }
            return .text(words.joined(separator: " "), generator.pick([.anyWord, .allWords]))
        case 9:
            let place = generator.pick(Self.places.filter { $0.0 <= 90 })
            return .distance(
                .field("s5"), latitude: place.0, longitude: place.1,
                metres: generator.pick([0, 1_000, 1_600, 12_000, 600_000, 11_000_000, 20_100_000]),
                isInclusive: Bool.random(using: &generator))
        case 10: return .comparison(listKey, generator.pick([.equal, .notEqual]), list(kind))
        default: return systemTerm()
        }
    }

    private mutating func systemTerm() -> Predicate {
        let reference = FieldValue.reference(
            Reference(recordName: generator.pick(Self.names + ["_owner"]), deletesSelf: false))
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: return .comparison(.recordID, generator.pick([.equal, .notEqual]), reference)
        case 1:
            return .isIn(
                .recordID, Self.names.prefix(3).map { .reference(Reference(recordName: $0, deletesSelf: false)) })
        case 2:
            let key = generator.pick([QueryKey.creatorUserRecordID, .lastModifiedUserRecordID, .parent])
            return .comparison(key, .equal, reference)
        default:
            let milliseconds = Double(Int64.random(in: 0...20, using: &generator) * 100)
            return .comparison(
                generator.pick([.creationDate, .modificationDate]), generator.pick([.less, .greaterOrEqual, .equal]),
                .date(milliseconds / 1000 - 978_307_200))
        }
    }
}
