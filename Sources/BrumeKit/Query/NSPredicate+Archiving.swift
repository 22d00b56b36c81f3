public import Foundation

// Foundation on Linux has no coding for predicates. As with texts, the initialiser of a protocol may choose the object.

extension NSPredicate: @retroactive NSCoding, @retroactive NSSecureCoding {}

extension NSPredicateFactory {
    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the predicate's text into a keyed archive. One that is code traps: write it as a format.
    public func encode(with coder: NSCoder) {
        guard let predicate = self as? NSPredicate else { preconditionFailure("\(Self.self) is no NSPredicate") }
        coder.requireKeyedCoding(for: NSPredicate.self)
        coder.encode(formatOf: predicate, forKey: "PredicateFormat")
    }

    /// Reads an archived predicate; nil when the archive holds none, none that is valid, or one of another class.
    public init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: NSPredicate.self)
        guard let predicate = coder.predicateIfPresent(forKey: "PredicateFormat") as? Self else { return nil }
        self = predicate
    }
}
