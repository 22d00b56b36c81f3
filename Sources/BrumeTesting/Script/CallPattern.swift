public import BrumeKit

/// Which calls of devices a script, or ``TestServer/calls(_:)``, means.
///
/// ```swift
/// .modifyRecords                          // every request that saves or deletes records
/// .modifyRecords.savingRecords(of: "Note").from("ada")
/// .fetchZoneChanges.in(zone.zoneID)
/// ```
///
/// Each part narrows what came before.
public struct CallPattern: Sendable, CustomStringConvertible {
    /// What is asked for; without it the pattern fits all methods but `listen`.
    var method: CallMethod?
    /// Whether a pattern without a method fits those about encryption keys, too.
    var hasKeys = false
    var zone: String?
    var recordType: String?
    var recordName: String?
    var field: String?
    var peer = PeerPattern()

    private init(_ method: CallMethod?) { self.method = method }

    /// Every call but the opening of a notification stream, and those about encryption keys and enrolments, most of
    /// which the SDK makes by itself: ``anyWithEncryptionKeys``.
    public static let any = CallPattern(nil)
    /// Every call but the opening of a notification stream.
    public static var anyWithEncryptionKeys: CallPattern {
        var pattern = CallPattern(nil)
        pattern.hasKeys = true
        return pattern
    }
    /// Saves and deletions of records.
    public static let modifyRecords = CallPattern(.modifyRecords)
    /// Fetches of records by their ids.
    public static let fetchRecords = CallPattern(.fetchRecords)
    /// Queries, each page of them.
    public static let query = CallPattern(.query)
    /// Fetches of a zone's changes, each page of them.
    public static let fetchZoneChanges = CallPattern(.fetchZoneChanges)
    /// Fetches of a database's changes, each page of them.
    public static let fetchDatabaseChanges = CallPattern(.fetchDatabaseChanges)
    /// Saves and deletions of zones.
    public static let modifyZones = CallPattern(.modifyZones)
    /// Fetches and lists of zones.
    public static let fetchZones = CallPattern(.fetchZones)
    /// Saves and deletions of subscriptions.
    public static let modifySubscriptions = CallPattern(.modifySubscriptions)
    /// Fetches and lists of subscriptions.
    public static let fetchSubscriptions = CallPattern(.fetchSubscriptions)
    /// Looks at what shares' URLs lead to, one call a URL.
    public static let fetchShareMetadata = CallPattern(.fetchShareMetadata)
    /// Requests for access to shares, one call a URL.
    public static let requestShareAccess = CallPattern(.requestShareAccess)
    /// Acceptances of shares, one call a share.
    public static let acceptShare = CallPattern(.acceptShare)
    /// Uploads of assets, before the saves that name them. Of the same content a device uploads a part that is left
    /// once it comes back.
    public static let uploadAsset = CallPattern(.uploadAsset)
    /// Downloads of assets, for fetches of records that have them. What a device has in its cache is not downloaded.
    public static let downloadAsset = CallPattern(.downloadAsset)
    /// The opening of a device's notification stream. It has no answer, so nothing can happen after its effect.
    public static let listen = CallPattern(.listen)
    /// Looks at encryption keys: an account's, those of a zone or of what is shared, and what is to be encrypted anew.
    public static let fetchEncryptionKeys = CallPattern(.fetchEncryptionKeys)
    /// Changes of encryption keys: an account's, or those of a zone or of what is shared. Where a save of a share
    /// changes keys, they go with it as ``modifyRecords``.
    public static let modifyEncryptionKeys = CallPattern(.modifyEncryptionKeys)
    /// Messages between a device that asks to be let in and one that lets it in.
    public static let enrol = CallPattern(.enrol)

    /// Those that name the zone: of records, assets, changes, queries and zones. Calls about encryption keys name none.
    public func `in`(_ zone: CKRecordZone.ID) -> CallPattern {
        var pattern = self
        pattern.zone = zone.zoneName
        return pattern
    }

    /// Those that save a record of the type, or query for it.
    public func savingRecords(of recordType: CKRecord.RecordType) -> CallPattern {
        var pattern = self
        pattern.recordType = recordType
        return pattern
    }

    /// Those that save, delete or fetch the record of that name, or download its assets. An upload names no record.
    public func touchingRecord(named recordName: String) -> CallPattern {
        var pattern = self
        pattern.recordName = recordName
        return pattern
    }

    /// Those that download an asset of the field. An upload names no field.
    public func ofField(_ key: CKRecord.FieldKey) -> CallPattern {
        var pattern = self
        pattern.field = key
        return pattern
    }

    /// Those of an account's devices.
    public func from(_ account: String) -> CallPattern {
        var pattern = self
        pattern.peer.account = account
        return pattern
    }

    /// Those of one device.
    public func from(_ device: TestDevice) -> CallPattern {
        var pattern = self
        pattern.peer.device = device.identity
        return pattern
    }

    /// The pattern in words.
    public var description: String {
        var words = [method?.rawValue ?? (hasKeys ? "anyWithEncryptionKeys" : "any")]
        if let zone { words.append("in \(zone)") }
        if let recordType { words.append("of \(recordType)") }
        if let recordName { words.append("touching \(recordName)") }
        if let field { words.append("of field \(field)") }
        words += peer.words
        return words.joined(separator: " ")
    }
}

extension CallPattern {
    /// Whether what a call asks for fits, whoever asks.
    func fits(
        _ method: CallMethod, zones: [String], recordTypes: Set<String>, recordNames: [String], field: String?
    ) -> Bool {
        let isAny = self.method == nil && method != .listen && (hasKeys || !method.isAboutKeys)
        guard self.method == method || isAny else { return false }
        if let zone, !zones.contains(zone) { return false }
        if let recordType, !recordTypes.contains(recordType) { return false }
        if let recordName, !recordNames.contains(recordName) { return false }
        if let wanted = self.field, wanted != field { return false }
        return true
    }

    func fits(_ request: CallRequest) -> Bool {
        fits(
            request.method, zones: request.zones, recordTypes: request.recordTypes, recordNames: request.recordNames,
            field: request.field)
    }
}
