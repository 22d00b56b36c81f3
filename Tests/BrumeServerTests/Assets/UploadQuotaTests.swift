import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Uploads and the quota", .timeLimit(.minutes(2)))
struct UploadQuotaTests {
    private static let mega = 1_000_000

    private static func id(_ number: UInt8) -> UploadID { UploadID([UInt8](repeating: number, count: 16))! }

    private static func upload(
        _ number: UInt8, _ byteCount: Int, by peer: FramePeer, database: DatabaseScope = .private,
        zone: ZoneID = .defaultZone, content: UInt8? = nil
    ) throws -> Asset {
        let content = [UInt8](repeating: content ?? number, count: byteCount)
        return try peer.upload(
            content, checksum: AssetChecksum(SHA256.digest(content))!, id: id(number), zone: zone, database: database)
    }

    private static func save(
        _ assets: [Asset], _ name: String = "photo", by peer: FramePeer, database: DatabaseScope = .private,
        zone: ZoneID = .defaultZone
    ) throws -> ErrorCode? {
        let save = RecordSave<DecodedFields>(
            name: name, type: "Photo", fields: ["files": assets.isEmpty ? nil : .assets(assets)])
        return try modify(ZoneModification(zone: zone, saves: [save]), by: peer, database: database).saves.codes[0]
    }

    private static func delete(_ name: String = "photo", by peer: FramePeer) throws {
        let codes = try modify(ZoneModification(zone: .defaultZone, deletions: [name]), by: peer).deletions
        #expect(codes == [nil])
    }

    private static func modify(
        _ modification: ZoneModification<DecodedFields>, by peer: FramePeer, database: DatabaseScope = .private
    ) throws -> ZoneModificationResult<Record> {
        let request = ModifyRecordsRequest<DecodedFields>(
            database: database, savePolicy: .changedKeys, zones: [modification])
        return try peer.call(.recordsModify, MessageCoder().encodeModifyRecordsRequest(request))
            .decoded(MessageCoder().decodeModifyRecordsResponse)[0]
    }

    /// Begins an upload, and gives what it is refused for.
    private static func begin(
        _ number: UInt8, _ byteCount: Int, by peer: FramePeer, database: DatabaseScope = .private,
        zone: ZoneID = .defaultZone
    ) throws -> ServiceError? {
        let stream = peer.beginUpload(id(number), byteCount: byteCount, zone: zone, database: database)
        peer.server.settle()
        return try peer.end(stream)?.error
    }

    @Test("who uploads, saves and deletes again and again fills the disk with no more than twice the quota")
    func removedAssets() throws {
        let server = try SteppedServer { $0.quotaBytes = 10 * Self.mega }
        let peer = try server.connect(account: "a")
        for number in UInt8(1)...3 {
            let asset = try Self.upload(number, 4 * Self.mega, by: peer)
            #expect(try Self.save([asset], by: peer) == nil)
            try Self.delete(by: peer)
            server.settle()
        }
        // Twelve were removed, though all of the quota is free.
        let refusal = try Self.begin(4, 1_000, by: peer)
        #expect(refusal?.code == .quotaExceeded && refusal?.message.contains("until they are a day old") == true)
    }

    @Test("an upload takes its room when it begins, and gives it back when it breaks")
    func reservation() throws {
        let server = try SteppedServer { $0.quotaBytes = 10 * Self.mega }
        let peer = try server.connect(account: "a")
        let before = server.storedBytes(ofAccount: "a")
        #expect(try Self.begin(1, 6 * Self.mega, by: peer) == nil)
        #expect(server.storedBytes(ofAccount: "a") == before + 6 * Self.mega)
        let refusal = try Self.begin(2, 6 * Self.mega, by: peer)
        #expect(refusal?.code == .quotaExceeded)
        let left = 4 * Self.mega - before
        #expect(refusal?.message.contains("has 6000000 bytes, and \(left) of the account's quota of 10000000") == true)
        #expect(try Self.begin(3, left, by: peer) == nil, "to the byte")
        #expect(try Self.begin(4, 1, by: peer)?.code == .quotaExceeded)
        peer.disconnect()
        server.settle()
        #expect(server.storedBytes(ofAccount: "a") == before)
        let again = try server.connect(account: "a")
        #expect(try Self.begin(2, 6 * Self.mega, by: again) == nil)
    }

