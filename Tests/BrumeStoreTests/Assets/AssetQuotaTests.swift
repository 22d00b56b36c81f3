import BrumeModel
import BrumeRandom
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("Assets count into the quota")
struct AssetQuotaTests {
    private let desk: Desk
    private let photo = RecordSamples.asset(1, byteCount: 100_000)
    private let other = RecordSamples.asset(2, byteCount: 200_000)

    init() { desk = Desk() }

    private var database: Database { desk.database }

    private func save(_ name: String, _ assets: [Asset]) -> RecordSave<CheckedFields> {
        .of(name, ["x": assets.isEmpty ? nil : .assets(assets)])
    }

    /// - Parameter room: What of the quota is left.
    private func modify(
        room: Int, saves: [RecordSave<CheckedFields>] = [], deletions: [String] = [], isAtomic: Bool = false,
        grants: [Asset] = []
    ) -> ZoneModificationResult<SharedBytes> {
        var granted = AssetGrants()
        for asset in grants { granted.add(asset, inZone: Desk.zone.name) }
        let pending = Int(database.blobs.pendingByteCount)
        return database.modifyRecords(
            ModifyRecordsRequest(
                database: .private, savePolicy: .allKeys, isAtomic: isAtomic,
                zones: [ZoneModification(zone: Desk.zone, saves: saves, deletions: deletions)]),
            caller: desk.caller, nowMilliseconds: 2_000,
            quota: StorageQuota(limitBytes: database.quotaBytes + pending + room, uploadBytes: pending),
            grants: granted
        ).answer[0]
    }

    private func release() { while database.releaseAssets(upTo: database.sequence, now: 1, limit: 1_000) {} }

    /// Assets whose files were found, and that no record has named since the start.
    private func found(_ assets: [Asset]) {
        for asset in assets { database.blobs.found(BlobName(asset), byteCount: asset.byteCount, now: 0) }
    }

    private func pending(_ assets: [Asset]) {
        for asset in assets {
            database.blobs.add(BlobName(asset), byteCount: asset.byteCount, promisedUntil: 100, now: 0)
        }
    }

