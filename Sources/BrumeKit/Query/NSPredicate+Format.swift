public import Foundation

// Foundation on Linux has NSPredicate, NSCompoundPredicate and NSSortDescriptor without texts and keys. They are
// extended and not replaced: a second class of the same name would be ambiguous wherever an app imports Foundation as
// well.

extension NSPredicate: NSPredicateFactory {}

extension NSPredicate {
    /// The predicate as text. `NSPredicate(format:)` makes one of it that says the same, unless it holds code or values
    /// that no record can hold.
    ///
    /// Dates, data, references and places appear as casts such as `CAST(750000000.0, "NSDate")`. Differs from
    /// Foundation: there it is `predicateFormat`, which on Linux is deprecated, and of use for what was made of text
    /// alone.
    public var canonicalFormat: String { PredicateWriter.text(of: node) }

    /// The predicate with values in the place of variables: those are written `$NAME`, and have `NAME` as key.
    public func withSubstitutionVariables(_ variables: [String: Any]) -> NSPredicate {
        NSPredicate.make(node.substituting(variables.mapValues { PredicateExpression(valueOrExpression: $0) }))
    }

    /// Whether both say the same in the same order, whatever objects they are made of.
    package func saysTheSame(as other: NSPredicate) -> Bool {
        node.canonical == other.node.canonical
    }

    /// The predicate as a tree.
    var node: PredicateNode {
        switch self {
        case let predicate as NSComparisonPredicate: return .comparison(predicate.comparison)
        case let predicate as NSCompoundPredicate:
            let operands = predicate.subpredicates.map(\.node)
            switch predicate.compoundPredicateType {
            case .and: return .and(operands)
            case .or: return .or(operands)
            case .not: return operands.count == 1 ? .not(operands[0]) : .not(.and(operands))
            @unknown default: return .block(ObjectIdentifier(self))
            }
        default:
            // Foundation tells constants from code by equality alone.
            for value in [true, false] where isEqual(NSPredicate(value: value)) { return .constant(value) }
            return .block(ObjectIdentifier(self))
        }
    }

    /// The predicate of the class that Foundation would make.
    static func make(_ node: PredicateNode) -> NSPredicate {
        switch node {
        case .constant(let value): NSPredicate(value: value)
        case .comparison(let comparison): NSComparisonPredicate(comparison)
        case .and(let operands): FormatCompoundPredicate(type: .and, subpredicates: operands.map(make))
        case .or(let operands): FormatCompoundPredicate(type: .or, subpredicates: operands.map(make))
        case .not(let operand): FormatCompoundPredicate(type: .not, subpredicates: [make(operand)])
        // The code is of no use to a server; that there was some is said when the predicate is used.
        case .block: NSPredicate { _, _ in false }
        }
    }
}

/// A compound that knows its text, and equals others of the same text.
final class FormatCompoundPredicate: NSCompoundPredicate {
    override var predicateFormat: String { canonicalFormat }

    override var description: String { canonicalFormat }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSPredicate else { return false }
        return self === other || saysTheSame(as: other)
    }

    override var hash: Int { node.canonical.hashValue }

    /// An archive on Linux is read by the exact name of a class, and this one's is nobody's business.
    override var classForCoder: AnyClass { NSPredicate.self }

    override func copy(with zone: NSZone? = nil) -> Any { self }
}

extension NSCoder {
    /// Writes a predicate's text. One that is code traps.
    func encode(formatOf predicate: NSPredicate, forKey key: String) {
        precondition(!predicate.node.hasBlock, "a predicate with a block can't be archived; write it as a format")
        encode(predicate.canonicalFormat as NSString, forKey: key)
    }

    /// The predicate of an archived text; nil when there is none, or none that is valid.
    func predicateIfPresent(forKey key: String) -> NSPredicate? {
        stringIfPresent(forKey: key).flatMap { try? NSPredicate(validatingFormat: $0) }
    }
}
