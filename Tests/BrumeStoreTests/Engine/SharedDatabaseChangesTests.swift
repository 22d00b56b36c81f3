import BrumeModel
import BrumeRandom
import BrumeTestKit
import Testing

@testable import BrumeStore

/// What a device is told of its user's shared database: zones that came, went and changed.
@Suite("The changes of a shared database")
struct SharedDatabaseChangesTests {
    private let database = Desk.ofSharer().database

    private func put(_ numbers: Int...) {
        for number in numbers {
            let zone = SharedZonesTests.zone(number)
            _ = database.note(SharedZonesTests.news(zone, start: zone.start), nowMilliseconds: 1)
        }
    }

    private func end(_ numbers: Int...) {
        for number in numbers {
            _ = database.note(SharedZonesTests.news(SharedZonesTests.zone(number), start: nil), nowMilliseconds: 1)
        }
    }

    private static func id(_ number: Int) -> ZoneID { SharedZonesTests.zone(number).id }

    private func page(
        since token: SharedDatabaseToken? = nil, _ touches: ZoneTouches, limit: Int = 0
    ) throws(ServiceError) -> DatabaseChangesPage<SharedDatabaseToken> {
        try database.sharedDatabaseChanges(since: token, touches: touches, resultsLimit: limit)
    }

    @Test("are first the zones that there are, then those that came, went or changed since, each once")
    func changes() throws {
        var touches = ZoneTouches(run: 5)
        put(1, 2, 3)
        end(2)
        touches.touch(Self.id(1))
        let first = try page(touches)
        #expect(first.changed == [Self.id(1), Self.id(3)] && first.deletions.isEmpty && !first.moreComing)
        #expect(try page(since: first.token, touches).changed.isEmpty)
        put(4)
        end(3)
        for number in [4, 1, 9, 4] { touches.touch(Self.id(number)) }
        let second = try page(since: first.token, touches)
        #expect(second.changed == [Self.id(4), Self.id(1)], "not the one that the user takes no part in")
        #expect(second.deletions == [.init(zone: Self.id(3), reason: .deleted)] && !second.moreComing)
        let third = try page(since: second.token, touches)
        #expect(third.changed.isEmpty && third.deletions.isEmpty && third.token == second.token)
        touches.changedZones(gone: Self.id(1))
        #expect(try page(since: first.token, touches).changed == [Self.id(4)])
    }

    @Test("are all zones where it is not known which changed, and what went since")
    func otherRun() throws {
        put(1, 2, 3)
        end(1)
        let token = try page(ZoneTouches(run: 5)).token
        end(2)
        let again = try page(since: token, ZoneTouches(run: 6))
        #expect(again.changed == [Self.id(3)] && again.deletions.map(\.zone) == [Self.id(2)])
        #expect(again.token.touchRun == 6 && again.token.touchSequence == 0)
        #expect(try page(since: again.token, ZoneTouches(run: 6)).changed.isEmpty)
    }

    @Test("expire for a token of another time, and of one from before the zones that are remembered")
    func expired() throws {
        let touches = ZoneTouches(run: 5)
        put(1)
        let token = try page(touches).token
        func code(_ zones: ChangeToken) -> ErrorCode? {
            do throws(ServiceError) {
                _ = try page(since: SharedDatabaseToken(zones: zones, touchRun: 5, touchSequence: 0), touches)
                return nil
            } catch {
                return error.code
            }
        }
        func zones(_ epoch: UInt32, at position: ChangePosition) -> ChangeToken {
            ChangeToken(kind: .database, epoch: epoch, incarnation: 0, position: position)
        }
        #expect(code(token.zones) == nil)
        #expect(code(zones(8, at: token.zones.position)) == .changeTokenExpired)
        #expect(code(zones(7, at: ChangePosition(sequence: 900, index: 0))) == .changeTokenExpired)
        for number in 10..<11 + Limits.endedSharedZonesPerUser {
            put(number)
            end(number)
        }
        #expect(code(token.zones) == .changeTokenExpired)
        #expect(code(zones(7, at: database.sharedZones.floor)) == nil)
        #expect(try page(touches).changed == [Self.id(1)])
    }

    @Test(
        "leave a device with the zones that there are, however short its pages, and tell it of every change",
        arguments: 0..<20 as Range<UInt64>)
    func devices(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var touches = ZoneTouches(run: 1)
        var (known, token) = (Set<ZoneID>(), SharedDatabaseToken?.none)
        /// Zones that changed and that the device was not told of since.
        var untold = Set<ZoneID>()
        for step in 0..<600 {
            let comment: Comment = "seed \(seed), step \(step)"
            let number = Int.random(in: 0..<10, using: &generator)
            switch Int.random(in: 0..<12, using: &generator) {
            case 0..<3: put(number)
            case 3, 4: end(number)
            case 5..<8:
                touches.touch(Self.id(number))
                if database.sharedZones.zone(Self.id(number)) != nil { untold.insert(Self.id(number)) }
            case 8 where generator.oneIn(6):
                touches = ZoneTouches(run: touches.run + 1)
                for zone in database.sharedZones.zones { untold.insert(zone.id) }
            default:
                let page = try page(since: token, touches, limit: Int.random(in: 1...3, using: &generator))
                known.formUnion(page.changed)
                known.subtract(page.deletions.map(\.zone))
                untold.subtract(page.changed)
                untold.subtract(page.deletions.map(\.zone))
                token = page.token
                if page.moreComing { continue }
                #expect(known == Set(database.sharedZones.zones.map(\.id)), comment)
                #expect(untold.isDisjoint(with: known), comment)
                untold = []
            }
        }
    }
}
