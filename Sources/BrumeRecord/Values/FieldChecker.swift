package import BrumeModel
package import CBrumeProto

/// Checks the fields of a record to save and puts them into canonical encoding, where ``ModifyRecordsReader`` does not
/// do so in place.
///
/// Each field is checked in the decoded C struct, stripped of what the protocol doesn't know, and packed again: two
/// saves of equal content give equal bytes, whatever the client's encoder. The resulting fields are sorted by key.
package enum FieldChecker {
    package typealias Value = UnsafeMutablePointer<Brume__V1__Value>

    package static func check(_ save: UnsafeMutablePointer<Brume__V1__RecordSave>) -> CheckedFields {
        let count = save.pointee.n_fields
        guard count <= Limits.fieldsPerRecord else {
            return CheckedFields(
                problem: ServiceError(
                    .limitExceeded,
                    "a record has \(count) fields; the limit is \(Limits.fieldsPerRecord): use several records or lists"
                ))
        }
        guard count > 0 else { return CheckedFields() }
        let fields = UnsafeMutableBufferPointer(start: save.pointee.fields, count: count)
        sort(fields)

        var checked = CheckedFields()
        var puts = EncodedFieldsBuilder()
        let type = save.pointee.type.lossyText
        var recordBytes = save.pointee.name.len + save.pointee.type.len
        for index in 0..<count {
            let field = fields[index]!
            guard let key = field.pointee.key.text else {
                return invalid("a field key is not valid UTF-8; use ASCII letters, digits and underscores")
            }
            if let problem = Names.problemWithFieldKey(key, ofType: type) { return invalid(problem) }
            if index > 0, fields[index - 1]!.pointee.key.buffer.elementsEqual(field.pointee.key.buffer) {
                return invalid("the field \"\(key)\" stands twice in a record; send each key once")
            }
            guard let value = field.pointee.value else {
                checked.removals.append(key)
                continue
            }
            if let problem = problem(value) { return invalid("the field \"\(key)\" \(problem)") }
            if type == Names.shareType, let problem = ShareFields.problem(value, of: key) {
                return CheckedFields(problem: problem)
            }
            forgetUnknown(&field.pointee.base)
            let bytes = packed(field)
            recordBytes += WireSize.message(bytes.count)
            guard recordBytes <= Limits.recordBytes else {
                return CheckedFields(
                    problem: ServiceError(
                        .limitExceeded,
                        "a record has more than \(Limits.recordBytes) bytes, which is the limit; move data to other records"
                    ))
            }
            bytes.withUnsafeBytes { puts.append($0) }
        }
        checked.puts = puts.fields
        return checked
    }

    /// The canonical bytes of a field. Returns nil when its value is not valid.
    package static func canonicalBytes(of field: UnsafeMutablePointer<Brume__V1__Field>) -> [UInt8]? {
        guard let value = field.pointee.value, problem(value) == nil else { return nil }
        forgetUnknown(&field.pointee.base)
        return packed(field)
    }

    private static func invalid(_ message: String) -> CheckedFields {
        CheckedFields(problem: ServiceError(.invalidArguments, message))
    }

    /// Sorts the fields by key. Brume's own clients send them sorted.
    private static func sort(_ fields: UnsafeMutableBufferPointer<UnsafeMutablePointer<Brume__V1__Field>?>) {
        func precedes(
            _ left: UnsafeMutablePointer<Brume__V1__Field>?, _ right: UnsafeMutablePointer<Brume__V1__Field>?
        ) -> Bool {
            left!.pointee.key.buffer.lexicographicallyPrecedes(right!.pointee.key.buffer)
        }
        for index in 1..<fields.count where precedes(fields[index], fields[index - 1]) {
            var fields = fields
            fields.sort(by: precedes)
            return
        }
    }

    /// Drops what a decoder of this version doesn't know. The memory is the arena's.
    static func forgetUnknown(_ message: inout ProtobufCMessage) {
        message.n_unknown_fields = 0
        message.unknown_fields = nil
    }

    /// What is wrong with a value, in words that follow the field's name. Returns nil when the value is valid; it is
    /// then canonical.
    package static func problem(_ value: Value) -> String? {
        forgetUnknown(&value.pointee.base)
        switch value.pointee.kind_case {
        case BRUME__V1__VALUE__KIND_STRING_VALUE:
            return value.pointee.string_value.isText ? nil : "holds text that is not valid UTF-8; send text as UTF-8"
        case BRUME__V1__VALUE__KIND_INT64_VALUE, BRUME__V1__VALUE__KIND_DOUBLE_VALUE,
            BRUME__V1__VALUE__KIND_BYTES_VALUE:
            return nil
        case BRUME__V1__VALUE__KIND_DATE_VALUE:
            return value.pointee.date_value.isFinite
                ? nil : "holds a date that is no finite number; send seconds since 2001"
        case BRUME__V1__VALUE__KIND_LOCATION_VALUE: return problem(value.pointee.location_value)
        case BRUME__V1__VALUE__KIND_REFERENCE_VALUE: return problem(value.pointee.reference_value)
        case BRUME__V1__VALUE__KIND_ASSET_VALUE: return problem(value.pointee.asset_value)
        case BRUME__V1__VALUE__KIND_ENCRYPTED_ASSET: return problem(value.pointee.encrypted_asset)
        case BRUME__V1__VALUE__KIND_ENCRYPTED_ASSET_LIST: return problem(value.pointee.encrypted_asset_list)
        default: return problem(list: value)
        }
    }

    private static func problem(list value: Value) -> String? {
        var count = 0
        switch value.pointee.kind_case {
        case BRUME__V1__VALUE__KIND_STRING_LIST:
            let list = value.pointee.string_list!
            forgetUnknown(&list.pointee.base)
            count = list.pointee.n_values
            for index in 0..<count where !list.pointee.values[index].isText {
                return "holds a list with text that is not valid UTF-8; send text as UTF-8"
            }
        case BRUME__V1__VALUE__KIND_INT64_LIST:
            forgetUnknown(&value.pointee.int64_list.pointee.base)
            count = value.pointee.int64_list.pointee.n_values
        case BRUME__V1__VALUE__KIND_DOUBLE_LIST:
            forgetUnknown(&value.pointee.double_list.pointee.base)
            count = value.pointee.double_list.pointee.n_values
        case BRUME__V1__VALUE__KIND_BYTES_LIST:
            forgetUnknown(&value.pointee.bytes_list.pointee.base)
            count = value.pointee.bytes_list.pointee.n_values
        case BRUME__V1__VALUE__KIND_DATE_LIST:
            let list = value.pointee.date_list!
            forgetUnknown(&list.pointee.base)
            count = list.pointee.n_values
            for index in 0..<count where !list.pointee.values[index].isFinite {
                return "holds a list with a date that is no finite number; send seconds since 2001"
            }
        case BRUME__V1__VALUE__KIND_LOCATION_LIST:
            let list = value.pointee.location_list!
            forgetUnknown(&list.pointee.base)
            count = list.pointee.n_values
            for index in 0..<count {
                if let problem = problem(list.pointee.values[index]!) { return problem }
            }
        case BRUME__V1__VALUE__KIND_REFERENCE_LIST:
            let list = value.pointee.reference_list!
            forgetUnknown(&list.pointee.base)
            count = list.pointee.n_values
            for index in 0..<count {
                if let problem = problem(list.pointee.values[index]!) { return problem }
            }
        case BRUME__V1__VALUE__KIND_ASSET_LIST:
            let list = value.pointee.asset_list!
            forgetUnknown(&list.pointee.base)
            count = list.pointee.n_values
            for index in 0..<count {
                if let problem = problem(list.pointee.values[index]!) { return problem }
            }
        case BRUME__V1__VALUE__KIND_EMPTY_LIST:
            forgetUnknown(&value.pointee.empty_list.pointee.base)
            return nil
        case let kind:
            // Those that are bytes; assets are messages.
            guard let kind = FieldKind(kind), kind.isEncrypted, !kind.namesAssets else {
                return "has a value without a kind that this server knows; send one of the kinds of brume.v1.Value"
            }
            return problem(encrypted: value.pointee.encrypted_string.rawBuffer)
        }
        if count == 0 { becomeEmptyList(value) }
        return nil
    }

    /// Turns an empty typed list into an `EmptyList`: a list without elements has no element type. The message of the
    /// typed list holds nothing by now and begins with the layout of an `EmptyList`, so it serves as one.
    private static func becomeEmptyList(_ value: Value) {
        let list = UnsafeMutableRawPointer(value.pointee.empty_list!)
            .assumingMemoryBound(to: Brume__V1__EmptyList.self)
        brume__v1__empty_list__init(list)
        value.pointee.kind_case = BRUME__V1__VALUE__KIND_EMPTY_LIST
        value.pointee.empty_list = list
    }

    private static func problem(_ location: UnsafeMutablePointer<Brume__V1__Location>) -> String? {
        forgetUnknown(&location.pointee.base)
        let place = Location(location)
        guard (-90...90).contains(place.latitude), (-180...180).contains(place.longitude) else {
            return "holds a location outside of -90 to 90 degrees of latitude and -180 to 180 of longitude"
        }
        guard
            place.altitude.isFinite, place.horizontalAccuracy.isFinite, place.verticalAccuracy.isFinite,
            place.course.isFinite, place.speed.isFinite, place.timestamp.isFinite
        else {
            return "holds a location with something else than finite numbers"
        }
        return nil
    }

    private static func problem(encrypted bytes: UnsafeRawBufferPointer) -> String? {
        do throws(EncryptedHeader.Problem) {
            _ = try EncryptedHeader(ofValue: bytes)
            return nil
        } catch {
            return "holds " + sentence(error, "an encrypted value", bytes)
        }
    }

    /// What is wrong with the stamp of a record to save, or nil. One that is empty is none.
    package static func problem(stamp bytes: UnsafeRawBufferPointer) -> String? {
        if bytes.isEmpty { return nil }
        do throws(EncryptedHeader.Problem) {
            _ = try EncryptedHeader(ofStamp: bytes)
            return nil
        } catch {
            return "a record has " + sentence(error, "a stamp", bytes)
        }
    }

    static func sentence(
        _ problem: EncryptedHeader.Problem, _ name: String, _ bytes: UnsafeRawBufferPointer
    ) -> String {
        switch problem {
        case .newer: "\(name) of a newer format, which needs a newer server; update the server"
        case .malformed:
            "\(bytes.count) bytes in place of \(name); send what devices make, as Documentation/EncryptionFormats.md says"
        }
    }

    private static func problem(_ reference: UnsafeMutablePointer<Brume__V1__Reference>) -> String? {
        forgetUnknown(&reference.pointee.base)
        guard reference.pointee.action.rawValue <= 1 else {
            return "holds a reference with the unknown action \(reference.pointee.action.rawValue); use 0 or 1"
        }
        return problem(recordName: reference.pointee.record_name).map { "holds a reference: \($0)" }
    }

    /// What is wrong with the name of a reference's target, or nil. References may point to user records; the store
    /// checks that none is a parent.
    package static func problem(recordName: ProtobufCBinaryData) -> String? {
        guard let name = recordName.text else { return "a record name is not valid UTF-8; use printable ASCII" }
        return Names.isUserRecordName(name) ? nil : Names.problemWithRecordName(name)
    }
}
