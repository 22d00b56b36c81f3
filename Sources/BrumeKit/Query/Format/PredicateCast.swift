internal import BrumeModel
internal import Foundation

/// `CAST(value, "type")`: how constants are written that the grammar has no literal for.
///
/// `CAST(750000000.5, "NSDate")` with seconds since 2001 is Foundation's own form. The others are ours:
/// `CAST("base64", "NSData")`, `CAST("inf", "NSNumber")`, `CAST({"name", "zone", "owner"}, "CKRecordID")`,
/// `CAST({"name", "zone", "owner", 1}, "CKReference")` with the action, `CAST({…}, "CLLocation")` with latitude,
/// longitude, altitude, both accuracies, course, speed and time, and `CAST("a key", "NSKeyPath")`.
enum PredicateCast {
    /// For errors.
    static let forms =
        "CAST(seconds, \"NSDate\"), or another cast as predicateFormat writes it: NSData, NSNumber, CKRecordID, "
        + "CKReference, CLLocation or NSKeyPath"

    /// Nil for arguments that are none of the forms.
    static func read(_ arguments: [PredicateExpression]) -> PredicateExpression? {
        guard arguments.count == 2, case .constant(.string(let type)) = arguments[1],
            case .constant(let value) = arguments[0].canonical
        else { return nil }
        switch (type, value) {
        case ("NSDate", _): return number(value).map { .constant(PredicateValue.date(checking: $0)) }
        case ("NSDate", .string(let text)): return infinity(text).map { .constant(.date($0)) }
        case ("NSNumber", .string(let text)): return infinity(text).map { .constant(.double($0)) }
        case ("NSData", .string(let text)): return Data(base64Encoded: text).map { .constant(.data($0)) }
        case ("NSKeyPath", .string(let text)): return .keyPath(text)
        case ("CKRecordID", .list(let parts)) where parts.count == 3:
            return recordID(parts).map { .constant(.recordID($0)) }
        case ("CKReference", .list(let parts)) where parts.count == 4:
            guard let recordID = recordID(Array(parts[..<3])), case .integer(let rawAction) = parts[3],
                let action = UInt(exactly: rawAction).flatMap(CKRecord.ReferenceAction.init(rawValue:))
            else { return nil }
            return .constant(.reference(CKReference(recordID: recordID, action: action)))
        case ("CLLocation", .list(let parts)): return location(parts).map { .constant($0) }
        default: return nil
        }
    }

    private static func number(_ value: PredicateValue) -> Double? {
        switch value {
        case .integer(let value): Double(value)
        case .double(let value): value
        case .string(let text): infinity(text)
        default: nil
        }
    }

    private static func infinity(_ text: String) -> Double? {
        switch text {
        case "inf": .infinity
        case "-inf": -.infinity
        default: nil
        }
    }

    /// Nil for names that none can have, which would trap.
    private static func recordID(_ parts: [PredicateValue]) -> CKRecordID? {
        guard case .string(let name) = parts[0], CKRecordID.problem(withName: name) == nil,
            case .string(let zone) = parts[1], zone == Names.defaultZone || Names.problemWithZoneName(zone) == nil,
            case .string(let owner) = parts[2], !owner.isEmpty
        else { return nil }
        return CKRecordID(recordName: name, zoneID: CKRecordZoneID(zoneName: zone, ownerName: owner))
    }

    private static func location(_ parts: [PredicateValue]) -> PredicateValue? {
        let numbers = parts.compactMap(number)
        guard numbers.count == 8, parts.count == 8, numbers.allSatisfy(\.isFinite) else { return nil }
        return .location(
            CLLocation(
                Location(
                    latitude: numbers[0], longitude: numbers[1], altitude: numbers[2], horizontalAccuracy: numbers[3],
                    verticalAccuracy: numbers[4], course: numbers[5], speed: numbers[6], timestamp: numbers[7])))
    }

    // MARK: Writing

    static func write(_ date: Double) -> String {
        date.isFinite ? "CAST(\(date), \"NSDate\")" : "CAST(\"\(date)\", \"NSDate\")"
    }

    static func write(_ data: Data) -> String {
        "CAST(\"\(data.base64EncodedString())\", \"NSData\")"
    }

    static func write(_ id: CKRecordID) -> String {
        "CAST({\(parts(id))}, \"CKRecordID\")"
    }

    static func write(_ reference: CKReference) -> String {
        "CAST({\(parts(reference.recordID)), \(reference.action.rawValue)}, \"CKReference\")"
    }

    static func write(_ location: CLLocation) -> String {
        let place = location.modelLocation
        let numbers = [
            place.latitude, place.longitude, place.altitude, place.horizontalAccuracy, place.verticalAccuracy,
            place.course, place.speed, place.timestamp,
        ]
        return "CAST({\(numbers.map { "\($0)" }.joined(separator: ", "))}, \"CLLocation\")"
    }

    static func write(keyPath: String) -> String {
        "CAST(\(PredicateWriter.quoted(keyPath)), \"NSKeyPath\")"
    }

    private static func parts(_ id: CKRecordID) -> String {
        [id.recordName, id.zoneID.zoneName, id.zoneID.ownerName].map(PredicateWriter.quoted).joined(separator: ", ")
    }
}
