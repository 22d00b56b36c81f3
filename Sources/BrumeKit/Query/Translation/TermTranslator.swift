internal import BrumeModel
internal import Foundation

/// Makes the values that one key is compared with, and refuses those that it can't be.
struct TermTranslator {
    let key: QueryKey

    /// What kinds of values compare with each other: both kinds of numbers do.
    private enum Kind {
        case string, number, date, reference
    }

    /// One value.
    func scalar(_ value: PredicateValue, _ comparison: ComparisonOperator) throws(ServiceError) -> FieldValue {
        try scalarAndKind(value, comparison).0
    }

    /// The elements of a list, which are of one kind.
    func elements(
        _ value: PredicateValue, _ comparison: ComparisonOperator = .equal
    ) throws(ServiceError) -> [FieldValue] {
        guard case .list(let values) = value else {
            throw refusal("is compared by IN with something else than a list; pass an array, or write {1, 2}")
        }
        guard values.count <= Limits.predicateValues else {
            throw ServiceError(
                .limitExceeded,
                "\"\(key.name)\" is compared with \(values.count) values; the limit is \(Limits.predicateValues): split the list over several queries"
            )
        }
        var elements: [FieldValue] = []
        elements.reserveCapacity(values.count)
        var common: Kind?
        for value in values {
            let (element, kind) = try scalarAndKind(value, comparison)
            if let common, common != kind {
                throw refusal("is compared with a list of several kinds of values; let all be of one kind")
            }
            common = kind
            elements.append(element)
        }
        return elements
    }

    private func scalarAndKind(
        _ value: PredicateValue, _ comparison: ComparisonOperator
    ) throws(ServiceError) -> (FieldValue, Kind) {
        let (field, kind) = try fieldValue(value, comparison)
        if comparison == .beginsWith, kind != .string {
            throw refusal("is compared by BEGINSWITH with something else than a string; pass a String")
        }
        if kind == .reference, comparison != .equal, comparison != .notEqual {
            throw refusal("is compared by \(comparison.symbol) with a reference, which has no order; use ==, != or IN")
        }
        switch key {
        case .field: break
        case .creationDate, .modificationDate:
            if kind != .date { throw refusal("is compared with something else than a date; pass a Date") }
        case .recordID, .creatorUserRecordID, .lastModifiedUserRecordID, .parent:
            if kind != .reference {
                throw refusal(
                    "is compared with something else than a record; pass a CKRecord.ID or a CKRecord.Reference")
            }
        }
        return (field, kind)
    }

    private func fieldValue(
        _ value: PredicateValue, _ comparison: ComparisonOperator
    ) throws(ServiceError) -> (FieldValue, Kind) {
        switch value {
        case .string(let value): return (.string(value), .string)
        case .integer(let value): return (.int64(value), .number)
        case .double(let value):
            guard value.isFinite else { throw refusal("is compared with a number that is not finite; pass another") }
            return (.double(value), .number)
        case .date(let value):
            guard value.isFinite else { throw refusal("is compared with a date that is not finite; pass another") }
            return (.date(value), .date)
        // Only the target counts, not what its deletion does.
        case .reference(let value): return (try reference(value.recordID), .reference)
        case .recordID(let value): return (try reference(value), .reference)
        case .null:
            throw refusal(
                "is compared with nil, and whether a field has a value can't be asked for; keep a field of 0 and 1 that says so"
            )
        case .list:
            throw refusal("is compared by \(comparison.symbol) with a list; use IN for one of its elements")
        case .data:
            throw refusal(
                "is compared with Data, which can't be searched for; keep a String, such as a digest, beside it")
        case .location:
            throw refusal(
                "is compared with a place; write distanceToLocation:fromLocation:(\(key.name), %@) < metres")
        case .unsupported(let reason):
            throw refusal("is compared with a value that it can't be: \(reason)")
        }
    }

    /// The caller's own user record may be named where users are compared.
    private func reference(_ id: CKRecordID) throws(ServiceError) -> FieldValue {
        let name = id.recordName
        let isUser = key == .creatorUserRecordID || key == .lastModifiedUserRecordID
        if !Names.isUserRecordName(name), !(isUser && name == Names.currentUser),
            let problem = Names.problemWithRecordName(name)
        {
            throw refusal("is compared with a record that can't be: \(problem)")
        }
        return .reference(Reference(recordName: name, deletesSelf: false))
    }

    private func refusal(_ sentence: String) -> ServiceError {
        ServiceError(.invalidArguments, "\"\(key.name)\" \(sentence)")
    }
}