    @Test("what is uploaded counts once: under way, pending, and named by as many records as there are")
    func once() throws {
        let server = try SteppedServer { $0.quotaBytes = 14 * Self.mega }
        let peer = try server.connect(account: "a")
        let before = server.storedBytes(ofAccount: "a")
        let asset = try Self.upload(1, 5 * Self.mega, by: peer)
        #expect(server.storedBytes(ofAccount: "a") == before + 5 * Self.mega)
        #expect(try Self.begin(9, 10 * Self.mega, by: peer)?.code == .quotaExceeded)
        #expect(try Self.save([asset], by: peer) == nil)
        #expect(try Self.save([asset, asset], "other", by: peer) == nil)
        // The same content is there already; it needs room while it comes all the same, since nobody knows it before.
        let same = try Self.upload(2, 4 * Self.mega, by: peer)
        #expect(try Self.upload(3, 4 * Self.mega, by: peer, content: 2).generation == same.generation)
        let used = server.storedBytes(ofAccount: "a") - before
        #expect(used > 9 * Self.mega && used < 9 * Self.mega + 1_000)
    }

    @Test("what a record named makes room as soon as the record is gone, though its file stays")
    func deletion() throws {
        let server = try SteppedServer { $0.quotaBytes = 10 * Self.mega }
        let peer = try server.connect(account: "a")
        let first = try Self.upload(1, 6 * Self.mega, by: peer)
        #expect(try Self.save([first], by: peer) == nil)
        #expect(try Self.begin(2, 6 * Self.mega, by: peer)?.code == .quotaExceeded)
        try Self.delete(by: peer)
        #expect(server.storedBytes(ofAccount: "a") < Self.mega)
        let second = try Self.upload(2, 6 * Self.mega, by: peer)
        // The receipt of the first is good still, and its file is there: but there is no room for both.
        #expect(try Self.save([first], by: peer) == .quotaExceeded)
        #expect(try Self.save([second], by: peer) == nil)
        #expect(try Self.save([first], by: peer) == nil, "which replaces the second")
        #expect(server.storedBytes(ofAccount: "a") < 7 * Self.mega)
    }

    @Test("what was deleted and is uploaded again takes room again")
    func again() throws {
        let server = try SteppedServer { $0.quotaBytes = 10 * Self.mega }
        let peer = try server.connect(account: "a")
        for number in 1...3 as ClosedRange<UInt8> {
            #expect(try Self.save([Self.upload(number, 3 * Self.mega, by: peer)], "r\(number)", by: peer) == nil)
        }
        for number in 1...3 { try Self.delete("r\(number)", by: peer) }
        for number in 1...3 as ClosedRange<UInt8> { _ = try Self.upload(number, 3 * Self.mega, by: peer) }
        #expect(try Self.begin(4, 3 * Self.mega, by: peer)?.code == .quotaExceeded)
    }

    @Test("an upload that is open still, or whose answer was lost, is not counted twice")
    func sameID() throws {
        let server = try SteppedServer { $0.quotaBytes = 50 * Self.mega }
        let (peer, other) = (try server.connect(account: "a"), try server.connect(account: "a", device: 2))
        #expect(try Self.begin(1, 35 * Self.mega, by: peer) == nil)
        #expect(try Self.begin(1, 35 * Self.mega, by: other)?.code == .zoneBusy)
        peer.disconnect()
        server.settle()
        // Some of it is kept from the 32nd MiB on, and so is what it has become.
        let asset = try Self.upload(1, 35 * Self.mega, by: other)
        let used = server.storedBytes(ofAccount: "a")
        #expect(try Self.upload(1, 35 * Self.mega, by: other).generation == asset.generation)
        #expect(server.storedBytes(ofAccount: "a") == used)
    }

    @Test("an upload under the id of one that has become an asset takes room of its own when it begins anew")
    func reusedID() throws {
        let server = try SteppedServer { $0.quotaBytes = 10 * Self.mega }
        let peer = try server.connect(account: "a")
        _ = try Self.upload(1, 4 * Self.mega, by: peer)
        let stream = peer.beginUpload(Self.id(1), byteCount: 4 * Self.mega)
        server.settle()
        #expect(try peer.uploadEvents(stream) == [.offset(0)])
        #expect(server.storedBytes(ofAccount: "a") >= 8 * Self.mega)
        peer.cancel(stream)
        server.settle()
        #expect(server.storedBytes(ofAccount: "a") < 5 * Self.mega)
        _ = try Self.upload(2, 4 * Self.mega, by: peer)
        let refused = peer.beginUpload(Self.id(1), byteCount: 4 * Self.mega)
        server.settle()
        #expect(try peer.end(refused)?.error?.code == .quotaExceeded)
        #expect(server.storedBytes(ofAccount: "a") < 9 * Self.mega)
    }

