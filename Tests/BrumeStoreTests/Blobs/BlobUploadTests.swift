import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("An upload")
struct BlobUploadTests {
    private static let mebibyte = 1 << 20
    private let scene = BlobScene()

    /// The folder as the next process finds it, and what is kept there of uploads.
    private func restarted(_ crash: ((SimulatedDisk) -> Void)? = nil) throws -> (BlobScene, [BlobFolder.KeptUpload]) {
        if let crash { crash(scene.disk) } else { scene.disk.endProcess() }
        let next = BlobScene(on: scene.disk)
        return (next, try next.folder.recoverUploads())
    }

    /// An upload of a MiB that is durable.
    private func begunUpload() throws -> BlobUpload {
        let upload = try scene.open(BlobScene.identity(Self.mebibyte))
        try upload.append(BlobScene.content(Self.mebibyte, 1))
        try upload.checkpoint()
        return upload
    }

    @Test("goes on after what was made durable, and becomes what it would have been")
    func resuming() throws {
        let content = BlobScene.content(5 * Self.mebibyte / 2, 1)
        let identity = try BlobScene.identity(content.count)
        let upload = try scene.open(identity)
        try upload.append(Array(content[..<(Self.mebibyte + 700_000)]))
        try upload.checkpoint()
        #expect(upload.durableByteCount == UInt64(Self.mebibyte), "whole MiBs")
        try upload.append(Array(content[(Self.mebibyte + 700_000)..<(2 * Self.mebibyte)]))
        let (next, kept) = try restarted { $0.crash(seed: 1, .nothing) }
        #expect(kept == [.begun(identity, durableByteCount: UInt64(Self.mebibyte))])
        let resumed = try next.open(identity)
        #expect(resumed.byteCount == UInt64(Self.mebibyte) && !resumed.isWhole)
        try resumed.append(Array(content[Self.mebibyte...]))
        let name = try next.seal(resumed, generation: 5)
        #expect(try next.content(of: name) == content)
        // A client that asks again is told the same, after a crash too.
        guard case .complete(name) = try next.folder.open(identity) else { throw TestFailure("it begins anew") }
        let (last, ended) = try restarted { $0.crash(seed: 2, .nothing) }
        #expect(ended == [.complete(identity, name)])
        try last.folder.forget([identity])
        #expect(last.incoming == [])
        #expect(try last.content(of: name) == content)
    }

    @Test("of which little is durable begins anew after a crash, and leaves nothing")
    func beginningAnew() throws {
        let upload = try scene.open(BlobScene.identity(2000))
        try upload.append([1, 2, 3])
        try upload.checkpoint()
        #expect(scene.incoming.count == 1 && upload.durableByteCount == 0, "less than a MiB is not noted")
        let (next, kept) = try restarted()
        #expect(kept == [] && next.incoming == [])
    }

    @Test("of which nothing is durable is removed when it is closed, since nobody could go on with it")
    func closing() throws {
        let upload = try scene.open(BlobScene.identity(2000))
        try upload.append([1, 2, 3])
        upload.close()
        #expect(scene.incoming == [])
        let other = try scene.open(BlobScene.identity(Self.mebibyte))
        try other.append([UInt8](repeating: 1, count: Self.mebibyte))
        try other.checkpoint()
        other.close()
        #expect(scene.incoming.count == 2)
    }

    @Test("is learnt of in pieces after a restart, however many were left")
    func recoveryInPieces() throws {
        for number in 0..<100 as Range<UInt8> {
            let upload = try scene.open(BlobScene.identity(Self.mebibyte, number))
            try upload.append(BlobScene.content(Self.mebibyte, number))
            try upload.checkpoint()
            upload.close()
        }
        let stray =
            try #require(scene.incoming.first).split(separator: "/").dropLast().joined(separator: "/") + "/z.part"
        scene.disk.replace(stray, with: [1])
        scene.disk.endProcess()
        let next = BlobScene(on: scene.disk)
        var recovery = try next.folder.makeRecovery()
        var (steps, uploads) = (0, Set<BlobUpload.Identity>())
        while !recovery.isDone {
            let learnt = try recovery.step()
            #expect(learnt.count <= UploadRecovery.filesPerStep)
            for case .begun(let upload, _) in learnt { uploads.insert(upload) }
            steps += 1
        }
        #expect(uploads.count == 100 && steps == 8)
        #expect(next.incoming.count == 200 && !next.incoming.contains(stray))
    }

