import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Assets that no record names", .timeLimit(.minutes(2)))
struct AssetWalkTests {
    private static var coder: MessageCoder { MessageCoder() }

    private static func content(_ byteCount: Int, seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        return (0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    private static func checksum(_ content: [UInt8]) -> AssetChecksum { AssetChecksum(SHA256.digest(content))! }

    private static func id(_ number: UInt8) -> UploadID { UploadID([UInt8](repeating: number, count: 16))! }

    /// A server whose graces are short, on a disk that outlives it.
    private struct Scene {
        let disk: SimulatedDisk
        let server: SteppedServer

        init(
            on disk: SimulatedDisk = SimulatedDisk(), run: UInt32 = 1, walkDelaySeconds: UInt64 = 1_000_000,
            loops: Int = 1, adjust: (inout ServerConfiguration) -> Void = { _ in }
        ) throws {
            self.disk = disk
            server = try SteppedServer(disk: disk, run: run) {
                $0.loopCount = loops
                $0.memoryBudgetBytes = 1
                $0.keptUploadSeconds = 200
                $0.service.assetGraceSeconds = 100
                $0.service.receiptSeconds = 50
                $0.service.assetSweepMilliseconds = 1_000
                $0.service.assetWalkDelayMilliseconds = walkDelaySeconds * 1_000
                $0.service.assetWalkMilliseconds = 500_000
                adjust(&$0)
            }
        }

        func pass(seconds: Int) {
            for _ in 0..<seconds {
                server.turn(after: 1_000_000_000)
                server.settle()
            }
        }

        /// Everybody goes, and no private database is in memory any more.
        func leave(_ peers: FramePeer...) {
            for peer in peers { peer.disconnect() }
            server.snapshot()
            for _ in 0..<9 where !privateIDs.isEmpty { pass(seconds: 1) }
        }

        var privateIDs: [DatabaseID] { server.loadedIDs.filter { $0.scope == .private } }
        /// The contents on the disk.
        var blobs: Int { disk.paths.count { $0.hasPrefix("assets/") && !$0.contains("/incoming/") } }
        var incoming: Int { disk.paths.count { $0.contains("/incoming/") } }
        func folders() throws -> Int { try disk.listFolders("assets").count }
    }

    @discardableResult
    private static func save(_ asset: Asset?, _ name: String = "photo", by peer: FramePeer) throws -> ErrorCode? {
        let value = asset.map { FieldValue.asset($0) }
        let save = RecordSave(name: name, type: "Photo", fields: ["file": value])
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .private, savePolicy: .allKeys, zones: [ZoneModification(zone: .defaultZone, saves: [save])])
        let answer = try peer.call(.recordsModify, coder.encodeModifyRecordsRequest(request))
            .decoded(coder.decodeModifyRecordsResponse)
        if case .failure(let error) = answer[0].saves[0].outcome { return error.code }
        return nil
    }

    private static func upload(_ number: UInt8, by peer: FramePeer, byteCount: Int = 1_000) throws -> Asset {
        let content = content(byteCount, seed: UInt64(number))
        return try peer.upload(content, checksum: checksum(content), id: id(number))
    }

    private static func download(_ asset: Asset, by peer: FramePeer) throws -> [UInt8] {
        try peer.download(
            DownloadRequest(
                database: .private, zone: .defaultZone, recordName: "photo", field: "file", checksum: asset.checksum))
    }

    @Test("go when they are due though nobody uses their database, and no sooner, and the database is let go again")
    func dueWhileAway() throws {
        let scene = try Scene()
        let peer = try scene.server.connect(account: "a")
        #expect(try Self.save(Self.upload(1, by: peer), by: peer) == nil)
        #expect(try Self.save(Self.upload(2, by: peer), by: peer) == nil)
        scene.leave(peer)
        #expect(scene.privateIDs == [] && scene.blobs == 2)
        scene.pass(seconds: 85)
        #expect(scene.blobs == 2)
        scene.pass(seconds: 20)
        #expect(scene.blobs == 1 && scene.privateIDs == [])
        let again = try scene.server.connect(account: "a")
        let kept = Self.content(1_000, seed: 2)
        let asset = Asset(checksum: Self.checksum(kept), byteCount: 1_000, generation: 0)
        #expect(try Self.download(asset, by: again) == kept)
    }

    @Test("wait no longer because the database leaves the memory and comes back, however often")
    func comingAndGoing() throws {
        let scene = try Scene()
        let peer = try scene.server.connect(account: "a")
        #expect(try Self.save(Self.upload(1, by: peer), by: peer) == nil)
        #expect(try Self.save(nil, by: peer) == nil)
        scene.leave(peer)
        for _ in 0..<4 {
            let peer = try scene.server.connect(account: "a")
            scene.pass(seconds: 10)
            scene.leave(peer)
            scene.pass(seconds: 10)
        }
        #expect(scene.blobs == 1)
        scene.pass(seconds: 30)
        #expect(scene.blobs == 0)
    }

    @Test("go where there is no room to remember their names, when the last of them may, and count until then")
    func forgottenNames() throws {
        let scene = try Scene {
            $0.service.departedBlobs = 1
            $0.publicQuotaBytes = 1 << 30
            $0.quotaBytes = 3_000
        }
        let peer = try scene.server.connect(account: "a")
        for number in 1...3 as ClosedRange<UInt8> {
            #expect(try Self.save(Self.upload(number, by: peer, byteCount: 1_100), by: peer) == nil)
        }
        #expect(try Self.save(nil, by: peer) == nil)
        scene.leave(peer)
        let again = try scene.server.connect(account: "a")
        // What was removed takes as much of the disk as the quota allows.
        #expect(throws: ServiceError.self) { try Self.upload(4, by: again) }
        scene.leave(again)
        #expect(scene.blobs == 3 && scene.privateIDs == [])
        scene.pass(seconds: 110)
        #expect(scene.blobs == 0 && scene.privateIDs == [])
        #expect(try Self.upload(5, by: scene.server.connect(account: "a")).byteCount == 1_000)
    }

    @Test("of one database stay with it in memory where they are more than can be remembered")
    func many() throws {
        let scene = try Scene { $0.service.departedBlobsPerDatabase = 2 }
        let peer = try scene.server.connect(account: "a")
        for number in 1...4 as ClosedRange<UInt8> {
            #expect(try Self.save(Self.upload(number, by: peer), by: peer) == nil)
        }
        scene.leave(peer)
        #expect(scene.privateIDs.count == 1, "three of them may go at any time")
        scene.pass(seconds: 110)
        #expect(scene.blobs == 1)
        scene.leave()
        #expect(scene.privateIDs == [])
    }

    @Test("from before the start are found by a walk, and have their grace from then on", arguments: [1, 3])
    func walks(loops: Int) throws {
        let first = try Scene(loops: loops)
        let (a, b) = (try first.server.connect(account: "a"), try first.server.connect(account: "b"))
        let kept = try Self.upload(1, by: a)
        #expect(try Self.save(kept, by: a) == nil)
        for peer in [a, b] { _ = try Self.upload(2, by: peer) }
        #expect(try first.folders() == 2)
        first.disk.endProcess()
        let next = try Scene(on: first.disk, run: 2, walkDelaySeconds: 10, loops: loops)
        next.pass(seconds: 105)
        #expect(next.blobs == 3 && next.privateIDs == [])
        next.pass(seconds: 20)
        #expect(next.blobs == 1)
        // Nothing is left of a database that has none.
        #expect(try next.folders() == 1)
        let peer = try next.server.connect(account: "a")
        #expect(try Self.download(kept, by: peer) == Self.content(1_000, seed: 1))
    }

    @Test("go from the other folders though the disk does not give one of them, and from that one at a later walk")
    func unreadableFolder() throws {
        let first = try Scene()
        let peer = try first.server.connect(account: "a")
        for number in 1...3 as ClosedRange<UInt8> { _ = try Self.upload(number, by: peer) }
        first.disk.endProcess()
        let path = try #require(first.disk.paths.first { $0.hasPrefix("assets/") && !$0.contains("/incoming/") })
        let next = try Scene(on: first.disk, run: 2, walkDelaySeconds: 10)
        next.disk.faults.unreadablePart = "/" + path.split(separator: "/")[2]
        next.pass(seconds: 130)
        #expect(next.blobs == 1 && next.disk.contents(of: path) != nil)
        // It is visited once more a while after the walk, and with the next one.
        next.disk.faults.unreadablePart = nil
        next.pass(seconds: 520)
        #expect(next.blobs == 0)
    }

    @Test(
        "of a folder that the disk does not give keep nobody else's from going, and are looked for again, not all the time"
    )
    func unreadableWithoutNames() throws {
        let scene = try Scene { $0.service.departedBlobs = 0 }
        let peers = try ["a", "b"].map { try scene.server.connect(account: $0) }
        for (number, peer) in peers.enumerated() {
            #expect(try Self.save(Self.upload(UInt8(number), by: peer), by: peer) == nil)
            #expect(try Self.save(nil, by: peer) == nil)
            scene.leave(peer)
        }
        let path = try #require(scene.disk.paths.first { $0.hasPrefix("assets/") && !$0.contains("/incoming/") })
        scene.disk.faults.unreadablePart = "/" + path.split(separator: "/")[2]
        scene.pass(seconds: 105)
        #expect(scene.blobs == 1 && scene.disk.contents(of: path) != nil)
        let loads = scene.server.stepwise.core.shards[0].databases.loadCount
        scene.pass(seconds: 50)
        #expect(scene.server.stepwise.core.shards[0].databases.loadCount - loads <= 1)
        scene.disk.faults.unreadablePart = nil
        scene.pass(seconds: 70)
        #expect(scene.blobs == 0)
    }

    @Test("go after the disk gives their databases again, however many these are")
    func unloadable() throws {
        let scene = try Scene { $0.service.departedBlobs = 0 }
        for account in ["a", "b", "c", "d", "e", "f"] {
            let peer = try scene.server.connect(account: account)
            #expect(try Self.save(Self.upload(1, by: peer), by: peer) == nil)
            #expect(try Self.save(nil, by: peer) == nil)
            scene.leave(peer)
        }
        scene.pass(seconds: 80)
        #expect(scene.blobs == 6)
        scene.disk.faults.unreadablePart = "snapshots/"
        scene.pass(seconds: 60)
        #expect(scene.blobs == 6)
        scene.disk.faults.unreadablePart = nil
        scene.pass(seconds: 70)
        #expect(scene.blobs == 0)
    }

    @Test("are not what was uploaded just now, walk or not, and it may be named for as long as was promised")
    func walkDuringUploads() throws {
        let scene = try Scene(walkDelaySeconds: 10) { $0.service.receiptSeconds = 300 }
        let asset = try Self.upload(1, by: scene.server.connect(account: "a"))
        scene.pass(seconds: 290)
        #expect(scene.blobs == 1)
        #expect(try Self.save(asset, by: scene.server.connect(account: "a")) == nil)
        scene.pass(seconds: 700)
        #expect(try Self.download(asset, by: scene.server.connect(account: "a")) == Self.content(1_000, seed: 1))
    }

    @Test("nor uploads that broke stay for ever: they can be gone on with for a day, after a restart too")
    func brokenUploads() throws {
        let content = Self.content(3 << 20, seed: 5)
        func begin(_ peer: FramePeer) throws -> [UploadEvent] {
            let stream = peer.beginUpload(Self.id(7), byteCount: content.count)
            peer.server.settle()
            return try peer.uploadEvents(stream)
        }
        func breakOff(_ scene: Scene) throws {
            let peer = try scene.server.connect(account: "a")
            let stream = peer.beginUpload(Self.id(7), byteCount: content.count)
            scene.server.settle()
            peer.sendContent(content[..<(2 << 20)], stream)
            scene.leave(peer)
        }
        let first = try Scene()
        try breakOff(first)
        #expect(first.incoming == 2)
        first.pass(seconds: 150)
        #expect(try begin(first.server.connect(account: "a")) == [.offset(2 << 20)])
        first.disk.endProcess()
        // Nobody uploads there: a walk learns of it.
        let next = try Scene(on: first.disk, run: 2, walkDelaySeconds: 10)
        next.pass(seconds: 190)
        #expect(next.incoming == 2)
        next.pass(seconds: 25)
        #expect(next.incoming == 0)
        #expect(try begin(next.server.connect(account: "a")) == [.offset(0)])
        #expect(try next.folders() == 1)
        // Its folders go with a later walk.
        next.pass(seconds: 1_000)
        #expect(try next.folders() == 0)
        #expect(try Self.upload(9, by: next.server.connect(account: "a")).byteCount == 1_000)
    }

    @Test("nor anything else keep a server in memory that ended while it learnt what uploads had left")
    func endedServer() throws {
        weak var core: ServerCore?
        func begin() throws {
            let server = try SteppedServer()
            core = server.stepwise.core
            let peer = try server.connect(account: "a")
            server.areBlobsHeld = true
            _ = peer.beginUpload(Self.id(1), byteCount: 9)
            server.settle()
            // The upload waits for what is learnt.
            #expect(server.stepwise.stepBlobs() && server.stepwise.hasBlobWork)
        }
        try begin()
        #expect(core == nil)
    }

    @Test("of a database that is visited are not brought back by a list from before they were removed")
    func staleList() throws {
        let first = try Scene()
        let peer = try first.server.connect(account: "a")
        for number in 1...2 as ClosedRange<UInt8> {
            #expect(try Self.save(Self.upload(number, by: peer), by: peer) == nil)
        }
        let loaded = try #require(first.server.stepwise.core.shards[0].databases.known(first.privateIDs[0]))
        first.pass(seconds: 95)
        let store = try #require(first.server.stepwise.core.blobs)
        first.server.areBlobsHeld = true
        AssetVisit.begin(
            to: loaded.database.id, on: first.server.stepwise.core.shards[0], in: store, looksThroughFolder: true
        ) { _ in }
        // The first list has been made and not been told when the sweep comes.
        var steps = 0
        while loaded.removedMeanwhile == nil, steps < 100 {
            _ = first.server.stepwise.stepBlobs()
            first.server.turn()
            steps += 1
        }
        #expect(loaded.removedMeanwhile == [])
        first.server.turn(after: 10_000_000_000)
        first.server.areBlobsHeld = false
        first.server.settle()
        #expect(first.blobs == 1 && loaded.database.blobs.count == 1)
        #expect(loaded.removedMeanwhile == nil)
    }
}
