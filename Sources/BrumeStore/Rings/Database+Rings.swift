package import BrumeModel

/// Who has keys of a private database's zones: rings, whose entries follow one another
/// (Documentation/EncryptionFormats.md, section 10).
extension Database {
    /// A ring of a zone; an empty one where there is none yet.
    ///
    /// - Parameter root: Empty for the zone's own ring.
    /// - Throws: Where there is no such zone.
    package func ring(of zone: ZoneID, root: String) throws(ServiceError) -> KeyRing {
        precondition(id.scope == .private, "rings are in a private database")
        return rings.ring(ofZone: try liveIncarnation(of: zone), root: root)
    }

    /// A ring of the zone that a caller names; an empty one where there is none, or they may not learn of it.
    ///
    /// - Throws: Where the zone does not exist for them.
    package func ring(_ root: String, ofZone zone: ZoneID, for caller: Caller) throws(ServiceError) -> KeyRing {
        let incarnation = zoneStates[try zoneIndex(of: zone, for: caller).get()].incarnation
        return mayLearn(ofRing: root, inZone: zone, caller)
            ? rings.ring(ofZone: incarnation, root: root) : KeyRing()
    }

    /// Entries of a ring behind a number, the first in front, as many as fit into a page; one at least where there are
    /// any. Who may not learn of the ring gets what there would be without it.
    package func ringPage(_ request: FetchRingRequest, for caller: Caller) throws(ServiceError) -> RingPage {
        let ring = try ring(request.root, ofZone: request.zone, for: caller)
        return RingPage(
            entries: Array(ring.page(after: request.after, bytes: Limits.pageBytes)), last: ring.last)
    }

    /// Keeps the next entry of a ring. Nil if it is kept already, so that a retry has one effect.
    ///
    /// - Parameters:
    ///   - number: As the entry says it.
    ///   - entry: Of which it is checked that it follows the last one.
    ///   - root: A record name that the journal can hold; empty for the zone's own ring.
    ///   - takesKeys: Whether the entry takes keys from somebody: no quota refuses one of those, as long as rings are
    ///     within ``Limits/ringReserveBytes``.
    ///   - others: What is kept with it of its members. Where statements of others have more than
    ///     ``Limits/ringReserveBytes``, a quota refuses an entry that brings some, whatever it takes.
    /// - Throws: See ``refusal(ofRingEntry:number:root:in:quota:takesKeys:)``.
    package func append(
        ringEntry entry: SharedBytes, number: UInt32, root: String, zone: ZoneID, quota: StorageQuota?,
        takesKeys: Bool = false, with others: RingOthers = RingOthers(), nowMilliseconds: Int64
    ) throws(ServiceError) -> Commit? {
        let ring = try ring(of: zone, root: root)
        if ring[number] == entry { return nil }
        let refusal = refusal(
            ofRingEntry: entry, number: number, root: root, in: ring, quota: quota, takesKeys: takesKeys)
        if let refusal { throw refusal }
        let incarnation = try liveIncarnation(of: zone)
        var others = others
        if let refusal = makeRoom(for: &others, besideZone: incarnation) { throw refusal }
        if !others.statements.isEmpty, rings.statementBytes > Limits.ringReserveBytes,
            let refusal = overheadRefusal(quota)
        {
            throw refusal
        }
        let kept = SharedBytes(entry.array)
        let isTaken = rings.append(kept, zone: incarnation, root: root)
        precondition(isTaken, "an entry of a ring is refused that was not")
        var builder = CommitBuilder(sequence: sequence + 1)
        builder.append(.ringEntry(zone: incarnation, root: root, number: number, kept))
        put(others, zone: incarnation, root: root, into: &builder)
        // Those who were taken in can open what they have fetched in vain.
        if !others.guestsGone.isEmpty { touch(root, inZone: incarnation, tellsAll: true, into: &builder) }
        return finish(builder, nowMilliseconds: nowMilliseconds)
    }

    /// Why an entry is not kept, whatever is in it; nil for one that is or can be: `serverRecordChanged` where another
    /// one of its number came first, or those between are missing; `limitExceeded` where there is no room;
    /// `invalidArguments` where no record can have the root's name.
    package func refusal(
        ofRingEntry entry: SharedBytes, number: UInt32, root: String, in ring: KeyRing, quota: StorageQuota?,
        takesKeys: Bool
    ) -> ServiceError? {
        if ring[number] == entry { return nil }
        // What the journal is read with refuses it as well: a server that kept it would not start again.
        if !root.isEmpty, let problem = Names.problemWithRecordName(root) {
            return ServiceError(.invalidArguments, problem)
        }
        if number <= ring.last { return Self.entryIsTaken }
        if number > ring.last + 1 { return Self.entriesAreMissing }
        if !rings.hasRoom(for: entry, in: ring) { return Self.ringIsFull }
        if takesKeys, rings.entryBytes + entry.count <= Limits.ringReserveBytes { return nil }
        return overheadRefusal(quota)
    }

