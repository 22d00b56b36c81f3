import BrumeEncryption
import BrumeTestKit
import Testing

@testable import BrumeKit

@Suite("The file of a zone that somebody else shares")
struct OthersZoneFileTests {
    private let folder: TestFolder
    private let zone = RingPlace(owner: "_ada", zone: "Diary")

    init() throws { folder = try TestFolder() }

    private var place: KeyPlace {
        KeyPlace(
            server: "a:1", scope: IdentityScope(account: "_bob", container: "iCloud.test", environment: "development"))
    }

    private var keys: KeyFolder { KeyFolder(stateFolder: folder.path, place: place) }

    private func done<Value>(_ attempt: KeyFolder.Attempt<Value>) throws -> Value {
        guard case .done(let value) = attempt else { throw Steps.Broken() }
        return value
    }

    private func ring(_ life: UInt8, _ encryptsAssets: Bool = false) -> OthersZone.Ring {
        OthersZone.Ring(ringID: [UInt8](repeating: life, count: 16), encryptsAssets: encryptsAssets)
    }

    private func zone(_ rings: [String: OthersZone.Ring]) -> OthersZone {
        var zone = OthersZone()
        for (root, ring) in rings { zone.note(ring, of: root) }
        return zone
    }

    private func place(_ root: String) -> RingPlace { RingPlace(owner: "_ada", zone: "Diary", root: root) }

    @Test("says which rings were kept, and whether one says that files are encrypted")
    func rings() throws {
        #expect(try done(keys.loadOthersZone(zone)) == OthersZone() && !keys.isMade)
        for (root, encryptsAssets) in [("page", false), ("list", true), ("page", false), ("", false)] {
            #expect(try done(keys.noteRing(ring(1, encryptsAssets), at: place(root))))
        }
        let kept = try done(keys.loadOthersZone(zone))
        #expect(kept == zone(["": ring(1), "list": ring(1, true), "page": ring(1)]))
        #expect(kept.roots == ["", "list", "page"] && kept.encryptsAssets)
        #expect(try done(keys.loadOthersZone(RingPlace(owner: "_ada", zone: "Notes"))) == OthersZone())
        #expect(try done(keys.loadOthersZone(RingPlace(owner: "_eve", zone: "Diary"))) == OthersZone())
    }

    @Test("forgets the rings of a former life with the first that follows one of them, and none of the new one's")
    func lives() throws {
        for root in ["page", "list"] { #expect(try done(keys.noteRing(ring(1, true), at: place(root)))) }
        #expect(try done(keys.noteRing(ring(2), at: place("card"))))
        #expect(try done(keys.loadOthersZone(zone)).encryptsAssets)
        #expect(try done(keys.noteRing(ring(2), at: place("list"), following: ring(1).ringID)))
        #expect(try done(keys.loadOthersZone(zone)) == zone(["card": ring(2), "list": ring(2)]))
        #expect(try done(keys.noteRing(ring(2), at: place("page"), following: ring(1).ringID)))
        #expect(try done(keys.loadOthersZone(zone)).roots == ["card", "list", "page"])
        #expect(try done(keys.noteRing(ring(2), at: place("page"), following: ring(2).ringID)))
        #expect(try done(keys.loadOthersZone(zone)).roots == ["card", "list", "page"])
    }

    @Test("holds no more rings than it may, and none that is damaged or another zone's")
    func limits() throws {
        var full = zone(Dictionary(uniqueKeysWithValues: (0..<OthersZone.ringsMax).map { ("root\($0)", ring(1)) }))
        full.note(ring(1), of: "more")
        #expect(full.rings.count == OthersZone.ringsMax && full.rings["more"] == nil)
        full.note(ring(2, true), of: "root1")
        #expect(full.encryptsAssets)
        let bytes = OthersZoneFile.encode(full, zone: zone, place: place)
        #expect(try OthersZoneFile.decode(bytes, zone: zone, place: place) == full)
        let longest = zone([String(repeating: "n", count: 255): ring(1)])
        let empty = OthersZoneFile.encode(OthersZone(), zone: zone, place: place).count
        let one = OthersZoneFile.encode(longest, zone: zone, place: place).count - empty
        #expect(empty + OthersZone.ringsMax * one <= OthersZoneFile.bytesMax)
        let other = RingPlace(owner: "_ada", zone: "Notes")
        #expect(throws: KeyFile.Refusal.damaged) { try OthersZoneFile.decode(bytes, zone: other, place: place) }
        let few = OthersZoneFile.encode(zone(["page": ring(1)]), zone: zone, place: place)
        for index in few.indices {
            var bad = few
            bad[index] ^= 1
            #expect(throws: KeyFile.Refusal.self) { try OthersZoneFile.decode(bad, zone: zone, place: place) }
            #expect(throws: KeyFile.Refusal.self) {
                try OthersZoneFile.decode(Array(few[..<index]), zone: zone, place: place)
            }
        }
    }
}
