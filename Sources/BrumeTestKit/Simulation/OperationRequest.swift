internal import BrumeModel

/// What a client asked for, as it meant it.
struct OperationRequest {
    /// The key that the server keeps the operation under.
    var key: [UInt8]
    var device: [UInt8]
    var database: DatabaseID
    var policy = SavePolicy.ifServerRecordUnchanged
    var isAtomic = false
    /// The user, where the zone is another's in which they take part.
    var participant: String?
    /// By zone and name.
    var saves: [String: [String: RecordSave<DecodedFields>]] = [:]
    /// The assets that came with receipts, by zone.
    var receipts: [String: Set<Asset>] = [:]
}
