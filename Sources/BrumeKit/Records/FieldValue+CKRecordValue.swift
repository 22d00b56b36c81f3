internal import BrumeModel
internal import Foundation

/// Why a value can't be a field of a record, as a sentence for the developer.
struct UnsupportedFieldValue: Error, Equatable {
    let reason: String
}

/// A type of values that has a canonical form. Separate from ``CKRecordValueProtocol``, which anybody may conform to.
protocol FieldValueConvertible {
    /// The canonical form, in a record of the given zone.
    func fieldValue(in zoneID: CKRecordZone.ID) throws(UnsupportedFieldValue) -> FieldValue
}

extension FieldValue {
    /// The canonical form of a value that is set in a record of the given zone.
    init(_ value: any CKRecordValueProtocol, in zoneID: CKRecordZone.ID) throws(UnsupportedFieldValue) {
        guard let convertible = value as? any FieldValueConvertible else {
            throw UnsupportedFieldValue(
                reason: "\(type(of: value)) can't be stored in a record; convert it to String, Date, Data, a number, "
                    + "CKRecord.Reference, CLLocation or an array of one of them")
        }
        self = try convertible.fieldValue(in: zoneID)
    }

    /// The value as an app reads it: numbers as `NSNumber`, which casts to each number type that holds the value.
    func recordValue(in zoneID: CKRecordZone.ID) -> any __CKRecordObjCValue {
        switch self {
        case .string(let value): value
        case .int64(let value): NSNumber(value: value)
        case .double(let value): NSNumber(value: value)
        case .bytes(let value): Data(value)
        case .date(let value): Date(timeIntervalSinceReferenceDate: value)
        case .location(let value): CLLocation(value)
        case .reference(let value): CKReference(value, in: zoneID)
        case .strings(let values): values
        case .int64s(let values): values.map { NSNumber(value: $0) }
        case .doubles(let values): values.map { NSNumber(value: $0) }
        case .bytesList(let values): values.map { Data($0) }
        case .dates(let values): values.map { Date(timeIntervalSinceReferenceDate: $0) }
        case .locations(let values): values.map { CLLocation($0) }
        case .references(let values): values.map { CKReference($0, in: zoneID) }
        case .emptyList: [String]()
        case .asset(let value): CKAsset(value)
        case .assets(let values): values.map { CKAsset($0) }
        case .encrypted: preconditionFailure("an encrypted value is shown to an app, though no key opened it")
        }
    }

    /// The list of the given elements, which have to be of one kind; integers beside floating-point numbers become
    /// such.
    init(list elements: [FieldValue]) throws(UnsupportedFieldValue) {
        guard let first = elements.first else {
            self = .emptyList
            return
        }
        switch first {
        case .string:
            self = .strings(try Self.each(elements) { if case .string(let value) = $0 { value } else { nil } })
        case .int64, .double:
            let integers: [Int64]? = try? Self.each(elements) { if case .int64(let value) = $0 { value } else { nil } }
            if let integers {
                self = .int64s(integers)
            } else {
                self = .doubles(
                    try Self.each(elements) {
                        switch $0 {
                        case .double(let value): value
                        case .int64(let value): Double(exactly: value)
                        default: nil
                        }
                    })
            }
        case .bytes:
            self = .bytesList(try Self.each(elements) { if case .bytes(let value) = $0 { value } else { nil } })
        case .date: self = .dates(try Self.each(elements) { if case .date(let value) = $0 { value } else { nil } })
        case .location:
            self = .locations(try Self.each(elements) { if case .location(let value) = $0 { value } else { nil } })
        case .reference:
            self = .references(try Self.each(elements) { if case .reference(let value) = $0 { value } else { nil } })
        case .asset:
            self = .assets(try Self.each(elements) { if case .asset(let value) = $0 { value } else { nil } })
        case .strings, .int64s, .doubles, .bytesList, .dates, .locations, .references, .assets, .emptyList,
            .encrypted:
            throw UnsupportedFieldValue(reason: "a list can't hold lists; store each inner list under a key of its own")
        }
    }

    private static func each<Element>(
        _ elements: [FieldValue], _ extract: (FieldValue) -> Element?
    ) throws(UnsupportedFieldValue) -> [Element] {
        var result: [Element] = []
        result.reserveCapacity(elements.count)
        for element in elements {
            guard let value = extract(element) else {
                throw UnsupportedFieldValue(reason: "a list holds values of several kinds; let all be of one kind")
            }
            result.append(value)
        }
        return result
    }

