internal import BrumeModel
internal import BrumeRecord

/// What a user who takes part in a zone sees of it, and may do there.
extension ZoneMember {
    /// Whether the zone is shared with them as a whole.
    var isOfWholeZone: Bool {
        switch reach {
        case .zone: true
        case .trees: false
        }
    }

    /// What they may do with a record; nil for one that they don't see.
    func permission(of slot: Int32, in zone: ZoneState) -> Share.Permission? {
        switch reach {
        case .zone(let permission, _): permission
        case .trees(let member): member.parts[zone.trees.cover(of: slot)]?.permission
        }
    }

    /// Whether there is something that they may write.
    var mayWrite: Bool {
        switch reach {
        case .zone(let permission, _): permission == .readWrite
        case .trees(let member): member.parts.values.contains { $0.permission == .readWrite }
        }
    }

    /// Whether a record is one that a deletion of theirs may take with it: no share, no root, and nothing that they may
    /// not write.
    func mayDelete(_ slot: Int32, in zone: ZoneState) -> Bool {
        permission(of: slot, in: zone) == .readWrite && zone.kinship(of: slot).share.isEmpty
    }

    /// Whether a record keeps its parent from being deleted by this user: not one that they don't see, and not a root,
    /// whose parent they don't see.
    func isBlocked(byChild slot: Int32, in zone: ZoneState) -> Bool {
        permission(of: slot, in: zone) != nil && zone.kinship(of: slot).share.isEmpty
    }

    /// Whether they take part in the share of a name.
    func takesPart(inShare name: String, of zone: ZoneState) -> Bool {
        zone.sharing.shares[name].map { permission(of: $0, in: zone) != nil } ?? false
    }
}

extension ZoneState {
    /// The names of the shares in which a user takes part, in order.
    func shares(of member: ZoneMember) -> [String] {
        switch member.reach {
        case .zone: [Names.zoneShare]
        case .trees(let member): member.parts.keys.sorted().compactMap { trees.trees[$0]?.share }
        }
    }

    /// The names of the shares that a user manages who does not own the zone.
    func shares(managedBy user: String) -> Set<String> {
        switch member(user)?.reach {
        case .zone(_, isManager: true): [Names.zoneShare]
        case .trees(let member):
            Set(member.parts.compactMap { number, part in part.isManager ? trees.trees[number]?.share : nil })
        default: []
        }
    }

    /// Whether a user sees a record: an owner everything.
    func isVisible(_ slot: Int32, to member: ZoneMember?) -> Bool {
        guard let member else { return true }
        return member.permission(of: slot, in: self) != nil
    }
}
