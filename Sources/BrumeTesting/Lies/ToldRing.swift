internal import BrumeEncryption
internal import BrumeKit
internal import BrumeModel

/// Keys that a lie is about, as a device names them in its requests: those of a zone, or of a shared record in it.
struct ToldRing: Hashable, Sendable {
    /// The user record name of the zone's owner; empty for the account's own zones.
    let owner: String
    let zone: String
    /// The record name of the shared record; empty for the zone's own keys.
    let root: String

    init(_ zoneID: CKRecordZone.ID, root: String = "") {
        owner = zoneID.ownerName == CKCurrentUserDefaultName ? "" : zoneID.ownerName
        zone = zoneID.zoneName
        self.root = root
    }

    init(_ shared: ServerLie.Shared) {
        let root = if case .record(let id) = shared { id.recordName } else { "" }
        self.init(shared.zoneID, root: root)
    }

    var isOwn: Bool { owner.isEmpty }

    /// Whether a request is about something in the zone.
    func isIn(_ other: ZoneID) -> Bool {
        let others = other.owner == CKCurrentUserDefaultName ? "" : other.owner
        return other.name == zone && others == owner
    }

    /// Whether an entry that a device sends is one of these keys.
    func hasEntry(_ bytes: SharedBytes) -> Bool {
        guard let signed = try? SignedRingEntry(bytes.array) else { return false }
        return (signed.entry.ring.root ?? "") == root
    }
}
