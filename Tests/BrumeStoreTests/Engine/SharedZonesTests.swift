import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// What a user's own database keeps of zones of others (Documentation/CloudKit.md, Sharing).
@Suite("The list of others' zones")
struct SharedZonesTests {
    private let database = Desk.ofSharer().database

    private var zones: SharedZones { database.sharedZones }

    /// A zone of another user, by number: a name and an incarnation of its own.
    static func zone(_ number: Int, start: UInt64 = 1, incarnation: Int? = nil) -> SharedZone {
        SharedZone(
            id: ZoneID(name: "zone \(number)", owner: RandomShare.user(1 + number % 7)),
            incarnation: UInt64(1 + (incarnation ?? number)) << 20,
            start: ChangePosition(sequence: start, index: 0))
    }

    static func asked(_ zone: SharedZone) -> AskedZone {
        AskedZone(owner: zone.id.owner, incarnation: zone.incarnation)
    }

    static func news(_ zone: SharedZone, start: ChangePosition?) -> SharedZoneNews {
        SharedZoneNews(id: zone.id, incarnation: zone.incarnation, start: start)
    }

    @discardableResult
    private func ask(_ zone: SharedZone) throws(ServiceError) -> Commit? {
        try database.ask(Self.asked(zone), nowMilliseconds: 5)
    }

    @discardableResult
    private func put(_ zone: SharedZone) -> Commit? {
        database.note(Self.news(zone, start: zone.start), nowMilliseconds: 6)
    }

    @discardableResult
    private func end(_ zone: SharedZone) -> Commit? {
        database.note(Self.news(zone, start: nil), nowMilliseconds: 7)
    }

    // MARK: Asked and answered

    @Test("notes that its user asks for a zone, once, until an answer is known")
    func asking() throws {
        let zone = Self.zone(1)
        let commit = try #require(try ask(zone))
        #expect(commit.entry.changes == [.sharedZoneAsked(Self.asked(zone))] && commit.zones.isEmpty)
        #expect(commit.sequence == database.sequence && commit.entry.committedMilliseconds == 5)
        #expect(zones.asked == [Self.asked(zone)] && zones.count == 0 && !zones.isEmpty)
        #expect(try ask(zone) == nil && database.sequence == commit.sequence)

        let answer = try #require(put(zone))
        #expect(answer.entry.changes == [.sharedZonePut(zone)], "which answers it, too")
        #expect(zones.asked.isEmpty && zones.zones == [zone] && zones.zone(zone.id) == zone)
        #expect(zones.head == ChangePosition(sequence: answer.sequence, index: 0))
        #expect(put(zone) == nil && database.sequence == answer.sequence, "it is known")
    }

    @Test("keeps nothing of a zone that was asked for and is not the user's")
    func refused() throws {
        let (zone, listed) = (Self.zone(1), Self.zone(2))
        put(listed)
        for name in [zone.id.name, "", listed.id.name] {
            try ask(zone)
            let news = SharedZoneNews(
                id: ZoneID(name: name, owner: zone.id.owner), incarnation: zone.incarnation, start: nil)
            let answer = try #require(database.note(news, nowMilliseconds: 1))
            #expect(answer.entry.changes == [.sharedZoneAnswered(Self.asked(zone))])
            #expect(database.note(news, nowMilliseconds: 1) == nil)
            #expect(zones.zones == [listed] && zones.asked.isEmpty)
        }
    }

    @Test("is answered about a zone that it lists already, and does not change")
    func answeredAgain() throws {
        let zone = Self.zone(1)
        put(zone)
        let head = zones.head
        try ask(zone)
        #expect(put(zone)?.entry.changes == [.sharedZoneAnswered(Self.asked(zone))])
        #expect(zones.asked.isEmpty && zones.zones == [zone] && zones.head == head)
    }

    // MARK: Came and went

