internal import BrumeSystem
internal import Foundation

/// The arguments of a predicate's text, taken one by one by its placeholders.
struct PredicateArguments {
    /// Why an argument does not suit its placeholder.
    struct Problem: Error {
        let sentence: String
    }

    private let values: [Any?]
    private var taken = 0

    init(_ values: [Any?]) {
        self.values = values
    }

    /// The arguments in a list of C arguments, of which the text says how many there are and what.
    static func values(of format: String, from list: CVaListPointer) throws(PredicateFormatError) -> [Any?] {
        var lexer = try PredicateLexer(format)
        var placeholders: [PredicateToken.Placeholder] = []
        scan: while true {
            switch try lexer.next().kind {
            case .end: break scan
            case .placeholder(let placeholder): placeholders.append(placeholder)
            default: continue
            }
        }
        let words = VariadicArguments.words(
            placeholders.map { if case .double = $0 { .double } else { .word } }, from: list)
        return zip(placeholders, words).map { placeholder, word in
            switch placeholder {
            case .integer: Int64(bitPattern: word)
            case .double: Double(bitPattern: word)
            case .value, .key: object(at: word)
            }
        }
    }

    /// The object that a pointer in a list of C arguments leads to.
    private static func object(at word: UInt64) -> Any? {
        guard let pointer = UnsafeRawPointer(bitPattern: UInt(word)) else { return nil }
        let value = VariadicObjects.value(of: Unmanaged<NSObject>.fromOpaque(pointer).takeUnretainedValue())
        return (value as? NSString).map { $0 as String } ?? value
    }

    /// How many there are and how many of them were taken; nil when it is all.
    var unused: (count: Int, used: Int)? {
        taken < values.count ? (values.count, taken) : nil
    }

    mutating func next(for placeholder: PredicateToken.Placeholder) throws(Problem) -> PredicateExpression {
        guard taken < values.count else {
            throw Problem(
                sentence:
                    "there is no argument for this placeholder: \(values.count) given, this is number \(taken + 1)")
        }
        let value = values[taken]
        taken += 1
        switch placeholder {
        case .value:
            if let value, type(of: value) is AnyClass, value is NSPredicate {
                throw problem(value, "%@ takes a value; join predicates with NSCompoundPredicate")
            }
            return PredicateExpression(valueOrExpression: value)
        case .key:
            guard let key = value as? String else { throw problem(value, "%K takes a key as a String") }
            return .keyPath(key)
        case .integer(let spelling):
            guard let integer = Self.integer(value) else {
                throw problem(value, "\(spelling) takes an integer; use %@ for objects and %f for Double")
            }
            guard let number = Int64(exactly: integer) else {
                throw Problem(sentence: "argument \(taken) does not fit into a signed integer of 64 bits")
            }
            return .constant(.integer(number))
        case .double(let spelling):
            guard let number = Self.double(value) else {
                throw problem(
                    value, "\(spelling) takes a Double, Float or CGFloat; use %d for integers and %@ for objects")
            }
            return .constant(PredicateValue.double(checking: number))
        }
    }

    private func problem(_ value: Any?, _ rule: String) -> Problem {
        let type = value.map { String(describing: Swift.type(of: $0)) } ?? "nil"
        return Problem(sentence: "argument \(taken) is \(type), but \(rule)")
    }

    /// Swift's own integers and `Bool` alone: an object where the text says %d is a mistake that reads memory as a
    /// number on Apple's systems.
    private static func integer(_ value: Any?) -> (any BinaryInteger)? {
        guard let value else { return nil }
        if type(of: value) == Bool.self, let value = value as? Bool { return value ? 1 : 0 }
        return type(of: value) is AnyClass ? nil : value as? any BinaryInteger
    }

    private static func double(_ value: Any?) -> Double? {
        guard let value else { return nil }
        return switch type(of: value) {
        case is Double.Type: value as? Double
        case is Float.Type: (value as? Float).map(Double.init)
        case is CGFloat.Type: (value as? CGFloat).map(Double.init)
        default: nil
        }
    }
}
