package import BrumeModel
internal import BrumeRecord

/// What a private database keeps beside the rings of a zone of users who do not own it: which keys they have, and who
/// asks to be taken in.
extension Database {
    /// Keeps what a user says of their keys, and that they ask to be taken into a ring. Nil where there is nothing new,
    /// so that a retry has one effect.
    ///
    /// - Parameters:
    ///   - others: Of which it is checked that it follows from what is kept.
    ///   - root: The ring's, which exists; empty for the zone's own.
    ///   - isGuest: Whether no entry has taken the user in: then a quota that is used up refuses the request. Newer
    ///     keys of a member it refuses only where statements of others have more than ``Limits/ringReserveBytes``.
    /// - Throws: `limitExceeded` where there is no room, `quotaExceeded` where the owner's quota is used up.
    package func join(
        _ others: RingOthers, root: String, inZone zone: UInt64, isGuest: Bool, quota: StorageQuota?,
        nowMilliseconds: Int64
    ) throws(ServiceError) -> Commit? {
        if others.isEmpty { return nil }
        var others = others
        if let refusal = makeRoom(for: &others, besideZone: zone) { throw refusal }
        if let refusal = guestRefusal(of: others, root: root, inZone: zone) { throw refusal }
        if isGuest || rings.statementBytes > Limits.ringReserveBytes, let refusal = overheadRefusal(quota) {
            throw refusal
        }
        if let guest = others.guest, rings.guest(guest.user, ofZone: zone, root: root) == nil,
            rings.guestCount(ofZone: zone, root: root) >= Limits.ringGuestsPerRing
        {
            // Those who are still there are fewer.
            others.guestsGone = rings.guests(ofZone: zone, root: root).map(\.user).filter {
                !takesPart($0, inRing: root, ofZone: zone)
            }
            if others.guestsGone.isEmpty { throw Self.tooManyGuests }
        }
        var builder = CommitBuilder(sequence: sequence + 1)
        let isNews = others.guest.map { self.isNews($0, root: root, inZone: zone) } ?? false
        put(others, zone: zone, root: root, into: &builder)
        // The owner's devices fetch the root, and with it look at the ring: nobody else tells them.
        if isNews { touch(root, inZone: zone, into: &builder) }
        return finish(builder, nowMilliseconds: nowMilliseconds)
    }

    /// Whether a guest is one whom the owner's devices could not take in before. Asking again and again is none.
    private func isNews(_ guest: RingGuest, root: String, inZone zone: UInt64) -> Bool {
        guard let former = rings.guest(guest.user, ofZone: zone, root: root) else { return true }
        return former.proof.isEmpty && !guest.proof.isEmpty
    }

    /// Has devices fetch the root of what a ring is of, or the zone's share, which stays as it is: so they hear that
    /// something changed for them in the ring.
    ///
    /// - Parameter tellsAll: Whether those are told as well who don't manage the zone's share, also where they are not
    ///   shown its last changes.
    func touch(_ root: String, inZone zone: UInt64, tellsAll: Bool = false, into builder: inout CommitBuilder) {
        guard let index = zoneIndexOfIncarnation[zone],
            let slot = zoneStates[index].liveSlot(of: root.isEmpty ? Names.zoneShare : root)
        else { return }
        let record = zoneStates[index][slot]
        let type = record.type
        var bytes = SharedBytes(record.bytes.array)
        if tellsAll, var share = record.sharing?.decodedShare, share.move(shownTo: builder.upcomingPosition),
            let moved = try? StoredRecord.resharing(bytes, SharingPart(storedShare: ShareCoder.encode(share)), { _ in })
        {
            bytes = SharedBytes(moved)
        }
        put(
            bytes, marks: record.marks, replacing: slot, references: .none, inZoneAt: index, of: zone,
            into: &builder)
        noteChange(inZoneAt: index, isNewEntry: false)
        builder.touch(
            TouchedZone(
                zone: ZoneID(name: zoneStates[index].name), incarnation: zone, recordTypes: [type], isNew: false,
                isDeleted: false, trees: settleTrees(inZoneAt: index, changing: [type])))
    }

