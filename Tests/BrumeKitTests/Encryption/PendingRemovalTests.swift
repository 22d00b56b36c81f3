import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeKit

@Suite("What an app has decided about a ring's members")
struct PendingRemovalTests {
    private let place = KeyPlace(
        server: "example.com:7440",
        scope: IdentityScope(account: "_ada", container: "iCloud.test", environment: "development"))

    @Test("names those who stay, so that who comes to be known later goes as well")
    func staying() {
        var kept = KeptRing()
        #expect(!kept.isToGo("_bob"))
        kept.note(PendingRemoval(id: 1, users: .staying(["_bob", "_eve"])))
        kept.note(PendingRemoval(id: 2, users: .staying(["_bob", "_cyd"])))
        #expect(!kept.isToGo("_bob") && kept.isToGo("_eve") && kept.isToGo("_cyd") && kept.isToGo("_dan"))
    }

    @Test("is of who stays where the entry is made at once, and else of who goes")
    func departures() {
        let departures = Departures(staying: ["_bob"], named: ["_eve"], closesLink: true)
        let soon = PendingRemoval(id: 1, departures, isAtOnce: true)
        #expect(["_bob", "_dan", "_eve"].filter(soon.takesOut) == ["_dan", "_eve"])
        let late = PendingRemoval(id: 1, departures, isAtOnce: false)
        #expect(["_bob", "_dan", "_eve"].filter(late.takesOut) == ["_eve"])
        #expect(soon.closesLink && late.closesLink)
    }

    @Test("names those who go alone where the ring was not known, so that who came since then stays")
    func going() {
        var kept = KeptRing()
        kept.note(PendingRemoval(id: 1, users: .going(["_bob"])))
        #expect(kept.isToGo("_bob") && !kept.isToGo("_eve"))
        // Of both kinds together, too.
        for id in 2...UInt64(KeyLimits.ringRemovalsMax) {
            kept.note(PendingRemoval(id: id, users: id == 2 ? .going(["_cyd"]) : .staying(["_bob", "_cyd", "_eve"])))
        }
        kept.note(PendingRemoval(id: 99, users: .staying(["_bob", "_cyd", "_eve"])))
        kept.note(PendingRemoval(id: 100, users: .staying(["_bob", "_cyd", "_eve"])))
        #expect(kept.removals.count == KeyLimits.ringRemovalsMax)
        #expect(["_bob", "_cyd", "_dan", "_eve"].filter(kept.isToGo) == ["_bob", "_cyd", "_dan"])
    }

    @Test(
        "stays within the limits of a file, however much there is, and nobody is forgotten", arguments: [false, true])
    func many(areNamed: Bool) throws {
        let ring = RingPlace(owner: "_ada", zone: "Diary")
        var kept = KeptRing()
        let users = (0..<KeyLimits.ringStayingMax).map { "_user\($0)" }
        for (index, user) in users.enumerated() {
            kept.note(
                PendingRemoval(
                    id: UInt64(index),
                    users: areNamed ? .going([user]) : .staying(Set(users).subtracting([user])),
                    endedLinks: [Array("\(index)".utf8)],
                    closesLink: index == 3))
            let read = try RingFile.decode(
                RingFile.encode(kept, ring: ring, place: place).bytes, ring: ring, place: place)
            #expect(read.removals == kept.removals && read.removals.count <= KeyLimits.ringRemovalsMax)
            #expect(users.filter(read.isToGo) == Array(users[...index]))
        }
        #expect(kept.removals.filter(\.closesLink).count == 1)
    }
}
