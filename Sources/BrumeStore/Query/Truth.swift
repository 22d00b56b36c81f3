/// Kleene's three values. Raw values are ordered so that AND is the smaller and OR the larger of two.
enum Truth: UInt8, Comparable {
    case isFalse = 0
    case isUnknown = 1
    case isTrue = 2

    init(_ holds: Bool) { self = holds ? .isTrue : .isFalse }

    var negated: Truth {
        switch self {
        case .isFalse: .isTrue
        case .isUnknown: .isUnknown
        case .isTrue: .isFalse
        }
    }

    static func < (left: Truth, right: Truth) -> Bool { left.rawValue < right.rawValue }
}
