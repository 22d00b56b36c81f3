internal import BrumeKit
internal import BrumeModel
internal import Foundation

extension CKRecordZone.ID {
    /// The user record name of the zone's owner; nil for the account's own zones.
    var otherOwner: String? { ownerName == CKCurrentUserDefaultName ? nil : ownerName }
}

extension EncryptedField {
    fileprivate init(_ value: EncryptedValue) {
        self.init(
            type: value.plainTypeText, bytes: Data(value.bytes),
            assets: value.assets.map {
                AssetValue(checksum: $0.checksum.description, byteCount: Int(clamping: $0.byteCount))
            })
    }
}

/// Records as JSON, and as text for people.
enum RecordText {
    static func fields(of record: CKRecord) -> [(key: String, value: TypedValue)] {
        let open = record.allKeys().compactMap { key in
            record.object(forKey: key).map { (key: key, value: TypedValue(recordValue: $0)) }
        }
        // Assets that are open are there already.
        let sealed = record.sealedFields.filter { record[$0.key] == nil }.map { key, value in
            let opened = record.encryptedValues[key].map { TypedValue(recordValue: $0) }
            return (
                key: key,
                value: opened.map { TypedValue.opened(type: value.plainTypeText, $0) }
                    ?? .encrypted(EncryptedField(value))
            )
        }
        return (open + sealed).sorted { $0.key < $1.key }
    }

    /// - Parameter fields: What to show in the place of the record's fields.
    static func json(_ record: CKRecord, _ fields: [(key: String, value: TypedValue)]? = nil) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("name", .string(record.recordID.recordName)), ("type", .string(record.recordType)),
            ("zone", .string(record.recordID.zoneID.zoneName)),
        ]
        if let owner = record.recordID.zoneID.otherOwner { members.append(("owner", .string(owner))) }
        if let tag = record.recordChangeTag { members.append(("changeTag", .string(tag))) }
        if let date = record.creationDate { members.append(("created", .string(TypedValue.text(of: date)))) }
        if let date = record.modificationDate { members.append(("modified", .string(TypedValue.text(of: date)))) }
        if let parent = record.parent { members.append(("parent", .string(parent.recordID.recordName))) }
        if let share = record.share { members.append(("share", .string(share.recordID.recordName))) }
        members.append(("fields", .object((fields ?? self.fields(of: record)).map { ($0.key, $0.value.json) })))
        return .object(members)
    }

    /// - Parameter fields: What to show in the place of the record's fields.
    static func text(
        _ record: CKRecord, _ fields: [(key: String, value: TypedValue)]? = nil, style: Style, showsZone: Bool = false
    ) -> String {
        var text = "\(style.bold(record.recordID.recordName))  \(record.recordType)"
        if showsZone { text += style.dim("  in \(record.recordID.zoneID.zoneName)") }
        if let parent = record.parent { text += style.dim("  below \(parent.recordID.recordName)") }
        if let tag = record.recordChangeTag { text += style.dim("  tag \(tag)") }
        if let date = record.modificationDate { text += style.dim("  \(TypedValue.text(of: date))") }
        for (key, value) in fields ?? self.fields(of: record) {
            text += "\n  \(key): \(value.summary)"
        }
        return text
    }
}
