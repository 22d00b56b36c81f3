import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("The hub of a public database")
struct NotificationHubTests {
    private let database = Database(
        id: DatabaseID(container: "iCloud.x", environment: .development, scope: .public, owner: ""), epoch: 7)

    private func hub(
        backlogEvents: Int = 100, backlogBytes: Int = 1 << 20, waitingEventsLimit: Int = 1 << 16
    ) -> NotificationHub {
        NotificationHub(
            database: database, head: .end(ofSequence: database.sequence), coder: EventCoder(),
            backlogEvents: backlogEvents, backlogBytes: backlogBytes, waitingEventsLimit: waitingEventsLimit)
    }

    private func subscribe(
        _ user: String, _ id: String = "s", to type: String = "Note", options: QuerySubscription.Options = .reasons
    ) {
        _ = database.modifySubscriptions(
            ModifySubscriptionsRequest(
                database: .public,
                saves: [
                    Subscription(
                        id: id,
                        kind: .query(
                            QuerySubscription(recordType: type, predicate: .constant(true), options: options)))
                ]), caller: Caller(user: user, isOwner: false), nowMilliseconds: 1)
    }

    /// Behind all that there is.
    private var here: StreamPosition.Place {
        StreamPosition.Place(run: 7, position: .end(ofSequence: database.sequence))
    }

    /// - Parameter types: Of the records, by their names.
    private func modify(_ types: [String: String]) -> Commit? {
        database.modifyRecords(
            ModifyRecordsRequest(
                database: .public,
                zones: [
                    ZoneModification(
                        zone: .defaultZone,
                        saves: types.map { RecordSave(name: $0.key, type: $0.value, fields: CheckedFields()) })
                ]), caller: Caller(user: "_author", isOwner: false), nowMilliseconds: 1
        ).commit
    }

    private func save(_ name: String, type: String = "Note", origin: UInt8 = 0, into hub: NotificationHub) throws {
        let commit = try #require(modify([name: type]))
        hub.publish(
            NotificationHub.Publication(
                sequence: commit.sequence,
                origin: ChangeOrigin(user: "_ada", device: Array(repeating: origin, count: 16)),
                committedMilliseconds: 1,
                hints: [], matches: commit.matches))
        hub.deliver()
    }

    @discardableResult
    private func join(
        _ listener: Taker, _ user: String, _ hub: NotificationHub, at place: StreamPosition.Place? = nil
    ) throws -> NotificationHub.Start {
        let start = try hub.add(listener, of: user, place: place).get()
        hub.pump(listener, of: user)
        return start
    }

    @Test("users get what their own subscriptions match, and nothing of others'")
    func users() throws {
        subscribe("_ada")
        subscribe("_bob", to: "City")
        let hub = hub()
        let (ada, bob, eve) = (Taker(1), Taker(2), Taker(3))
        try join(ada, "_ada", hub)
        try join(bob, "_bob", hub)
        try join(eve, "_eve", hub)
        let before = bob.taken.count
        try save("n", into: hub)
        try save("c", type: "City", into: hub)
        #expect(ada.summary.last == "s n")
        #expect(bob.summary.dropFirst(before) == ["s c"])
        #expect(eve.taken.isEmpty)
    }

    @Test("a device goes on behind its place or its acknowledgement, and is not told of its own changes")
    func resumption() throws {
        let hub = hub()
        subscribe("_ada")
        let first = Taker(1)
        try join(first, "_ada", hub)
        try save("a", into: hub)
        try save("b", into: hub)
        try save("own", origin: 1, into: hub)
        #expect(first.summary == ["s a", "s b"])
        hub.remove(first, of: "_ada")
        #expect(!hub.hasStreams)
        let byPlace = Taker(1)
        #expect(try join(byPlace, "_ada", hub, at: first.places[0]).isResumed)
        #expect(byPlace.summary == ["s b"])
        hub.acknowledge(first.places[1], by: first.device, of: "_ada")
        try save("c", into: hub)
        let byAcknowledgement = Taker(1)
        #expect(try join(byAcknowledgement, "_ada", hub).isResumed)
        #expect(byAcknowledgement.summary == ["s c"])
        #expect(byPlace.isDisplaced)
    }

