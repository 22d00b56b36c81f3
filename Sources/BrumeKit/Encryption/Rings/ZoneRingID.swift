internal import BrumeEncryption
internal import BrumeModel

/// A ring of a zone that the account takes part in, as requests name it.
struct ZoneRingID: Hashable, Sendable {
    /// The user record name of the zone's owner; empty for the account's own zones.
    var owner = ""
    var zone: String
    /// The record name of the shared tree's root; empty for the zone's own ring.
    var root = ""

    /// The zone's own ring.
    var zones: ZoneRingID { ZoneRingID(owner: owner, zone: zone) }

    /// Whether it is of a tree in a zone of the account's own.
    var isOwnTree: Bool { owner.isEmpty && !root.isEmpty }

    var zoneID: ZoneID { ZoneID(name: zone, owner: owner) }

    /// An order of rings that is always the same.
    func isBefore(_ other: ZoneRingID) -> Bool { (owner, zone, root) < (other.owner, other.zone, other.root) }

    /// The same beside an account's key folder.
    func place(in folder: KeyFolder) -> RingPlace {
        RingPlace(owner: owner.isEmpty ? folder.place.scope.account : owner, zone: zone, root: root)
    }
}

extension CKRecord.ID {
    /// The ring of the tree whose root the record is.
    var treeRingID: ZoneRingID { ZoneRingID(owner: zoneID.ringID.owner, zone: zoneID.zoneName, root: recordName) }
}

extension CKRecordZone.ID {
    /// The zone's own ring.
    var ringID: ZoneRingID {
        ZoneRingID(owner: ownerName == CKCurrentUserDefaultName ? "" : ownerName, zone: zoneName)
    }
}
