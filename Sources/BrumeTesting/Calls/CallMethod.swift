/// What a call asks of the server.
public enum CallMethod: String, Hashable, Sendable {
    /// Saves and deletions of records.
    case modifyRecords
    /// A fetch of records by their ids.
    case fetchRecords
    /// A page of a query.
    case query
    /// A page of a zone's changes.
    case fetchZoneChanges
    /// A page of a database's changes.
    case fetchDatabaseChanges
    /// Saves and deletions of zones.
    case modifyZones
    /// A fetch or a list of zones.
    case fetchZones
    /// Saves and deletions of subscriptions.
    case modifySubscriptions
    /// A fetch or a list of subscriptions.
    case fetchSubscriptions
    /// A look at what a share's URL leads to.
    case fetchShareMetadata
    /// A request for access to a share.
    case requestShareAccess
    /// The acceptance of a share.
    case acceptShare
    /// The upload of an asset, or of what is left of one.
    case uploadAsset
    /// The download of an asset, or of what is left of one.
    case downloadAsset
    /// The opening of a device's notification stream.
    case listen
    /// A look at encryption keys: an account's, those of a zone or of what is shared, and what is to be encrypted anew.
    case fetchEncryptionKeys
    /// A change of encryption keys: an account's, or those of a zone or of what is shared, by itself.
    case modifyEncryptionKeys
    /// A message between a device that asks to be let in and one that lets it in.
    case enrol
}

extension CallMethod {
    /// Whether it is about encryption keys alone: most of these the SDK makes by itself.
    var isAboutKeys: Bool {
        switch self {
        case .fetchEncryptionKeys, .modifyEncryptionKeys, .enrol: true
        default: false
        }
    }
}
