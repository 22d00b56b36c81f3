import BrumeModel
import BrumeRandom
import Testing

@testable import BrumeStore

/// A list of others' zones to which everything happens that can, beside the plainest list.
@Suite("Random news of others' zones")
struct RandomSharedZonesTests {
    @Test("give the list that the model has, replayed and loaded at each step", arguments: 0..<20 as Range<UInt64>)
    func few(seed: UInt64) throws {
        var run = Run(seed: seed)
        for step in 0..<300 {
            let comment: Comment = "seed \(seed), step \(step)"
            try run.step(zoneCount: 12, comment)
            try run.check(loads: true, comment)
        }
        #expect(run.put > 20 && run.ended > 20 && run.answered > 5, "seed \(seed) tries something")
    }

    @Test("give the same where more zones went than are remembered", arguments: 100..<102 as Range<UInt64>)
    func many(seed: UInt64) throws {
        var run = Run(seed: seed)
        let most = Limits.endedSharedZonesPerUser
        for number in 0..<most - 10 { try run.comeAndGo(number) }
        for step in 0..<2_000 {
            let comment: Comment = "seed \(seed), step \(step)"
            try run.step(zoneCount: 2 * most, comment)
            if step % 2 == 0 { try run.comeAndGo(2 * most + step) }
            if step % 50 == 0 { try run.check(loads: step % 500 == 0, comment) }
        }
        #expect(run.forgotten > 1 && run.refused > 0, "seed \(seed) tries something")
    }

    private struct Run {
        /// A change of the list, as a list.
        private struct Entry: Equatable {
            var zone: SharedZone
            var position: ChangePosition
            var isEnded: Bool
        }

        private var generator: SeededGenerator
        private let database = Desk.ofSharer().database
        private let replica = Desk.ofSharer().database
        /// Oldest change first, each zone once.
        private var entries: [Entry] = []
        private var asked: [AskedZone] = []
        private var floor = ChangePosition.start
        private(set) var (put, ended, answered, refused, forgotten) = (0, 0, 0, 0, 0)

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        /// A zone is put and ended.
        mutating func comeAndGo(_ number: Int) throws {
            let zone = SharedZonesTests.zone(number)
            for start in [zone.start, nil] { try note(SharedZonesTests.news(zone, start: start), "zone \(number)") }
        }

        mutating func step(zoneCount: Int, _ comment: Comment) throws {
            let number = Int.random(in: 0..<zoneCount, using: &generator)
            let zone = SharedZonesTests.zone(
                number, start: UInt64.random(in: 1...4, using: &generator),
                incarnation: generator.oneIn(3) ? number + zoneCount : number)
            switch Int.random(in: 0..<8, using: &generator) {
            case 0, 1: try ask(SharedZonesTests.asked(zone), comment)
            case 2..<5: try note(SharedZonesTests.news(zone, start: zone.start), comment)
            default:
                var news = SharedZonesTests.news(zone, start: nil)
                if generator.oneIn(4) { news.incarnation = 0 }
                if generator.oneIn(8) { news.id.name = "" }
                try note(news, comment)
            }
        }

        private mutating func ask(_ zone: AskedZone, _ comment: Comment) throws {
            let isKnown = asked.contains(zone)
            let isFull = asked.count >= Limits.askedZonesPerUser
            var commit: Commit?
            do throws(ServiceError) {
                commit = try database.ask(zone, nowMilliseconds: 1)
                #expect((commit == nil) == isKnown && (isKnown || !isFull), comment)
                if !isKnown { asked.append(zone) }
            } catch {
                #expect(error.code == .limitExceeded && isFull && !isKnown, comment)
                refused += 1
            }
            if let commit { try replica.apply(commit.entry) }
        }

        private mutating func note(_ news: SharedZoneNews, _ comment: Comment) throws {
            let before = (entries, asked)
            let commit = database.note(news, nowMilliseconds: 1)
            learn(news)
            #expect((commit != nil) == (before != (entries, asked)), comment)
            if let commit { try replica.apply(commit.entry) }
        }

        /// What news mean, in a list that is searched from end to end.
        private mutating func learn(_ news: SharedZoneNews) {
            let position = ChangePosition(sequence: database.sequence, index: 0)
            let known = entries.firstIndex { $0.zone.id == news.id }
            let listed = known.flatMap { entries[$0].isEnded ? nil : entries[$0].zone }
            if let start = news.start {
                let zone = SharedZone(id: news.id, incarnation: news.incarnation, start: start)
                if listed != zone {
                    if let known { entries.remove(at: known) }
                    entries.append(Entry(zone: zone, position: position, isEnded: false))
                    put += 1
                }
            } else if let known, let listed, news.incarnation == 0 || news.incarnation == listed.incarnation {
                entries.remove(at: known)
                entries.append(Entry(zone: listed, position: position, isEnded: true))
                ended += 1
            }
            let answer = AskedZone(owner: news.id.owner, incarnation: news.incarnation)
            if let place = asked.firstIndex(of: answer) {
                asked.remove(at: place)
                answered += 1
            }
            let gone = entries.filter(\.isEnded)
            if gone.count > Limits.endedSharedZonesPerUser {
                floor = gone[gone.count / 2 - 1].position
                entries.removeAll { $0.isEnded && $0.position <= floor }
                forgotten += 1
            }
        }

        mutating func check(loads: Bool, _ comment: Comment) throws {
            var copies = [database, replica]
            if loads { copies.append(try SharedDesk.loaded(database)) }
            for copy in copies {
                check(copy.sharedZones, comment)
                #expect(copy.sharedZones == database.sharedZones, comment)
            }
        }

        private mutating func check(_ zones: SharedZones, _ comment: Comment) {
            let kept = zones.inOrder.map { Entry(zone: $0.zone, position: $0.position, isEnded: $0.isEnded) }
            #expect(kept == entries && zones.asked == Set(asked) && zones.floor == floor, comment)
            let listed = entries.filter { !$0.isEnded }.map(\.zone)
            #expect(zones.zones == listed && zones.count == listed.count, comment)
            #expect(zones.isEmpty == (entries.isEmpty && asked.isEmpty), comment)
            guard let entry = entries.randomElement(using: &generator) else { return }
            #expect(zones.zone(entry.zone.id) == (entry.isEnded ? nil : entry.zone), comment)
            let later = entries.filter { $0.position > entry.position }.map(\.zone)
            #expect(zones.current(after: entry.position).map(\.zone) == later, comment)
        }
    }
}
