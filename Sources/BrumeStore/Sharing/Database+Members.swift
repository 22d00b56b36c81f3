package import BrumeModel
internal import BrumeRecord

/// What users may see of zones that others share with them: the one place that asks it.
extension Database {
    /// Whether a user who does not own the database still sees all records that the outcome of an operation shows:
    /// those that were saved, and those that were in the way.
    package func stillShows(
        _ results: [ZoneModificationResult<SharedBytes>], of zones: [ZoneID], to caller: Caller
    ) -> Bool {
        zip(zones, results).allSatisfy { zone, result in
            guard case .success(let index) = zoneIndex(of: zone, for: caller),
                let member = member(caller, ofZoneAt: index)
            else { return result.saves.allSatisfy { $0.shownName == nil } }
            let state = zoneStates[index]
            return result.saves.allSatisfy { save in
                guard let name = save.shownName else { return true }
                return state.liveSlot(of: name).map { member.permission(of: $0, in: state) != nil } ?? false
            }
        }
    }

    /// The index of a zone that exists for the caller: of a zone that somebody else owns only who takes part learns
    /// that it does.
    func zoneIndex(of zone: ZoneID, for caller: Caller) -> Result<Int, ServiceError> {
        if isOwn(caller) { return zoneIndex(of: zone) }
        guard let index = zoneIndexOfName[zone.name], member(caller, ofZoneAt: index) != nil else {
            return .failure(Database.noPartInZone)
        }
        return .success(index)
    }

    /// A zone as the caller sees it.
    package func zone(_ zone: ZoneID, for caller: Caller) -> Result<Zone, ServiceError> {
        zoneIndex(of: zone, for: caller).map { index in
            guard !isOwn(caller), let member = member(caller, ofZoneAt: index) else {
                return Database.answer(for: zoneStates[index])
            }
            return .shared(ZoneID(name: zoneStates[index].name, owner: id.owner), isWhole: member.isOfWholeZone)
        }
    }

    /// The caller's part in a zone that somebody else owns; nil for none.
    func member(_ caller: Caller, ofZoneAt index: Int) -> ZoneMember? { zoneStates[index].member(caller.user) }

    /// Whether requests for a scope are answered by this database: those for the shared one by private databases.
    func answers(_ scope: DatabaseScope) -> Bool { scope == id.scope || scope == .shared && id.scope == .private }

    /// The owner, who asks where nobody else is named.
    var ownCaller: Caller { Caller(user: id.owner, isOwner: true) }

    /// Whether the caller has the run of the database: its owner, and of a public one everybody.
    func isOwn(_ caller: Caller) -> Bool { caller.isOwner || id.scope == .public }

    /// Where a user's part in a zone began, by the zone's name; nil if they take no part.
    package func start(of user: String, inZoneNamed name: String) -> ChangePosition? {
        zoneIndexOfName[name].flatMap { zoneStates[$0].member(user)?.start }
    }

    /// What a user's own database is to know of their part in a zone.
    package func news(of user: String, inZoneNamed name: String, incarnation: UInt64) -> SharedZoneNews {
        let id = ZoneID(name: name, owner: id.owner)
        let zone = zoneIndexOfName[name].flatMap { index in
            zoneStates[index].member(user).map { member in
                SharedZone(
                    id: id, incarnation: zoneStates[index].incarnation, start: member.start, run: run(of: member.start),
                    isWhole: member.isOfWholeZone)
            }
        }
        return SharedZoneNews(
            id: id, incarnation: zone?.incarnation ?? incarnation, zone: zone, sequence: sequence, run: run)
    }

    /// The same for the zone of an incarnation, whether or not there is such a zone.
    package func news(of user: String, about zone: AskedZone) -> SharedZoneNews {
        let name = zoneIndexOfIncarnation[zone.incarnation].map { zoneStates[$0].name } ?? ""
        return news(of: user, inZoneNamed: name, incarnation: zone.incarnation)
    }

    /// Where each user's part began in a zone, by user record name; empty where nobody takes part.
    package func starts(inZoneNamed name: String) -> [String: ChangePosition] {
        guard let index = zoneIndexOfName[name] else { return [:] }
        let zone = zoneStates[index]
        return zone.sharing.members.mapValues(\.start).merging(zone.trees.members.mapValues(\.start)) { start, _ in
            start
        }
    }

    /// The names of the zones in which others take part.
    package var zonesWithMembers: [String] {
        zoneStates.filter { !$0.sharing.members.isEmpty || !$0.trees.members.isEmpty }.map(\.name)
    }

    /// What stands in tokens for the caller's time in a zone: of its owner the zone's own incarnation.
    func incarnation(ofZoneAt index: Int, for caller: Caller) -> UInt64 {
        member(caller, ofZoneAt: index).map(\.start.rawValue) ?? zoneStates[index].incarnation
    }

    /// The same for all who do not own the database, whatever the reason.
    package static let noPartInZone = ServiceError(
        .zoneNotFound,
        "the user takes part in no such zone; accept its share first, or fetch the list of zones of the shared database"
    )

    package static let noSuchZone = ServiceError(
        .zoneNotFound, "there is no such zone; save the zone first, or fetch the list of zones")
}

extension ZoneState {
    /// A user's part in the zone; nil for none.
    func member(_ user: String) -> ZoneMember? {
        sharing.members[user] ?? trees.members[user].map { ZoneMember(start: $0.start, reach: .trees($0)) }
    }
}

extension SaveResult<SharedBytes> {
    /// The name of the record that it holds, if it holds one.
    fileprivate var shownName: String? {
        switch outcome {
        case .record(let bytes):
            bytes.withUnsafeBytes { String(decoding: StoredRecord.head(of: $0).name, as: UTF8.self) }
        case .failure(let error):
            error.serverRecord?.withUnsafeBytes { String(decoding: StoredRecord.head(of: $0).name, as: UTF8.self) }
        case .deferred: nil
        }
    }
}
