public import Foundation

/// One side of a comparison: a constant, a key, a list or one of the functions that CloudKit knows.
///
/// Immutable, so it may be passed between threads. Equal when both read the same.
///
/// Takes the place of Foundation's class, of which nothing works on Linux. Where Foundation is imported as well, name
/// it as a type with its module: `BrumeKit.NSExpression`; calls need no module.
public final class NSExpression: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The kinds of expressions. Raw values are Foundation's.
    public enum ExpressionType: UInt, Sendable {
        case constantValue = 0
        /// `SELF`.
        case evaluatedObject = 1
        /// `$NAME`.
        case variable = 2
        case keyPath = 3
        case function = 4
        /// `{a, b}`.
        case aggregate = 14
    }

    let node: PredicateExpression

    init(_ node: PredicateExpression) {
        self.node = node
    }

    /// A constant: whatever `%@` takes in a predicate's text.
    public init(forConstantValue value: Any?) {
        node = .constant(PredicateValue(value))
    }

    /// A field's value.
    public init(forKeyPath keyPath: String) {
        node = .keyPath(keyPath)
    }

    /// A value that `NSPredicate.withSubstitutionVariables(_:)` gives later.
    public init(forVariable name: String) {
        node = .variable(name)
    }

    /// A list of expressions or constants.
    public init(forAggregate elements: [Any]) {
        node = .aggregate(elements.map { PredicateExpression(valueOrExpression: $0) })
    }

    /// A function, such as `distanceToLocation:fromLocation:` with a key and a place, or `now`.
    public init(forFunction name: String, arguments: [Any]) {
        node = .function(name: name, arguments: arguments.map { PredicateExpression(valueOrExpression: $0) })
    }

    /// Reads an expression's text. See ``NSPredicateFactory/init(format:_:)``.
    public init(format: String, _ arguments: Any?...) {
        do throws(PredicateFormatError) {
            node = try PredicateParser.expression(format, arguments: arguments)
        } catch {
            preconditionFailure("NSExpression(format:): \(error.description)")
        }
    }

    /// The record itself: `SELF`.
    public static func expressionForEvaluatedObject() -> NSExpression {
        NSExpression(.evaluatedObject)
    }

    /// The kind of the expression.
    public var expressionType: ExpressionType {
        switch node {
        case .constant: .constantValue
        case .evaluatedObject: .evaluatedObject
        case .variable: .variable
        case .keyPath: .keyPath
        case .function: .function
        case .aggregate: .aggregate
        }
    }

    /// The constant. Traps for other kinds.
    public var constantValue: Any? {
        guard case .constant(let value) = node else { wrongKind("constantValue", "constantValue") }
        return value.object
    }

    /// The key. Traps for other kinds.
    public var keyPath: String {
        guard case .keyPath(let path) = node else { wrongKind("keyPath", "keyPath") }
        return path
    }

    /// The variable's name. Traps for other kinds.
    public var variable: String {
        guard case .variable(let name) = node else { wrongKind("variable", "variable") }
        return name
    }

    /// The function's name. Traps for other kinds.
    public var function: String {
        guard case .function(let name, _) = node else { wrongKind("function", "function") }
        return name
    }

    /// The function's arguments; nil for other kinds.
    public var arguments: [NSExpression]? {
        guard case .function(_, let arguments) = node else { return nil }
        return arguments.map { NSExpression($0) }
    }

    /// The list's elements: objects of `NSExpression`. Traps for other kinds.
    public var collection: Any {
        guard case .aggregate(let elements) = node else { wrongKind("collection", "aggregate") }
        return elements.map { NSExpression($0) }
    }

    private func wrongKind(_ property: String, _ kind: String) -> Never {
        preconditionFailure("NSExpression: \(property) is for expressions of type \(kind); ask expressionType before")
    }

    /// The expression as text.
    public override var description: String { PredicateWriter.text(of: node) }

    /// Whether both read the same.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSExpression else { return false }
        return self === other || node.canonical == other.node.canonical
    }

    /// Equal for equal expressions.
    public override var hash: Int { node.canonical.hashValue }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the expression's text into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: NSExpression.self)
        coder.encode(description as NSString, forKey: "ExpressionFormat")
    }

    /// Reads an archived expression; nil when the archive holds no valid one.
    public init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: NSExpression.self)
        guard let format = coder.stringIfPresent(forKey: "ExpressionFormat"),
            let node = try? PredicateParser.expression(format, arguments: [])
        else { return nil }
        self.node = node
    }
}

extension PredicateExpression {
    /// What an app gives where both are fine. A cast of a Swift collection to a class would turn all of it into
    /// objects.
    init(valueOrExpression value: Any?) {
        if let value, type(of: value) is AnyClass, let expression = value as? NSExpression {
            self = expression.node
        } else {
            self = .constant(PredicateValue(value))
        }
    }
}
