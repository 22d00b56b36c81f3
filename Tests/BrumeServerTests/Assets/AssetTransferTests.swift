import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Assets are transferred", .timeLimit(.minutes(2)))
struct AssetTransferTests {
    private static func content(_ byteCount: Int, seed: UInt64 = 1) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        return (0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    private static func checksum(_ content: [UInt8]) -> AssetChecksum { AssetChecksum(SHA256.digest(content))! }

    private static var coder: MessageCoder { MessageCoder() }

    private static func id(_ number: UInt8) -> UploadID { UploadID([UInt8](repeating: number, count: 16))! }

    private static func save(
        _ assets: [Asset], _ name: String = "photo", by peer: FramePeer, zone: ZoneID = .defaultZone,
        database: DatabaseScope = .private
    ) throws -> ErrorCode? {
        let value: FieldValue = assets.count == 1 ? .asset(assets[0]) : .assets(assets)
        let field = assets.count == 1 ? "file" : "files"
        let save = RecordSave(name: name, type: "Photo", fields: [field: Optional(value)])
        let request = ModifyRecordsRequest<DecodedFields>(
            database: database, savePolicy: .changedKeys, zones: [ZoneModification(zone: zone, saves: [save])])
        let answer = try peer.call(.recordsModify, coder.encodeModifyRecordsRequest(request))
            .decoded(coder.decodeModifyRecordsResponse)
        if case .failure(let error) = answer[0].saves[0].outcome { return error.code }
        return nil
    }

    private static func download(
        _ asset: Asset, of name: String = "photo", field: String = "file", index: Int = 0, zone: ZoneID = .defaultZone,
        database: DatabaseScope = .private, offset: UInt64 = 0, byteCount: UInt64 = 0
    ) -> DownloadRequest {
        DownloadRequest(
            database: database, zone: zone, recordName: name, field: field, listIndex: index, checksum: asset.checksum,
            offset: offset, byteCount: byteCount)
    }

    @Test(
        "whole, whatever their sizes are, and come back byte for byte",
        arguments: [0, 1, 65_536, 65_537, 1_048_576, 3_000_001])
    func wholes(byteCount: Int) throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let content = Self.content(byteCount)
        let asset = try peer.upload(content, checksum: Self.checksum(content), id: Self.id(1))
        #expect(asset.byteCount == UInt64(byteCount) && !asset.receipt.isEmpty)
        #expect(try Self.save([asset], by: peer) == nil)
        #expect(try peer.download(Self.download(asset)) == content)
    }

