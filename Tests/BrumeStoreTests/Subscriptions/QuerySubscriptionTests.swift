import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Testing

@Suite("Query subscriptions")
struct QuerySubscriptionTests {
    private static func query(
        _ id: String, _ predicate: Predicate = .constant(true), options: QuerySubscription.Options = .reasons,
        type: String = "Note", zone: ZoneID? = nil
    ) -> Subscription {
        Subscription(
            id: id,
            kind: .query(QuerySubscription(recordType: type, predicate: predicate, options: options, zone: zone)))
    }

    private func save(_ subscriptions: [Subscription], in desk: Desk) -> [ErrorCode?] {
        desk.database.modifySubscriptions(
            ModifySubscriptionsRequest(database: desk.database.id.scope, saves: subscriptions), caller: desk.caller,
            nowMilliseconds: 1
        ).answer.saves.map { if case .failure(let error) = $0 { error.code } else { nil } }
    }

    private func fired(_ commit: Commit?) -> [String] {
        (commit?.matches.matches ?? []).map { "\($0.subscription.owner)/\($0.subscription.subscription.id)" }.sorted()
    }

    @Test("the public database has query subscriptions alone, and each user sees and deletes only their own")
    func ownership() throws {
        let ada = Desk.ofPublicDatabase(user: "_ada")
        let bob = Desk(ada.database, caller: Caller(user: "_bob", isOwner: false))
        let nobody = Desk(ada.database, caller: Caller(user: "", isOwner: false))
        #expect(save([Subscription(id: "d", kind: .database(recordType: ""))], in: ada) == [.badDatabase])
        #expect(save([Self.query("s")], in: nobody) == [.notAuthenticated])
        #expect(save([Self.query("s", .comparison(.field("n"), .equal, .int64(1)))], in: ada) == [nil])
        #expect(save([Self.query("s", .comparison(.field("n"), .equal, .int64(2)))], in: bob) == [nil])
        #expect(ada.database.subscriptions(of: ada.caller).map(\.id) == ["s"])
        #expect(
            ada.database.subscription("s", of: ada.caller)?.kind != ada.database.subscription("s", of: bob.caller)?.kind
        )
        #expect(fired(ada.modify(.defaultZone, saves: [.of("r", ["n": .int64(2)])]).commit) == ["_bob/s"])
        let deletion = ada.database.modifySubscriptions(
            ModifySubscriptionsRequest(database: .public, deletions: ["s"]), caller: ada.caller, nowMilliseconds: 1)
        #expect(deletion.answer.deletions == [nil])
        let again = ada.database.modifySubscriptions(
            ModifySubscriptionsRequest(database: .public, deletions: ["s"]), caller: ada.caller, nowMilliseconds: 1)
        #expect(again.answer.deletions.map { $0?.code } == [.unknownItem] && again.commit == nil)
        #expect(bob.database.subscriptions(of: bob.caller).map(\.id) == ["s"])
    }

    @Test("an update fires when the new version matches, a deletion when the last one did, cascades included")
    func versions() throws {
        let desk = Desk()
        let isOpen = Predicate.comparison(.field("open"), .equal, .int64(1))
        #expect(save([Self.query("s", isOpen, zone: Desk.zone)], in: desk) == [nil])
        func reasons(_ commit: Commit?) -> [RecordChangeReason] { (commit?.matches.matches ?? []).map(\.record.reason) }
        func put(_ open: Int64) -> Commit? {
            desk.modify(policy: .allKeys, saves: [.of("r", ["open": .int64(open)])]).commit
        }
        #expect(reasons(put(0)) == [])
        #expect(reasons(put(1)) == [.updated])
        #expect(reasons(put(0)) == [])
        #expect(reasons(desk.modify(deletions: ["r"]).commit) == [])
        #expect(reasons(put(1)) == [.created])
        #expect(reasons(put(1)) == [], "a save that changes nothing")
        let child = desk.modify(saves: [.of("c", ["open": .int64(1), "up": Reference.cascading(to: "r")])]).commit
        #expect(reasons(child) == [.created])
        #expect(reasons(desk.modify(deletions: ["r"]).commit) == [.deleted, .deleted])
        #expect(reasons(desk.modify(.defaultZone, saves: [.of("r", ["open": .int64(1)])]).commit) == [])
    }

    @Test("one that fires once is gone with the commit that fires it")
    func once() throws {
        let desk = Desk()
        #expect(save([Self.query("s", options: [.creation, .once])], in: desk) == [nil])
        let commit = try #require(desk.modify(saves: [.of("a"), .of("b")]).commit)
        #expect(fired(commit) == ["/s"])
        #expect(commit.entry.changes.last == .subscriptionDeletion(id: "s", owner: ""))
        #expect(desk.database.subscriptions.isEmpty)
        #expect(fired(desk.modify(saves: [.of("c")]).commit) == [])
    }

    @Test("what a user may not subscribe to is refused, and what they may not read fires nothing and ends nothing")
    func gate() throws {
        let ada = Desk.ofPublicDatabase(user: "_ada")
        ada.database.subscriptionGate = SubscriptionGate(
            refusal: { query, user in
                query.predicate == .comparison(.field("secret"), .equal, .int64(1))
                    ? ServiceError(.invalidArguments, "not queryable") : nil
            }, mayRead: { _, creator, user in creator == user })
        let bob = Desk(ada.database, caller: Caller(user: "_bob", isOwner: false))
        #expect(
            save([Self.query("s", .comparison(.field("secret"), .equal, .int64(1)))], in: bob) == [.invalidArguments])
        #expect(save([Self.query("s", options: [.creation, .once])], in: bob) == [nil])
        #expect(fired(ada.modify(.defaultZone, saves: [.of("a")]).commit) == [])
        #expect(bob.database.subscriptions(of: bob.caller).count == 1)
        #expect(fired(bob.modify(.defaultZone, saves: [.of("b")]).commit) == ["_bob/s"])
    }

    @Test("a subscription searches the fields that the schema says when a record is saved")
    func changedSchema() throws {
        final class Box: @unchecked Sendable {
            var fields = SearchableFields.only(["title"])
            var version: UInt64 = 1
        }
        let box = Box()
        let desk = Desk()
        desk.database.subscriptionGate = SubscriptionGate(
            refusal: { _, _ in nil }, mayRead: { _, _, _ in true }, searchableFields: { _ in box.fields },
            version: { box.version })
        #expect(save([Self.query("s", .text("fog", .allWords))], in: desk) == [nil])
        #expect(fired(desk.modify(saves: [.of("a", ["title": .string("fog")])]).commit) == ["/s"])
        #expect(fired(desk.modify(saves: [.of("b", ["text": .string("fog")])]).commit) == [])
        (box.fields, box.version) = (.only(["text"]), 2)
        #expect(fired(desk.modify(saves: [.of("c", ["text": .string("fog")])]).commit) == ["/s"])
        #expect(fired(desk.modify(saves: [.of("d", ["title": .string("fog")])]).commit) == [])
    }

    @Test("counts and bytes are limited for each user, and replacing one needs no more room")
    func limits() throws {
        let ada = Desk.ofPublicDatabase(user: "_ada")
        let bob = Desk(ada.database, caller: Caller(user: "_bob", isOwner: false))
        for start in stride(from: 0, to: Limits.subscriptionsPerUser, by: 100) {
            #expect(save((start..<start + 100).map { Self.query("s\($0)") }, in: ada).allSatisfy { $0 == nil })
        }
        #expect(save([Self.query("one more")], in: ada) == [.limitExceeded])
        #expect(save([Self.query("s5", .constant(false))], in: ada) == [nil])
        #expect(save([Self.query("s5")], in: bob) == [nil])
        let half = Predicate.comparison(
            .field("x"), .equal,
            .string(String(repeating: "a", count: Limits.subscriptionPredicateBytesPerUser / 2)))
        #expect(save([Self.query("a", half), Self.query("b", half)], in: bob) == [nil, .limitExceeded])
        #expect(save([Self.query("a", half)], in: bob) == [nil])
    }

    @Test("a zone's query subscriptions need the zone, tell of its records' deletion and go with it")
    func zones() throws {
        let desk = Desk()
        #expect(save([Self.query("s", zone: ZoneID(name: "nowhere"))], in: desk) == [.zoneNotFound])
        #expect(
            save([Self.query("s", zone: Desk.zone), Self.query("t"), Self.query("u", zone: .defaultZone)], in: desk)
                == [nil, nil, nil])
        #expect(
            save(
                [
                    Self.query("v", options: [.creation, .update]), Self.query("w", options: [.deletion, .once]),
                    Self.query("x", type: "City"),
                ], in: desk) == [nil, nil, nil])
        try desk.save("q", type: "City")
        try desk.save("r")
        let commit = try #require(desk.deleteZone(Desk.zone.name).commit)
        #expect(fired(commit) == ["/s", "/t", "/w", "/x"])
        #expect(commit.matches.matches.allSatisfy { $0.record.reason == .deleted && $0.record.zone == Desk.zone })
        #expect(save([Self.query("x", .constant(false)), Self.query("v", .constant(false))], in: desk) == [nil, nil])
        desk.database.modifySubscriptions(
            ModifySubscriptionsRequest(database: .private, deletions: ["x", "v"]), caller: desk.caller,
            nowMilliseconds: 1
        ).answer.deletions.forEach { #expect($0 == nil) }
        #expect(desk.database.subscriptions.map(\.id) == ["t", "u"])
        desk.makeZone(Desk.zone.name)
        #expect(fired(desk.modify(saves: [.of("r")]).commit) == ["/t"])
    }

    @Test(
        "a zone with more records than are told one by one ends in an order to fetch for those who wait for deletions")
    func largeZone() throws {
        for type in ["Note", "City"] {
            let desk = Desk()
            #expect(save([Self.query("s", options: [.deletion], type: type)], in: desk) == [nil])
            for start in stride(from: 0, to: Limits.recordsToldPerZoneDeletion + 1, by: 1_000) {
                _ = desk.modify(saves: (start..<start + 1_000).map { .of("r\($0)") })
            }
            let commit = try #require(desk.deleteZone(Desk.zone.name).commit)
            #expect(commit.matches.matches.isEmpty)
            #expect(commit.matches.overflowingOwners == [""])
        }
        let desk = Desk()
        #expect(save([Self.query("s", options: [.creation, .update])], in: desk) == [nil])
        for start in stride(from: 0, to: 5_000, by: 1_000) {
            _ = desk.modify(saves: (start..<start + 1_000).map { .of("r\($0)") })
        }
        #expect(try #require(desk.deleteZone(Desk.zone.name).commit).matches.isEmpty)
    }

    @Test("emptying a database tells of the records that go, in the default zone and in others")
    func emptying() throws {
        let desk = Desk()
        #expect(
            save([Self.query("s"), Self.query("z", zone: Desk.zone), Self.query("d", zone: .defaultZone)], in: desk)
                == [nil, nil, nil])
        try desk.save("a")
        try desk.save("b", in: .defaultZone)
        var emptying = desk.database.beginEmptying()
        let part = try #require(desk.database.empty(&emptying, nowMilliseconds: 1))
        let commit = try #require(part.commit)
        #expect(part.records == 2)
        #expect(
            commit.matches.matches.map { "\($0.subscription.subscription.id) \($0.record.name)" }.sorted()
                == ["d b", "s a", "s b", "z a"])
        #expect(commit.matches.matches.allSatisfy { $0.record.reason == .deleted })
        #expect(desk.database.subscriptions.map(\.id) == ["s", "d"])
    }

    @Test("who had subscriptions is remembered with the commit that took the last one, by the journal as well")
    func formerSubscribers() throws {
        let ada = Desk.ofPublicDatabase(user: "_ada")
        let bob = Desk(ada.database, caller: Caller(user: "_bob", isOwner: false))
        var journal: [JournalEntry] = []
        for subscriptions in [[Self.query("s", options: [.creation, .once])], [Self.query("t")]] {
            journal.append(
                try #require(
                    ada.database.modifySubscriptions(
                        ModifySubscriptionsRequest(database: .public, saves: subscriptions), caller: ada.caller,
                        nowMilliseconds: 1
                    ).commit
                ).entry)
        }
        func had(_ database: Database, _ user: String, behind sequence: UInt64) -> Bool {
            database.hadSubscriptions(of: user, behind: sequence)
        }
        journal.append(try #require(bob.modify(.defaultZone, saves: [.of("a")]).commit).entry)
        #expect(had(ada.database, "_ada", behind: 1_000), "there is another one")
        journal.append(
            try #require(
                ada.database.modifySubscriptions(
                    ModifySubscriptionsRequest(database: .public, deletions: ["t"]), caller: ada.caller,
                    nowMilliseconds: 1
                ).commit
            ).entry)
        let replayed = Database(id: ada.database.id, epoch: 7)
        for entry in journal { try replayed.apply(entry) }
        for database in [ada.database, replayed] {
            #expect(had(database, "_ada", behind: 3) && !had(database, "_ada", behind: 4))
            #expect(!had(database, "_bob", behind: 0))
        }
        #expect(save([Self.query("s")], in: ada) == [nil])
        #expect(had(ada.database, "_ada", behind: 1_000))
    }

    @Test("a commit that would tell too much says so to those whom it concerns, and to nobody else")
    func overflow() throws {
        let ada = Desk.ofPublicDatabase(user: "_ada")
        // Each takes 1,000 terms to evaluate, and none can be looked up.
        let costly = Predicate.and((0..<999).map { .not(.comparison(.field("f"), .equal, .int64($0))) })
        for user in 0..<30 {
            let desk = Desk(ada.database, caller: Caller(user: "_u\(user)", isOwner: false))
            #expect(save([Self.query("s", costly)], in: desk) == [nil])
        }
        let other = Desk(ada.database, caller: Caller(user: "_other", isOwner: false))
        #expect(save([Self.query("s", costly, type: "City")], in: other) == [nil])
        let saves = (0..<100).map { RecordSave<CheckedFields>.of("r\($0)", ["f": .int64(-1)]) }
        let commit = try #require(ada.modify(.defaultZone, saves: saves).commit)
        #expect(commit.matches.matches.count <= Limits.matchingCostPerCommit / 1_000)
        #expect(!commit.matches.matches.isEmpty)
        #expect(commit.matches.overflowingOwners == Set((0..<30).map { "_u\($0)" }))
    }

    @Test("a predicate that costs elements times terms is its user's loss: the others are told as ever")
    func costlyElements() throws {
        let ada = Desk.ofPublicDatabase(user: "_ada")
        let terms = (0..<400).map { Predicate.not(.anyElement(.field("n"), .equal, .int64(Int64($0) + 2))) }
        for user in ["_eve", "_bob"] {
            let desk = Desk(ada.database, caller: Caller(user: user, isOwner: false))
            let subscriptions = user == "_eve" ? (0..<5).map { Self.query("s\($0)", .and(terms)) } : [Self.query("s")]
            #expect(save(subscriptions, in: desk).allSatisfy { $0 == nil })
        }
        let list = FieldValue.int64s(Array(repeating: 1, count: 200_000))
        for (name, value) in [("r", list), ("few", .int64s([1]))] {
            let commit = try #require(
                ada.modify(.defaultZone, saves: [RecordSave<CheckedFields>.of(name, ["n": value])]).commit)
            #expect(commit.matches.overflowingOwners == (name == "r" ? ["_eve"] : []))
            #expect(commit.matches.matches.count { $0.subscription.owner == "_bob" } == 1)
        }
    }

    @Test("subscriptions that name one value thousands of times are filed under it once, and go quickly")
    func repeatedValues() throws {
        let desk = Desk.ofPublicDatabase(user: "_eve")
        let same = Predicate.isIn(.field("f"), Array(repeating: .int64(7), count: Limits.predicateValues))
        let below = Predicate.or((1...1_000).map { .comparison(.field("g"), .less, .int64($0)) })
        // In one database, where all that name a value stand together.
        let users = (0..<8).map { Desk(desk.database, caller: Caller(user: "_u\($0)", isOwner: false)) }
        for user in users {
            #expect(save([Self.query("same", same)], in: user) == [nil])
            #expect(save([Self.query("below", below)], in: user) == [nil])
        }
        let saved = desk.modify(.defaultZone, saves: [.of("r", ["f": .int64(7)]), .of("s", ["g": .int64(-1)])])
        let matches = try #require(saved.commit).matches
        let told = Set(matches.matches.map(\.subscription.owner)).union(matches.overflowingOwners)
        #expect(told == Set(users.map(\.caller.user)))
        let took = ProcessorTime.of {
            for user in users.reversed() {
                let answer = desk.database.modifySubscriptions(
                    ModifySubscriptionsRequest(database: .public, deletions: ["same", "below"]), caller: user.caller,
                    nowMilliseconds: 1
                ).answer
                #expect(answer.deletions == [nil, nil])
            }
        }
        #expect(took < .seconds(10), "\(took)")
        #expect(desk.modify(.defaultZone, saves: [.of("again", ["f": .int64(7)])]).commit?.matches.isEmpty == true)
    }

    @Test(
        "a subscription whose predicate says the same twice comes and goes like any other",
        arguments: [
            Predicate.comparison(.field("n"), .greater, .int64(3)), .comparison(.field("n"), .equal, .int64(4)),
            .comparison(.field("t"), .beginsWith, .string(String(repeating: "x", count: 40))),
            .between(.field("n"), .int64(3), .int64(5)),
            .distance(.field("p"), latitude: 1, longitude: 1, metres: 10, isInclusive: true),
            .comparison(.recordID, .equal, .reference(Reference(recordName: "r", deletesSelf: false))),
        ])
    func saidTwice(_ term: Predicate) throws {
        let desk = Desk.ofPublicDatabase(user: "_ada")
        let others = Desk(desk.database, caller: Caller(user: "_bob", isOwner: false))
        func delete(_ id: String, _ desk: Desk) {
            _ = desk.database.modifySubscriptions(
                ModifySubscriptionsRequest(database: .public, deletions: [id]), caller: desk.caller, nowMilliseconds: 1)
        }
        func commit() throws -> [String] {
            let place = Location(latitude: 1, longitude: 1)
            let fields: [String: FieldValue] = [
                "n": .int64(4), "t": .string(String(repeating: "x", count: 41)), "p": .location(place),
            ]
            _ = desk.modify(.defaultZone, deletions: ["r"])
            return fired(desk.modify(.defaultZone, saves: [.of("r", fields)]).commit)
        }
        let twice = Self.query("twice", .or([term, term, .comparison(.field("other"), .equal, .int64(1)), term]))
        // By itself, then beside another one.
        #expect(save([twice], in: desk) == [nil])
        #expect(try commit() == ["_ada/twice"])
        delete("twice", desk)
        #expect(try commit() == [])
        #expect(save([Self.query("once", term)], in: others) == [nil])
        #expect(save([twice], in: desk) == [nil])
        #expect(try commit() == ["_ada/twice", "_bob/once"])
        // Replaced by its like, then gone; the other one stays.
        #expect(save([twice], in: desk) == [nil])
        #expect(try commit() == ["_ada/twice", "_bob/once"])
        delete("twice", desk)
        #expect(try commit() == ["_bob/once"])
        delete("once", others)
        #expect(try commit() == [])
    }

    @Test("of one user a commit fires as many events as a device's backlog holds")
    func eventsOfOneUser() throws {
        let ada = Desk.ofPublicDatabase(user: "_ada")
        let bob = Desk(ada.database, caller: Caller(user: "_bob", isOwner: false))
        #expect(save((0..<4).map { Self.query("s\($0)") }, in: bob).allSatisfy { $0 == nil })
        let carol = Desk(ada.database, caller: Caller(user: "_carol", isOwner: false))
        #expect(save([Self.query("s")], in: carol) == [nil])
        let saves = (0..<400).map { RecordSave<CheckedFields>.of("r\($0)") }
        let commit = try #require(ada.modify(.defaultZone, saves: saves).commit)
        #expect(commit.matches.overflowingOwners == ["_bob"])
        #expect(commit.matches.matches.count { $0.subscription.owner == "_carol" } == 400)
    }

    @Test("whoever is told to fetch costs a commit no more, however many records and subscriptions there are")
    func overflowingOwners() throws {
        let ada = Desk.ofPublicDatabase(user: "_ada")
        let eve = Desk(ada.database, caller: Caller(user: "_eve", isOwner: false))
        // In a box, since the gate may be asked on any thread.
        final class Count: @unchecked Sendable { var value = 0 }
        let count = Count()
        ada.database.subscriptionGate = SubscriptionGate(
            refusal: { _, _ in nil },
            mayRead: { _, _, _ in
                count.value += 1
                return true
            })
        for start in stride(from: 0, to: 1_000, by: 200) {
            #expect(save((start..<start + 200).map { Self.query("s\($0)") }, in: eve).allSatisfy { $0 == nil })
        }
        let commit = try #require(ada.modify(.defaultZone, saves: (0..<400).map { .of("r\($0)") }).commit)
        #expect(commit.matches.overflowingOwners == ["_eve"])
        #expect(commit.matches.matches.count <= Limits.queryEventsPerUserAndCommit)
        // Once for each record that had an event, not for each of 400,000 candidates.
        #expect(count.value <= 3, "\(count.value)")
    }

    @Test("deleting many zones looks at many subscriptions once")
    func manyZones() throws {
        let desk = Desk()
        let zones = (0..<400).map { ZoneID(name: "z\($0)") }
        _ = desk.database.modifyZones(
            ModifyZonesRequest(database: .private, saves: zones), caller: desk.caller, nowMilliseconds: 1)
        var subscriptions = (0..<998).map { Self.query("all\($0)", options: .deletion, type: "T\($0)") }
        subscriptions.append(Self.query("of z7", zone: zones[7]))
        subscriptions.append(Subscription(id: "z8", kind: .zone(zones[8], recordType: "")))
        for start in stride(from: 0, to: 1_000, by: 200) {
            #expect(save(Array(subscriptions[start..<start + 200]), in: desk).allSatisfy { $0 == nil })
        }
        _ = desk.modify(zones[7], saves: [.of("r")])
        var commit: Commit?
        let took = ProcessorTime.of {
            commit =
                desk.database.modifyZones(
                    ModifyZonesRequest(database: .private, deletions: zones), caller: desk.caller, nowMilliseconds: 1
                ).commit
        }
        #expect(fired(commit) == ["/of z7"])
        #expect(desk.database.subscriptions.count == 998)
        #expect(try #require(commit).endedHints.map(\.subscription.id) == ["z8"])
        // 400,000 looks take seconds in a debug build.
        #expect(took < .seconds(1), "\(took)")
    }

    @Test("a term that all subscriptions share does not make all of them candidates")
    func sharedTerm() throws {
        let desk = Desk()
        let count = Limits.subscriptionsPerUser
        for start in stride(from: 0, to: count, by: 100) {
            let subscriptions = (start..<start + 100).map { number in
                Self.query(
                    "s\(number)",
                    .and([
                        .comparison(.field("done"), .equal, .int64(0)),
                        .comparison(.field("number"), .equal, .int64(Int64(number))),
                    ]))
            }
            #expect(save(subscriptions, in: desk).allSatisfy { $0 == nil })
        }
        // Each with each would cost more than a commit may.
        let saves = (0..<400).map {
            RecordSave<CheckedFields>.of("r\($0)", ["done": .int64(0), "number": .int64(Int64($0))])
        }
        let commit = try #require(desk.modify(saves: saves).commit)
        #expect(commit.matches.overflowingOwners.isEmpty && commit.matches.matches.count == 400)
        #expect(
            commit.matches.matches.allSatisfy { "s" + $0.record.name.dropFirst() == $0.subscription.subscription.id })
    }
}
