/// A JSON value that keeps what Foundation's parser loses: the order of keys, and whether a number was written whole.
enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([(key: String, value: JSONValue)])

    static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.key == $1.key && $0.value == $1.value }
        default: false
        }
    }

    /// The value of an object's member; when the key is repeated, the last one, as in other parsers.
    subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.key == key }?.value
    }

    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The kind of value, for messages.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a truth value"
        case .integer: "a whole number"
        case .number: "a number"
        case .string: "text"
        case .array: "a list"
        case .object: "an object"
        }
    }
}

extension JSONValue {
    /// One line of JSON.
    var line: String {
        var text = ""
        write(to: &text, indentation: nil)
        return text
    }

    /// JSON for people: one member per line, indented by two spaces. Lists of plain values stay on one line.
    var pretty: String {
        var text = ""
        write(to: &text, indentation: 0)
        return text
    }

    private var isPlain: Bool {
        switch self {
        case .array, .object: false
        default: true
        }
    }

    private func write(to text: inout String, indentation: Int?) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        // JSON has no infinities: they are written as text, which other tools can read.
        case .number(let value): text += value.isFinite ? value.description : "\"\(value)\""
        case .string(let value): Self.quote(value, to: &text)
        case .array(let elements):
            let inner = elements.allSatisfy(\.isPlain) ? nil : indentation
            Self.writeList(elements, "[", "]", to: &text, indentation: inner) { element, text, depth in
                element.write(to: &text, indentation: depth)
            }
        case .object(let members):
            Self.writeList(members, "{", "}", to: &text, indentation: indentation) { member, text, depth in
                Self.quote(member.key, to: &text)
                text += depth == nil ? ":" : ": "
                member.value.write(to: &text, indentation: depth)
            }
        }
    }

    private static func writeList<Element>(
        _ elements: [Element], _ open: String, _ close: String, to text: inout String, indentation: Int?,
        element write: (Element, inout String, Int?) -> Void
    ) {
        text += open
        for (index, element) in elements.enumerated() {
            if index > 0 { text += "," }
            if let indentation { text += "\n" + String(repeating: "  ", count: indentation + 1) }
            write(element, &text, indentation.map { $0 + 1 })
        }
        if let indentation, !elements.isEmpty { text += "\n" + String(repeating: "  ", count: indentation) }
        text += close
    }

    private static func quote(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 0x20 || scalar.commandsTerminals:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
