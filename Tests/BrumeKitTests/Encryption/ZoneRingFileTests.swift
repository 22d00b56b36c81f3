import BrumeModel
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeKit

/// What a device keeps of a zone's ring on its disk.
@Suite("The file of a zone's ring")
struct ZoneRingFileTests {
    private let folder: TestFolder
    private let desk = RingDesk()

    init() throws { folder = try TestFolder() }

    private func device() -> RingDevice { RingDevice("phone", at: desk, stateFolder: folder.file("phone")) }

    /// Gives the account other keys.
    private func replaceKeys(by device: RingDevice) throws {
        _ = try #require(try device.keys.code(.replaceCode))
        device.restart()
    }

    @Test("that is damaged, newer, or of another zone, account or place is an error that names it")
    func badFile() throws {
        let phone = device()
        _ = try phone.sealed("word")
        let rings = phone.folder.path + "/rings"
        let path = try rings + "/" + #require(try FileSystem.list(rings).first)
        let whole = try FileSystem.read(path, limit: 1 << 20)
        func problem() -> String? {
            do {
                try phone.run(.write)
                return nil
            } catch {
                return (error as? KeyFolderProblem)?.message
            }
        }
        func expect(_ text: String, _ bytes: [UInt8]) throws {
            try FileSystem.atomicReplace(path, bytes)
            let said = problem()
            #expect(said?.contains(path) == true && said?.contains(text) == true, "\(said ?? "nothing")")
            #expect(try FileSystem.read(path, limit: 1 << 20) == bytes && desk.entries.count == 1)
        }
        var damaged = whole
        damaged[whole.count / 2] ^= 1
        try expect("damaged", damaged)
        try expect("damaged", Array(whole.dropLast()))
        try expect("damaged", [])
        try expect("newer", [2] + whole.dropFirst())
        let kept = try RingFile.decode(whole, ring: phone.ring, place: phone.folder.place)
        let place = phone.folder.place
        let bob = KeyPlace(
            server: place.server,
            scope: IdentityScope(
                account: "_bob", container: desk.scope.container, environment: desk.scope.environment))
        let (ring, account) = (phone.ring, desk.scope.account)
        let others = [
            (RingPlace(owner: account, zone: desk.zone + "2"), place),
            (RingPlace(owner: "_bob", zone: desk.zone), place),
            (RingPlace(owner: account, zone: desk.zone, root: "page"), place), (ring, bob),
            (ring, KeyPlace(server: "example.com:7441", scope: desk.scope)),
        ]
        for (ring, place) in others {
            try expect("damaged", RingFile.encode(kept, ring: ring, place: place).bytes)
        }
        try FileSystem.remove(path)
        #expect(problem() == nil && desk.entries.count == 1)
    }

    @Test("that another process wrote meanwhile is read again, and neither's is lost")
    func processes() throws {
        let phone = device()
        // Two processes of one device.
        let other = device()
        var first: [UInt8] = []
        desk.isOvertakenBy = { first = try other.sealed("first") }
        let second = try phone.sealed("second")
        #expect(desk.entries.count == 1)
        #expect(try phone.opened(first) == "first" && other.opened(second) == "second")
        try replaceKeys(by: phone)
        let third = try phone.sealed("third")
        other.restart()
        // What the first process wrote meanwhile stays: no older state takes its place.
        let stale = try phone.loaded()
        try replaceKeys(by: phone)
        _ = try phone.sealed("fourth")
        guard case .done(nil) = try other.folder.writeRing(stale.kept, at: phone.ring, over: stale.head) else {
            Issue.record("another process wrote meanwhile")
            return
        }
        #expect(try other.opened(third) == "third" && other.kept().known?.chain.head.number == 3)
    }

    @Test("is kept apart from those of other zones, owners and trees")
    func places() throws {
        let phone = device()
        _ = try phone.sealed("word")
        let kept = try phone.kept()
        let account = desk.scope.account
        let names = ["Diary", "diary", "Other", "_defaultZone", "", "\u{e9}", "e\u{301}"]
        let zones = names.map { RingPlace(owner: account, zone: $0) }
        let trees = names.dropLast(2).map { RingPlace(owner: account, zone: desk.zone, root: "root" + $0) }
        let owners = ["_bob", "_ad", "", "\u{e9}", "e\u{301}"].map { RingPlace(owner: $0, zone: desk.zone) }
        // Parts that are cut elsewhere.
        let cuts = [
            RingPlace(owner: "_bobD", zone: "iary"), RingPlace(owner: "_bo", zone: "bDiary"),
            RingPlace(owner: "_bob", zone: "Dia", root: "ry"), RingPlace(owner: "_bob", zone: "", root: "Diary"),
        ]
        let all = zones + trees + owners + cuts
        #expect(Set(all).count == all.count)
        #expect(Set(all.map { RingFile.path($0, place: phone.folder.place) }).count == all.count)
        for ring in all where ring != phone.ring {
            guard case .done(let loaded) = try phone.folder.loadRing(at: ring) else { throw Steps.Broken() }
            #expect(loaded.kept.known == nil && loaded.head == nil)
            guard case .done(.some(let head)) = try phone.folder.writeRing(KeptRing(isOver: true), at: ring, over: nil),
                case .done(let again) = try phone.folder.loadRing(at: ring)
            else { throw Steps.Broken() }
            #expect(again.kept.isOver && again.head == head)
        }
        let now = try phone.kept()
        #expect(now.isOver == kept.isOver && now.known?.chain.entries == kept.known?.chain.entries)
    }

    @Test("that was moved to another ring's place is damaged")
    func moved() throws {
        let phone = device()
        let places = [
            phone.ring, RingPlace(owner: desk.scope.account, zone: desk.zone, root: "page"),
            RingPlace(owner: "_bob", zone: desk.zone), RingPlace(owner: "_bob", zone: desk.zone, root: "page"),
            RingPlace(owner: "_bob", zone: "page", root: desk.zone),
        ]
        try phone.lookAtKeys(.write)
        for from in places {
            guard case .done(.some) = try phone.folder.writeRing(KeptRing(), at: from, over: nil) else {
                throw Steps.Broken()
            }
            func path(_ ring: RingPlace) -> String {
                phone.folder.path + "/" + RingFile.path(ring, place: phone.folder.place)
            }
            let bytes = try FileSystem.read(path(from), limit: 1024)
            try FileSystem.remove(path(from))
            for other in places where other != from {
                try FileSystem.atomicReplace(path(other), bytes)
                #expect(throws: KeyFolderProblem.self) { try phone.folder.loadRing(at: other) }
                try FileSystem.remove(path(other))
            }
        }
    }
}
