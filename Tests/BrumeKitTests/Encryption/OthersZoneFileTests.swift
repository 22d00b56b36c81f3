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

    @Test("says which rings were kept, and for good whether one says that files are encrypted")
    func rings() throws {
        #expect(try done(keys.loadOthersZone(zone)) == OthersZone() && !keys.isMade)
        for (root, encryptsAssets) in [("page", false), ("list", true), ("page", false), ("", false)] {
            let ring = RingPlace(owner: "_ada", zone: "Diary", root: root)
            #expect(try done(keys.noteRing(ring, encryptsAssets: encryptsAssets)))
        }
        let kept = OthersZone(roots: ["", "list", "page"], encryptsAssets: true)
        #expect(try done(keys.loadOthersZone(zone)) == kept)
        #expect(try done(keys.loadOthersZone(RingPlace(owner: "_ada", zone: "Notes"))) == OthersZone())
        // A ring that has taken the place of one of the zone's former life ends what was noted of that.
        let list = RingPlace(owner: "_ada", zone: "Diary", root: "list")
        #expect(try done(keys.noteRing(list, encryptsAssets: false, isNewLife: true)))
        #expect(try done(keys.loadOthersZone(zone)) == OthersZone(roots: ["list"]))
        #expect(try done(keys.noteRing(RingPlace(owner: "_ada", zone: "Diary", root: "page"), encryptsAssets: true)))
        #expect(try done(keys.loadOthersZone(zone)) == OthersZone(roots: ["list", "page"], encryptsAssets: true))
        #expect(try done(keys.loadOthersZone(RingPlace(owner: "_eve", zone: "Diary"))) == OthersZone())
    }

    @Test("holds no more rings than it may, and none that is damaged or another zone's")
    func limits() throws {
        var full = OthersZone(roots: Set((0..<OthersZone.rootsMax).map { "root\($0)" }))
        #expect(full.adding(root: "more", encryptsAssets: false) == nil)
        full = try #require(full.adding(root: "more", encryptsAssets: true))
        #expect(full.encryptsAssets && full.roots.count == OthersZone.rootsMax)
        let bytes = OthersZoneFile.encode(full, zone: zone, place: place)
        #expect(try OthersZoneFile.decode(bytes, zone: zone, place: place) == full)
        let other = RingPlace(owner: "_ada", zone: "Notes")
        #expect(throws: KeyFile.Refusal.damaged) { try OthersZoneFile.decode(bytes, zone: other, place: place) }
        let few = OthersZoneFile.encode(OthersZone(roots: ["page"]), zone: zone, place: place)
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
