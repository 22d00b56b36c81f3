internal import BrumeGeodesy
package import BrumeModel

/// What a predicate says about a record, written down from its definition: decoded values, no indexes, nothing
/// prepared.
///
/// Its words are pieces between spaces, in lower case and without a dieresis: tests that compare with it use texts for
/// which that is right.
package enum NaivePredicate {
    /// Whether the predicate holds; nil if that is unknown.
    package static func holds(_ predicate: Predicate, _ record: Record) -> Bool? {
        switch predicate {
        case .constant(let holds): return holds
        case .comparison(let key, let comparison, let constant):
            guard let value = value(of: key, record) else { return nil }
            return compare(value, comparison, constant)
        case .between(let key, let low, let high):
            guard let value = value(of: key, record) else { return nil }
            return all([compare(value, .greaterOrEqual, low), compare(value, .lessOrEqual, high)])
        case .isIn(let key, let constants):
            guard let value = value(of: key, record), elements(value) == nil else { return nil }
            return any(constants.map { compare(value, .equal, $0) })
        case .anyElement(let key, let comparison, let constant):
            guard let value = value(of: key, record), let elements = elements(value) else { return nil }
            return any(elements.map { compare($0, comparison, constant) })
        case .anyElementIsIn(let key, let constants):
            guard let value = value(of: key, record), let elements = elements(value) else { return nil }
            return any(elements.map { element in any(constants.map { compare(element, .equal, $0) }) })
        case .text(let text, let match):
            let wanted = Set(words(text))
            let found = Set(record.fields.values.flatMap { texts($0) }.flatMap { words($0) })
            if wanted.isEmpty { return false }
            return match == .allWords ? wanted.isSubset(of: found) : !wanted.isDisjoint(with: found)
        case .distance(let key, let latitude, let longitude, let metres, let isInclusive):
            guard case .location(let place) = value(of: key, record) else { return nil }
            let distance = Geodesic.distance(
                from: .init(latitude: place.latitude, longitude: place.longitude),
                to: .init(latitude: latitude, longitude: longitude))
            return isInclusive ? distance <= metres : distance < metres
        case .and(let operands): return all(operands.map { holds($0, record) })
        case .or(let operands): return any(operands.map { holds($0, record) })
        case .not(let operand): return holds(operand, record).map { !$0 }
        }
    }

    static func all(_ values: [Bool?]) -> Bool? {
        if values.contains(false) { return false }
        return values.contains(nil) ? nil : true
    }

    static func any(_ values: [Bool?]) -> Bool? {
        if values.contains(true) { return true }
        return values.contains(nil) ? nil : false
    }

    package static func value(of key: QueryKey, _ record: Record) -> FieldValue? {
        func reference(_ name: String) -> FieldValue? {
            name.isEmpty ? nil : .reference(Reference(recordName: name, deletesSelf: false))
        }
        switch key {
        case .field(let name):
            switch record.fields[name] {
            // Queries take them for missing.
            case .asset, .assets, .encrypted: return nil
            case let value: return value
            }
        case .recordID: return reference(record.system.name)
        case .creationDate: return .date(Double(record.system.createdMilliseconds) / 1000 - 978_307_200)
        case .modificationDate: return .date(Double(record.system.modifiedMilliseconds) / 1000 - 978_307_200)
        case .creatorUserRecordID: return reference(record.system.creator)
        case .lastModifiedUserRecordID: return reference(record.system.modifier)
        case .parent: return reference(record.system.parent ?? "")
        }
    }

    package static func elements(_ value: FieldValue) -> [FieldValue]? {
        switch value {
        case .strings(let list): list.map { .string($0) }
        case .int64s(let list): list.map { .int64($0) }
        case .doubles(let list): list.map { .double($0) }
        case .bytesList(let list): list.map { .bytes($0) }
        case .dates(let list): list.map { .date($0) }
        case .locations(let list): list.map { .location($0) }
        case .references(let list): list.map { .reference($0) }
        case .emptyList: []
        default: nil
        }
    }

    private static func words(_ text: String) -> [String] {
        text.lowercased().split(separator: " ").map { String($0.map { $0 == "ä" ? "a" : $0 }) }
    }

    private static func texts(_ value: FieldValue) -> [String] {
        switch value {
        case .string(let text): [text]
        case .strings(let list): list
        default: []
        }
    }

    package static func compare(_ left: FieldValue, _ comparison: ComparisonOperator, _ right: FieldValue) -> Bool? {
        if let lefts = elements(left) {
            guard let rights = elements(right), comparison == .equal || comparison == .notEqual else { return nil }
            let pairs = zip(lefts, rights).map { compare($0, .equal, $1) }
            if pairs.contains(nil) { return nil }
            let isEqual = lefts.count == rights.count && all(pairs) == true
            return isEqual == (comparison == .equal)
        }
        if comparison == .beginsWith {
            guard case .string(let text) = left, case .string(let prefix) = right else { return nil }
            return Array(text.utf8).starts(with: prefix.utf8)
        }
        switch (left, right) {
        case (.int64(let left), .int64(let right)): return order(left, comparison, right)
        case (.double(let left), .double(let right)), (.date(let left), .date(let right)):
            return order(left, comparison, right)
        case (.int64(let left), .double(let right)): return order(doubled(left), comparison, doubled(right))
        case (.double(let left), .int64(let right)): return order(doubled(left), comparison, doubled(right))
        case (.string(let left), .string(let right)): return order(Array(left.utf8), comparison, Array(right.utf8))
        case (.bytes(let left), .bytes(let right)): return order(left, comparison, right)
        case (.reference(let left), .reference(let right)):
            return order(Array(left.recordName.utf8), comparison, Array(right.recordName.utf8))
        case (.location(let left), .location(let right)):
            let isEqual = left.latitude == right.latitude && left.longitude == right.longitude
            return comparison == .equal ? isEqual : comparison == .notEqual ? !isEqual : nil
        default: return nil
        }
    }

    /// Twice the number, so that the halves among the tests' numbers are whole; nil, which compares with nothing, for
    /// what is not a number.
    private static func doubled(_ number: Int64) -> Int128? { Int128(number) * 2 }

    private static func doubled(_ number: Double) -> Int128? {
        number.isNaN ? nil : Int128(max(-1e30, min(1e30, number)) * 2)
    }

    private static func order(_ left: Int128?, _ comparison: ComparisonOperator, _ right: Int128?) -> Bool? {
        guard let left, let right else {
            return orderMixed(comparison, isLess: false, isEqual: false, isGreater: false)
        }
        return orderMixed(comparison, isLess: left < right, isEqual: left == right, isGreater: left > right)
    }

    private static func order<Value: Comparable>(
        _ left: Value, _ comparison: ComparisonOperator, _ right: Value
    ) -> Bool? {
        orderMixed(comparison, isLess: left < right, isEqual: left == right, isGreater: left > right)
    }

    private static func order(_ left: [UInt8], _ comparison: ComparisonOperator, _ right: [UInt8]) -> Bool? {
        let isLess = left.lexicographicallyPrecedes(right)
        return orderMixed(comparison, isLess: isLess, isEqual: left == right, isGreater: !isLess && left != right)
    }

    private static func orderMixed(
        _ comparison: ComparisonOperator, isLess: Bool, isEqual: Bool, isGreater: Bool
    ) -> Bool? {
        switch comparison {
        case .equal: isEqual
        case .notEqual: !isEqual
        case .less: isLess
        case .lessOrEqual: isLess || isEqual
        case .greater: isGreater
        case .greaterOrEqual: isGreater || isEqual
        case .beginsWith: nil
        }
    }
}
