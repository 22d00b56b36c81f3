public import Foundation

/// A predicate that compares two expressions. Immutable. Equal when both say the same.
///
/// Takes the place of Foundation's class, of which nothing works on Linux. Where Foundation is imported as well, name
/// it as a type with its module: `BrumeKit.NSComparisonPredicate`; calls need no module.
public final class NSComparisonPredicate: NSPredicate {

    /// Which elements of a list the comparison is about. Raw values are Foundation's.
    public enum Modifier: UInt, Sendable {
        /// The value itself.
        case direct = 0
        /// Each element; CloudKit can't do that.
        case all = 1
        /// At least one element.
        case any = 2
    }

    /// How both sides compare. Raw values are Foundation's, but for ``tokenMatches``.
    public enum Operator: UInt, Sendable {
        case lessThan = 0
        case lessThanOrEqualTo = 1
        case greaterThan = 2
        case greaterThanOrEqualTo = 3
        case equalTo = 4
        case notEqualTo = 5
        /// A regular expression; CloudKit can't do that.
        case matches = 6
        /// Wildcards; CloudKit can't do that.
        case like = 7
        case beginsWith = 8
        /// CloudKit can't do that.
        case endsWith = 9
        /// The left side is one of the right side's elements.
        case `in` = 10
        /// A selector, which Swift on Linux has none of.
        case customSelector = 11
        /// The left side's list has the right side as element; of the record itself, a search for words.
        case contains = 99
        /// The left side lies between two values, ends included.
        case between = 100
        /// `TOKENMATCHES`: the record has all words. The text of CloudKit's predicates has it, its classes have no name
        /// for it.
        case tokenMatches = 101
    }

    /// How strings are compared. CloudKit compares exactly and takes no options, but for the search for words.
    public struct Options: OptionSet, Hashable, Sendable {
        /// Foundation's values.
        public let rawValue: UInt

        /// A set of options.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// `[c]`.
        public static let caseInsensitive = Options(rawValue: 1)
        /// `[d]`.
        public static let diacriticInsensitive = Options(rawValue: 2)
        /// `[n]`.
        public static let normalized = Options(rawValue: 4)
        /// `[l]`.
        static let localeSensitive = Options(rawValue: 8)

        static let letters: [(letter: Character, option: Options)] = [
            ("c", .caseInsensitive), ("d", .diacriticInsensitive), ("n", .normalized), ("l", .localeSensitive),
        ]
        static let byLetter = Dictionary(uniqueKeysWithValues: letters.map { ($0.letter, $0.option) })
    }

    let comparison: PredicateComparison

    init(_ comparison: PredicateComparison) {
        self.comparison = comparison
        super.init(value: true)
    }

    /// Compares two expressions.
    public convenience init(
        leftExpression: NSExpression, rightExpression: NSExpression, modifier: Modifier, type: Operator,
        options: Options = []
    ) {
        self.init(
            PredicateComparison(
                left: leftExpression.node, right: rightExpression.node, modifier: modifier, type: type, options: options
            ))
    }

    /// Which elements the comparison is about.
    public var comparisonPredicateModifier: Modifier { comparison.modifier }

    /// How both sides compare.
    public var predicateOperatorType: Operator { comparison.type }

    /// How strings are compared.
    public var options: Options { comparison.options }

    /// The left side.
    public var leftExpression: NSExpression { NSExpression(comparison.left) }

    /// The right side.
    public var rightExpression: NSExpression { NSExpression(comparison.right) }

    /// The comparison as text.
    public override var predicateFormat: String { canonicalFormat }

    /// The comparison as text.
    public override var description: String { canonicalFormat }

    /// Whether both say the same.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSPredicate else { return false }
        return self === other || saysTheSame(as: other)
    }

    /// Equal for equal predicates.
    public override var hash: Int { node.canonical.hashValue }

    /// `NSPredicate`: an archive on Linux is read by the exact name of a class, and apps name that one.
    public override var classForCoder: AnyClass { NSPredicate.self }

    /// The receiver itself, which can't change.
    public override func copy(with zone: NSZone? = nil) -> Any { self }

    /// Traps: a text says nothing about objects in memory.
    public override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
        preconditionFailure(
            "a predicate that is made of text asks a server, and can't be evaluated here: use it in a CKQuery")
    }
}

extension NSComparisonPredicate.Operator {
    /// As a predicate's text spells it.
    var text: String {
        switch self {
        case .lessThan: "<"
        case .lessThanOrEqualTo: "<="
        case .greaterThan: ">"
        case .greaterThanOrEqualTo: ">="
        case .equalTo: "=="
        case .notEqualTo: "!="
        case .matches: "MATCHES"
        case .like: "LIKE"
        case .beginsWith: "BEGINSWITH"
        case .endsWith: "ENDSWITH"
        case .in: "IN"
        case .customSelector: "SELECTOR"
        case .contains: "CONTAINS"
        case .between: "BETWEEN"
        case .tokenMatches: "TOKENMATCHES"
        }
    }

    /// The operators that are words.
    static let byKeyword = Dictionary(
        uniqueKeysWithValues: [
            Self.matches, .like, .beginsWith, .endsWith, .in, .contains, .between, .tokenMatches,
        ].map { ($0.text, $0) })

    /// The operator that says the same with both sides exchanged; nil for those that have none.
    var turned: Self? {
        switch self {
        case .lessThan: .greaterThan
        case .lessThanOrEqualTo: .greaterThanOrEqualTo
        case .greaterThan: .lessThan
        case .greaterThanOrEqualTo: .lessThanOrEqualTo
        case .equalTo: .equalTo
        case .notEqualTo: .notEqualTo
        case .in: .contains
        case .contains: .in
        case .matches, .like, .beginsWith, .endsWith, .customSelector, .between, .tokenMatches: nil
        }
    }
}
