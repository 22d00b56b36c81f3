internal import BrumeModel
internal import Foundation

/// Values of fields in a push payload, which is JSON: texts, numbers and lists of them as they are, others as an object
/// that says what they are.
extension FieldValue {
    /// The value as JSON.
    var payload: Any {
        switch self {
        case .string(let text): return text
        case .int64(let number): return Int(number)
        case .double(let number) where number.isFinite: return number
        case .double(let number): return ["double": Self.payload(number)] as [String: Any]
        case .date(let seconds): return ["date": Self.payload(seconds)] as [String: Any]
        case .bytes(let bytes): return ["data": Data(bytes).base64EncodedString()]
        case .reference(let reference):
            return ["reference": reference.recordName, "deletesSelf": reference.deletesSelf] as [String: Any]
        case .location(let place):
            let numbers: [Double] = [
                place.latitude, place.longitude, place.altitude, place.horizontalAccuracy, place.verticalAccuracy,
                place.course, place.speed, place.timestamp,
            ]
            return ["location": numbers.map { Self.payload($0) }] as [String: Any]
        case .strings(let list): return list.map { FieldValue.string($0).payload }
        case .int64s(let list): return list.map { FieldValue.int64($0).payload }
        case .doubles(let list): return list.map { FieldValue.double($0).payload }
        case .bytesList(let list): return list.map { FieldValue.bytes($0).payload }
        case .dates(let list): return list.map { FieldValue.date($0).payload }
        case .locations(let list): return list.map { FieldValue.location($0).payload }
        case .references(let list): return list.map { FieldValue.reference($0).payload }
        case .emptyList: return [Any]()
        // No server of ours sends any of these in a notification.
        case .asset(let asset): return ["asset": asset.checksum.description]
        case .assets(let list): return list.map { FieldValue.asset($0).payload }
        case .encrypted(let value): return ["encrypted": value.plainTypeText]
        }
    }

    /// The value of a payload, which is hostile until checked; nil for one that is none.
    init?(payload: Any, in zoneID: CKRecordZone.ID) {
        if let object = payload as? [String: Any] {
            self.init(object)
        } else if let list = payload as? [Any] {
            let elements = list.compactMap { $0 is [Any] ? nil : FieldValue(payload: $0, in: zoneID) }
            guard elements.count == list.count, let value = try? FieldValue(list: elements) else { return nil }
            self = value
        } else {
            guard let value = (payload as? any CKRecordValueProtocol).flatMap({ try? FieldValue($0, in: zoneID) })
            else { return nil }
            self = value
        }
    }

    private init?(_ object: [String: Any]) {
        if let number = Self.number(object["double"]) {
            self = .double(number)
        } else if let seconds = Self.number(object["date"]) {
            self = .date(seconds)
        } else if let text = object["data"] as? String, let data = Data(base64Encoded: text) {
            self = .bytes([UInt8](data))
        } else if let name = object["reference"] as? String, CKRecord.ID.problem(withName: name) == nil {
            self = .reference(Reference(recordName: name, deletesSelf: object["deletesSelf"] as? Bool ?? false))
        } else if let list = object["location"] as? [Any] {
            let numbers = list.compactMap(Self.number)
            guard list.count == 8, numbers.count == 8 else { return nil }
            self = .location(
                Location(
                    latitude: numbers[0], longitude: numbers[1], altitude: numbers[2], horizontalAccuracy: numbers[3],
                    verticalAccuracy: numbers[4], course: numbers[5], speed: numbers[6], timestamp: numbers[7]))
        } else {
            return nil
        }
    }

    /// JSON has no infinities and no NaN.
    private static func payload(_ number: Double) -> Any { number.isFinite ? number as Any : "\(number)" }

    private static func number(_ payload: Any?) -> Double? {
        switch payload {
        case let number as Double: number
        case let number as NSNumber: number.doubleValue
        case let text as String: Double(text)
        default: nil
        }
    }
}