    @Test("is due to be made durable each 32 MiB")
    func checkpoints() throws {
        let piece = [UInt8](repeating: 7, count: 8 * Self.mebibyte)
        let upload = try scene.open(BlobScene.identity(9 * piece.count))
        for number in 1...9 {
            try upload.append(piece)
            #expect(upload.isCheckpointDue == (number % 4 == 0), "\(number)")
            if upload.isCheckpointDue { try upload.checkpoint() }
        }
        #expect(upload.durableByteCount == UInt64(8 * piece.count))
    }

    @Test("does not go on when what its note says is not there, or is something else")
    func lostContent() throws {
        let content = BlobScene.content(2 * Self.mebibyte, 1)
        let identity = try BlobScene.identity(content.count)
        let upload = try scene.open(identity)
        try upload.append(content)
        try upload.checkpoint()
        scene.disk.syncEverything()
        let part = try #require(scene.incoming.first { $0.hasSuffix(".part") })
        for change in ["a bit", "the end", "another upload's"] {
            let next = BlobScene(on: scene.disk.copy())
            switch change {
            case "a bit": next.disk.flip(4, at: Self.mebibyte + 77, of: part)
            case "the end": next.disk.replace(part, with: Array(content.dropLast()))
            default: next.disk.replace(part, with: BlobScene.content(2 * Self.mebibyte, 2))
            }
            guard case .open(let resumed) = try next.folder.open(identity) else { throw TestFailure(change) }
            var isThere = true
            while isThere, !resumed.isCaughtUp { isThere = try resumed.catchUp() }
            #expect(!isThere && !resumed.isCaughtUp, "\(change)")
            #expect(try !resumed.catchUp(), "not then either")
            try resumed.discard()
            let anew = try next.open(identity)
            #expect(anew.byteCount == 0 && next.incoming.count == 1)
        }
        let next = BlobScene(on: scene.disk.copy())
        next.disk.replace(part, with: nil)
        #expect(try next.folder.recoverUploads() == [] && next.incoming == [])
    }

    @Test("whose note is damaged begins anew, whichever of its bytes it is, and whatever its length")
    func damagedNotes() throws {
        _ = try begunUpload()
        let note = try #require(scene.incoming.first { $0.hasSuffix(".note") })
        let bytes = try #require(scene.disk.contents(of: note))
        #expect(UploadNote(decoding: bytes)?.encoded == bytes)
        for offset in bytes.indices {
            var damaged = bytes
            damaged[offset] ^= 0x10
            #expect(UploadNote(decoding: damaged) == nil, "byte \(offset)")
            #expect(UploadNote(decoding: Array(bytes[..<offset])) == nil, "\(offset) bytes")
        }
        #expect(UploadNote(decoding: bytes + [0]) == nil)
        scene.disk.syncEverything()
        for damaged in [[], Array(bytes.dropLast()), [UInt8](repeating: 1, count: 100_000)] {
            let next = BlobScene(on: scene.disk.copy())
            next.disk.replace(note, with: damaged)
            #expect(try next.folder.recoverUploads() == [] && next.incoming == [])
        }
        // Nor does it when it is there under another one's name.
        let next = BlobScene(on: scene.disk.copy())
        let other = try BlobScene.identity(Self.mebibyte, 2).fileName(on: next.disk)
        let folder = note.prefix { $0 != "." }.split(separator: "/").dropLast().joined(separator: "/")
        for suffix in [".note", ".part"] {
            let moved = folder + "/" + other + suffix
            next.disk.replace(moved, with: next.disk.contents(of: note.dropLast(5) + suffix))
            next.disk.replace(note.dropLast(5) + suffix, with: nil)
        }
        #expect(try next.folder.recoverUploads() == [] && next.incoming == [])
    }