    @Test("each copy once, from the commit that names it until the one that does not is durable")
    func counting() throws {
        let before = database.quotaBytes
        #expect(
            modify(room: 1 << 30, saves: [save("a", [photo, photo]), save("b", [photo])], grants: [photo]).saveCodes
                == [nil, nil])
        #expect(database.quotaBytes == before + database.storedBytes + 100_000)
        #expect(modify(room: 1 << 30, saves: [save("a", [other])], grants: [other]).saveCodes == [nil])
        #expect(database.quotaBytes == before + database.storedBytes + 300_000)
        #expect(modify(room: 0, deletions: ["b"]).deletionCodes == [nil])
        #expect(database.quotaBytes == before + database.storedBytes + 300_000)
        release()
        #expect(database.quotaBytes == before + database.storedBytes + 200_000)
    }

    @Test("and a save that names one beyond it fails, but for one that is pending and counts already")
    func beyond() throws {
        found([photo])
        let refused = modify(room: 99_000, saves: [save("a", [photo])], grants: [photo])
        #expect(refused.saveCodes == [.quotaExceeded])
        let message = try #require(refused.saves[0].error?.message)
        #expect(message.contains(", and 99000 of the account's quota of"), "\(message)")
        #expect(modify(room: 101_000, saves: [save("a", [photo])], grants: [photo]).saveCodes == [nil])
        #expect(modify(room: 1_000, saves: [save("b", [photo])], grants: [photo]).saveCodes == [nil], "another field")
        pending([other])
        #expect(modify(room: 10, saves: [save("c", [other])], grants: [other]).saveCodes == [.quotaExceeded])
        #expect(modify(room: 1_000, saves: [save("c", [other])], grants: [other]).saveCodes == [nil])
        #expect(database.audit().kept == database.audit().recounted)
    }

    @Test("and encrypted ones do as plain ones")
    func encrypted() {
        found([photo])
        let fields = ["x": EncryptedSamples.asset(photo), "y": EncryptedSamples.assets([photo, photo])]
        let save = RecordSave<CheckedFields>.of("a", fields)
        #expect(modify(room: 99_000, saves: [save], grants: [photo]).saveCodes == [.quotaExceeded])
        let before = database.quotaBytes
        #expect(modify(room: 101_000, saves: [save], grants: [photo]).saveCodes == [nil])
        #expect(database.quotaBytes == before + database.storedBytes + 100_000)
        #expect(database.audit().kept == database.audit().recounted)
        #expect(modify(room: -9, deletions: ["a"]).deletionCodes == [nil])
        release()
        #expect(database.quotaBytes == before)
    }

    @Test("and who is over it replaces one by what is not larger, and deletes")
    func replacement() {
        let (same, larger) = (RecordSamples.asset(3, byteCount: 100_000), RecordSamples.asset(4, byteCount: 100_001))
        found([photo, same, larger])
        pending([other])
        #expect(modify(room: 1 << 20, saves: [save("a", [photo])], grants: [photo]).saveCodes == [nil])
        #expect(modify(room: -9, saves: [save("a", [larger])], grants: [larger]).saveCodes == [.quotaExceeded])
        #expect(modify(room: -9, saves: [save("a", [other])], grants: [other]).saveCodes == [nil], "less than before")
        #expect(modify(room: -9, saves: [save("a", [same])], grants: [same]).saveCodes == [nil])
        #expect(modify(room: -9, saves: [save("a", [])]).saveCodes == [nil])
        #expect(modify(room: -9, deletions: ["a"]).deletionCodes == [nil])
        release()
        #expect(database.blobs.referencedByteCount == 0)
    }

    @Test("and what a request deletes or replaces makes room, unless another record names it still, or by then")
    func roomInRequest() {
        let third = RecordSamples.asset(3, byteCount: 100_000)
        found([photo, third])
        #expect(
            modify(room: 1 << 20, saves: [save("a", [photo]), save("b", [])], grants: [photo]).saveCodes == [nil, nil])
        func swap(_ saves: [RecordSave<CheckedFields>], _ deletions: [String] = []) -> [ErrorCode?] {
            modify(room: 1_000, saves: saves, deletions: deletions, grants: [photo, third]).saveCodes
        }
        #expect(swap([save("a", []), save("b", [photo]), save("c", [third])]) == [nil, nil, .quotaExceeded])
        release()
        #expect(database.blobs.referencedByteCount == 100_000)
        #expect(swap([save("c", [third]), save("d", [photo])], ["b"]) == [nil, .quotaExceeded])
        release()
        #expect(database.blobs.referencedByteCount == 100_000)
        #expect(swap([save("c", [photo])]) == [nil])
        release()
        #expect(database.blobs.referencedByteCount == 100_000)
    }

    @Test("whatever is named, replaced and deleted, it is not exceeded, and a count by hand agrees", arguments: 0..<40)
    func random(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let assets = (0..<8).map { RecordSamples.asset(UInt8($0), byteCount: UInt64($0 % 4) * 10_000 + 5_000) }
        let limit = 60_000
        var refused = 0
        for step in 0..<150 {
            let comment: Comment = "seed \(seed), step \(step)"
            if generator.oneIn(3) { pending([generator.pick(assets)]) }
            let names = (0..<6).map { "r\($0)" }.shuffled(using: &generator)
            let count = Int.random(in: 0...4, using: &generator)
            let saves = names[..<count].map { name in
                save(name, (0..<Int.random(in: 0...3, using: &generator)).map { _ in generator.pick(assets) })
            }
            let deletions = Array(names[count..<count + Int.random(in: 0...2, using: &generator)])
            for asset in assets where database.blobs.isUnknown(BlobName(asset)) { found([asset]) }
            let used = database.quotaBytes + Int(database.blobs.pendingByteCount)
            let result = modify(
                room: limit - used, saves: saves, deletions: deletions, isAtomic: Bool.random(using: &generator),
                grants: assets)
            release()
            refused += result.saveCodes.count { $0 == .quotaExceeded }
            let after = database.quotaBytes + Int(database.blobs.pendingByteCount)
            #expect(after <= max(limit, used), comment)
            let audit = database.audit()
            #expect(audit.kept == audit.recounted, comment)
        }
        #expect(refused > 0, "seed \(seed)")
    }

    @Test("and small ones count their files beyond the allowance")
    func overhead() {
        let count = Limits.overheadAllowanceBytes / Limits.assetOverheadBytes + 100
        let small = (0..<count).map { number in
            let asset = RecordSamples.asset(1, byteCount: 1)
            return Asset(checksum: asset.checksum, byteCount: 1, generation: UInt64(number))
        }
        for start in stride(from: 0, to: count, by: 50) {
            let some = Array(small[start..<min(start + 50, count)])
            #expect(desk.modify(saves: [save("r\(start)", some)], grants: some).result.saveCodes == [nil])
        }
        let files = count * Limits.assetOverheadBytes
        #expect(database.quotaBytes - database.storedBytes - count > files - Limits.overheadAllowanceBytes)
        #expect(database.quotaBytes - database.storedBytes - count < files)
    }

    @Test("of whoever made the record in a public database, as often as it is named")
    func creators() throws {
        let desk = Desk.ofPublicDatabase(user: "_alice")
        var grants = AssetGrants()
        for asset in [photo, other] { grants.add(asset, inZone: Names.defaultZone) }
        func modify(
            _ saves: [RecordSave<CheckedFields>], deletions: [String] = [], by user: String = "_alice"
        ) -> [ErrorCode?] {
            desk.database.modifyRecords(
                ModifyRecordsRequest(
                    database: .public, savePolicy: .allKeys, isAtomic: false,
                    zones: [ZoneModification(zone: .defaultZone, saves: saves, deletions: deletions)]),
                caller: Caller(user: user, isOwner: false), nowMilliseconds: 2_000,
                quota: StorageQuota(limitBytes: 1 << 30, limitBytesOfUser: 250_000), grants: grants
            ).answer[0].saveCodes
        }
        #expect(modify([save("a", [photo]), save("b", [photo])]) == [nil, nil])
        #expect(modify([save("c", [photo])]) == [.quotaExceeded])
        #expect(modify([save("d", [other])], by: "_bob") == [nil])
        #expect(desk.database.bytes(ofCreator: "_alice") > 200_000)
        #expect(modify([save("b", [])]) == [nil])
        #expect(modify([save("c", [photo])]) == [nil])
        #expect(modify([save("e", [other])], deletions: ["a", "c"]) == [nil])
        #expect(desk.database.quotaBytes < 300_000 + 4_000 + 200_000)
        let audit = desk.database.audit()
        #expect(audit.kept == audit.recounted)
    }

    @Test("in a snapshot that was taken while some of them waited to be released, as in one of the same records later")
    func snapshots() {
        #expect(
            modify(room: 1 << 20, saves: [save("a", [photo]), save("b", [other])], grants: [photo, other]).saveCodes
                == [nil, nil])
        #expect(modify(room: 1 << 20, saves: [save("a", [other])], deletions: []).saveCodes == [.assetNotAvailable])
        #expect(modify(room: 1 << 20, saves: [save("a", [other])], grants: [other]).saveCodes == [nil])
        let early = database.capture().header.quotaBytes
        release()
        #expect(early == database.capture().header.quotaBytes)
        #expect(early == UInt64(database.quotaBytes) && early > 200_000 && early < 300_000)
    }
}
