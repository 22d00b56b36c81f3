/// A predicate's tree, whatever class or text it came from. Immutable.
///
/// Trees that are made of text are at most ``PredicateParser/depthLimit`` deep; an app may nest its own deeper.
indirect enum PredicateNode: Hashable, Sendable {
    case constant(Bool)
    case comparison(PredicateComparison)
    case and([PredicateNode])
    case or([PredicateNode])
    case not(PredicateNode)
    /// A predicate that is Swift code, which no server can run: each equals itself alone.
    case block(ObjectIdentifier)

    /// The form in which predicates of one text are equal: compounds have at least two operands, and lists of constants
    /// are constants.
    var canonical: PredicateNode {
        switch self {
        case .constant, .block: self
        case .comparison(var comparison):
            {
                comparison.left = comparison.left.canonical
                comparison.right = comparison.right.canonical
                return .comparison(comparison)
            }()
        case .and(let operands): Self.joined(operands, whenEmpty: true) { .and($0) }
        case .or(let operands): Self.joined(operands, whenEmpty: false) { .or($0) }
        case .not(let operand): .not(operand.canonical)
        }
    }

    private static func joined(
        _ operands: [PredicateNode], whenEmpty: Bool, _ join: ([PredicateNode]) -> PredicateNode
    ) -> PredicateNode {
        switch operands.count {
        case 0: .constant(whenEmpty)
        case 1: operands[0].canonical
        default: join(operands.map(\.canonical))
        }
    }

    /// The tree with each variable that has a value replaced by it.
    func substituting(_ values: [String: PredicateExpression]) -> PredicateNode {
        switch self {
        case .constant, .block: self
        case .comparison(var comparison):
            {
                comparison.left = comparison.left.substituting(values)
                comparison.right = comparison.right.substituting(values)
                return .comparison(comparison)
            }()
        case .and(let operands): .and(operands.map { $0.substituting(values) })
        case .or(let operands): .or(operands.map { $0.substituting(values) })
        case .not(let operand): .not(operand.substituting(values))
        }
    }
}

/// Two expressions and how they compare.
struct PredicateComparison: Hashable, Sendable {
    var left: PredicateExpression
    var right: PredicateExpression
    var modifier = NSComparisonPredicate.Modifier.direct
    var type: NSComparisonPredicate.Operator
    var options: NSComparisonPredicate.Options = []
}

extension PredicateNode {
    /// Whether any part is code.
    var hasBlock: Bool {
        switch self {
        case .block: true
        case .constant, .comparison: false
        case .and(let operands), .or(let operands): operands.contains(where: \.hasBlock)
        case .not(let operand): operand.hasBlock
        }
    }
}