    @Test("is not kept from going on by files that are no uploads', or that can't be read")
    func oddFiles() throws {
        let upload = try begunUpload()
        scene.disk.syncEverything()
        let folder = try #require(scene.incoming.first).split(separator: "/").dropLast().joined(separator: "/")
        for name in ["README", "x.note", "y.part", "z.note.tmp", ".note"] {
            scene.disk.replace(folder + "/" + name, with: [1])
        }
        let (next, kept) = try restarted()
        #expect(kept == [.begun(upload.identity, durableByteCount: UInt64(Self.mebibyte))])
        #expect(next.incoming.count == 3 && next.incoming.contains(folder + "/README"))
        next.disk.faults.unreadablePart = ".note"
        #expect(try BlobScene(on: next.disk).folder.recoverUploads() == [])
        next.disk.faults.unreadablePart = nil
        #expect(try BlobScene(on: next.disk).folder.recoverUploads() == kept, "it may be read another time")
    }

    @Test("is open for one at a time, however it ends")
    func exclusiveness() throws {
        let identity = try BlobScene.identity(4)
        func isBusy() throws -> Bool {
            let opening = try scene.folder.open(identity)
            if case .busy = opening { return true }
            return false
        }
        for end in ["close", "discard", "seal", "end", "nothing refers to it"] {
            var upload: BlobUpload? = try scene.open(identity)
            #expect(try isBusy(), "\(end)")
            try scene.folder.forget([identity])
            try upload!.append([1, 2, 3, 4])
            #expect(try scene.folder.recoverUploads() == [] && scene.incoming.count == 1, "it stays")
            switch end {
            case "close": upload!.close()
            case "discard": try upload!.discard()
            case "seal": try scene.seal(upload!)
            case "end": try upload!.end(as: BlobName(checksum: upload!.finishChecksum(), generation: 1))
            default: upload = nil
            }
            #expect(try !isBusy(), "\(end)")
        }
    }

    @Test("has become nothing that anybody is told of before its name is durable")
    func unsyncedNames() throws {
        let content = BlobScene.content(Self.mebibyte, 1)
        let identity = try BlobScene.identity(content.count)
        // The bucket is there, and its names were synced.
        let other = try scene.store(content, generation: 9)
        let upload = try scene.open(identity)
        try upload.append(content)
        try upload.checkpoint()
        let name = BlobName(checksum: upload.finishChecksum(), generation: 1)
        try scene.folder.seal(upload, as: name)
        #expect(try !scene.folder.isDurable(name) && scene.folder.isDurable(other))
        #expect(try scene.folder.blobs(inBucket: name.bucket) == [other])
        guard case .busy = try scene.folder.open(identity) else { throw TestFailure("it is opened again") }
        try scene.folder.syncNames(of: [name])
        #expect(try scene.folder.isDurable(name))
        #expect(try scene.folder.blobs(inBucket: name.bucket) == [name, other])
        guard case .complete(name) = try scene.folder.open(identity) else { throw TestFailure("it begins anew") }
    }

    @Test("becomes a blob that is there already")
    func secondCopy() throws {
        let content = BlobScene.content(Self.mebibyte + 3, 1)
        let identity = try BlobScene.identity(content.count, 2)
        let name = try scene.store(content)
        let upload = try scene.open(identity)
        try upload.append(content)
        try upload.checkpoint()
        try upload.end(as: name)
        #expect(scene.incoming.count == 1, "its note")
        let (next, kept) = try restarted { $0.crash(seed: 1, .nothing) }
        #expect(kept == [.complete(identity, name)])
        #expect(try next.content(of: name) == content)
        // When that one is gone, so is what was said of it.
        #expect(try next.folder.remove([name]) == [])
        #expect(try next.folder.recoverUploads() == [] && next.incoming == [])
    }

