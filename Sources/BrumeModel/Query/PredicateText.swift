/// Writes predicates for people who read a query plan: in the usual syntax, and cut off where they get long.
///
/// The text cannot be parsed again: places, dates and references are shortened, and a cut text ends with dots.
package struct PredicateText {
    /// Characters of a text that is written: a list may have thousands of values.
    private static let limit = 400

    private var text = ""
    private var isCut = false

    package static func text(of predicate: Predicate) -> String {
        var writer = PredicateText()
        writer.write(predicate, isOperand: false)
        return writer.finished
    }

    /// A query with its type, what it wants and its order.
    package static func text(of query: Query) -> String {
        var writer = PredicateText()
        writer.put(query.recordType.isEmpty ? "all records WHERE " : query.recordType + " WHERE ")
        writer.write(query.predicate, isOperand: false)
        for (index, sort) in query.sortDescriptors.enumerated() {
            writer.put(index == 0 ? " SORTED BY " : ", ")
            if let place = sort.relativeTo {
                writer.put("the distance of \(sort.key.name) from \(place.latitude), \(place.longitude)")
            } else {
                writer.put(sort.key.name)
            }
            if !sort.isAscending { writer.put(" downwards") }
        }
        return writer.finished
    }

    private var finished: String { isCut ? text + "…" : text }

    private mutating func put(_ part: String) {
        if isCut { return }
        let room = PredicateText.limit - text.count
        text += part.prefix(room)
        isCut = part.count > room
    }

    private mutating func write(_ predicate: Predicate, isOperand: Bool) {
        if isCut { return }
        switch predicate {
        case .constant(let isTrue): put(isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE")
        case .comparison(let key, let comparison, let value):
            put("\(key.name) \(comparison.symbol) ")
            write(value)
        case .between(let key, let low, let high):
            put("\(key.name) BETWEEN ")
            write([low, high])
        case .isIn(let key, let values):
            put("\(key.name) IN ")
            write(values)
        case .anyElement(let key, .equal, let value):
            put("\(key.name) CONTAINS ")
            write(value)
        case .anyElement(let key, let comparison, let value):
            put("ANY \(key.name) \(comparison.symbol) ")
            write(value)
        case .anyElementIsIn(let key, let values):
            put("ANY \(key.name) IN ")
            write(values)
        case .text(let words, let match):
            put(match == .anyWord ? "self CONTAINS " : "allTokens TOKENMATCHES[cdl] ")
            write(.string(words))
        case .distance(let key, let latitude, let longitude, let metres, let isInclusive):
            put("the distance of \(key.name) from \(latitude), \(longitude) \(isInclusive ? "<=" : "<") \(metres) m")
        case .and(let operands): write(operands, " AND ", empty: "TRUEPREDICATE", isOperand)
        case .or(let operands): write(operands, " OR ", empty: "FALSEPREDICATE", isOperand)
        case .not(let operand):
            put("NOT ")
            write(operand, isOperand: true)
        }
    }

    private mutating func write(_ operands: [Predicate], _ word: String, empty: String, _ isOperand: Bool) {
        if operands.isEmpty { return put(empty) }
        let hasParentheses = isOperand && operands.count > 1
        if hasParentheses { put("(") }
        for (index, operand) in operands.enumerated() {
            if index > 0 { put(word) }
            write(operand, isOperand: isOperand || operands.count > 1)
            if isCut { return }
        }
        if hasParentheses { put(")") }
    }

    private mutating func write(_ values: [FieldValue]) {
        put("{")
        for (index, value) in values.enumerated() {
            if index > 0 { put(", ") }
            write(value)
            if isCut { return }
        }
        put("}")
    }

    private mutating func write(_ value: FieldValue) {
        switch value {
        case .string(let text): put(PredicateText.quoted(text))
        case .int64(let number): put("\(number)")
        case .double(let number): put("\(number)")
        case .bytes(let bytes): put("\(bytes.count) bytes")
        case .date(let seconds): put("the date \(seconds) s behind 2001")
        case .location(let place): put("the place \(place.latitude), \(place.longitude)")
        case .reference(let reference): put("the record \(PredicateText.quoted(reference.recordName))")
        case .strings(let values): write(values.map { .string($0) })
        case .int64s(let values): write(values.map { .int64($0) })
        case .doubles(let values): write(values.map { .double($0) })
        case .bytesList(let values): write(values.map { .bytes($0) })
        case .dates(let values): write(values.map { .date($0) })
        case .locations(let values): write(values.map { .location($0) })
        case .references(let values): write(values.map { .reference($0) })
        case .emptyList: put("{}")
        case .asset(let asset): put("the asset \(asset.checksum)")
        case .assets(let assets): write(assets.map { .asset($0) })
        case .encrypted: put("(encrypted)")
        }
    }

    /// The text in quotes, on one line, with everything escaped that a terminal would take for a command.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars.prefix(limit) {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _ where scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format:
                quoted += "\\u{\(String(scalar.value, radix: 16))}"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
