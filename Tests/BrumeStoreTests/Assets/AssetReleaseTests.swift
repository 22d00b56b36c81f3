import BrumeModel
import BrumeRandom
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("What records name no longer")
struct AssetReleaseTests {
    private let desk = Desk()
    private let photo = RecordSamples.asset(1, byteCount: 100)
    private let other = RecordSamples.asset(2, byteCount: 200)

    private func save(_ name: String, _ assets: [Asset], in zone: ZoneID = Desk.zone) {
        let saves = [RecordSave<CheckedFields>.of(name, ["x": .assets(assets), "n": .int64(.random(in: 0...999))])]
        let result = desk.modify(zone, policy: .changedKeys, saves: saves, grants: assets).result
        #expect(result.saveCodes == [nil])
    }

    private func count(_ asset: Asset) -> Int { desk.database.blobs.referenceCount(of: BlobName(asset)) }

    private func release(upTo sequence: UInt64? = nil, limit: Int = 1000) -> Bool {
        desk.database.releaseAssets(upTo: sequence ?? desk.database.sequence, now: 5, limit: limit)
    }

    @Test("is released when the commit is durable, and not before")
    func durability() {
        save("a", [photo])
        #expect(!desk.database.hasAssetReleases)
        save("a", [other])
        let replaced = desk.database.sequence
        #expect(count(photo) == 1 && count(other) == 1 && desk.database.hasAssetReleases)
        #expect(!release(upTo: replaced - 1) && count(photo) == 1)
        _ = desk.modify(deletions: ["a"])
        #expect(!release(upTo: replaced) && count(photo) == 0 && count(other) == 1)
        #expect(!release() && count(other) == 0 && !desk.database.hasAssetReleases)
        #expect(desk.database.blobs.referencedByteCount == 0 && desk.database.blobs.storedByteCount == 300)
    }

    @Test("is counted once more by the save that names it again, and not by one that changes something else")
    func kept() {
        save("a", [photo])
        save("a", [photo, photo])
        #expect(count(photo) == 3)
        #expect(!release() && count(photo) == 2)
        #expect(desk.modify(policy: .changedKeys, saves: [.of("a", ["m": .int64(1)])]).result.saveCodes == [nil])
        #expect(!desk.database.hasAssetReleases && count(photo) == 2)
        #expect(desk.database.blobs.referencedByteCount == 100)
    }

    @Test("is released with the last of all fields that name it, encrypted or not")
    func encrypted() {
        func put(_ fields: [String: FieldValue?]) {
            let result = desk.modify(policy: .changedKeys, saves: [.of("a", fields)], grants: [photo, other]).result
            #expect(result.saveCodes == [nil])
            #expect(!release())
        }
        put(["x": EncryptedSamples.asset(photo), "y": EncryptedSamples.assets([photo, other])])
        #expect(count(photo) == 2 && count(other) == 1)
        put(["x": EncryptedSamples.asset(photo, filler: 1)])
        put(["n": .int64(1)])
        #expect(count(photo) == 2 && count(other) == 1)
        put(["x": .asset(photo), "y": EncryptedSamples.asset(other)])
        #expect(count(photo) == 1 && count(other) == 1)
        put(["x": nil])
        #expect(count(photo) == 0 && count(other) == 1)
        _ = desk.modify(deletions: ["a"])
        #expect(!release() && count(other) == 0 && desk.database.blobs.referencedByteCount == 0)
    }

    @Test("of a large zone is freed where nobody waits for it")
    func largeZones() {
        var remains: [Remains] = []
        desk.database.giveBack = { remains.append($0) }
        save("a", [photo])
        for number in 0..<100 { _ = desk.modify(saves: [.of("b\(number)")]) }
        _ = desk.deleteZone("notes")
        let before = remains.count
        while release(limit: 7) {}
        #expect(before == 1 && remains.count == 2 && count(photo) == 0)
    }

    @Test("of a deleted zone is released bit by bit, also where a zone of the name is made again")
    func zones() {
        for number in 0..<100 {
            save("a\(number)", [photo])
            _ = desk.modify(saves: [.of("b\(number)")])
        }
        #expect(!release() && count(photo) == 100)
        _ = desk.deleteZone("notes")
        desk.makeZone("notes")
        save("a1", [other])
        #expect(count(photo) == 100)
        #expect(!release(upTo: desk.database.sequence - 3) && count(photo) == 100)
        var turns = 0
        while release(limit: 10) { turns += 1 }
        #expect(turns >= 19 && count(photo) == 0 && count(other) == 1)
        let audit = desk.database.audit()
        #expect(audit.kept == audit.recounted)
    }

    @Test("is what a plain count says, also after a restart", arguments: 0..<30)
    func random(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let comment: Comment = "seed \(seed)"
        let assets = (0..<6).map { RecordSamples.asset(UInt8($0), byteCount: UInt64($0) * 10) }
        let zones = ["notes", "others"]
        var journal: [JournalEntry] = []
        func note(_ commit: Commit?) { if let commit { journal.append(commit.entry) } }
        note(desk.makeZone("notes"))
        var durable: UInt64 = 0
        let start = desk.database.capture()
        for _ in 0..<150 {
            let zone = ZoneID(name: zones.randomElement(using: &generator)!)
            let name = "r\(Int.random(in: 0..<8, using: &generator))"
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: note(desk.deleteZone(zone.name).commit)
            case 1, 2: note(desk.makeZone(zone.name))
            case 3..<6: note(desk.modify(zone, deletions: [name]).commit)
            case 6: note(desk.modify(.defaultZone, deletions: [name]).commit)
            case 7..<10:
                durable = UInt64.random(in: durable...desk.database.sequence, using: &generator)
                _ = release(upTo: durable, limit: Int.random(in: 1...5, using: &generator))
            default:
                let count = Int.random(in: 0...3, using: &generator)
                let named = (0..<count).map { _ in assets.randomElement(using: &generator)! }
                let isEncrypted = generator.oneIn(2)
                let value: FieldValue? =
                    switch named.count {
                    case 0: nil
                    case 1: isEncrypted ? EncryptedSamples.asset(named[0]) : .asset(named[0])
                    default: isEncrypted ? EncryptedSamples.assets(named) : .assets(named)
                    }
                let save = RecordSave<CheckedFields>.of(
                    name, ["f\(Int.random(in: 0..<2, using: &generator))": value, "n": .int64(Int64(journal.count))])
                let place = generator.oneIn(5) ? .defaultZone : zone
                note(desk.modify(place, policy: .changedKeys, saves: [save], grants: assets).commit)
            }
            let audit = desk.database.audit()
            #expect(audit.kept == audit.recounted, comment)
        }
        let replayed = try loaded(start)
        for entry in journal {
            try replayed.apply(entry)
            #expect(!replayed.hasAssetReleases, comment)
        }
        for database in [desk.database, try loaded(desk.database.capture()), replayed] {
            while database.releaseAssets(upTo: database.sequence, now: 0, limit: 3) {}
            let audit = database.audit()
            #expect(audit.kept == audit.recounted, comment)
            #expect(database.blobs.referenceCounts == desk.database.blobs.referenceCounts, comment)
        }
    }

    private func loaded(_ capture: DatabaseCapture) throws -> Database {
        let loader = DatabaseLoader(id: desk.database.id, epoch: 7, sequence: capture.sequence)
        #expect(loader.add(capture.header) == nil)
        try capture.forEachBlock { block in
            #expect(block.withUnsafeBytes { loader.add(content: $0) } == nil)
        }
        return try loader.finish().get()
    }
}
