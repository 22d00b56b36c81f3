internal import BrumeEncryption

/// Which ring of which zone, as a device names it before it has seen an entry of it.
///
/// Names are told apart by their bytes, as they are in entries: texts that look the same may be two names.
struct RingPlace: Hashable, Sendable {
    /// The user record name of the zone's owner.
    let owner: String
    let zone: String
    /// The record name of the shared tree's root; empty for the zone's own ring.
    let root: String

    init(owner: String, zone: String, root: String = "") {
        (self.owner, self.zone, self.root) = (owner, zone, root)
    }

    /// Whether a ring is the one that stands here, in whichever life of the zone.
    func isOf(_ ring: RingName) -> Bool {
        ring.place.owner.hasBytes(of: owner) && ring.place.zone.hasBytes(of: zone)
            && (ring.root ?? "").hasBytes(of: root)
    }

    static func == (left: RingPlace, right: RingPlace) -> Bool {
        left.owner.hasBytes(of: right.owner) && left.zone.hasBytes(of: right.zone) && left.root.hasBytes(of: right.root)
    }
}
