package import BrumeModel
package import CBrumeProto

/// ``FieldValue`` and `brume.v1.Field`, for the side that looks at values: the client, and tests.
///
/// The encoding is canonical: one value has one encoding. An empty list of whatever element type is an `EmptyList`, and
/// a negative zero in a location, which protobuf leaves out like any zero, reads back as zero.
extension MessageArena {
    /// A field to send; without a value the save removes the key.
    package func field(_ key: String, _ value: FieldValue?) -> Pointer<Brume__V1__Field> {
        let field = make(brume__v1__field__init)
        field.pointee.key = data(key)
        if let value { field.pointee.value = self.value(value) }
        return field
    }

    package func value(_ value: FieldValue) -> Pointer<Brume__V1__Value> {
        let message = make(brume__v1__value__init)
        switch value {
        case .string(let text):
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_STRING_VALUE
            message.pointee.string_value = data(text)
        case .int64(let number):
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_INT64_VALUE
            message.pointee.int64_value = number
        case .double(let number):
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_DOUBLE_VALUE
            message.pointee.double_value = number
        case .bytes(let bytes):
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_BYTES_VALUE
            message.pointee.bytes_value = data(bytes)
        case .date(let seconds):
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_DATE_VALUE
            message.pointee.date_value = seconds
        case .location(let location):
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_LOCATION_VALUE
            message.pointee.location_value = self.location(location)
        case .reference(let reference):
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_REFERENCE_VALUE
            message.pointee.reference_value = self.reference(reference)
        case .asset(let asset):
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_ASSET_VALUE
            message.pointee.asset_value = self.asset(asset)
        case .encrypted(let value) where value.kind == .asset:
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_ENCRYPTED_ASSET
            message.pointee.encrypted_asset = encryptedAsset(value)
        case .encrypted(let value) where value.kind == .assets:
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_ENCRYPTED_ASSET_LIST
            message.pointee.encrypted_asset_list = encryptedAssetList(value)
        case .encrypted(let value):
            message.pointee.kind_case = Brume__V1__Value__KindCase(UInt32(FieldKind(.encrypted(value)).rawValue))
            // All of these are bytes, in the same place.
            message.pointee.encrypted_string = data(value.bytes)
        default:
            list(value, into: message)
        }
        return message
    }

    private func list(_ value: FieldValue, into message: Pointer<Brume__V1__Value>) {
        switch value {
        case .strings(let values) where !values.isEmpty:
            let list = make(brume__v1__string_list__init)
            list.pointee.values = self.list(values)
            list.pointee.n_values = values.count
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_STRING_LIST
            message.pointee.string_list = list
        case .int64s(let values) where !values.isEmpty:
            let list = make(brume__v1__int64_list__init)
            list.pointee.values = numbers(values)
            list.pointee.n_values = values.count
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_INT64_LIST
            message.pointee.int64_list = list
        case .doubles(let values) where !values.isEmpty:
            let list = make(brume__v1__double_list__init)
            list.pointee.values = numbers(values)
            list.pointee.n_values = values.count
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_DOUBLE_LIST
            message.pointee.double_list = list
        case .bytesList(let values) where !values.isEmpty:
            let list = make(brume__v1__bytes_list__init)
            list.pointee.values = self.list(values)
            list.pointee.n_values = values.count
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_BYTES_LIST
            message.pointee.bytes_list = list
        case .dates(let values) where !values.isEmpty:
            let list = make(brume__v1__date_list__init)
            list.pointee.values = numbers(values)
            list.pointee.n_values = values.count
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_DATE_LIST
            message.pointee.date_list = list
        case .locations(let values) where !values.isEmpty:
            let list = make(brume__v1__location_list__init)
            list.pointee.values = messages(values) { location($0) }
            list.pointee.n_values = values.count
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_LOCATION_LIST
            message.pointee.location_list = list
        case .references(let values) where !values.isEmpty:
            let list = make(brume__v1__reference_list__init)
            list.pointee.values = messages(values) { reference($0) }
            list.pointee.n_values = values.count
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_REFERENCE_LIST
            message.pointee.reference_list = list
        case .assets(let values) where !values.isEmpty:
            let list = make(brume__v1__asset_list__init)
            list.pointee.values = messages(values) { asset($0) }
            list.pointee.n_values = values.count
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_ASSET_LIST
            message.pointee.asset_list = list
        default:
            message.pointee.kind_case = BRUME__V1__VALUE__KIND_EMPTY_LIST
            message.pointee.empty_list = make(brume__v1__empty_list__init)
        }
    }

