package import BrumeModel
internal import BrumeRecord

/// What whoever has a share's URL may do (Documentation/CloudKit.md, Sharing).
extension Database {
    /// What a URL leads to, as its bearer may see it: the owner and who takes part as always, anybody else with the
    /// owner and themselves alone, and without the share's own fields.
    ///
    /// - Parameters:
    ///   - wantsRoot: Whether the shared record is to come, too.
    ///   - rootKeys: Its fields; nil for all.
    /// - Throws: `unknownItem` where it leads nowhere for the user, whatever the reason, and
    ///   `participantMayNeedVerification`.
    package func shareMetadata(
        _ link: ShareLink, for visitor: ShareVisitor, wantsRoot: Bool, rootKeys: DesiredKeys?
    ) throws(ServiceError) -> ShareMetadata<SharedBytes> {
        guard let place = place(of: link) else { throw Share.unknownURL }
        let (state, share) = (zoneStates[place.zone], place.share)
        let bytes = state.slots.bytes(of: place.slot)
        let showing = showing(to: visitor.user, zone: state.incarnation)
        var metadata = ShareMetadata(
            container: id.container, environment: id.environment, zone: ZoneID(name: state.name, owner: id.owner),
            share: SharedBytes(), root: place.root.map { state[$0].name } ?? "", role: .owner, permission: .readWrite,
            isAccepted: true, user: visitor.user)
        let standing = share.standing(of: visitor, through: link.key, owner: id.owner)
        switch standing {
        case .owner: break
        case .accepted(let participant), .invited(let participant):
            metadata.role = participant.role.shown
            metadata.permission = participant.permission
            metadata.isAccepted = participant.isAccepted
        case .welcome:
            (metadata.role, metadata.permission) = (.publicUser, share.publicPermission)
            metadata.isAccepted = false
        case .mayNeedVerification: throw Share.mayNeedVerification
        case .stranger: throw Share.unknownURL
        }
        if metadata.isAccepted {
            metadata.share = showing.shown(bytes, share)
        } else {
            let viewer = Share.Viewer.linkHolder(visitor, secret: link.key)
            metadata.share = try StoredRecord.introducing(
                showing.asChanged(bytes, share, for: viewer),
                details: ShareViewCoder.encode(showing.view(share, for: viewer)))
        }
        if wantsRoot, let root = place.root {
            let record = Database.project(state[root].bytes, rootKeys)
            metadata.rootRecord =
                standing == .owner ? StoredRecord.shown(record) : try StoredRecord.introducingRoot(record)
        }
        return metadata
    }

    /// A user asks to take part. The share's tag stays, so that those who ask can't make the owner's saves fail.
    ///
    /// - Returns: What became of it, and the commit if it is new to the owner.
    package func requestAccess(
        _ link: ShareLink, by visitor: ShareVisitor, nowMilliseconds: Int64
    ) throws(ServiceError) -> (outcome: Share.AccessRequestOutcome, commit: Commit?) {
        guard let place = place(of: link) else { return (.ignored, nil) }
        var share = place.share
        let outcome = share.requestAccess(
            visitor, through: link.key, owner: id.owner, nowMilliseconds: nowMilliseconds)
        guard outcome == .noted else { return (outcome, nil) }
        var builder = CommitBuilder(sequence: sequence + 1)
        try put(
            share, over: place.share, at: place.slot, inZoneAt: place.zone, by: nil, nowMilliseconds, into: &builder)
        return (outcome, finish(builder, nowMilliseconds: nowMilliseconds))
    }

    /// The share that a link leads to: the index of its zone, its slot and that of its root, which the share of a whole
    /// zone has none of; nil where there is no such share now.
    func place(of link: ShareLink) -> (zone: Int, slot: Int32, share: Share, root: Int32?)? {
        guard let index = zoneIndexOfIncarnation[link.zone], !zoneStates[index].isDefault else { return nil }
        let state = zoneStates[index]
        let root = state.sharing.root(ofSecret: link.secret)
        let name = root.map { state[$0].sharing?.share ?? "" } ?? Names.zoneShare
        guard let slot = state.sharing.shares[name], let share = state[slot].share,
            Share.isEqual(share.secret, link.secret)
        else { return nil }
        return (index, slot, share, root)
    }
}
