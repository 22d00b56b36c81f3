package import BrumeModel

/// What is known beside the rings of a zone of users who do not own it: their statements, and who asks to be taken into
/// which ring.
///
/// Bounded by ``Limits/ringUsersPerZone``, ``Limits/ringStatementBytesPerZone`` and ``Limits/ringGuestsPerRing``.
extension ZoneRings {
    /// The statements of a user beside the rings of a zone; empty where there is none.
    package func statements(of user: String, inZone zone: UInt64) -> OtherStatements {
        zonesByIncarnation[zone]?.statements[user] ?? OtherStatements()
    }

    /// What a user asked of a ring; nil for nothing.
    package func guest(_ user: String, ofZone zone: UInt64, root: String) -> RingGuest? {
        zonesByIncarnation[zone]?.guests[root]?[user]
    }

    /// The users who ask to be taken into a ring, in the order of their names.
    package func guests(ofZone zone: UInt64, root: String) -> [RingGuest] {
        (zonesByIncarnation[zone]?.guests[root] ?? [:]).values.sorted { $0.user < $1.user }
    }

    /// What statements would take of a zone's room.
    struct StatementNeed {
        var bytes = 0
        /// How many users have none there yet.
        var newUsers = 0
        /// How much of it is of users whom no entry has named.
        var unnamedBytes = 0
        var unnamedNewUsers = 0
        /// Whether one of these would have more than such a user's share.
        var isBeyondShare = false
    }

    /// Whether a zone has room for more statements.
    ///
    /// - Parameter gone: Users whom no entry has named, and whose statements make room.
    func hasRoom(for need: StatementNeed, inZone zone: UInt64, without gone: [String] = []) -> Bool {
        guard let kept = zonesByIncarnation[zone] else { return true }
        let goneBytes = gone.reduce(0) { $0 + (kept.statements[$1]?.byteCount ?? 0) }
        guard kept.statementBytes - goneBytes + need.bytes <= Limits.ringStatementBytesPerZone,
            need.newUsers == 0 || kept.statements.count - gone.count + need.newUsers <= Limits.ringUsersPerZone
        else { return false }
        if need.unnamedBytes == 0 { return true }
        let bytesMax = Limits.ringStatementBytesPerZone / (need.isBeyondShare ? 4 : 2)
        return kept.unnamedBytes - goneBytes + need.unnamedBytes <= bytesMax
            && (need.unnamedNewUsers == 0
                || kept.unnamedUsers - gone.count + need.unnamedNewUsers <= Limits.ringUsersPerZone / 2)
    }

    /// Takes the next statement of a user; returns false if there is no room for it, or the zone has no ring.
    mutating func append(statement: SharedBytes, chain: UInt32, of user: String, zone: UInt64) -> Bool {
        let former = statements(of: user, inZone: zone)
        guard hasRings(ofZone: zone), Names.isUserRecordName(user), former.hasRoom(for: statement, chain: chain),
            hasRoom(for: StatementNeed(bytes: statement.count, newUsers: former.last == 0 ? 1 : 0), inZone: zone)
        else { return false }
        let before = former.last > 0 ? former.approximateBytes : 0
        update(zone) { zone in
            zone.statements[user, default: OtherStatements()].append(statement, chain: chain)
            zone.statementBytes += statement.count
            if !former.isNamed { zone.unnamedBytes += statement.count }
            zone.approximateBytes += zone.statements[user]!.approximateBytes - before
        }
        return true
    }

    /// Makes an earlier chain of a user the one of their keys; returns false where that is none, or is it already.
    mutating func select(chain: UInt32, of user: String, zone: UInt64) -> Bool {
        var statements = statements(of: user, inZone: zone)
        guard statements.select(chain) else { return false }
        update(zone) { $0.statements[user] = statements }
        return true
    }

    /// The users with statements beside the rings of a zone whom no entry of these has named, in the order of their
    /// names.
    func unnamed(inZone zone: UInt64) -> [String] {
        guard let kept = zonesByIncarnation[zone], kept.unnamedUsers > 0 else { return [] }
        return kept.statements.filter { !$0.value.isNamed }.keys.sorted()
    }

    /// Notes whether an entry has named users; returns false, and changes nothing, where one of them has no statement
    /// or it is noted already.
    mutating func setNamed(_ isNamed: Bool, _ users: [String], zone: UInt64) -> Bool {
        guard areKept(users, isNamed: !isNamed, inZone: zone) else { return false }
        update(zone) { zone in
            for user in users {
                zone.statements[user]!.isNamed = isNamed
                zone.unnamedUsers += isNamed ? -1 : 1
                zone.unnamedBytes += (isNamed ? -1 : 1) * zone.statements[user]!.byteCount
            }
        }
        return true
    }

