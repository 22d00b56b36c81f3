internal import BrumeModel
internal import BrumeRecord

/// What is to be saved and deleted in one zone.
struct OutgoingZone: Sendable {
    let id: CKRecordZone.ID
    var saves: [OutgoingRecord] = []
    var deletions: [CKRecord.ID] = []
    /// Whether the server gets no file that is not encrypted; nil as long as that is not known, and no file is
    /// uploaded.
    var encryptsAssets: Bool?
    /// Records as the server has them, of those that are encrypted anew.
    var fetched: [String: Record] = [:]
    /// Records that come into shared trees with what is below them; where records are encrypted anew, those that have
    /// come before.
    var moved: [String: Move] = [:]
    /// Whether stamps of shared trees say of records that they have come, too.
    var believesStamps = false
    /// The last entry of the zone's ring, where something is encrypted with it.
    var ringEntryHash: [UInt8] = []

    /// The same for one of its records. What a share shows is for those who have no keys yet.
    func encryptsAssets(of outgoing: OutgoingRecord) -> Bool? { outgoing.record is CKShare ? false : encryptsAssets }

    func modification(_ policy: SavePolicy) -> ZoneModification<DecodedFields> {
        var modification = ZoneModification(
            zone: id.modelID, saves: saves.map { $0.save(policy: policy) }, deletions: deletions.map(\.recordName))
        modification.ringEntryHash = ringEntryHash
        for outgoing in saves {
            if let save = outgoing.shareSave { modification.shares[outgoing.record.recordID.recordName] = save }
        }
        return modification
    }
}