    @Test("of two uploads at a time, to databases on different loops, not both get the last room")
    func race() throws {
        let server = try SteppedServer {
            $0.quotaBytes = 10 * Self.mega
            $0.loopCount = 4
        }
        let peers = try (0..<6).map { try server.connect(account: "a", container: "iCloud.c\($0)") }
        let streams = peers.map { ($0, $0.beginUpload(Self.id(1), byteCount: 6 * Self.mega)) }
        server.settle()
        #expect(try streams.count { try $0.0.end($0.1) == nil } <= 1)
        for peer in peers { peer.disconnect() }
        server.settle()
        #expect(server.storedBytes(ofAccount: "a") < Self.mega)
    }

    @Test("whoever takes part in a zone fills a tenth of its owner's quota, and is told no figures")
    func participants() throws {
        let server = try SteppedServer { $0.quotaBytes = 20 * Self.mega }
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b", device: 2))
        _ = try b.accept(try a.shareZone("trip", with: [b.user]))
        let zone = ZoneID(name: "trip", owner: a.user)
        func begin(_ number: UInt8, _ byteCount: Int) throws -> ServiceError? {
            try Self.begin(number, byteCount, by: b, database: .shared, zone: zone)
        }
        let tooLarge = try begin(1, 2 * Self.mega + 1)
        #expect(tooLarge?.code == .quotaExceeded && tooLarge?.message.contains(where: \.isNumber) == false)
        let asset = try Self.upload(2, 2 * Self.mega, by: b, database: .shared, zone: zone)
        #expect(server.storedBytes(ofAccount: "a") > 2 * Self.mega)
        #expect(server.storedBytes(ofAccount: "b") < Self.mega)
        #expect(try begin(3, 1)?.code == .quotaExceeded, "what no record names")
        #expect(try Self.save([asset], by: b, database: .shared, zone: zone) == nil)
        #expect(try begin(3, Self.mega) == nil)
        // Now it is the owner who has none left.
        let left = 20 * Self.mega - server.storedBytes(ofAccount: "a")
        #expect(try Self.begin(9, left, by: a) == nil)
        #expect(try begin(4, 100_000) == tooLarge, "and nobody can tell one reason from the other")
    }

    @Test("a user of a public database fills a tenth of its quota, and half with what records name")
    func publicDatabase() throws {
        let server = try SteppedServer { $0.publicQuotaBytes = 20 * Self.mega }
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b", device: 2))
        for number in 0..<5 as Range<UInt8> {
            let size = number < 4 ? 2 * Self.mega : 1_900_000
            let asset = try Self.upload(number, size, by: a, database: .public)
            let refusal = try Self.begin(99, 101_000, by: a, database: .public)
            #expect(refusal?.code == .quotaExceeded && refusal?.message.contains(where: \.isNumber) == false)
            #expect(try Self.save([asset], "r\(number)", by: a, database: .public) == nil)
        }
        #expect(try Self.begin(98, 101_000, by: a, database: .public)?.code == .quotaExceeded)
        #expect(try Self.begin(97, 2 * Self.mega, by: b, database: .public) == nil)
        #expect(server.storedBytes(ofAccount: "a") < Self.mega, "nobody's private one")
    }

    @Test("others than the owner leave half of a quota to saves, however many they are, and are told no figures")
    func manyUsers() {
        func refusal(isOwner: Bool, pending: UInt64, and added: UInt64) -> ServiceError? {
            let caller = Caller(user: "_u", isOwner: isOwner)
            return UploadQuota(StorageQuota(limitBytes: 20 * Self.mega), of: .private, caller, 1 << 30)
                .refusal(ofOthers: pending, and: added)
        }
        #expect(refusal(isOwner: false, pending: 9_000_000, and: 1_000_000) == nil)
        let full = refusal(isOwner: false, pending: 9_000_000, and: 1_000_001)
        #expect(full?.code == .quotaExceeded && full?.message.contains(where: \.isNumber) == false)
        #expect(refusal(isOwner: false, pending: .max, and: .max)?.code == .quotaExceeded)
        #expect(refusal(isOwner: true, pending: 19_000_000, and: 1_000_000) == nil)
    }

    @Test("users of a public database leave half of its quota to saves, however many they are")
    func manyUsersAtOnce() throws {
        let server = try SteppedServer { $0.publicQuotaBytes = 20 * Self.mega }
        for (number, account) in ["a", "b", "c", "d", "e", "f"].enumerated() {
            let peer = try server.connect(account: account, device: UInt8(number + 1))
            let refusal = try Self.begin(1, 1_900_000, by: peer, database: .public)
            #expect((refusal == nil) == (number < 5), "user \(account)")
        }
    }

