internal import BrumeModel
internal import BrumeRecord

/// How two values compare, whatever their types.
///
/// - Numbers compare exactly: an int64 with a double as the real numbers that they are, without rounding. Bool is
///   int64.
/// - NaN is neither less than, equal to nor greater than any number, as in IEEE 754: of all comparisons with it only
///   `!=` holds. Where records are sorted it comes after all numbers. Minus zero equals zero.
/// - Texts, bytes and references (by the target's name) compare byte by byte (``ByteOrder``).
/// - Locations are equal where latitude and longitude are, and have no order.
/// - Values of different types do not compare at all.
enum ScalarOrder: Int8 {
    case less = -1
    case equal = 0
    case greater = 1
    /// The same type, without an order between these two that are not equal.
    case unordered = 2
    /// Different types.
    case mismatched = 3

    static func compare(_ left: StoredScalar, _ right: StoredScalar) -> ScalarOrder {
        switch (left, right) {
        case (.int64(let left), .int64(let right)): return left == right ? .equal : left < right ? .less : .greater
        case (.double(let left), .double(let right)), (.date(let left), .date(let right)):
            return compare(left, right)
        case (.int64(let left), .double(let right)): return compare(left, right)
        case (.double(let left), .int64(let right)):
            switch compare(right, left) {
            case .less: return .greater
            case .greater: return .less
            case let other: return other
            }
        case (.string(let left), .string(let right)), (.bytes(let left), .bytes(let right)),
            (.reference(let left), .reference(let right)):
            let order = ByteOrder.compare(left, right)
            return order == 0 ? .equal : order < 0 ? .less : .greater
        case (.location(let latitude, let longitude), .location(let otherLatitude, let otherLongitude)):
            return latitude == otherLatitude && longitude == otherLongitude ? .equal : .unordered
        default: return .mismatched
        }
    }

    private static func compare(_ left: Double, _ right: Double) -> ScalarOrder {
        if left == right { return .equal }
        if left < right { return .less }
        return left > right ? .greater : .unordered
    }

    private static func compare(_ left: Int64, _ right: Double) -> ScalarOrder {
        if right.isNaN { return .unordered }
        // 2^63 and -2^63 are doubles; no int64 reaches the first, and the second is the smallest.
        if right >= 9_223_372_036_854_775_808 { return .less }
        if right < -9_223_372_036_854_775_808 { return .greater }
        let whole = Int64(right)
        if left != whole { return left < whole ? .less : .greater }
        let rest = right - Double(whole)
        return rest == 0 ? .equal : rest > 0 ? .less : .greater
    }

    // MARK: A total order

    /// The place of a value's type in the order of types.
    static func rank(_ value: StoredScalar) -> UInt8 {
        switch value {
        case .int64, .double: 0
        case .date: 1
        case .string: 2
        case .bytes: 3
        case .reference: 4
        case .location: 5
        }
    }

    /// Negative, 0 or positive: values compare by type first, and NaN comes after all numbers.
    static func total(_ left: StoredScalar, _ right: StoredScalar) -> Int {
        let (leftRank, rightRank) = (rank(left), rank(right))
        if leftRank != rightRank { return leftRank < rightRank ? -1 : 1 }
        switch compare(left, right) {
        case .less: return -1
        case .equal: return 0
        case .greater: return 1
        case .unordered, .mismatched:
            if case .location(let latitude, let longitude) = left,
                case .location(let otherLatitude, let otherLongitude) = right
            {
                return (latitude, longitude) < (otherLatitude, otherLongitude) ? -1 : 1
            }
            return (isNaN(left) ? 1 : 0) - (isNaN(right) ? 1 : 0)
        }
    }

    static func precedes(_ left: StoredScalar, _ right: StoredScalar) -> Bool { total(left, right) < 0 }

    private static func isNaN(_ value: StoredScalar) -> Bool {
        switch value {
        case .double(let number), .date(let number): number.isNaN
        default: false
        }
    }
}