    @Test("ends a zone by news of it or of whatever has its name, and by none of another zone of the name")
    func ending() throws {
        let zone = Self.zone(1)
        for incarnation in [zone.incarnation, 0] {
            put(zone)
            let known = database.sequence
            let other = SharedZoneNews(id: zone.id, incarnation: zone.incarnation + 1, start: nil)
            let elsewhere = SharedZoneNews(
                id: ZoneID(name: zone.id.name, owner: RandomShare.user(9)), incarnation: incarnation, start: nil)
            for news in [other, elsewhere] { #expect(database.note(news, nowMilliseconds: 1) == nil) }
            #expect(database.sequence == known && zones.zones == [zone])
            let news = SharedZoneNews(id: zone.id, incarnation: incarnation, start: nil)
            let commit = try #require(database.note(news, nowMilliseconds: 1))
            #expect(commit.entry.changes == [.sharedZoneEnd(zone.id)])
            #expect(zones.zones.isEmpty && zones.zone(zone.id) == nil && zones.count == 0)
            #expect(zones.inOrder.map(\.isEnded) == [true] && zones.head.sequence == commit.sequence)
            #expect(database.note(news, nowMilliseconds: 1) == nil)
        }
    }

    @Test("does not follow news that waited, from before a part of the same run began; of another run it can't tell")
    func staleNews() throws {
        func news(_ zone: SharedZone?, sequence: UInt64, run: UInt32 = 1) -> SharedZoneNews {
            let known = Self.zone(1)
            return SharedZoneNews(
                id: known.id, incarnation: known.incarnation, zone: zone, sequence: sequence, run: run)
        }
        let (former, latter) = (Self.zone(1, start: 3), Self.zone(1, start: 9))
        put(latter)
        #expect(database.note(news(nil, sequence: 5), nowMilliseconds: 1) == nil)
        #expect(database.note(news(former, sequence: 5), nowMilliseconds: 1) == nil)
        #expect(zones.zones == [latter])
        #expect(database.note(news(nil, sequence: 5, run: 2), nowMilliseconds: 1) != nil)
        #expect(zones.zones.isEmpty)
        put(latter)
        #expect(database.note(news(nil, sequence: 10), nowMilliseconds: 1) != nil)
        #expect(zones.zones.isEmpty)
    }

    @Test("has each zone at its last change alone, and one made again or come again in the place of the earlier")
    func order() {
        for number in 1...3 { put(Self.zone(number)) }
        let middle = zones.head
        #expect(Array(zones.current(after: middle)).isEmpty)
        put(Self.zone(1, start: 9))
        end(Self.zone(2))
        put(Self.zone(4))
        let again = Self.zone(2, start: 3, incarnation: 80)
        #expect(put(again)?.entry.changes == [.sharedZonePut(again)])
        #expect(zones.zones == [Self.zone(3), Self.zone(1, start: 9), Self.zone(4), again])
        #expect(zones.current(after: middle).map(\.zone) == [Self.zone(1, start: 9), Self.zone(4), again])
        #expect(zones.inOrder.map(\.isEnded) == [false, false, false, false] && zones.count == 4)
        #expect(zones.zone(again.id) == again)
        let remade = Self.zone(3, start: 7, incarnation: 90)
        put(remade)
        #expect(end(Self.zone(3)) == nil, "the news are of the earlier zone")
        #expect(zones.zone(remade.id) == remade)
        #expect(zones.floor == .start)
    }

    // MARK: Limits

    @Test("is asked for so many zones at a time, and for another when one is answered")
    func askedAtATime() throws {
        for number in 0..<Limits.askedZonesPerUser { #expect(try ask(Self.zone(number)) != nil) }
        let error = #expect(throws: ServiceError.self) { try ask(Self.zone(1_000)) }
        #expect(error?.code == .limitExceeded && (error?.retryAfterMilliseconds ?? 0) > 0)
        #expect(try ask(Self.zone(3)) == nil, "it is noted")
        end(Self.zone(3))
        #expect(try ask(Self.zone(1_000)) != nil && zones.asked.count == Limits.askedZonesPerUser)
    }

    @Test("has so many zones, those that are asked for included")
    func full() throws {
        let most = Limits.sharedZonesPerUser
        for number in 0..<most - 1 { put(Self.zone(number)) }
        let (last, more) = (Self.zone(most), Self.zone(most + 1))
        try ask(last)
        let sequence = database.sequence
        for _ in 0..<2 {
            let error = #expect(throws: ServiceError.self) { try ask(more) }
            #expect(error?.code == .limitExceeded && error?.retryAfterMilliseconds == 0)
            put(last)
        }
        #expect(zones.count == most && database.sequence == sequence + 1)
        end(Self.zone(5))
        #expect(try ask(more) != nil)
        #expect(zones.approximateBytes > most * 100)
    }

    @Test("remembers so many zones that went, and then the newer half of them, which moves the floor")
    func forgetting() {
        let most = Limits.endedSharedZonesPerUser
        put(Self.zone(most + 7))
        var positions: [ChangePosition] = []
        for number in 0...most {
            put(Self.zone(number))
            end(Self.zone(number))
            positions.append(zones.head)
            if number == most - 1 { #expect(zones.inOrder.count == most + 1 && zones.floor == .start) }
        }
        let left = most / 2 + 1
        #expect(zones.floor == positions[most - left] && zones.inOrder.count == left + 1)
        #expect(zones.inOrder.first?.zone == Self.zone(most + 7), "who takes part is not forgotten")
        #expect(zones.inOrder.dropFirst().map(\.position) == positions.suffix(left))
        #expect(zones.zones.count == 1 && zones.count == 1)
        // What is forgotten may come again.
        put(Self.zone(0))
        #expect(zones.zones.map(\.id.name) == ["zone \(most + 7)", "zone 0"] && zones.count == 2)
    }

    @Test("takes no more memory however often zones come and go")
    func bounded() {
        let most = Limits.endedSharedZonesPerUser
        for round in 0..<4_000 {
            let zone = Self.zone(round, start: UInt64(round + 1))
            put(zone)
            end(zone)
        }
        #expect(zones.entries.count <= most + 1 && zones.inOrder.count <= most)
        #expect(zones.testOnly_feedCount <= 2 * (most + 1) + 65)
        let many = database.sequence
        for round in 0..<4_000 { put(Self.zone(1, start: UInt64(round + 10))) }
        #expect(database.sequence == many + 4_000 && zones.entries.count <= most + 1)
        #expect(zones.testOnly_feedCount <= 2 * (most + 1) + 65)
        #expect(zones.zones == [Self.zone(1, start: 4_009)])
    }

    // MARK: Other lives

    @Test("is the same when it is replayed, loaded from a snapshot, and goes on after that")
    func otherLives() throws {
        var journal: [JournalEntry] = []
        func note(_ commit: Commit?) throws { journal.append(try #require(commit).entry) }
        for number in 0..<5 { try note(try ask(Self.zone(number))) }
        for number in 1..<4 { try note(put(Self.zone(number))) }
        try note(end(Self.zone(2)))
        try note(end(Self.zone(0)))
        try note(put(Self.zone(1, start: 8)))
        let replayed = Desk.ofSharer().database
        for entry in journal + journal { try replayed.apply(entry) }
        let loaded = try SharedDesk.loaded(database)
        for copy in [replayed, loaded] {
            #expect(copy.sharedZones == zones && copy.sharedZones.head == zones.head)
            #expect(copy.sharedZones.zones == [Self.zone(3), Self.zone(1, start: 8)])
            #expect(copy.sharedZones.asked == [Self.asked(Self.zone(4))])
            #expect(copy.approximateBytes == database.approximateBytes)
        }
        for database in [database, replayed, loaded] {
            for zone in [Self.zone(4), Self.zone(2)] {
                #expect(database.note(Self.news(zone, start: zone.start), nowMilliseconds: 1) != nil)
            }
        }
        #expect(loaded.sharedZones == zones && replayed.sharedZones == zones)
        #expect(zones.zones == [Self.zone(3), Self.zone(1, start: 8), Self.zone(4), Self.zone(2)])
    }

    @Test("with a floor is the same when it is loaded, from several blocks")
    func loadedFloor() throws {
        for number in 0..<Limits.endedSharedZonesPerUser + 600 {
            var zone = Self.zone(number)
            zone.id.name += String(repeating: "x", count: 240)
            put(zone)
            if number % 2 != 0 { end(zone) }
        }
        for number in 0..<1_200 {
            put(Self.zone(number))
            end(Self.zone(number))
        }
        for number in 0..<40 { try ask(Self.zone(5_000 + number)) }
        #expect(zones.floor > .start && zones.count == 800)
        var blocks = 0
        try database.capture().forEachBlock { _ in blocks += 1 }
        #expect(blocks > 1)
        let loaded = try SharedDesk.loaded(database)
        #expect(loaded.sharedZones == zones && loaded.sharedZones.head == zones.head)
        #expect(loaded.audit().kept == database.audit().kept)
        let empty = SharedZones(floor: zones.floor)
        #expect(empty.head == zones.floor && empty != zones && empty != SharedZones())
    }
}