    @Test("in part: from where a client wants, as much as it wants, and no more than there is")
    func ranges() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let content = Self.content(2_500_000)
        let asset = try peer.upload(content, checksum: Self.checksum(content), id: Self.id(1))
        #expect(try Self.save([asset], by: peer) == nil)
        for (offset, count) in [(1_048_575, 2), (1_000_000, 1_200_000), (2_499_999, 10), (2_500_000, 0)] {
            let request = Self.download(asset, offset: UInt64(offset), byteCount: UInt64(count))
            let expected = count == 0 ? content[offset...] : content[offset..<min(offset + count, content.count)]
            #expect(try peer.download(request) == Array(expected))
        }
        #expect(throws: ServiceError.self) { try peer.download(Self.download(asset, offset: 2_500_001)) }
    }

    @Test("on from what is durable of an upload that broke, in another connection or after a restart")
    func resumption() throws {
        let disk = SimulatedDisk()
        let content = Self.content(35 * 1024 * 1024)
        let checksum = Self.checksum(content)
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        let stream = peer.beginUpload(Self.id(1), byteCount: content.count)
        server.settle()
        #expect(try peer.uploadEvents(stream) == [.offset(0)])
        peer.sendContent(content[..<(34 * 1024 * 1024)], stream)
        peer.disconnect()
        server.settle()
        for run in 2...3 as ClosedRange<UInt32> {
            peer = try server.connect(account: "a")
            let again = peer.beginUpload(Self.id(1), byteCount: content.count)
            server.settle()
            #expect(try peer.uploadEvents(again) == [.offset(34 * 1024 * 1024)])
            peer.disconnect()
            server.settle()
            if run == 2 { server = try SteppedServer(disk: disk, run: run) }
        }
        peer = try server.connect(account: "a")
        let asset = try peer.upload(content, checksum: checksum, id: Self.id(1))
        #expect(try Self.save([asset], by: peer) == nil)
        #expect(try peer.download(Self.download(asset)) == content)
        // The id gives the same asset again.
        let again = try peer.upload(content, checksum: checksum, id: Self.id(1))
        #expect(again.generation == asset.generation)
    }

    @Test("and dropped when the content is not the one of its checksum, too short or too long")
    func wrongContents() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let content = Self.content(100_000)
        #expect(throws: ServiceError.self) {
            try peer.upload(content, checksum: Self.checksum([1]), id: Self.id(1))
        }
        let short = peer.beginUpload(Self.id(2), byteCount: 100_001)
        server.settle()
        peer.sendContent(content[...], short)
        peer.endUpload(short, checksum: Self.checksum(content))
        #expect(try peer.end(short)?.error?.code == .invalidArguments)
        let long = peer.beginUpload(Self.id(3), byteCount: 99_999)
        server.settle()
        peer.sendContent(content[...], long)
        #expect(try peer.end(long)?.error?.code == .invalidArguments)
        let endless = peer.beginUpload(Self.id(4), byteCount: 100_000)
        server.settle()
        peer.send(.message, stream: endless, isLast: true)
        server.settle()
        #expect(try peer.end(endless)?.error != nil)
        let hasty = peer.beginUpload(Self.id(5), byteCount: 100_000)
        peer.send(.message, stream: hasty, payload: Self.coder.encodeUploadMessage(.content([1])))
        server.settle()
        #expect(try peer.end(hasty)?.error?.code == .invalidArguments)
    }

    @Test("and a disk that is full in the midst fails the upload, whatever was sent behind that")
    func fullDisk() throws {
        let disk = SimulatedDisk()
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        let content = Self.content(200_000)
        let stream = peer.beginUpload(Self.id(1), byteCount: content.count)
        server.settle()
        disk.faults.capacityBytes = disk.paths.reduce(100_000) { $0 + (disk.contents(of: $1)?.count ?? 0) }
        for start in stride(from: 0, to: content.count, by: 65_536) {
            let chunk = Array(content[start..<min(start + 65_536, content.count)])
            peer.send(.message, stream: stream, payload: Self.coder.encodeUploadMessage(.content(chunk)))
        }
        peer.endUpload(stream, checksum: Self.checksum(content))
        #expect(try peer.end(stream)?.error?.code == .serviceUnavailable)
        disk.faults.capacityBytes = nil
        let asset = try peer.upload(content, checksum: Self.checksum(content), id: Self.id(1))
        #expect(try Self.save([asset], by: peer) == nil)
        #expect(try peer.download(Self.download(asset)) == content)
    }

    @Test("no further than to a disk of which a part is to stay free, and on when there is room again")
    func shortDisk() throws {
        let disk = SimulatedDisk()
        let server = try SteppedServer(disk: disk) { $0.assetFreePercent = 5 }
        let peer = try server.connect(account: "a")
        let content = Self.content(35 * 1024 * 1024)
        func setFree(percent: Int) {
            disk.faults.capacityBytes = disk.usedBytes * 100 / (100 - percent)
            server.turn(after: 1_000_000_000)
        }
        let stream = peer.beginUpload(Self.id(1), byteCount: content.count)
        server.settle()
        peer.sendContent(content[..<(34 * 1024 * 1024)], stream)
        #expect(try peer.end(stream) == nil)
        setFree(percent: 4)
        peer.sendContent(content[(34 * 1024 * 1024)...], stream)
        let error = try peer.end(stream)?.error
        #expect(error?.code == .serviceUnavailable && error?.retryAfterMilliseconds == 30_000)
        let refused = peer.beginUpload(Self.id(2), byteCount: 1)
        server.settle()
        #expect(try peer.end(refused)?.error?.code == .serviceUnavailable)
        // Records are saved all the same.
        try peer.save(["a"])
        setFree(percent: 90)
        let again = peer.beginUpload(Self.id(1), byteCount: content.count)
        server.settle()
        #expect(try peer.uploadEvents(again) == [.offset(32 * 1024 * 1024)])
        peer.sendContent(content[(32 * 1024 * 1024)...], again)
        peer.endUpload(again, checksum: Self.checksum(content))
        #expect(try peer.end(again)?.error == nil)
    }

    @Test("and the disk is asked for its room once a second, however many there are")
    func spaceLooks() throws {
        let disk = SimulatedDisk()
        let server = try SteppedServer(disk: disk) { $0.assetFreePercent = 5 }
        let peer = try server.connect(account: "a")
        for number in 0..<20 {
            let content = Self.content(200_000, seed: UInt64(number))
            _ = try peer.upload(content, checksum: Self.checksum(content), id: Self.id(UInt8(number)))
        }
        #expect(disk.spaceLookCount == 1)
        server.turn(after: 1_000_000_000)
        _ = try peer.upload([1], checksum: Self.checksum([1]), id: Self.id(99))
        #expect(disk.spaceLookCount == 2)
    }

    @Test("one beside the other on one connection, although none is read for long")
    func manyDownloads() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let content = Self.content(1_000_000)
        let asset = try peer.upload(content, checksum: Self.checksum(content), id: Self.id(1))
        #expect(try Self.save([asset], by: peer) == nil)
        let streams = (0..<20).map { _ in peer.beginDownload(Self.download(asset)) }
        server.settle()
        #expect(!peer.isReadingPaused)
        var received = [UInt32: Int]()
        for _ in 0..<20 {
            for stream in streams {
                for case .content(let bytes) in try peer.takeContent(stream) {
                    received[stream, default: 0] += bytes.count
                }
            }
            server.settle()
        }
        #expect(streams.allSatisfy { received[$0] == content.count })
    }

    @Test("down no further when the record names another asset meanwhile")
    func changedMeanwhile() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let (content, other) = (Self.content(3_000_000), Self.content(10))
        let asset = try peer.upload(content, checksum: Self.checksum(content), id: Self.id(1))
        let newer = try peer.upload(other, checksum: Self.checksum(other), id: Self.id(2))
        #expect(try Self.save([asset], by: peer) == nil)
        let stream = peer.beginDownload(Self.download(asset))
        server.settle()
        #expect(try !peer.takeContent(stream).isEmpty)
        #expect(try Self.save([newer], by: peer) == nil)
        var received = 0
        while try peer.end(stream) == nil, received < content.count {
            server.settle()
            for case .content(let bytes) in try peer.takeContent(stream) { received += bytes.count }
        }
        let error = try peer.end(stream)?.error
        #expect(error?.code == .assetNotAvailable && error?.detail == .assetChanged && received < content.count)
    }

    @Test("into one copy for the owner of a private database, and for others into a copy of their own")
    func copies() throws {
        let server = try SteppedServer()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let content = Self.content(100_000)
        func upload(_ number: UInt8, _ peer: FramePeer, _ database: DatabaseScope) throws -> UInt64 {
            let checksum = Self.checksum(content)
            return try peer.upload(content, checksum: checksum, id: Self.id(number), database: database).generation
        }
        let own = try upload(1, a, .private)
        #expect(try upload(2, a, .private) == own)
        let shared = try upload(3, a, .public)
        #expect(try upload(4, b, .public) != shared)
        #expect(try upload(5, a, .public) != shared)
    }

    @Test("and go from the disk when no record has named them for long, and not before")
    func sweeps() throws {
        let disk = SimulatedDisk()
        func start(_ run: UInt32) throws -> SteppedServer {
            try SteppedServer(disk: disk, run: run) {
                $0.service.assetGraceSeconds = 100
                $0.service.receiptSeconds = 50
                $0.service.assetSweepMilliseconds = 1_000
                $0.service.assetWalkDelayMilliseconds = 10_000
            }
        }
        func files() -> Int { disk.paths.count { $0.hasPrefix("assets/") && !$0.contains("incoming") } }
        var server = try start(1)
        var peer = try server.connect(account: "a")
        func pass(seconds: Int) {
            for _ in 0..<seconds {
                server.turn(after: 1_000_000_000)
                server.settle()
            }
        }
        let contents = (0..<3).map { Self.content(1_000, seed: UInt64($0)) }
        let assets = try contents.enumerated().map { number, content in
            try peer.upload(content, checksum: Self.checksum(content), id: Self.id(UInt8(number)))
        }
        #expect(try Self.save([assets[0]], "kept", by: peer) == nil)
        #expect(try Self.save([assets[1]], "replaced", by: peer) == nil)
        pass(seconds: 90)
        #expect(files() == 3)
        pass(seconds: 20)
        // Nobody named the third.
        #expect(files() == 2)
        peer = try server.connect(account: "a")
        let other = try peer.upload(contents[2], checksum: Self.checksum(contents[2]), id: Self.id(9))
        #expect(try Self.save([other], "replaced", by: peer) == nil && files() == 3)
        pass(seconds: 90)
        #expect(files() == 3)
        pass(seconds: 20)
        #expect(files() == 2)
        // What was uploaded before a restart is found by a walk, and then has its time.
        peer = try server.connect(account: "a")
        _ = try peer.upload(contents[1], checksum: Self.checksum(contents[1]), id: Self.id(10))
        #expect(files() == 3)
        server = try start(2)
        _ = try server.connect(account: "a")
        pass(seconds: 100)
        #expect(files() == 3)
        pass(seconds: 20)
        #expect(files() == 2)
        peer = try server.connect(account: "a")
        #expect(try peer.download(Self.download(assets[0], of: "kept")) == contents[0])
        #expect(try peer.download(Self.download(other, of: "replaced")) == contents[2])
    }

    @Test("64 at a time for an account, and a transfer that is refused at once takes no place")
    func places() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        for number in 0..<100 {
            let zone = ZoneID(name: "x", owner: server.userRecordName(ofAccount: 2))
            _ = peer.beginUpload(Self.id(UInt8(number)), byteCount: 10, zone: zone, database: .shared)
        }
        server.settle()
        server.areBlobsHeld = true
        let streams = (0..<65).map { peer.beginUpload(Self.id(UInt8($0)), byteCount: 10) }
        server.settle()
        #expect(try streams.dropLast().allSatisfy { try peer.end($0) == nil })
        #expect(try peer.end(streams[64])?.error?.code == .requestRateLimited)
        // The places of those that are cancelled are free when the disk has come to them.
        for stream in streams { peer.cancel(stream) }
        let late = peer.beginUpload(Self.id(99), byteCount: 10)
        server.settle()
        #expect(try peer.end(late)?.error?.code == .requestRateLimited)
        server.areBlobsHeld = false
        server.settle()
        let after = peer.beginUpload(Self.id(99), byteCount: 10)
        server.settle()
        #expect(try peer.uploadEvents(after) == [.offset(0)])
    }

    @Test("no longer when a client sends a byte now and then, which would keep a place from others for ever")
    func trickle() throws {
        let server = try SteppedServer { $0.connectionLimits.idleMilliseconds = 10_000_000 }
        let peer = try server.connect(account: "a")
        let slow = peer.beginUpload(Self.id(1), byteCount: 1_000_000)
        let steady = peer.beginUpload(Self.id(2), byteCount: 100_000_000)
        server.settle()
        for _ in 0..<20 {
            peer.sendContent([1], slow)
            peer.sendContent(Self.content(10_000)[...], steady)
            server.turn(after: 15_000_000_000)
            server.settle()
        }
        #expect(try peer.end(slow)?.error?.code == .networkFailure)
        #expect(try peer.end(steady) == nil)
    }

    @Test("in places of which no few accounts take all")
    func sharedPlaces() throws {
        let server = try SteppedServer()
        var counts: [Int] = []
        server.areBlobsHeld = true
        for account in ["a", "b", "c", "d", "e", "f"] {
            let peer = try server.connect(account: account)
            let streams = (0..<70 as Range<UInt8>).map { peer.beginUpload(Self.id($0), byteCount: 10) }
            server.settle()
            counts.append(try streams.count { try peer.end($0) == nil })
        }
        #expect(counts == [64, 64, 32, 16, 8, 4])
    }

    @Test("and nobody else's uploads take an owner's room, nor do an owner's that records name")
    func room() throws {
        let server = try SteppedServer()
        let peers = (try server.connect(account: "a"), try server.connect(account: "b"))
        let size = 250 * 1024 * 1024
        func begin(_ number: UInt8, _ peer: FramePeer) throws -> ErrorCode? {
            let stream = peer.beginUpload(Self.id(number), byteCount: size, database: .public)
            server.settle()
            return try peer.end(stream)?.error?.code
        }
        #expect(try begin(1, peers.0) == nil)
        #expect(try begin(2, peers.0) == .quotaExceeded)
        #expect(try begin(1, peers.1) == nil)
        peers.0.disconnect()
        server.settle()
        let again = try server.connect(account: "a")
        #expect(try begin(3, again) == nil)
    }

    @Test("to a zone that is there, and of a size that the server takes")
    func limits() throws {
        let server = try SteppedServer { $0.service.assetLimitBytes = 1_000 }
        let peer = try server.connect(account: "a")
        let large = peer.beginUpload(Self.id(1), byteCount: 1_001)
        let nowhere = peer.beginUpload(Self.id(2), byteCount: 10, zone: ZoneID(name: "nowhere"))
        let elsewhere = peer.beginUpload(
            Self.id(3), byteCount: 10, zone: ZoneID(name: "x", owner: server.userRecordName(ofAccount: 2)),
            database: .shared)
        server.settle()
        #expect(try peer.end(large)?.error?.code == .limitExceeded)
        #expect(try peer.end(nowhere)?.error?.code == .zoneNotFound)
        #expect(try peer.end(elsewhere)?.error?.code == .zoneNotFound)
        let anonymous = try server.connect(account: nil)
        let stream = anonymous.beginUpload(Self.id(4), byteCount: 10, database: .public)
        server.settle()
        #expect(try anonymous.end(stream)?.error?.code == .notAuthenticated)
    }

    @Test("and their receipts are of use to their user alone, in their zone alone, for a day")
    func receipts() throws {
        let server = try SteppedServer()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        try a.makeZone("notes")
        let content = Self.content(1_000)
        let asset = try a.upload(content, checksum: Self.checksum(content), id: Self.id(1))
        #expect(try Self.save([asset], by: a, zone: ZoneID(name: "notes")) == .assetNotAvailable)
        #expect(try Self.save([asset], by: b) == .assetNotAvailable)
        #expect(try Self.save([asset], by: a, database: .public) == .assetNotAvailable)
        var bare = asset
        bare.receipt = []
        #expect(try Self.save([bare], by: a) == .assetNotAvailable)
        for index in [0, 1, 20, asset.receipt.count - 1] {
            var forged = asset
            forged.receipt[index] ^= 1
            #expect(try Self.save([forged], by: a) == .assetNotAvailable)
        }
        #expect(try Self.save([asset], by: a) == nil)
        #expect(try Self.save([bare], by: a) == nil)
        #expect(try Self.save([asset, asset], "list", by: a) == nil)
        server.turn(after: 25 * 3_600 * 1_000_000_000)
        let later = try server.connect(account: "a")
        #expect(try Self.save([asset], "late", by: later) == .assetNotAvailable)
    }

    @Test("and named after a restart by a receipt from before it, if the file is there still")
    func receiptsAfterRestart() throws {
        let disk = SimulatedDisk()
        var server = try SteppedServer(disk: disk)
        let content = Self.content(5_000)
        let asset = try server.connect(account: "a").upload(content, checksum: Self.checksum(content), id: Self.id(1))
        server = try SteppedServer(disk: disk, run: 2)
        var peer = try server.connect(account: "a")
        #expect(try Self.save([asset], by: peer) == nil)
        #expect(try peer.download(Self.download(asset)) == content)
        // A file that is gone is no asset, whatever a receipt says.
        let other = Self.content(5_000, seed: 2)
        let lost = try peer.upload(other, checksum: Self.checksum(other), id: Self.id(2))
        for path in disk.paths where path.contains(lost.checksum.description) { try disk.remove(path) }
        server = try SteppedServer(disk: disk, run: 3)
        peer = try server.connect(account: "a")
        #expect(try Self.save([lost], "lost", by: peer) == .assetNotAvailable)
    }

    @Test("down to those alone who may see the field that names them now")
    func visibility() throws {
        let server = try SteppedServer()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let (content, other) = (Self.content(1_000), Self.content(1_000, seed: 2))
        let asset = try a.upload(content, checksum: Self.checksum(content), id: Self.id(1))
        let newer = try a.upload(other, checksum: Self.checksum(other), id: Self.id(2))
        #expect(try Self.save([asset], by: a) == nil)
        func code(_ request: DownloadRequest, _ peer: FramePeer) -> (ErrorCode?, ServiceError.Detail?) {
            do {
                _ = try peer.download(request)
                return (nil, nil)
            } catch {
                let error = error as? ServiceError
                return (error?.code, error?.detail)
            }
        }
        #expect(code(Self.download(asset), b) == (.assetNotAvailable, ServiceError.Detail.none))
        #expect(code(Self.download(asset, of: "none"), a) == (.assetNotAvailable, ServiceError.Detail.none))
        #expect(
            code(Self.download(asset, zone: ZoneID(name: "none")), a) == (.assetNotAvailable, ServiceError.Detail.none))
        #expect(code(Self.download(newer), a) == (.assetNotAvailable, .assetChanged))
        #expect(code(Self.download(asset, index: 1), a) == (.assetNotAvailable, .assetChanged))
        #expect(try Self.save([newer, asset], by: a) == nil)
        #expect(code(Self.download(asset, field: "files"), a) == (.assetNotAvailable, .assetChanged))
        #expect(try a.download(Self.download(asset, field: "files", index: 1)) == content)
        #expect(try Self.save([newer], by: a) == nil)
        #expect(code(Self.download(asset), a) == (.assetNotAvailable, .assetChanged))
    }
}