    @Test("more new devices than are remembered begin at the newest event, and forget nobody who acknowledged")
    func manyNewDevices() throws {
        let hub = hub()
        subscribe("_ada")
        try save("before", into: hub)
        let known = Taker(200)
        try join(known, "_ada", hub)
        try save("heard", into: hub)
        hub.acknowledge(try #require(known.places.last), by: known.device, of: "_ada")
        hub.remove(known, of: "_ada")
        let devices = (1...UInt8(ServiceLimits.rememberedPublicDevices + 20)).map { Taker($0) }
        for device in devices {
            #expect(!(try join(device, "_ada", hub).isResumed))
            #expect(device.taken.isEmpty, "there is nothing to be told to fetch")
        }
        try save("after", into: hub)
        for device in devices {
            hub.pump(device, of: "_ada")
            #expect(device.summary == ["s after"])
        }
        let again = Taker(200)
        #expect(try join(again, "_ada", hub).isResumed)
        #expect(again.summary == ["s after"])
    }

    @Test("a device whose stream broke before it heard anything goes on where that stream began")
    func brokenOpening() throws {
        let hub = hub()
        subscribe("_ada")
        try save("before", into: hub)
        let first = Taker(1)
        first.mayTake = false
        try join(first, "_ada", hub)
        hub.remove(first, of: "_ada")
        try save("meanwhile", into: hub)
        let second = Taker(1)
        #expect(try join(second, "_ada", hub).isResumed)
        #expect(second.summary == ["s meanwhile"])
    }

    @Test("a database that was empty when it was loaded may have had listeners: who comes late to it is told to look")
    func forgottenListeners() throws {
        for mayHaveForgotten in [false, true] {
            let hub = NotificationHub(
                database: database, head: .end(ofSequence: 0), coder: EventCoder(),
                mayHaveForgotten: mayHaveForgotten)
            #expect(hub.knowsDevices == mayHaveForgotten)
            subscribe("_ada")
            try save("first\(mayHaveForgotten)", into: hub)
            let device = Taker(1)
            try join(device, "_ada", hub)
            let told = device.summary.contains("fetchFromToken(BrumeModel.DatabaseScope.public)")
            #expect(told == mayHaveForgotten, "\(device.summary)")
            #expect(hub.knowsDevices)
        }
    }

    @Test("a device that said where it stood, and forgot it before it acknowledged anything, is told to look again")
    func forgottenPlace() throws {
        let hub = hub()
        subscribe("_ada")
        try save("before", into: hub)
        let place = StreamPosition.Place(
            run: 7, position: .end(ofSequence: database.sequence))
        // The second one's place is of a lost future.
        for (number, place) in [place, StreamPosition.Place(run: 99, position: place.position)].enumerated() {
            let first = Taker(UInt8(number + 1))
            first.mayTake = false
            try join(first, "_ada", hub, at: place)
            hub.remove(first, of: "_ada")
        }
        try save("meanwhile", into: hub)
        for number in 0..<2 {
            let again = Taker(UInt8(number + 1))
            try join(again, "_ada", hub)
            #expect(again.summary == ["fetchFromToken(BrumeModel.DatabaseScope.public)", "s before", "s meanwhile"])
        }
    }

    @Test("one who was away too long is told to look again, and others are not")
    func overflow() throws {
        let hub = hub(backlogEvents: 3)
        subscribe("_ada")
        subscribe("_bob", to: "City")
        let (ada, bob) = (Taker(1), Taker(2))
        let start = try join(ada, "_ada", hub)
        try join(bob, "_bob", hub)
        try save("c", type: "City", into: hub)
        hub.remove(ada, of: "_ada")
        for number in 0..<10 { try save("n\(number)", into: hub) }
        let back = Taker(1)
        try join(back, "_ada", hub, at: start.place)
        #expect(back.summary == ["fetchFromToken(BrumeModel.DatabaseScope.public)", "s n7", "s n8", "s n9"])
        #expect(bob.summary == ["s c"])
    }

    @Test("users share the room for events: the oldest go, and their users are told so")
    func room() throws {
        let hub = hub(backlogBytes: 2_000)
        for user in 0..<20 { subscribe("_u\(user)") }
        try save("first", into: hub)
        #expect(hub.approximateBytes < 2_000 + 20 * NotificationMailbox.overheadBytes + 400)
        subscribe("_last")
        try save("second", into: hub)
        let first = Taker(1)
        try join(first, "_u0", hub, at: .init(run: 7, position: .start))
        #expect(first.summary.first == "fetchFromToken(BrumeModel.DatabaseScope.public)")
    }

    @Test("a place of another run or of the future is answered with an order to look again")
    func lostFuture() throws {
        subscribe("_ada")
        let hub = hub()
        try save("a", into: hub)
        for place in [
            StreamPosition.Place(run: 99, position: ChangePosition(sequence: 1, index: 0)),
            StreamPosition.Place(run: 7, position: ChangePosition(sequence: 1_000_000, index: 0)),
        ] {
            let taker = Taker(1)
            try join(taker, "_ada", hub, at: place)
            #expect(taker.summary.first == "fetchFromToken(BrumeModel.DatabaseScope.public)")
        }
    }

    @Test("a user without subscriptions is not told to look again after a restart, one with some is")
    func restart() throws {
        subscribe("_ada")
        let hub = hub()
        let (ada, bob) = (Taker(1), Taker(2))
        try join(ada, "_ada", hub)
        try join(bob, "_bob", hub, at: .init(run: 7, position: .start))
        #expect(ada.summary == ["fetchFromToken(BrumeModel.DatabaseScope.public)"])
        #expect(bob.taken.isEmpty)
    }

    @Test("one whose only subscription has fired once is told to look again after a restart, until the device knows")
    func restartBehindOnce() throws {
        subscribe("_ada", options: [.creation, .once])
        let before = StreamPosition.Place(run: 7, position: .end(ofSequence: database.sequence))
        let first = hub()
        try save("n", into: first)
        #expect(!database.hasSubscriptions(of: "_ada"))
        // The event was in memory alone.
        let second = hub()
        let (ada, later, eve) = (Taker(1), Taker(2), Taker(3))
        try join(ada, "_ada", second, at: before)
        #expect(ada.summary == ["fetchFromToken(BrumeModel.DatabaseScope.public)"])
        try join(later, "_ada", second, at: ada.places[0])
        #expect(later.taken.isEmpty, "it was told")
        try join(eve, "_eve", second, at: before)
        #expect(eve.taken.isEmpty, "who never subscribed has missed nothing")
    }

    @Test("one who was told a part of the commit that ended all subscriptions is told to look again after a restart")
    func restartWithinOnce() throws {
        subscribe("_ada", options: [.creation, .once])
        subscribe("_ada", "t", to: "City", options: [.creation, .once])
        let first = hub()
        let ada = Taker(1)
        try join(ada, "_ada", first, at: here)
        let commit = try #require(modify(["n": "Note", "c": "City"]))
        first.publish(
            NotificationHub.Publication(
                sequence: commit.sequence, origin: .server, committedMilliseconds: 1, hints: [], matches: commit.matches
            ))
        first.deliver()
        #expect(ada.taken.count == 2 && !database.hasSubscriptions(of: "_ada"))
        let again = Taker(1)
        try join(again, "_ada", hub(), at: ada.places[0])
        #expect(again.summary == ["fetchFromToken(BrumeModel.DatabaseScope.public)"])
    }

    @Test("one commit that fires 5,000 users' subscriptions reaches each of them, and costs microseconds for each")
    func fanOut() throws {
        let count = 5_000
        for user in 0..<count { subscribe("_u\(user)") }
        let hub = hub(backlogBytes: 64 << 20)
        var takers: [Taker] = []
        for user in 0..<count {
            let taker = Taker(1 + UInt8(user % 200))
            try join(taker, "_u\(user)", hub)
            takers.append(taker)
        }
        let before = takers.map(\.taken.count)
        let took = try ProcessorTime.of { try save("n", into: hub) }
        for (taker, count) in zip(takers, before) { #expect(taker.summary.dropFirst(count) == ["s n"]) }
        // Debug builds are some twenty times slower.
        #expect(took < .milliseconds(2 * count), "\(took) for \(count) users")
        #expect(hub.backlog.events == count)
    }

    @Test("a commit's events are made in pieces, in order, and a device that comes between them misses none")
    func pieces() throws {
        for user in 0..<100 { subscribe("_u\(user)") }
        let hub = hub()
        let takers = (0..<100).map { Taker(1 + UInt8($0)) }
        for user in 0..<50 { try join(takers[user], "_u\(user)", hub, at: here) }
        var left: [Int] = []
        for name in ["a", "b"] {
            let commit = try #require(modify([name: "Note"]))
            hub.enqueue(
                NotificationHub.Publication(
                    sequence: commit.sequence, origin: .server, committedMilliseconds: 1, hints: [],
                    matches: commit.matches), committedNanoseconds: commit.sequence)
        }
        #expect(hub.waitingEvents == 200)
        var published: [UInt64] = []
        while hub.isPublishing {
            #expect(hub.publish(atMost: 10) <= 10)
            hub.deliver()
            left.append(hub.waitingEvents)
            published += hub.takePublishedCommits()
            // The others come when a part of the first commit is told, some before their event is made and some behind
            // it.
            if left.count == 6 { for user in 50..<100 { try join(takers[user], "_u\(user)", hub) } }
        }
        #expect(left == (0..<20).reversed().map { 10 * $0 })
        #expect(published == published.sorted() && published.count == 2)
        for taker in takers.prefix(50) { #expect(taker.summary == ["s a", "s b"]) }
        for taker in takers.dropFirst(50) { #expect(taker.summary.last == "s b") }
    }

    @Test("of commits that come faster than events are made the later ones are orders to fetch, one for each user")
    func waitingOverflow() throws {
        for user in 0..<10 { subscribe("_u\(user)") }
        let hub = hub(waitingEventsLimit: 25)
        let takers = (0..<10).map { Taker(1 + UInt8($0)) }
        for user in 0..<10 { try join(takers[user], "_u\(user)", hub, at: here) }
        func enqueue(_ name: String) throws {
            let commit = try #require(modify([name: "Note"]))
            hub.enqueue(
                NotificationHub.Publication(
                    sequence: commit.sequence, origin: .server, committedMilliseconds: 1, hints: [],
                    matches: commit.matches), committedNanoseconds: commit.sequence)
        }
        for name in ["a", "b", "c", "d", "e"] { try enqueue(name) }
        // Two commits, and an order for each user.
        #expect(hub.waitingEvents == 30)
        var published: [UInt64] = []
        func publishAll() {
            while hub.isPublishing {
                #expect(hub.publish(atMost: 4) <= 4)
                hub.deliver()
                published += hub.takePublishedCommits()
            }
        }
        publishAll()
        #expect(hub.waitingEvents == 0 && published.count == 3)
        let fetch = "fetchFromToken(BrumeModel.DatabaseScope.public)"
        for taker in takers { #expect(taker.summary == ["s a", "s b", fetch]) }
        // What comes later is told again.
        try enqueue("f")
        publishAll()
        for taker in takers { #expect(taker.summary == ["s a", "s b", fetch, "s f"]) }
    }

    @Test("one commit that fires more than is told one by one tells all whom it concerns to look again")
    func fanOutOverflow() throws {
        let count = Limits.queryEventsPerCommit + 10
        for user in 0..<count { subscribe("_u\(user)") }
        let hub = hub(backlogBytes: 64 << 20)
        let takers = [Taker(1), Taker(2)]
        try join(takers[0], "_u0", hub)
        try join(takers[1], "_u\(count - 1)", hub)
        let before = takers.map(\.taken.count)
        try save("n", into: hub)
        // The events that there is room for are told; those beyond are orders to look again.
        let told = zip(takers, before).map { $0.summary.dropFirst($1) }
        #expect(told.allSatisfy { $0.count == 1 }, "\(told)")
        #expect(
            told.allSatisfy { $0.first == "s n" || $0.first == "fetchFromToken(BrumeModel.DatabaseScope.public)" })
        #expect(told.contains { $0.first != "s n" }, "the limit was not reached")
    }

    @Test("devices are given events user by user, as long as there is time, and later ones lose nothing")
    func userByUser() throws {
        let users = ["_a", "_b", "_c"]
        for user in users { subscribe(user) }
        let hub = hub()
        let takers = try users.enumerated().map { index, user in
            let taker = Taker(UInt8(index + 1))
            _ = try hub.add(taker, of: user, place: here).get()
            return taker
        }
        func publish(_ name: String) throws {
            let commit = try #require(modify([name: "Note"]))
            hub.enqueue(
                NotificationHub.Publication(
                    sequence: commit.sequence, origin: .server, committedMilliseconds: 1, hints: [],
                    matches: commit.matches))
            _ = hub.publish(atMost: 64)
        }
        try publish("x")
        hub.deliver { false }
        #expect(takers.map(\.taken.count) == [1, 0, 0] && hub.hasUndelivered, "one at least")
        try publish("y")
        hub.deliver { false }
        #expect(takers.map(\.taken.count) == [1, 2, 0] && hub.undeliveredEvents == 3)
        hub.deliver { true }
        #expect(takers.allSatisfy { $0.summary == ["s x", "s y"] } && !hub.hasUndelivered)
        #expect(takers.map(\.runs) == [[1, 1], [2], [2]])
    }

    @Test("no more events are made while devices have to be given what there is")
    func deliveryComesFirst() throws {
        subscribe("_a")
        let hub = hub(backlogBytes: 4_096)
        let taker = Taker(1)
        _ = try hub.add(taker, of: "_a", place: here).get()
        for index in 0..<40 {
            let commit = try #require(modify(["r\(index)": "Note"]))
            hub.enqueue(
                NotificationHub.Publication(
                    sequence: commit.sequence, origin: .server, committedMilliseconds: 1, hints: [],
                    matches: commit.matches))
        }
        while hub.isPublishing {
            if hub.mustDeliver { hub.deliver { false } }
            #expect(!hub.mustDeliver)
            _ = hub.publish(atMost: 4)
        }
        hub.deliver()
        #expect(taker.summary == (0..<40).map { "s r\($0)" }, "no event was dropped before its device got it")
    }
}