    /// Whether an entry is the last one of a ring of a zone, and so one that is sent again.
    package func endsRing(_ entry: SharedBytes, in zone: ZoneID) -> Bool {
        guard id.scope == .private, case .success(let index) = zoneIndex(of: zone) else { return false }
        return rings.endsRing(entry, ofZone: zoneStates[index].incarnation)
    }

    /// The zone of which a caller's saves have to know the rings; nil where there is none for them.
    package func incarnation(of zone: ZoneID, for caller: Caller) -> UInt64? {
        (try? zoneIndex(of: zone, for: caller).get()).map { zoneStates[$0].incarnation }
    }

    /// Whether a caller may learn anything of a ring. Those with whom single records are shared have no part in the
    /// zone's own, and are told of no tree whose root they don't see.
    package func mayLearn(ofRing root: String, inZone zone: ZoneID, _ caller: Caller) -> Bool {
        guard !isOwn(caller) else { return true }
        guard case .success(let index) = zoneIndex(of: zone, for: caller),
            let member = member(caller, ofZoneAt: index)
        else { return false }
        if member.isOfWholeZone { return true }
        let state = zoneStates[index]
        return !root.isEmpty && state.liveSlot(of: root).map { state.isVisible($0, to: member) } ?? false
    }

    /// Deletes the zones that have rings, as of an account whose keys are lost, and the rings of the default zone,
    /// which stays with its records.
    ///
    /// - Throws: `limitExceeded` where there are too many for one commit.
    func deleteZonesWithRings(into builder: inout CommitBuilder) throws(ServiceError) {
        let zones = rings.zones
        if zones.count > Limits.zonesPerReset { throw Self.tooManyZones }
        let custom = zones.compactMap { zoneIndexOfIncarnation[$0] }.filter { !zoneStates[$0].isDefault }.map {
            zoneStates[$0].id
        }
        matchDeletion(ofZones: custom, into: &builder)
        for zone in custom {
            if let problem = delete(zone, .encryptedDataReset, into: &builder) {
                preconditionFailure("a zone that has rings can't be deleted: \(problem.message)")
            }
        }
        forgetRings(into: &builder)
    }

    /// Forgets the rings of the default zone, which are all that there are where no other zone is.
    func forgetRings(into builder: inout CommitBuilder) {
        guard rings.zones.first == 0 else { return }
        forgetRings(ofZone: 0)
        builder.append(.ringsEnd(zone: 0))
    }

    /// Forgets the rings of a zone, whose memory is freed elsewhere.
    func forgetRings(ofZone zone: UInt64) {
        if let gone = rings.remove(ofZone: zone), let giveBack { giveBack(Remains(of: gone)) }
    }

    /// Replays one of the changes.
    func apply(ring change: Change) throws(ServiceError) {
        guard id.scope == .private else {
            throw ServiceError(.internalError, "a database keeps rings that is no user's own")
        }
        switch change {
        case .ringEntry(let zone, let root, let number, let entry):
            guard zoneIndexOfIncarnation[zone] != nil, number == rings.ring(ofZone: zone, root: root).last + 1,
                rings.append(entry, zone: zone, root: root)
            else {
                throw ServiceError(
                    .internalError, "an entry of a ring is kept that the server would not have kept")
            }
        case .ringsEnd(let zone):
            guard rings.zones.contains(zone) else {
                throw ServiceError(.internalError, "rings go where there are none")
            }
            forgetRings(ofZone: zone)
        default: preconditionFailure("the change is none of rings")
        }
    }

    private func liveIncarnation(of zone: ZoneID) throws(ServiceError) -> UInt64 {
        zoneStates[try zoneIndex(of: zone).get()].incarnation
    }

    private static let entryIsTaken = ServiceError(
        .serverRecordChanged,
        "another device has made another entry of this number in the ring; fetch those that are new, and make one"
            + " behind them")
    private static let entriesAreMissing = ServiceError(
        .serverRecordChanged,
        "entries of the ring before this one are missing here; append those that you have and the server has not, in"
            + " their order, or fetch all and compare")
    private static let ringIsFull = ServiceError(
        .limitExceeded,
        "a ring's entry has 1 to \(Limits.ringEntryBytes) bytes, a ring \(Limits.entriesPerRing) entries and"
            + " \(Limits.bytesPerRing) bytes of them, and the database \(Limits.ringsPerDatabase) rings; begin another"
            + " zone, or delete some")
    private static let tooManyZones = ServiceError(
        .limitExceeded,
        "more than \(Limits.zonesPerReset) zones have keys that would be lost; delete some of them first")
}
