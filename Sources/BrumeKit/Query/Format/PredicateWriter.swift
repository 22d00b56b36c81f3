/// Writes a predicate as text that reads back as an equal one.
struct PredicateWriter {
    private(set) var text = ""

    static func text(of predicate: PredicateNode) -> String {
        var writer = PredicateWriter()
        writer.write(predicate.canonical)
        return writer.text
    }

    static func text(of expression: PredicateExpression) -> String {
        var writer = PredicateWriter()
        writer.write(expression.canonical)
        return writer.text
    }

    static func quoted(_ string: String) -> String {
        var result = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// What an operand is part of, from the weakest to the strongest: it needs parentheses when it binds no stronger.
    private enum Binding: Int {
        case or, and, not
    }

    private mutating func write(_ predicate: PredicateNode, within outer: Binding? = nil) {
        let binding: Binding? =
            switch predicate {
            case .or: .or
            case .and: .and
            case .constant, .comparison, .not, .block: nil
            }
        let needsParentheses = if let binding, let outer { binding.rawValue <= outer.rawValue } else { false }
        if needsParentheses { text += "(" }
        switch predicate {
        case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): write(comparison)
        case .and(let operands): write(operands, joinedBy: " AND ", .and)
        case .or(let operands): write(operands, joinedBy: " OR ", .or)
        case .not(let operand):
            text += "NOT "
            write(operand, within: .not)
        case .block: text += "BLOCKPREDICATE"
        }
        if needsParentheses { text += ")" }
    }

    private mutating func write(_ operands: [PredicateNode], joinedBy separator: String, _ binding: Binding) {
        for (index, operand) in operands.enumerated() {
            if index > 0 { text += separator }
            write(operand, within: binding)
        }
    }

    private mutating func write(_ comparison: PredicateComparison) {
        switch comparison.modifier {
        case .direct: break
        case .all: text += "ALL "
        case .any: text += "ANY "
        }
        write(comparison.left)
        text += " \(comparison.type.text)"
        let letters = NSComparisonPredicate.Options.letters.filter { comparison.options.contains($0.option) }
        if !letters.isEmpty { text += "[\(String(letters.map(\.letter)))]" }
        text += " "
        write(comparison.right)
    }

    private mutating func write(_ expression: PredicateExpression) {
        switch expression {
        case .constant(let value): write(value)
        case .keyPath(let path): write(keyPath: path)
        case .evaluatedObject: text += "SELF"
        case .variable(let name): text += "$\(name)"
        case .function(let name, let arguments):
            text += "\(name)("
            for (index, argument) in arguments.enumerated() {
                if index > 0 { text += ", " }
                write(argument)
            }
            text += ")"
        case .aggregate(let elements):
            text += "{"
            for (index, element) in elements.enumerated() {
                if index > 0 { text += ", " }
                write(element)
            }
            text += "}"
        }
    }

    private mutating func write(keyPath path: String) {
        guard PredicateToken.isPlain(keyPath: path) else {
            text += PredicateCast.write(keyPath: path)
            return
        }
        let first = path.prefix { $0 != "." }
        if PredicateToken.keyword(first) != nil { text += "#" }
        text += path
    }

    private mutating func write(_ value: PredicateValue) {
        switch value {
        case .null: text += "nil"
        case .integer(let value): text += "\(value)"
        case .double(let value): text += value.isFinite ? "\(value)" : "CAST(\"\(value)\", \"NSNumber\")"
        case .string(let value): text += Self.quoted(value)
        case .date(let value): text += PredicateCast.write(value)
        case .data(let value): text += PredicateCast.write(value)
        case .location(let value): text += PredicateCast.write(value)
        case .reference(let value): text += PredicateCast.write(value)
        case .recordID(let value): text += PredicateCast.write(value)
        case .list(let values):
            text += "{"
            for (index, value) in values.enumerated() {
                if index > 0 { text += ", " }
                write(value)
            }
            text += "}"
        case .unsupported(let reason): text += "<\(reason)>"
        }
    }
}
