import BrumeModel
import BrumeStore
import Testing

@Suite("Zones and subscriptions")
struct ZoneTests {
    let desk = Desk()

    private func save(_ subscriptions: Subscription...) -> [ErrorCode?] {
        desk.database.modifySubscriptions(
            ModifySubscriptionsRequest(database: desk.database.id.scope, saves: subscriptions), caller: desk.caller,
            nowMilliseconds: 1
        ).answer.saves.map(\.code)
    }

    private func fired(_ commit: Commit?) -> [String] {
        commit.map { desk.database.matchingSubscriptions(for: $0).map(\.subscription.id) } ?? []
    }

    @Test("saving a zone that exists changes nothing; deleting a missing one succeeds")
    func idempotence() {
        #expect(desk.makeZone("notes") == nil)
        let missing = desk.deleteZone("none")
        #expect(missing.answer.deletions == [nil] && missing.commit == nil)
        #expect(desk.database.zones.map(\.id.name) == ["_defaultZone", "notes"])
        #expect(desk.database.zones.map(\.capabilities) == [[], .custom])
    }

    @Test("the default zone can't be deleted, bad names and other owners can't be saved")
    func refusals() {
        #expect(desk.deleteZone("_defaultZone").answer.deletions.map { $0?.code } == [.invalidArguments])
        let bad = [
            ZoneID(name: ""), ZoneID(name: "_x"), ZoneID(name: "é"), ZoneID(name: String(repeating: "z", count: 256)),
            ZoneID(name: "x", owner: "_other"),
        ]
        let decision = desk.database.modifyZones(
            ModifyZonesRequest(database: .private, saves: bad), caller: desk.caller, nowMilliseconds: 1)
        #expect(
            decision.answer.saves.map(\.code)
                == [.invalidArguments, .invalidArguments, .invalidArguments, .invalidArguments, .permissionFailure])
        #expect(decision.commit == nil)
        let both = desk.database.modifyZones(
            ModifyZonesRequest(database: .private, saves: [Desk.zone], deletions: [Desk.zone]), caller: desk.caller,
            nowMilliseconds: 1)
        #expect(both.answer.saves.map(\.code) == [.invalidArguments])
        #expect(desk.database.incarnation(of: Desk.zone) != nil)
    }

    @Test("a zone is found by its name, whichever was asked for before, and is gone when it is deleted")
    func found() throws {
        #expect(desk.makeZone("letters") != nil)
        let letters = ZoneID(name: "letters")
        try desk.save("a", ["n": .int64(1)])
        try desk.save("a", ["n": .int64(2)], in: letters)
        func numbers() -> [FieldValue?] {
            [Desk.zone, Desk.zone, letters, letters, Desk.zone].map { desk.record("a", in: $0)?.fields["n"] }
        }
        #expect(numbers() == [.int64(1), .int64(1), .int64(2), .int64(2), .int64(1)])
        let deleted = try #require(desk.database.incarnation(of: Desk.zone))
        #expect(desk.deleteZone(Desk.zone.name).commit != nil)
        #expect(desk.database.incarnation(of: Desk.zone) == nil)
        #expect(numbers() == [nil, nil, .int64(2), .int64(2), nil])
        #expect(desk.makeZone(Desk.zone.name) != nil)
        #expect(numbers() == [nil, nil, .int64(2), .int64(2), nil])
        #expect(try #require(desk.database.incarnation(of: Desk.zone)) > deleted)
    }

    @Test(
        "a zone that went for a reason says so until it is made again, also after replay",
        arguments: [
            (ZoneDeletionReason.purged, ErrorCode.userDeletedZone), (.encryptedDataReset, .zoneNotFound),
        ])
    func deletionReasons(reason: ZoneDeletionReason, code: ErrorCode) throws {
        let replayed = Database(id: Desk.privateID, epoch: 7)
        let desk = Desk(Database(id: Desk.privateID, epoch: 7), caller: desk.caller)
        try replayed.apply(#require(desk.makeZone("notes")).entry)
        let token = try desk.database.databaseChanges(since: nil, resultsLimit: 0).token
        let commit = desk.database.modifyZones(
            ModifyZonesRequest(database: .private, deletions: [Desk.zone]), caller: desk.caller, nowMilliseconds: 1,
            deletionReason: reason
        ).commit
        try replayed.apply(#require(commit).entry)
        for database in [desk.database, replayed] {
            let page = try database.databaseChanges(since: token, resultsLimit: 0)
            #expect(page.deletions == [.init(zone: Desk.zone, reason: reason)])
            guard case .failure(let error) = database.zone(Desk.zone) else {
                Issue.record("the zone is there")
                continue
            }
            #expect(error.code == code)
            #expect(error.detail == (reason == .encryptedDataReset ? .encryptedDataReset : .none))
        }
        #expect(desk.makeZone("notes") != nil)
        _ = desk.deleteZone("notes")
        guard case .failure(let plain) = desk.database.zone(Desk.zone) else { return }
        #expect(plain.code == .zoneNotFound && plain.detail == .none)
    }

    @Test("the public database has its default zone alone, and no subscriptions of these kinds")
    func publicDatabase() {
        let alice = Desk.ofPublicDatabase(user: "_alice")
        let zones = alice.database.modifyZones(
            ModifyZonesRequest(database: .public, saves: [Desk.zone], deletions: [Desk.zone]), caller: alice.caller,
            nowMilliseconds: 1)
        #expect(
            zones.answer.saves.map(\.code) == [.badDatabase]
                && zones.answer.deletions.map { $0?.code } == [.badDatabase])
        let subscriptions = alice.database.modifySubscriptions(
            ModifySubscriptionsRequest(
                database: .public, saves: [Subscription(id: "s", kind: .database(recordType: ""))], deletions: ["t"]),
            caller: alice.caller, nowMilliseconds: 1)
        #expect(subscriptions.answer.saves.map(\.code) == [.badDatabase])
        #expect(subscriptions.commit == nil)
    }

    @Test("there are at most so many zones, and a deleted one makes room")
    func zoneLimit() {
        let names = (1..<Limits.zonesPerDatabase).map { ZoneID(name: "z\($0)") }
        let full = desk.database.modifyZones(
            ModifyZonesRequest(database: .private, saves: names + [ZoneID(name: "more")]), caller: desk.caller,
            nowMilliseconds: 1)
        #expect(full.answer.saves.compactMap(\.code) == [.limitExceeded])
        _ = desk.deleteZone("z1")
        #expect(desk.makeZone("more") != nil)
    }

    @Test("subscriptions are checked, replaced by id and deleted")
    func subscriptions() {
        var greedy = Subscription(id: "s", kind: .database(recordType: ""), notificationInfo: NotificationInfo())
        greedy.notificationInfo?.desiredKeys = ["a", "b", "c", "d"]
        #expect(
            save(
                Subscription(id: "", kind: .database(recordType: "")), greedy,
                Subscription(id: "s", kind: .zone(ZoneID(name: "none"), recordType: "")),
                Subscription(id: "s", kind: .zone(.defaultZone, recordType: "")),
                Subscription(id: "s", kind: .database(recordType: "not a type")),
                Subscription(id: "s", kind: .zone(Desk.zone, recordType: "")))
                == [.invalidArguments, .invalidArguments, .zoneNotFound, .invalidArguments, .invalidArguments, nil])
        #expect(save(Subscription(id: "s", kind: .database(recordType: "Note"))) == [nil])
        #expect(desk.database.subscriptions == [Subscription(id: "s", kind: .database(recordType: "Note"))])
        let again = desk.database.modifySubscriptions(
            ModifySubscriptionsRequest(database: .private, saves: desk.database.subscriptions), caller: desk.caller,
            nowMilliseconds: 1)
        #expect(again.commit == nil)
        let deletion = desk.database.modifySubscriptions(
            ModifySubscriptionsRequest(database: .private, deletions: ["s", "s", "none"]), caller: desk.caller,
            nowMilliseconds: 1)
        #expect(deletion.answer.deletions.map { $0?.code } == [nil, .unknownItem, .unknownItem])
        for index in 0..<Limits.subscriptionsPerUser {
            #expect(save(Subscription(id: "s\(index)", kind: .database(recordType: ""))) == [nil])
        }
        #expect(save(Subscription(id: "more", kind: .database(recordType: ""))) == [.limitExceeded])
        #expect(save(Subscription(id: "s1", kind: .database(recordType: "Note"))) == [nil])
    }

    @Test(
        "a commit fires the subscriptions of its zones and types, a zone's end its own too, and none for the default zone"
    )
    func matching() throws {
        desk.makeZone("other")
        #expect(
            save(
                Subscription(id: "zone", kind: .zone(Desk.zone, recordType: "")),
                Subscription(id: "zoneCard", kind: .zone(Desk.zone, recordType: "Card")),
                Subscription(id: "other", kind: .zone(ZoneID(name: "other"), recordType: "")),
                Subscription(id: "all", kind: .database(recordType: "")),
                Subscription(id: "allCard", kind: .database(recordType: "Card"))) == [nil, nil, nil, nil, nil])
        #expect(fired(desk.modify(saves: [.of("a")]).commit) == ["zone", "all"])
        #expect(fired(desk.modify(saves: [.of("b", type: "Card")]).commit) == ["zone", "zoneCard", "all", "allCard"])
        #expect(fired(desk.modify(deletions: ["b"]).commit) == ["zone", "zoneCard", "all", "allCard"])
        #expect(fired(desk.modify(.defaultZone, saves: [.of("a", type: "Card")]).commit).isEmpty)
        #expect(fired(desk.makeZone("third")) == ["all"])
        #expect(fired(desk.deleteZone("other").commit) == ["other", "all", "allCard"])
        #expect(desk.database.subscription("other", of: desk.caller) == nil)
    }
}

extension Result where Failure == ServiceError {
    var code: ErrorCode? {
        if case .failure(let error) = self { return error.code }
        return nil
    }
}
