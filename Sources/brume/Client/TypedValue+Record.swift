internal import BrumeKit
internal import Foundation

/// The typed values of the command line as the values of the SDK, and back.
extension TypedValue {
    /// The value for a record in `zoneID`, the zone that references point into.
    func recordValue(in zoneID: CKRecordZone.ID) -> any CKRecordValueProtocol {
        switch self {
        case .text(let text): text
        case .int64(let value): value
        case .double(let value): value
        case .date(let date): date
        case .bytes(let data): data
        case .location(let latitude, let longitude):
            // The text has no time of measurement. A fixed one makes equal places equal values.
            CLLocation(
                coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0,
                horizontalAccuracy: 0, verticalAccuracy: -1, timestamp: Date(timeIntervalSinceReferenceDate: 0))
        case .reference(let name, let deletesSelf):
            CKRecord.Reference(
                recordID: CKRecord.ID(recordName: name, zoneID: zoneID), action: deletesSelf ? .deleteSelf : .none)
        case .file(let path): CKAsset(fileURL: URL(fileURLWithPath: path))
        case .asset: preconditionFailure("an asset of the server is read from the command line")
        case .encrypted, .opened: preconditionFailure("an encrypted value is read from the command line")
        case .list(let elements): Self.list(elements, in: zoneID)
        }
    }

    private static func list(_ elements: [TypedValue], in zoneID: CKRecordZone.ID) -> any CKRecordValueProtocol {
        let values = elements.map { $0.recordValue(in: zoneID) }
        return switch elements.first {
        case .int64: values as! [Int64]
        case .double: values as! [Double]
        case .date: values as! [Date]
        case .bytes: values as! [Data]
        case .location: values as! [CLLocation]
        case .reference: values as! [CKRecord.Reference]
        case .file: values as! [CKAsset]
        default: values as? [String] ?? []
        }
    }

    /// A value of a fetched record.
    init(recordValue value: any CKRecordValueProtocol) {
        switch value {
        case let text as String: self = .text(text)
        case let date as Date: self = .date(date)
        case let data as Data: self = .bytes(data)
        case let location as CLLocation:
            self = .location(latitude: location.coordinate.latitude, longitude: location.coordinate.longitude)
        case let reference as CKRecord.Reference:
            self = .reference(reference.recordID.recordName, deletesSelf: reference.action == .deleteSelf)
        case let asset as CKAsset:
            self = .asset(
                AssetValue(
                    checksum: asset.storedChecksum ?? "", byteCount: asset.storedByteCount ?? 0,
                    path: asset.fileURL?.path))
        case let number as NSNumber: self = Self.number(number)
        case let list as [any CKRecordValueProtocol]: self = .list(list.map(TypedValue.init(recordValue:)))
        default: self = .text("\(value)")
        }
    }

    private static func number(_ number: NSNumber) -> TypedValue {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "d"), UInt8(ascii: "f"): .double(number.doubleValue)
        default: .int64(number.int64Value)
        }
    }
}