    @Test("goes on from what was durable when its end failed, whichever call it was")
    func failedEnd() throws {
        let content = BlobScene.content(Self.mebibyte + 100_000, 1)
        let identity = try BlobScene.identity(content.count)
        for call in 0..<12 {
            let scene = BlobScene()
            let upload = try scene.open(identity)
            try upload.append(Array(content[..<Self.mebibyte]))
            try upload.checkpoint()
            try upload.append(Array(content[Self.mebibyte...]))
            let name = BlobName(checksum: upload.finishChecksum(), generation: 1)
            scene.disk.faults.failingCall = scene.disk.calls + call
            let isSealed = (try? scene.folder.seal(upload, as: name)) != nil
            scene.disk.endProcess()
            let next = BlobScene(on: scene.disk)
            let kept = try next.folder.recoverUploads()
            if isSealed {
                #expect(kept == [.complete(identity, name)])
            } else {
                #expect(kept == [.begun(identity, durableByteCount: UInt64(Self.mebibyte))], "call \(call)")
                let resumed = try next.open(identity)
                try resumed.append(Array(content[Self.mebibyte...]))
                #expect(try next.content(of: next.seal(resumed, generation: 2)) == content)
            }
        }
    }

    @Test("has become nothing that is durable when the call that gave it its name failed, though it was done")
    func failedRename() throws {
        let disk = FailingRenameDisk(scene.disk)
        let folder = BlobFolder(of: Desk.privateID, on: disk)
        // The names in the bucket were synced before.
        let content = BlobScene.content(Self.mebibyte, 1)
        let other = try scene.store(content, generation: 9)
        #expect(try folder.isDurable(other))
        let identity = try BlobScene.identity(content.count)
        guard case .open(let upload) = try folder.open(identity) else { throw TestFailure("it does not open") }
        try upload.append(content)
        try upload.checkpoint()
        let name = BlobName(checksum: upload.finishChecksum(), generation: 1)
        disk.failsAfterRenaming = true
        #expect(throws: DiskError.self) { try folder.seal(upload, as: name) }
        disk.failsAfterRenaming = false
        upload.close()
        guard case .complete(name) = try folder.open(identity) else { throw TestFailure("it is there") }
        scene.disk.crash(seed: 1, .nothing)
        #expect(try BlobScene(on: scene.disk).content(of: name) == content, "a client was told of it")
    }

    @Test("of one user is not another's, though both have one id")
    func users() throws {
        let mine = try scene.open(BlobScene.identity(4, user: "_a"))
        let other = try scene.open(BlobScene.identity(4, user: "_b"))
        try mine.append([1, 2, 3, 4])
        try other.append([5, 6, 7, 8])
        try other.discard()
        #expect(scene.incoming.count == 1)
        #expect(try scene.content(of: scene.seal(mine)) == [1, 2, 3, 4])
    }

    @Test("that begins again with another length has nothing of what was sent before")
    func again() throws {
        let content = BlobScene.content(Self.mebibyte + 5, 1)
        let first = try scene.open(BlobScene.identity(content.count))
        try first.append(content)
        try first.checkpoint()
        first.close()
        let second = try scene.open(BlobScene.identity(3))
        try second.append([1, 2, 3])
        #expect(try scene.content(of: scene.seal(second)) == [1, 2, 3])
        #expect(scene.incoming == [], "a small one has no note")
    }

    @Test(
        "never writes to a blob, though a power cut may leave the blob two names",
        arguments: ["close", "discard", "forget"], 0..<40 as Range<UInt64>)
    func twoNames(end: String, seed: UInt64) throws {
        let content = BlobScene.content(Self.mebibyte + 10, 1)
        let longer = try BlobScene.identity(3 * Self.mebibyte)
        let former = try scene.open(longer)
        try former.append(Array(content[..<Self.mebibyte]))
        try former.checkpoint()
        if end == "discard" { try former.discard() } else { former.close() }
        if end == "forget" { try scene.folder.forget([longer]) }
        // Another upload with its id begins alike, and becomes a blob whose names are not durable.
        let upload = try scene.open(BlobScene.identity(content.count))
        try upload.append(content)
        let name = BlobName(checksum: upload.finishChecksum(), generation: 1)
        try scene.folder.seal(upload, as: name)
        scene.disk.crash(seed: seed)
        let next = BlobScene(on: scene.disk)
        guard case .open(let resumed) = try next.folder.open(longer) else { throw TestFailure("it does not open") }
        while !resumed.isCaughtUp { guard try resumed.catchUp() else { break } }
        if resumed.isCaughtUp { try resumed.append([UInt8](repeating: 9, count: 100)) }
        for found in try next.folder.blobs(inBucket: name.bucket) {
            #expect(try next.content(of: found) == content)
        }
    }

