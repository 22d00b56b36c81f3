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
        let kept = try RingFile.decode(whole, zone: desk.zone, place: phone.folder.place)
        let place = phone.folder.place
        let bob = IdentityScope(
            account: "_bob", container: desk.scope.container, environment: desk.scope.environment)
        let others = [
            (desk.zone + "2", place), (desk.zone, KeyPlace(server: "example.com:7441", scope: desk.scope)),
            (desk.zone, KeyPlace(server: place.server, scope: bob)),
        ]
        for (zone, place) in others {
            try expect("damaged", RingFile.encode(kept, zone: zone, place: place).bytes)
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
        guard case .done(nil) = try other.folder.writeRing(stale.kept, zone: desk.zone, over: stale.head) else {
            Issue.record("another process wrote meanwhile")
            return
        }
        #expect(try other.opened(third) == "third" && other.kept().known?.chain.head.number == 3)
    }

    @Test("is kept apart from those of other zones of the same account")
    func zones() throws {
        let phone = device()
        _ = try phone.sealed("word")
        guard case .done(let loaded) = try phone.folder.loadRing(zone: "Other") else { throw Steps.Broken() }
        #expect(loaded.kept.known == nil && loaded.head == nil)
        let zones = ["Diary", "diary", "Other", "_defaultZone", ""]
        #expect(Set(zones.map { RingFile.path(zone: $0, place: phone.folder.place) }).count == zones.count)
    }
}
