internal import BrumeModel
internal import Foundation

/// A constant of a predicate, in one form for each kind of values.
enum PredicateValue: Hashable, Sendable {
    case null
    /// Every integer, and `Bool` as 0 and 1.
    case integer(Int64)
    /// Never NaN, which equals not even itself.
    case double(Double)
    case string(String)
    /// Seconds since 2001; never NaN.
    case date(Double)
    case data(Data)
    /// Finite in all parts.
    case location(CLLocation)
    case reference(CKReference)
    case recordID(CKRecordID)
    case list([PredicateValue])
    /// A value that no record can hold, and why: the predicate is refused when it is used.
    case unsupported(String)

    /// The levels of lists in lists that are read. A record's field holds one.
    private static let listDepth = 16

    /// The constant for a value that an app gives. Records stand for their ids.
    init(_ value: Any?) {
        self.init(value, depth: 0)
    }

    private init(_ value: Any?, depth: Int) {
        guard let value else {
            self = .null
            return
        }
        // A cast to a class turns Swift's own collections into Foundation's with all that is in them, so those come
        // first.
        switch value {
        case let value as PredicateValue: self = value
        case let value as String: self = .string(value)
        case let value as Substring: self = .string(String(value))
        case let value as Date: self = Self.date(checking: value.timeIntervalSinceReferenceDate)
        case let value as Data: self = .data(value)
        default:
            if let elements = Self.elements(of: value) {
                self =
                    depth < Self.listDepth
                    ? .list(elements.map { PredicateValue($0, depth: depth + 1) })
                    : .unsupported("lists are nested more than \(Self.listDepth) deep")
            } else if type(of: value) is AnyClass {
                self = Self.object(value)
            } else {
                self = Self.other(value, depth: depth)
            }
        }
    }

    private static func object(_ value: Any) -> PredicateValue {
        switch value {
        case is NSNull: .null
        case let value as CKReference: .reference(value)
        case let value as CKRecordID: .recordID(value)
        case let value as CKRecord: .recordID(value.recordID)
        case let value as CLLocation: location(checking: value)
        default: other(value, depth: listDepth)
        }
    }

    private static func other(_ value: Any, depth: Int) -> PredicateValue {
        // An `NSNumber` casts to CGFloat as well, whatever it holds.
        if type(of: value) == CGFloat.self, let number = value as? CGFloat { return double(checking: Double(number)) }
        guard let convertible = value as? any FieldValueConvertible else {
            // An optional inside of `Any` is no optional of the parameter's type.
            if case .optional = Mirror(reflecting: value).displayStyle {
                guard let child = Mirror(reflecting: value).children.first?.value else { return .null }
                return depth < listDepth
                    ? PredicateValue(child, depth: depth + 1) : .unsupported("optionals are nested")
            }
            return .unsupported(
                "\(type(of: value)) can't be stored in a record; convert it to String, Date, a number, CKRecord.ID, "
                    + "CKRecord.Reference or an array of one of them")
        }
        do throws(UnsupportedFieldValue) {
            switch try convertible.fieldValue(in: .default) {
            case .int64(let value): return .integer(value)
            case .double(let value): return double(checking: value)
            case .string(let value): return .string(value)
            case .date(let value): return date(checking: value)
            case .bytes(let value): return .data(Data(value))
            case .location, .reference, .strings, .int64s, .doubles, .bytesList, .dates, .locations, .references,
                .emptyList, .asset, .assets, .encrypted:
                return .unsupported("\(type(of: value)) can't be compared with a field")
            }
        } catch {
            return .unsupported(error.reason)
        }
    }

    private static func elements(of value: Any) -> [Any]? {
        if let value = value as? [Any] { return value }
        if let value = value as? Set<AnyHashable> { return value.map(\.base) }
        guard type(of: value) is AnyClass else { return nil }
        return switch value {
        case let value as NSArray: value.map { $0 }
        case let value as NSSet: value.allObjects
        case let value as NSOrderedSet: value.map { $0 }
        default: nil
        }
    }

    static func double(checking value: Double) -> PredicateValue {
        value.isNaN ? .unsupported("a number is NaN, which equals nothing") : .double(value)
    }

    static func date(checking seconds: Double) -> PredicateValue {
        seconds.isNaN ? .unsupported("a date is NaN, which equals nothing") : .date(seconds)
    }

    static func location(checking value: CLLocation) -> PredicateValue {
        let place = value.modelLocation
        let parts = [
            place.latitude, place.longitude, place.altitude, place.horizontalAccuracy, place.verticalAccuracy,
            place.course, place.speed, place.timestamp,
        ]
        return parts.allSatisfy(\.isFinite)
            ? .location(value) : .unsupported("a location has parts that are not finite")
    }

    /// The value as an app reads it.
    var object: Any? {
        switch self {
        case .null: nil
        case .integer(let value): NSNumber(value: value)
        case .double(let value): NSNumber(value: value)
        case .string(let value): value
        case .date(let value): Date(timeIntervalSinceReferenceDate: value)
        case .data(let value): value
        case .location(let value): value
        case .reference(let value): value
        case .recordID(let value): value
        case .list(let values): values.map { $0.object ?? NSNull() }
        case .unsupported: nil
        }
    }
}