    @Test("has become a blob that does not come back once it is removed")
    func removal() throws {
        let names = [try scene.store([1, 2, 3]), try scene.store([4, 5, 6])]
        #expect(try scene.folder.remove(names + names) == [])
        scene.disk.crash(seed: 1, .nothing)
        for name in names { #expect(try scene.folder.blobs(inBucket: name.bucket) == []) }
        let again = try scene.store([1, 2, 3])
        scene.disk.faults.failingCall = scene.disk.calls + 1
        #expect(try scene.folder.remove([again]) == [again], "what can't be removed is tried again")
        #expect(try scene.folder.remove([again]) == [])
    }

    @Test("goes on when the disk has room again, in whichever call it was full")
    func fullDisk() throws {
        let content = BlobScene.content(Self.mebibyte + 600_009, 1)
        var fulls = 0
        for call in 0..<40 {
            let scene = BlobScene()
            scene.disk.faults.fullCall = call
            func again<Value>(_ work: () throws -> Value) throws -> Value {
                do {
                    return try work()
                } catch let error as DiskError where error.isFull {
                    fulls += 1
                    return try work()
                }
            }
            let upload = try again { try scene.open(BlobScene.identity(content.count)) }
            try again { try upload.append(Array(content[..<1_500_000])) }
            try again { try upload.checkpoint() }
            try again { try upload.append(Array(content[1_500_000...])) }
            try upload.append([])
            let name = BlobName(checksum: upload.finishChecksum(), generation: 1)
            try upload.append([])
            try again { try scene.folder.seal(upload, as: name) }
            try scene.folder.syncNames(of: [name])
            #expect(try scene.content(of: name) == content, "call \(call)")
        }
        #expect(fulls > 5)
    }

    @Test("is one of many that several threads write at a time")
    func threads() async throws {
        let folder = scene.folder
        let names = try await withThrowingTaskGroup(of: [BlobName].self) { group in
            for number in 0..<8 as Range<UInt8> {
                group.addTask {
                    try (0..<10 as Range<UInt8>).map { kind in
                        let identity = try BlobScene.identity(1000, number, user: "_\(kind)")
                        guard case .open(let upload) = try folder.open(identity) else { throw TestFailure("busy") }
                        try upload.append(BlobScene.content(1000, kind))
                        let name = BlobName(
                            checksum: upload.finishChecksum(), generation: UInt64(number) * 100 + UInt64(kind))
                        try folder.seal(upload, as: name)
                        try folder.syncNames(of: [name])
                        return name
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        scene.disk.crash(seed: 1, .nothing)
        for name in names { #expect(try scene.content(of: name).count == 1000) }
        #expect(Set(names).count == 80)
        #expect(try scene.folder.remove(names) == [])
        for bucket in UInt8.min...UInt8.max { #expect(try scene.folder.blobs(inBucket: bucket) == []) }
    }
}

/// A disk that says of a rename that it failed, and has done it.
///
/// `@unchecked Sendable`: the test has one thread.
private final class FailingRenameDisk: ForwardingDisk, @unchecked Sendable {
    let disk: SimulatedDisk
    var failsAfterRenaming = false

    init(_ disk: SimulatedDisk) { self.disk = disk }

    func rename(_ path: String, to target: String) throws(DiskError) {
        try disk.rename(path, to: target)
        if failsAfterRenaming, target.hasSuffix(".note") == false {
            throw DiskError(call: "rename", path: path, message: "input/output error")
        }
    }
}