    @Test("others than the owner are stopped by half of what was removed lately, and are not told by what")
    func removedAssetsOfOthers() {
        func refusal(isOwner: Bool, unneeded: UInt64) -> ServiceError? {
            UploadQuota(
                StorageQuota(limitBytes: 20 * Self.mega), of: .private, Caller(user: "_u", isOwner: isOwner), 1 << 30
            ).refusal(unneededByteCount: unneeded)
        }
        #expect(refusal(isOwner: false, unneeded: 10_000_000) == nil)
        let full = refusal(isOwner: false, unneeded: 10_000_001)
        #expect(full?.code == .quotaExceeded && full?.message.contains("removed") == false)
        #expect(refusal(isOwner: true, unneeded: 20_000_000) == nil)
        #expect(refusal(isOwner: true, unneeded: 20_000_001)?.code == .quotaExceeded)
    }

    @Test("without a quota, uploads that no record names have a limit of their own")
    func noQuota() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let size = 250 * 1024 * 1024
        for number in 0..<8 as Range<UInt8> { #expect(try Self.begin(number, size, by: peer) == nil) }
        #expect(try Self.begin(9, size, by: peer)?.code == .quotaExceeded)
    }

    @Test("a database of which uploads are pending stays in memory until they go, and counts them")
    func memory() throws {
        let server = try SteppedServer {
            $0.quotaBytes = 10 * Self.mega
            $0.memoryBudgetBytes = 1
            $0.service.assetGraceSeconds = 1_000
            $0.service.receiptSeconds = 500
            $0.service.assetSweepMilliseconds = 60_000
        }
        func pass(minutes: Int) {
            for _ in 0..<minutes {
                server.turn(after: 60_000_000_000)
                server.settle()
            }
        }
        // In a container where nothing was ever saved, and in one with records.
        for (number, container) in ["iCloud.empty", "iCloud.full"].enumerated() {
            let peer = try server.connect(account: "a", container: container)
            if number == 1 { #expect(try Self.save([], by: peer) == nil) }
            _ = try Self.upload(1, 4 * Self.mega, by: peer)
            peer.disconnect()
        }
        server.snapshot()
        pass(minutes: 5)
        let peer = try server.connect(account: "a", container: "iCloud.third")
        #expect(try Self.begin(1, 4 * Self.mega, by: peer)?.code == .quotaExceeded)
        peer.disconnect()
        server.settle()
        #expect(server.loadedIDs.contains { $0.container == "iCloud.empty" && $0.scope == .private })
        pass(minutes: 20)
        #expect(server.storedBytes(ofAccount: "a") < Self.mega)
        #expect(!server.loadedIDs.contains { $0.scope == .private })
    }

    enum Kept: CaseIterable {
        case inJournal, inSnapshots
    }

    @Test("what records name counts after a restart, in databases that nobody has used since", arguments: Kept.allCases)
    func restart(kept: Kept) throws {
        let disk = SimulatedDisk()
        func start(_ run: UInt32) throws -> SteppedServer {
            try SteppedServer(disk: disk, run: run) { $0.quotaBytes = 20 * Self.mega }
        }
        var server = try start(1)
        for container in ["iCloud.one", "iCloud.two"] {
            let peer = try server.connect(account: "a", container: container)
            #expect(try Self.save([Self.upload(1, 4 * Self.mega, by: peer)], by: peer) == nil)
            #expect(try Self.save([Self.upload(2, 4 * Self.mega, by: peer)], by: peer) == nil)
            // Pending.
            if container == "iCloud.two" { _ = try Self.upload(3, Self.mega, by: peer) }
        }
        let used = server.storedBytes(ofAccount: "a")
        #expect((9 * Self.mega..<9 * Self.mega + 10_000).contains(used))
        if kept == .inSnapshots { server.snapshot() }
        server = try start(2)
        let peer = try server.connect(account: "a", container: "iCloud.three")
        #expect(try Self.save([], by: peer) == nil)
        #expect(try Self.begin(1, 13 * Self.mega, by: peer)?.code == .quotaExceeded)
        #expect(abs(server.storedBytes(ofAccount: "a") - (used - Self.mega)) < 1_000)
        let other = try server.connect(account: "a", container: "iCloud.two")
        try Self.delete(by: other)
        #expect(abs(server.storedBytes(ofAccount: "a") - (used - 5 * Self.mega)) < 1_000)
    }
}