    fileprivate init(integer value: some FixedWidthInteger) throws(UnsupportedFieldValue) {
        guard let number = Int64(exactly: value) else {
            throw UnsupportedFieldValue(
                reason: "\(value) does not fit into a 64-bit signed integer; store it as a String or Data")
        }
        self = .int64(number)
    }
}

extension CKReference {
    /// The reference of a record in the given zone.
    convenience init(_ reference: Reference, in zoneID: CKRecordZone.ID) {
        self.init(
            recordID: CKRecord.ID(recordName: reference.recordName, zoneID: zoneID),
            action: reference.deletesSelf ? .deleteSelf : .none)
    }
}

extension String: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) -> FieldValue { .string(self) }
}

extension Date: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) -> FieldValue { .date(timeIntervalSinceReferenceDate) }
}

extension Data: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) -> FieldValue { .bytes([UInt8](self)) }
}

extension Bool: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) -> FieldValue { .int64(self ? 1 : 0) }
}

extension Double: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) -> FieldValue { .double(self) }
}

extension Float: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) -> FieldValue { .double(Double(self)) }
}

extension FieldValueConvertible where Self: FixedWidthInteger {
    func fieldValue(in zoneID: CKRecordZone.ID) throws(UnsupportedFieldValue) -> FieldValue {
        try FieldValue(integer: self)
    }
}

extension Int: FieldValueConvertible {}
extension Int8: FieldValueConvertible {}
extension Int16: FieldValueConvertible {}
extension Int32: FieldValueConvertible {}
extension Int64: FieldValueConvertible {}
extension UInt: FieldValueConvertible {}
extension UInt8: FieldValueConvertible {}
extension UInt16: FieldValueConvertible {}
extension UInt32: FieldValueConvertible {}
extension UInt64: FieldValueConvertible {}

extension Array: FieldValueConvertible where Element: CKRecordValueProtocol {
    func fieldValue(in zoneID: CKRecordZone.ID) throws(UnsupportedFieldValue) -> FieldValue {
        var elements: [FieldValue] = []
        elements.reserveCapacity(count)
        for element in self {
            elements.append(try FieldValue(element, in: zoneID))
        }
        return try FieldValue(list: elements)
    }
}

extension NSString: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) -> FieldValue { .string(self as String) }
}

extension NSDate: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) -> FieldValue { .date(timeIntervalSinceReferenceDate) }
}

extension NSData: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) -> FieldValue { .bytes([UInt8](self as Data)) }
}

extension NSNumber: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) throws(UnsupportedFieldValue) -> FieldValue {
        switch UInt8(bitPattern: objCType.pointee) {
        case UInt8(ascii: "d"), UInt8(ascii: "f"): .double(doubleValue)
        case UInt8(ascii: "Q"), UInt8(ascii: "L"): try FieldValue(integer: uint64Value)
        default: .int64(int64Value)
        }
    }
}

extension NSArray: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) throws(UnsupportedFieldValue) -> FieldValue {
        var elements: [FieldValue] = []
        elements.reserveCapacity(count)
        for element in self {
            guard let value = element as? any CKRecordValueProtocol else {
                throw UnsupportedFieldValue(
                    reason: "an array holds \(type(of: element)), which can't be stored in a record; see "
                        + "CKRecordValueProtocol for the types that can")
            }
            elements.append(try FieldValue(value, in: zoneID))
        }
        return try FieldValue(list: elements)
    }
}

extension CKReference: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) throws(UnsupportedFieldValue) -> FieldValue {
        guard recordID.zoneID == zoneID else {
            throw UnsupportedFieldValue(
                reason: "a reference points into zone \(recordID.zoneID), but its record is in \(zoneID); references "
                    + "stay in one zone, so store the other record's name and zone as strings")
        }
        return .reference(Reference(recordName: recordID.recordName, deletesSelf: action == .deleteSelf))
    }
}

extension CKAsset: FieldValueConvertible {
    /// The value of an asset that the server has already. Throws for a file: it becomes a value when it is uploaded.
    func fieldValue(in zoneID: CKRecordZone.ID) throws(UnsupportedFieldValue) -> FieldValue {
        guard let stored else {
            throw UnsupportedFieldValue(reason: "a file has to be set in a record, which uploads it when it is saved")
        }
        return .asset(stored)
    }
}

extension CLLocation: FieldValueConvertible {
    func fieldValue(in zoneID: CKRecordZone.ID) -> FieldValue { .location(modelLocation) }
}