    /// Forgets the statements of users whom no entry has named, and what they asked of rings; returns false, and
    /// changes nothing, where one of them is none.
    mutating func removeUnnamed(_ users: [String], zone: UInt64) -> Bool {
        guard areKept(users, isNamed: false, inZone: zone) else { return false }
        update(zone) { zone in
            for user in users {
                let gone = zone.statements.removeValue(forKey: user)!
                zone.statementBytes -= gone.byteCount
                zone.unnamedBytes -= gone.byteCount
                zone.unnamedUsers -= 1
                zone.approximateBytes -= gone.approximateBytes
            }
            // Each guest is looked at once, however many users go.
            let users = Set(users)
            for root in Array(zone.guests.keys) {
                let gone = zone.guests[root]!.keys.filter(users.contains)
                for user in gone { zone.guests[root]![user] = nil }
                if zone.guests[root]!.isEmpty { zone.guests[root] = nil }
                zone.guestBytes -= gone.count * Self.bytesPerGuest
                zone.approximateBytes -= gone.count * Self.approximateBytesPerGuest
            }
        }
        return true
    }

    private func areKept(_ users: [String], isNamed: Bool, inZone zone: UInt64) -> Bool {
        !users.isEmpty && Set(users).count == users.count
            && users.allSatisfy { zonesByIncarnation[zone]?.statements[$0]?.isNamed == isNamed }
    }

    /// Takes a guest, in place of what they asked before; returns false where there is no such ring, no statement of
    /// theirs, or no room, or the hash is none.
    mutating func put(_ guest: RingGuest, zone: UInt64, root: String) -> Bool {
        guard hasRing(ofZone: zone, root: root), statements(of: guest.user, inZone: zone).last > 0,
            guest.isWellFormed
        else { return false }
        let isNew = self.guest(guest.user, ofZone: zone, root: root) == nil
        guard !isNew || guestCount(ofZone: zone, root: root) < Limits.ringGuestsPerRing else { return false }
        update(zone) { zone in
            zone.guests[root, default: [:]][guest.user] = guest
            if isNew {
                zone.guestBytes += Self.bytesPerGuest
                zone.approximateBytes += Self.approximateBytesPerGuest
            }
        }
        return true
    }

    /// Forgets a guest; returns false if there is none.
    mutating func removeGuest(_ user: String, zone: UInt64, root: String) -> Bool {
        guard guest(user, ofZone: zone, root: root) != nil else { return false }
        update(zone) { zone in
            zone.guests[root]![user] = nil
            if zone.guests[root]!.isEmpty { zone.guests[root] = nil }
            zone.guestBytes -= Self.bytesPerGuest
            zone.approximateBytes -= Self.approximateBytesPerGuest
        }
        return true
    }

    /// Forgets all guests, so that a test can prove that it is noticed.
    mutating func testOnly_removeGuests() {
        for guest in allGuests { _ = removeGuest(guest.guest.user, zone: guest.zone, root: guest.root) }
    }

    func guestCount(ofZone zone: UInt64, root: String) -> Int { zonesByIncarnation[zone]?.guests[root]?.count ?? 0 }

    /// All statements: of each zone the users in the order of their names, and of each the first one in front.
    func forEachStatement<Failure>(
        _ body: (SnapshotRingStatement) throws(Failure) -> Void
    ) throws(Failure) {
        for zone in zones {
            for (user, statements) in zonesByIncarnation[zone]!.statements.sorted(by: { $0.key < $1.key }) {
                for kept in statements.all {
                    try body(
                        SnapshotRingStatement(zone: zone, user: user, chain: kept.chain, statement: kept.bytes))
                }
            }
        }
    }

    /// The chains of users' keys that are not those that began last.
    var selectedChains: [SnapshotRingChain] {
        zones.flatMap { zone in
            zonesByIncarnation[zone]!.statements.sorted { $0.key < $1.key }.compactMap { user, statements in
                statements.current == statements.chainCount
                    ? nil : SnapshotRingChain(zone: zone, user: user, chain: statements.current)
            }
        }
    }

    /// The users of each zone whom no entry has named.
    var allUnnamed: [SnapshotRingUsers] {
        zones.map { SnapshotRingUsers(zone: $0, users: unnamed(inZone: $0)) }.filter { !$0.users.isEmpty }
    }

    /// All guests: of each zone in the order of the roots, and of each ring in the order of their names.
    var allGuests: [SnapshotRingGuest] {
        zones.flatMap { zone in
            zonesByIncarnation[zone]!.guests.keys.sorted().flatMap { root in
                guests(ofZone: zone, root: root).map { SnapshotRingGuest(zone: zone, root: root, guest: $0) }
            }
        }
    }

    /// Takes what others have of users, counting it anew.
    mutating func takeOthers(of other: ZoneRings) {
        other.forEachStatement {
            _ = append(statement: $0.statement, chain: $0.chain, of: $0.user, zone: $0.zone)
        }
        for unnamed in other.allUnnamed { _ = setNamed(false, unnamed.users, zone: unnamed.zone) }
        for selected in other.selectedChains {
            _ = select(chain: selected.chain, of: selected.user, zone: selected.zone)
        }
        for guest in other.allGuests { _ = put(guest.guest, zone: guest.zone, root: guest.root) }
    }

    /// A guest's name, hash, invitation and proof, and what holds them.
    private static let bytesPerGuest = 192
    private static let approximateBytesPerGuest = 512
}

extension RingGuest {
    /// Whether its parts have the sizes that they have where the server keeps them.
    var isWellFormed: Bool {
        Names.isUserRecordName(user) && statementHash.count == Limits.ringEntryHashBytes
            && (invitationID.isEmpty && proof.isEmpty
                || invitationID.count == Limits.ringInvitationIDBytes && proof.count == Limits.ringProofBytes)
    }
}