    /// Why statements are not kept beside the rings of a zone, which has some, whatever is in them; nil for none.
    ///
    /// Where there is no room for them, all users go whose statements nobody needs: no entry names them, and they take
    /// part in no share of the zone any more. Otherwise some dozens of accounts that come by a public link, say what
    /// keys they have and leave would fill the room as long as the zone lives.
    func makeRoom(for others: inout RingOthers, besideZone zone: UInt64) -> ServiceError? {
        if others.statements.isEmpty { return nil }
        // What the journal is read with refuses them as well.
        guard others.statements.allSatisfy({ Names.isUserRecordName($0.user) && $0.user != id.owner }) else {
            return Self.isNoOthers
        }
        var known: [String: OtherStatements] = [:]
        var need = ZoneRings.StatementNeed()
        for new in others.statements {
            var statements = known[new.user] ?? rings.statements(of: new.user, inZone: zone)
            guard statements.hasRoom(for: new.bytes, chain: new.chain) else { return Self.tooManyStatements }
            let isNew = statements.last == 0
            if isNew { statements.isNamed = false }
            let isNamed = statements.isNamed || others.named.contains(new.user)
            statements.append(new.bytes, chain: new.chain)
            known[new.user] = statements
            need.bytes += new.bytes.count
            if isNew { need.newUsers += 1 }
            if isNamed { continue }
            need.unnamedBytes += new.bytes.count
            if isNew { need.unnamedNewUsers += 1 }
            if !statements.isWithinUnnamedShare { need.isBeyondShare = true }
        }
        if rings.hasRoom(for: need, inZone: zone) { return nil }
        guard let index = zoneIndexOfIncarnation[zone] else { return Self.hasNoRing }
        let named = others.named
        others.usersGone = rings.unnamed(inZone: zone).filter {
            known[$0] == nil && !named.contains($0) && zoneStates[index].member($0) == nil
        }
        guard rings.hasRoom(for: need, inZone: zone, without: others.usersGone) else { return Self.tooManyStatements }
        return nil
    }

    /// Why a guest is not kept, room aside, and nothing beside a ring that does not exist; nil where all can be.
    private func guestRefusal(of others: RingOthers, root: String, inZone zone: UInt64) -> ServiceError? {
        guard rings.hasRing(ofZone: zone, root: root) else { return Self.hasNoRing }
        guard let guest = others.guest else { return nil }
        let hasStatement =
            rings.statements(of: guest.user, inZone: zone).last > 0
            || others.statements.contains { $0.user == guest.user }
        return guest.isWellFormed && guest.user != id.owner && hasStatement ? nil : Self.isNoGuest
    }

    /// Keeps what there is room for.
    func put(_ others: RingOthers, zone: UInt64, root: String, into builder: inout CommitBuilder) {
        if !others.usersGone.isEmpty {
            let areGone = rings.removeUnnamed(others.usersGone, zone: zone)
            precondition(areGone, "statements make room that an entry needs")
            builder.append(.ringUsersEnd(zone: zone, users: others.usersGone))
        }
        note(named: others.named, zone: zone, into: &builder)
        var unnamed: [String] = []
        for new in others.statements {
            let kept = SharedBytes(new.bytes.array)
            let number = rings.statements(of: new.user, inZone: zone).last + 1
            let isTaken = rings.append(statement: kept, chain: new.chain, of: new.user, zone: zone)
            precondition(isTaken, "a statement beside a ring is refused that was not")
            builder.append(.ringStatement(zone: zone, user: new.user, number: number, chain: new.chain, kept))
            if number == 1, !others.named.contains(new.user) { unnamed.append(new.user) }
        }
        if !unnamed.isEmpty {
            let areNew = rings.setNamed(false, unnamed, zone: zone)
            precondition(areNew, "a user's first statement beside a ring is none")
            builder.append(.ringUsersUnnamed(zone: zone, users: unnamed))
        }
        for (user, chain) in others.selected where rings.select(chain: chain, of: user, zone: zone) {
            builder.append(.ringChain(zone: zone, user: user, chain: chain))
        }
        for user in others.guestsGone where rings.removeGuest(user, zone: zone, root: root) {
            builder.append(.ringGuestEnd(zone: zone, root: root, user: user))
        }
        if let guest = others.guest {
            let isTaken = rings.put(guest, zone: zone, root: root)
            precondition(isTaken, "a guest of a ring is refused who was not")
            builder.append(.ringGuest(zone: zone, root: root, guest))
        }
    }

    /// Notes that an entry names users. Those whose first statements come with it were never unnamed.
    private func note(named users: [String], zone: UInt64, into builder: inout CommitBuilder) {
        let users = users.filter { !rings.statements(of: $0, inZone: zone).isNamed }
        if users.isEmpty { return }
        let areUnnamed = rings.setNamed(true, users, zone: zone)
        precondition(areUnnamed, "an entry of a ring names a user twice")
        builder.append(.ringUsersNamed(zone: zone, users: users))
    }

    /// Replays one of the changes.
    func apply(besideRing change: Change) throws(ServiceError) {
        guard id.scope == .private else {
            throw ServiceError(.internalError, "a database keeps what is beside rings that is no user's own")
        }
        let isTaken: Bool
        switch change {
        case .ringStatement(let zone, let user, let number, let chain, let statement):
            isTaken =
                user != id.owner && number == rings.statements(of: user, inZone: zone).last + 1
                && rings.append(statement: statement, chain: chain, of: user, zone: zone)
        case .ringChain(let zone, let user, let chain): isTaken = rings.select(chain: chain, of: user, zone: zone)
        case .ringGuest(let zone, let root, let guest): isTaken = rings.put(guest, zone: zone, root: root)
        case .ringGuestEnd(let zone, let root, let user):
            isTaken = rings.removeGuest(user, zone: zone, root: root)
        case .ringUsersUnnamed(let zone, let users): isTaken = rings.setNamed(false, users, zone: zone)
        case .ringUsersNamed(let zone, let users): isTaken = rings.setNamed(true, users, zone: zone)
        case .ringUsersEnd(let zone, let users): isTaken = rings.removeUnnamed(users, zone: zone)
        default: preconditionFailure("the change is none beside rings")
        }
        if !isTaken {
            throw ServiceError(
                .internalError, "something is kept beside a ring that the server would not have kept")
        }
    }