    package func location(_ location: Location) -> Pointer<Brume__V1__Location> {
        let message = make(brume__v1__location__init)
        message.pointee.latitude = location.latitude
        message.pointee.longitude = location.longitude
        message.pointee.altitude = location.altitude
        message.pointee.horizontal_accuracy = location.horizontalAccuracy
        message.pointee.vertical_accuracy = location.verticalAccuracy
        message.pointee.course = location.course
        message.pointee.speed = location.speed
        message.pointee.timestamp = location.timestamp
        return message
    }

    private func reference(_ reference: Reference) -> Pointer<Brume__V1__Reference> {
        let message = make(brume__v1__reference__init)
        message.pointee.record_name = data(reference.recordName)
        message.pointee.action =
            reference.deletesSelf
            ? BRUME__V1__REFERENCE_ACTION__REFERENCE_ACTION_DELETE_SELF
            : BRUME__V1__REFERENCE_ACTION__REFERENCE_ACTION_NONE
        return message
    }
}

extension FieldValue {
    /// The value of a decoded message. Returns nil when it has no kind that this version knows, a text that isn't
    /// UTF-8, an asset without a checksum, or an encrypted one without its content.
    package init?(_ value: UnsafeMutablePointer<Brume__V1__Value>) {
        switch value.pointee.kind_case {
        case BRUME__V1__VALUE__KIND_STRING_VALUE:
            guard let text = value.pointee.string_value.text else { return nil }
            self = .string(text)
        case BRUME__V1__VALUE__KIND_INT64_VALUE: self = .int64(value.pointee.int64_value)
        case BRUME__V1__VALUE__KIND_DOUBLE_VALUE: self = .double(value.pointee.double_value)
        case BRUME__V1__VALUE__KIND_BYTES_VALUE: self = .bytes(value.pointee.bytes_value.array)
        case BRUME__V1__VALUE__KIND_DATE_VALUE: self = .date(value.pointee.date_value)
        case BRUME__V1__VALUE__KIND_LOCATION_VALUE: self = .location(Location(value.pointee.location_value))
        case BRUME__V1__VALUE__KIND_REFERENCE_VALUE:
            guard let reference = Reference(value.pointee.reference_value) else { return nil }
            self = .reference(reference)
        case BRUME__V1__VALUE__KIND_ASSET_VALUE:
            guard let asset = Asset(value.pointee.asset_value) else { return nil }
            self = .asset(asset)
        case BRUME__V1__VALUE__KIND_ENCRYPTED_ASSET:
            guard let value = EncryptedValue(value.pointee.encrypted_asset) else { return nil }
            self = .encrypted(value)
        case BRUME__V1__VALUE__KIND_ENCRYPTED_ASSET_LIST:
            guard let value = EncryptedValue(value.pointee.encrypted_asset_list) else { return nil }
            self = .encrypted(value)
        default:
            self.init(list: value)
        }
    }

