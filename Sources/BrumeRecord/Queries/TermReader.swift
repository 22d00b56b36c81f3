package import BrumeModel
package import CBrumeProto

/// Reads the values that one term of a predicate compares its key with, and checks that the comparison is possible.
package struct TermReader {
    package let key: QueryKey
    private let isAnyElement: Bool

    package init(_ message: UnsafeMutablePointer<Brume__V1__QueryKey>?, isAnyElement: Bool) throws(ServiceError) {
        key = try QueryKey(message)
        self.isAnyElement = isAnyElement
        if isAnyElement, key.valueKind != nil {
            throw ServiceError(.invalidArguments, "\"\(key.name)\" is no list; compare it without any_element")
        }
    }

    package func value(
        _ message: UnsafeMutablePointer<Brume__V1__Value>?, _ comparison: ComparisonOperator
    ) throws(ServiceError) -> FieldValue {
        guard let message else {
            throw ServiceError(.invalidArguments, "\"\(key.name)\" is compared with no value; set the value")
        }
        let value = try read(message)
        try check(value, comparison)
        return value
    }

    private func read(_ message: UnsafeMutablePointer<Brume__V1__Value>) throws(ServiceError) -> FieldValue {
        switch message.pointee.kind_case {
        case BRUME__V1__VALUE__KIND_DOUBLE_VALUE where !message.pointee.double_value.isFinite,
            BRUME__V1__VALUE__KIND_DATE_VALUE where !message.pointee.date_value.isFinite:
            throw problem("is compared with a number that is not finite; send a finite one")
        case BRUME__V1__VALUE__KIND_REFERENCE_VALUE:
            let name = message.pointee.reference_value.pointee.record_name
            if !(key.isUser && name.text == Names.currentUser),
                let problem = FieldChecker.problem(recordName: name)
            {
                throw self.problem("is compared with a reference: \(problem)")
            }
        case BRUME__V1__VALUE__KIND_LOCATION_VALUE:
            if let problem = FieldChecker.problem(message) {
                throw self.problem("is compared with a value that \(problem); send another place")
            }
        case BRUME__V1__VALUE__KIND_ASSET_VALUE, BRUME__V1__VALUE__KIND_ASSET_LIST:
            throw problem("is compared with an asset, and queries don't look at assets; compare another field")
        case let kind where FieldKind(kind)?.isEncrypted == true:
            throw problem(
                "is compared with an encrypted value, and the server can't look into any; compare another field")
        case BRUME__V1__VALUE__KIND__NOT_SET:
            throw problem(
                "is compared with a value without a kind that this server knows; send one of brume.v1.Value's")
        default: break
        }
        guard let value = FieldValue(message) else {
            throw problem("is compared with text that is not valid UTF-8; send text as UTF-8")
        }
        return value
    }

    /// Fails when no record could ever match, whatever it holds.
    private func check(_ value: FieldValue, _ comparison: ComparisonOperator) throws(ServiceError) {
        let isOrdered: Bool
        switch value {
        case .string: isOrdered = true
        case .int64, .double, .date: isOrdered = comparison != .beginsWith
        case .bytes, .location, .reference: isOrdered = false
        case .asset, .assets, .encrypted:
            preconditionFailure("what queries don't look at was read as what a field is compared with")
        case .strings, .int64s, .doubles, .bytesList, .dates, .locations, .references, .emptyList:
            throw problem("is compared with a list; compare with one value, or send a membership for IN")
        }
        if !isOrdered, comparison != .equal, comparison != .notEqual {
            throw problem(
                comparison == .beginsWith
                    ? "is compared by BEGINSWITH with something else than a string; send a string"
                    : "is compared by \(comparison.symbol) with a value that has no order; use == or !=, or a string, number or date"
            )
        }
        switch (key.valueKind, value) {
        case (nil, _), (.date, .date), (.reference, .reference): break
        case (.date, _): throw problem("is compared with something else than a date; send a date")
        case (.reference, _): throw problem("is compared with something else than a reference; send a reference")
        }
    }

    private func problem(_ sentence: String) -> ServiceError {
        ServiceError(.invalidArguments, "\"\(key.name)\" \(sentence)")
    }
}

extension QueryKey {
    /// The kind of value in a field that the server keeps.
    package enum ValueKind {
        case date, reference
    }

    /// The kind of the key's values; nil for fields of the app.
    package var valueKind: ValueKind? {
        switch self {
        case .field: nil
        case .creationDate, .modificationDate: .date
        case .recordID, .creatorUserRecordID, .lastModifiedUserRecordID, .parent: .reference
        }
    }

    package init(_ message: UnsafeMutablePointer<Brume__V1__QueryKey>?) throws(ServiceError) {
        switch message?.pointee.kind_case {
        case BRUME__V1__QUERY_KEY__KIND_FIELD:
            let name = try text(message!.pointee.field, "a field key")
            if let problem = Names.problemWithFieldKey(name, ofType: Names.shareType) {
                throw ServiceError(.invalidArguments, problem)
            }
            self = .field(name)
        case BRUME__V1__QUERY_KEY__KIND_SYSTEM:
            let system = message!.pointee.system
            guard let key = Self.systemKeys.first(where: { $0.systemKey == system }) else {
                throw ServiceError(
                    .invalidArguments,
                    "a query has the unknown system key \(system.rawValue); use one of brume.v1.SystemKey")
            }
            self = key
        default:
            throw ServiceError(.invalidArguments, "a term or sort descriptor has no key; set a field or a system key")
        }
    }

    /// The key's number on the wire; `SYSTEM_KEY_NONE` for fields of the app.
    package var systemKey: Brume__V1__SystemKey {
        switch self {
        case .field: BRUME__V1__SYSTEM_KEY__SYSTEM_KEY_NONE
        case .recordID: BRUME__V1__SYSTEM_KEY__SYSTEM_KEY_RECORD_ID
        case .creationDate: BRUME__V1__SYSTEM_KEY__SYSTEM_KEY_CREATION_DATE
        case .modificationDate: BRUME__V1__SYSTEM_KEY__SYSTEM_KEY_MODIFICATION_DATE
        case .creatorUserRecordID: BRUME__V1__SYSTEM_KEY__SYSTEM_KEY_CREATOR_USER_RECORD_ID
        case .lastModifiedUserRecordID: BRUME__V1__SYSTEM_KEY__SYSTEM_KEY_LAST_MODIFIED_USER_RECORD_ID
        case .parent: BRUME__V1__SYSTEM_KEY__SYSTEM_KEY_PARENT
        }
    }

    private static let systemKeys: [QueryKey] = [
        .recordID, .creationDate, .modificationDate, .creatorUserRecordID, .lastModifiedUserRecordID, .parent,
    ]
}

extension QuerySort.Place {
    /// What is wrong with a place, or nil. NaN is in no range.
    package static func problem(latitude: Double, longitude: Double) -> String? {
        (-90...90).contains(latitude) && (-180...180).contains(longitude)
            ? nil : "a place is outside of -90 to 90 degrees of latitude and -180 to 180 of longitude; send degrees"
    }
}