    /// Forgets who asks to be taken into rings, so that a test can prove that it is noticed.
    package func testOnly_forgetRingGuests() { rings.testOnly_removeGuests() }

    // MARK: Who takes part

    /// Whether a user other than the owner takes part in what a ring is of, by a share that they accepted: in the zone
    /// as a whole, or in the share of the tree's root.
    ///
    /// - Parameter zone: The zone's incarnation.
    package func takesPart(_ user: String, inRing root: String, ofZone zone: UInt64) -> Bool {
        permission(of: user, inRing: root, ofZone: zone) != nil
    }

    /// Whether such a user may change records.
    package func mayWrite(_ user: String, inRing root: String, ofZone zone: UInt64) -> Bool {
        permission(of: user, inRing: root, ofZone: zone) == .readWrite
    }

    private func permission(of user: String, inRing root: String, ofZone zone: UInt64) -> Share.Permission? {
        guard let index = zoneIndexOfIncarnation[zone] else { return nil }
        if case .zone(let permission, _)? = zoneStates[index].sharing.members[user]?.reach { return permission }
        guard !root.isEmpty, let member = zoneStates[index].trees.members[user],
            let slot = zoneStates[index].liveSlot(of: root), rootSlot(ofTreeOver: slot, inZoneAt: index) == slot
        else { return nil }
        return member.parts[zoneStates[index].trees.cover(of: slot)]?.permission
    }

    /// The root of the shared tree that a saved record is in, or comes into; nil for none, and where the parent is not
    /// stored yet.
    ///
    /// - Parameter zone: The zone's incarnation.
    package func sharedRoot(ofRecord name: String, _ parent: ParentChange, inZone zone: UInt64) -> String? {
        guard let index = zoneIndexOfIncarnation[zone], !zoneStates[index].trees.isEmpty else { return nil }
        let slot = zoneStates[index].liveSlot(of: name)
        // A root is in its own tree, whatever its parent is.
        var covered = slot.flatMap { rootSlot(ofTreeOver: $0, inZoneAt: index) == $0 ? $0 : nil }
        if covered == nil {
            switch parent {
            case .unchanged: covered = slot
            case .removed: return nil
            case .set(let parent): covered = zoneStates[index].liveSlot(of: parent)
            }
        }
        return covered.flatMap { rootSlot(ofTreeOver: $0, inZoneAt: index) }.map { zoneStates[index].slots[$0].name }
    }

    /// The slot of the root of the shared tree that a record is in; nil for none.
    func rootSlot(ofTreeOver slot: Int32, inZoneAt index: Int) -> Int32? {
        let number = zoneStates[index].trees.cover(of: slot)
        return zoneStates[index].trees.trees[number].flatMap { zoneStates[index].sharing.roots[$0.share] }
    }

    /// Whether a caller may learn of any ring of a zone, and so of the statements beside them all.
    package func mayLearn(ofAnyRingInZone zone: ZoneID, _ caller: Caller) -> Bool {
        guard !isOwn(caller) else { return true }
        guard case .success(let index) = zoneIndex(of: zone, for: caller) else { return false }
        let state = zoneStates[index]
        if state.sharing.members[caller.user] != nil { return true }
        return state.trees.members[caller.user]?.parts.keys.contains { number in
            guard let share = state.trees.trees[number]?.share, let slot = state.sharing.roots[share] else {
                return false
            }
            return rings.hasRing(ofZone: state.incarnation, root: state.slots[slot].name)
        } ?? false
    }

    private static let isNoOthers = ServiceError(
        .invalidArguments, "a statement beside a ring is of no user, or of the zone's owner; send those of its members")
    private static let isNoGuest = ServiceError(
        .invalidArguments,
        "a guest of a ring is a user other than the zone's owner, with a statement there and the hash of one")
    private static let hasNoRing = ServiceError(.invalidArguments, "there is no ring that a user could ask for")
    private static let tooManyStatements = ServiceError(
        .limitExceeded,
        "beside the rings of a zone there is room for \(Limits.ringStatementsPerUser) statements of a user in"
            + " \(Limits.ringChainsPerUser) chains, which have \(Limits.ringStatementBytesPerUser) bytes, for"
            + " \(Limits.ringUsersPerZone) users, and for \(Limits.ringStatementBytesPerZone) bytes; those who were no"
            + " members yet have half of the zone's room, and whoever of them has more than"
            + " \(Limits.ringStatementsPerUnnamedUser) statements or \(Limits.ringStatementBytesPerUnnamedUser) bytes a"
            + " quarter; have the owner remove participants of the zone's shares")
    private static let tooManyGuests = ServiceError(
        .limitExceeded,
        "\(Limits.ringGuestsPerRing) users wait to be taken into the ring; have one of its writers' devices append the"
            + " next entry")
}