    private init?(list value: UnsafeMutablePointer<Brume__V1__Value>) {
        switch value.pointee.kind_case {
        case BRUME__V1__VALUE__KIND_STRING_LIST:
            let list = value.pointee.string_list.pointee
            guard let texts = Self.all(list.values, list.n_values, \.text) else { return nil }
            self = texts.isEmpty ? .emptyList : .strings(texts)
        case BRUME__V1__VALUE__KIND_INT64_LIST:
            let list = value.pointee.int64_list.pointee
            let numbers = [Int64](UnsafeBufferPointer(start: list.values, count: list.n_values))
            self = numbers.isEmpty ? .emptyList : .int64s(numbers)
        case BRUME__V1__VALUE__KIND_DOUBLE_LIST:
            let list = value.pointee.double_list.pointee
            let numbers = [Double](UnsafeBufferPointer(start: list.values, count: list.n_values))
            self = numbers.isEmpty ? .emptyList : .doubles(numbers)
        case BRUME__V1__VALUE__KIND_BYTES_LIST:
            let list = value.pointee.bytes_list.pointee
            let values = UnsafeBufferPointer(start: list.values, count: list.n_values).map(\.array)
            self = values.isEmpty ? .emptyList : .bytesList(values)
        case BRUME__V1__VALUE__KIND_DATE_LIST:
            let list = value.pointee.date_list.pointee
            let seconds = [Double](UnsafeBufferPointer(start: list.values, count: list.n_values))
            self = seconds.isEmpty ? .emptyList : .dates(seconds)
        case BRUME__V1__VALUE__KIND_LOCATION_LIST:
            let list = value.pointee.location_list.pointee
            guard let locations = Self.all(list.values, list.n_values, { Location($0!) }) else { return nil }
            self = locations.isEmpty ? .emptyList : .locations(locations)
        case BRUME__V1__VALUE__KIND_REFERENCE_LIST:
            let list = value.pointee.reference_list.pointee
            guard let references = Self.all(list.values, list.n_values, { Reference($0!) }) else { return nil }
            self = references.isEmpty ? .emptyList : .references(references)
        case BRUME__V1__VALUE__KIND_ASSET_LIST:
            let list = value.pointee.asset_list.pointee
            guard let assets = Self.all(list.values, list.n_values, { Asset($0!) }) else { return nil }
            self = assets.isEmpty ? .emptyList : .assets(assets)
        case BRUME__V1__VALUE__KIND_EMPTY_LIST: self = .emptyList
        case let kind:
            // Those that are bytes; assets are messages.
            guard let plain = FieldKind(kind)?.decrypted, !plain.namesAssets else { return nil }
            self = .encrypted(EncryptedValue(plain, value.pointee.encrypted_string.array))
        }
    }

    private static func all<Element, Value>(
        _ elements: UnsafeMutablePointer<Element>?, _ count: Int, _ value: (Element) -> Value?
    ) -> [Value]? {
        var values: [Value] = []
        values.reserveCapacity(count)
        for element in UnsafeBufferPointer(start: elements, count: count) {
            guard let value = value(element) else { return nil }
            values.append(value)
        }
        return values
    }
}

extension FieldKind {
    /// Nil for a value without a kind that this version knows.
    package init?(_ kind: Brume__V1__Value__KindCase) {
        self.init(number: UInt64(kind.rawValue))
    }
}

extension Location {
    package init(_ location: UnsafeMutablePointer<Brume__V1__Location>) {
        self.init(
            latitude: location.pointee.latitude, longitude: location.pointee.longitude,
            altitude: location.pointee.altitude, horizontalAccuracy: location.pointee.horizontal_accuracy,
            verticalAccuracy: location.pointee.vertical_accuracy, course: location.pointee.course,
            speed: location.pointee.speed, timestamp: location.pointee.timestamp)
    }
}

extension Reference {
    package init?(_ reference: UnsafeMutablePointer<Brume__V1__Reference>) {
        guard let name = reference.pointee.record_name.text else { return nil }
        self.init(
            recordName: name,
            deletesSelf: reference.pointee.action == BRUME__V1__REFERENCE_ACTION__REFERENCE_ACTION_DELETE_SELF)
    }
}
