@testable import BrumeKit
import BrumeLock
import BrumeModel
import BrumeSystem
import BrumeTestKit
import Foundation
import Testing

private let mebibyte = 1 << 20

/// A content with its checksum. Different numbers make different contents of one size.
private struct Content {
    let bytes: [UInt8]
    let checksum: AssetChecksum

    var whole: AssetContent { sized(UInt64(bytes.count)) }

    /// The same checksum with the size that a server claims.
    func sized(_ byteCount: UInt64) -> AssetContent {
        .plain(Asset(checksum: checksum, byteCount: byteCount, generation: 1))
    }

    init(_ number: UInt8, byteCount: Int = 100) {
        bytes = [UInt8](repeating: number, count: byteCount)
        checksum = AssetChecksum(SHA256.digest(bytes))!
    }
}

private func location(_ account: String? = "ada", container: String = "iCloud.test") -> AssetCache.Location {
    AssetCache.Location(
        account: account,
        database: DatabaseID(container: container, environment: .development, scope: .public, owner: ""))
}

extension AssetCache {
    fileprivate func content(
        _ content: Content, in place: Location = location(), isCancelled: () -> Bool = { false }
    ) throws(AssetError) -> AssetCacheLease? {
        try file(of: content.whole, in: place, isCancelled: isCancelled)
    }

    fileprivate func start(_ content: Content, in place: Location = location()) throws(AssetError) -> DownloadStart {
        try part(for: content.whole, in: place)
    }

    /// The part of a download that can begin or continue.
    fileprivate func part(_ content: Content, in place: Location = location()) throws -> AssetCachePart {
        let start = try start(content, in: place)
        guard case .part(let part) = start else { throw UnexpectedStart(start: "\(start)") }
        return part
    }

    @discardableResult
    fileprivate func download(_ content: Content, in place: Location = location()) throws -> AssetCacheLease {
        let part = try part(content, in: place)
        try part.append(Array(content.bytes[part.receivedByteCount...]))
        return try part.finish()
    }
}

private struct UnexpectedStart: Error { let start: String }

extension AssetCache.DownloadStart {
    fileprivate var isBeingWritten: Bool { if case .beingWritten = self { true } else { false } }
    fileprivate var lease: AssetCacheLease? { if case .cached(let lease) = self { lease } else { nil } }
}

@Suite("The cache of downloaded assets", .timeLimit(.minutes(1)))
struct AssetCacheTests {
    let folder: TestFolder
    /// A second later with each look, so that the order of uses shows. It is ahead of the disk's clock, so that a read
    /// by the test leaves a file's time as it is.
    private let clock = Clock()

    private final class Clock: Sendable {
        private let nanoseconds = Lock(Int64(Date().timeIntervalSince1970 + 3_600) * 1_000_000_000)
        func next() -> Int64 {
            nanoseconds.withLock {
                $0 += 1_000_000_000
                return $0
            }
        }
    }

    init() throws {
        folder = try TestFolder()
    }

    /// What another process, or a later one, has: it shares nothing but the folder.
    private func cache(byteCountMax: Int = 1_000_000_000) -> AssetCache {
        let clock = clock
        return AssetCache(stateFolder: folder.path, byteCountMax: byteCountMax) { clock.next() }
    }

    private func edit(_ path: String, _ change: (File) throws -> Void) throws {
        #expect(chmod(path, 0o600) == 0)
        let file = try File(path: path, mode: .write)
        try change(file)
    }

    private func overwriteFirstByte(_ path: String) throws {
        try edit(path) { file in try withUnsafeBytes(of: UInt8(255)) { try file.write($0, at: 0) } }
    }

    /// The names of all files below the folder.
    private func files() -> [String] {
        (FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? [])
            .filter { !FileSystem.isDirectory(folder.path + "/" + $0) }
            .map { String($0.split(separator: "/").last!) }
    }

    // MARK: Contents

    @Test("has nothing before anything was downloaded, and makes no folder for that")
    func nothing() throws {
        #expect(try cache().content(Content(1)) == nil)
        #expect(try FileSystem.list(folder.path) == [])
    }

    @Test("gives a finished content, in a file named after the checksum that nobody may write")
    func finished() throws {
        let cache = cache()
        let content = Content(1)
        let lease = try cache.download(content)
        #expect(try FileSystem.read(lease.path, limit: 1_000) == content.bytes)
        #expect(lease.fileURL.lastPathComponent == content.checksum.description)
        #expect(try FileSystem.permissions(lease.path) == 0o400)
        #expect(try FileSystem.permissions(folder.path + "/assets") == 0o700)
        #expect(try cache.content(content)?.path == lease.path)
        #expect(try cache.start(content).lease?.path == lease.path)
        #expect(files() == [content.checksum.description])
    }

    @Test("keeps an empty content")
    func empty() throws {
        let cache = cache()
        let content = Content(0, byteCount: 0)
        #expect(try FileSystem.size(cache.part(content).finish().path) == 0)
        #expect(try cache.content(content) != nil)
        #expect(try self.cache().content(content) != nil)
    }

    @Test("keeps accounts, containers and owners apart")
    func locations() throws {
        let cache = cache()
        let content = Content(1)
        let owned = AssetCache.Location(account: "ada", database: location().database.privateDatabase(of: "bob"))
        let places = [location(), location("bob"), location(nil), location(container: "iCloud.other"), owned]
        for (index, place) in places.enumerated() {
            for other in places[index...] { #expect(try cache.content(content, in: other) == nil) }
            try cache.download(content, in: place)
            #expect(try cache.content(content, in: place) != nil)
        }
        #expect(files().count == places.count)
    }

    @Test("is one for all that share a state folder")
    func shared() {
        #expect(AssetCache.shared(stateFolder: folder.path) === AssetCache.shared(stateFolder: folder.path))
        #expect(AssetCache.shared(stateFolder: folder.path) !== AssetCache.shared(stateFolder: folder.path + "/b"))
    }

    @Test("does not give a content of another size than asked for")
    func otherSize() throws {
        let cache = cache()
        let content = Content(1)
        try cache.download(content)
        #expect(try cache.file(of: content.sized(99), in: location()) == nil)
        #expect(try cache.file(of: content.sized(.max), in: location()) == nil)
    }

    // MARK: Changed files

    enum Damage: CaseIterable { case edited, truncated, grown, removed, replaced, folder }

    private func damage(_ path: String, _ damage: Damage) throws {
        switch damage {
        case .edited: try overwriteFirstByte(path)
        case .truncated: try edit(path) { try $0.truncate(to: 50) }
        case .grown: try edit(path) { try $0.truncate(to: 150) }
        case .removed: try FileSystem.remove(path)
        case .replaced: try FileSystem.atomicReplace(path, [UInt8](repeating: 9, count: 100))
        case .folder:
            try FileSystem.remove(path)
            try FileSystem.makeDirectory(path)
        }
    }

    @Test("notices that a file was changed, in this process and a later one", arguments: Damage.allCases)
    func damaged(kind: Damage) throws {
        let cache = cache()
        let content = Content(1)
        let lease = try cache.download(content)
        try damage(lease.path, kind)
        #expect(try cache.content(content) == nil)
        #expect(try self.cache().content(content) == nil)
    }

    @Test(
        "downloads a changed file anew, under the same path",
        arguments: Damage.allCases.filter { $0 != .folder })
    func downloadedAnew(kind: Damage) throws {
        let cache = cache()
        let content = Content(1)
        let lease = try cache.download(content)
        try damage(lease.path, kind)
        #expect(try cache.download(content).path == lease.path)
        #expect(try FileSystem.read(lease.path, limit: 1_000) == content.bytes)
        #expect(try FileSystem.permissions(lease.path) == 0o400)
        #expect(try cache.content(content) != nil)
    }

    @Test("takes the same content for unchanged, whoever wrote it, and makes it read-only again")
    func rewritten() throws {
        let cache = cache()
        let content = Content(1)
        let lease = try cache.download(content)
        try FileSystem.atomicReplace(lease.path, content.bytes)
        #expect(try cache.content(content) != nil)
        #expect(try FileSystem.permissions(lease.path) == 0o400)
    }

    @Test("is not disturbed by files and folders that are not its own")
    func strangers() throws {
        let content = Content(1)
        let lease = try cache().download(content)
        let database = FileSystem.directory(of: lease.path)
        let account = FileSystem.directory(of: database)
        for parent in [database, account, folder.path + "/assets"] {
            try FileSystem.atomicReplace(parent + "/index", [1, 2, 3])
            try FileSystem.makeDirectory(parent + "/folder")
            try FileManager.default.createSymbolicLink(atPath: parent + "/link", withDestinationPath: "nowhere")
            #expect(mkfifo(parent + "/pipe", 0o600) == 0)
        }
        let cache = cache(byteCountMax: 150)
        #expect(try cache.content(content) != nil)
        try cache.download(Content(2))
        #expect(try cache.content(content) == nil)
    }

    @Test("stops the check of a file when the caller cancels, and keeps the file")
    func cancelledCheck() throws {
        let content = Content(1)
        try cache().download(content)
        let cache = cache()
        #expect(throws: AssetError.cancelled) { try cache.content(content) { true } }
        #expect(try cache.content(content) != nil)
    }

    // MARK: Parts

    @Test(
        "continues a download after the last whole MiB",
        arguments: [(0, 0), (1, 0), (mebibyte - 1, 0), (mebibyte, mebibyte), (2 * mebibyte + 5, 2 * mebibyte)])
    func continued(received: Int, kept: Int) throws {
        let content = Content(1, byteCount: 2 * mebibyte + 10)
        do {
            let part = try cache().part(content)
            #expect(part.receivedByteCount == 0)
            try part.append(Array(content.bytes[..<received]))
        }
        #expect(files() == [content.checksum.description + ".part"])
        let cache = cache()
        #expect(try cache.content(content) == nil)
        let part = try cache.part(content)
        #expect(part.receivedByteCount == kept)
        try part.append(Array(content.bytes[kept...]))
        #expect(try FileSystem.read(part.finish().path, limit: 3 * mebibyte) == content.bytes)
        #expect(files() == [content.checksum.description])
    }

    @Test("finishes a part that was complete already")
    func complete() throws {
        let content = Content(1, byteCount: mebibyte)
        try cache().part(content).append(content.bytes)
        let part = try cache().part(content)
        #expect(part.receivedByteCount == mebibyte)
        _ = try part.finish()
    }

    @Test("begins anew when a part is longer than the content")
    func tooLong() throws {
        let content = Content(1)
        let path = try cache().part(content).path + ".part"
        try FileSystem.atomicReplace(path, [UInt8](repeating: 1, count: 2 * mebibyte))
        #expect(try cache().part(content).receivedByteCount == 0)
    }

    @Test("removes a part with a wrong byte, and says so")
    func wrongByte() throws {
        let content = Content(1, byteCount: mebibyte + 10)
        let path = try cache().part(content).path
        try FileSystem.atomicReplace(path + ".part", [UInt8](repeating: 2, count: mebibyte))
        let part = try cache().part(content)
        #expect(part.receivedByteCount == mebibyte)
        try part.append(Array(content.bytes[mebibyte...]))
        #expect(throws: AssetError.damaged) { try part.finish() }
        #expect(files() == [])
        #expect(try cache().part(content).receivedByteCount == 0)
    }

    @Test("removes a part that gets more bytes than the content has, and writes none of them")
    func tooMany() throws {
        let part = try cache().part(Content(1))
        try part.append([UInt8](repeating: 1, count: 60))
        #expect(throws: AssetError.damaged) { try part.append([UInt8](repeating: 1, count: 41)) }
        #expect(files() == [])
    }

    @Test("does not finish a part that is too short, and keeps it")
    func tooFew() throws {
        let content = Content(1)
        let part = try cache().part(content)
        try part.append([UInt8](repeating: 1, count: 60))
        #expect(throws: AssetError.incomplete(missingByteCount: 40)) { try part.finish() }
        try part.append([UInt8](repeating: 1, count: 40))
        _ = try part.finish()
        #expect(files() == [content.checksum.description])
    }

    @Test("does not finish a part that somebody cut while it was written")
    func cutPart() throws {
        let content = Content(1)
        let part = try cache().part(content)
        try part.append(content.bytes)
        try File(path: part.path + ".part", mode: .write).truncate(to: 50)
        #expect(throws: AssetError.damaged) { try part.finish() }
        #expect(files() == [])
    }

    @Test("stops reading a part when the caller cancels, and keeps the part")
    func cancelledPart() throws {
        let content = Content(1, byteCount: 3 * mebibyte)
        try cache().part(content).append(Array(content.bytes[..<(2 * mebibyte)]))
        let cache = cache()
        var pieces = 0
        #expect(throws: AssetError.cancelled) {
            try cache.part(for: content.whole, in: location()) {
                pieces += 1
                return pieces == 2
            }
        }
        #expect(try cache.part(content).receivedByteCount == 2 * mebibyte)
    }

    @Test("says that a content is being written, in this process and in another, until the download ends")
    func beingWritten() throws {
        let (cache, other) = (cache(), cache())
        let content = Content(1)
        do {
            let part = try cache.part(content)
            #expect(try cache.start(content).isBeingWritten)
            #expect(try other.start(content).isBeingWritten)
            _ = try (cache.part(Content(2)), other.part(content, in: location("bob")))
            withExtendedLifetime(part) {}
        }
        let part = try other.part(content)
        #expect(try cache.start(content).isBeingWritten)
        try part.append(content.bytes)
        let lease = try part.finish()
        #expect(try cache.start(content).lease?.path == lease.path)
        #expect(try other.start(content).lease?.path == lease.path)
    }

    @Test("lets one of many download a content, and gives it to all")
    func manyDownloads() throws {
        let caches = [cache(), cache()]
        let content = Content(1, byteCount: 100_000)
        let downloads = Lock(0)
        let failures = Lock<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 16) { index in
            do {
                while true {
                    switch try caches[index % 2].start(content) {
                    case .cached(let lease):
                        guard try FileSystem.read(lease.path, limit: 200_000) == content.bytes else {
                            failures.withLock { $0.append("other bytes") }
                            return
                        }
                        return
                    case .beingWritten: sched_yield()
                    case .part(let part):
                        downloads.withLock { $0 += 1 }
                        try part.append(content.bytes)
                        _ = try part.finish()
                    }
                }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(downloads.withLock { $0 } == 1)
    }

    // MARK: Faults of the disk

    @Test("reports a full disk, and leaves nothing under the content's name")
    func fullDisk() throws {
        let cache = cache()
        let content = Content(1)
        let path = try cache.part(content).path
        // Whatever is written to this device meets a full disk.
        try FileSystem.remove(path + ".part")
        try FileManager.default.createSymbolicLink(atPath: path + ".part", withDestinationPath: "/dev/full")
        // The device is one for everybody who runs this test at the moment.
        var start = try cache.start(content)
        while start.isBeingWritten {
            sched_yield()
            start = try cache.start(content)
        }
        guard case .part(let part) = start else { throw UnexpectedStart(start: "\(start)") }
        #expect { try part.append(content.bytes) } throws: { error in
            if case .diskFull? = error as? AssetError { true } else { false }
        }
        #expect(part.receivedByteCount == 0)
        #expect(throws: AssetError.incomplete(missingByteCount: 100)) { try part.finish() }
        #expect(!FileSystem.exists(path))
        #expect(try cache.content(content) == nil)
    }

    @Test("reports what keeps it from writing, and goes on once that is gone")
    func unusableFolder() throws {
        func isFailure(_ error: any Error) -> Bool {
            if case .failed? = error as? AssetError { true } else { false }
        }
        let cache = cache()
        let content = Content(1)
        let assets = try folder.write("assets", "a file instead of the folder")
        #expect { try cache.part(content) } throws: { isFailure($0) }
        #expect(try cache.content(content) == nil)
        #expect { try cache.removeAll(account: "ada") } throws: { isFailure($0) }
        try FileSystem.remove(assets)

        let path = try cache.part(content).path
        try FileSystem.remove(path + ".part")
        try FileSystem.makeDirectory(path + ".part")
        #expect { try cache.part(content) } throws: { isFailure($0) }
        try FileSystem.removeDirectory(path + ".part")

        try FileSystem.makeDirectory(path)
        #expect { try cache.download(content) } throws: { isFailure($0) }
        try FileSystem.removeDirectory(path)
        try cache.download(content)
        #expect(files() == [content.checksum.description])
    }

    @Test("goes on when its folder was removed, also in the midst of a download")
    func missingFolder() throws {
        let cache = cache()
        let content = Content(1)
        try cache.download(content)
        try FileSystem.removeTree(folder.path + "/assets")
        #expect(try cache.content(content) == nil)
        let part = try cache.part(content)
        try FileSystem.removeTree(folder.path + "/assets")
        try part.append(content.bytes)
        #expect(throws: AssetError.self) { try part.finish() }
        try cache.download(content)
        #expect(try cache.content(content) != nil)
    }

    @Test("takes a size that no disk has for a full disk, or begins, and does not trap")
    func absurdSizes() throws {
        let cache = cache(byteCountMax: 1_000)
        let kept = Content(3)
        let lease = try cache.download(kept)
        #expect {
            _ = try cache.part(for: Content(1).sized(.max), in: location())
        } throws: { error in
            if case .diskFull? = error as? AssetError { true } else { false }
        }
        let starts = try [Content(1), Content(2)].map {
            try cache.part(for: $0.sized(UInt64(Int.max)), in: location())
        }
        #expect(starts.count == 2)
        #expect(try cache.content(kept)?.path == lease.path)
    }

    // MARK: The limit

    @Test("removes what was used least recently when it is full")
    func leastRecentlyUsed() throws {
        let cache = cache(byteCountMax: 1_000)
        let contents = (0..<10).map { Content($0) }
        for content in contents { try cache.download(content) }
        for content in contents.prefix(3) { #expect(try cache.content(content) != nil) }
        // In a later process too: the disk knows what was used.
        let later = self.cache(byteCountMax: 1_000)
        try later.download(Content(10))
        for content in contents[3..<6] { #expect(try later.content(content) == nil) }
        for content in contents[..<3] + contents[6...] + [Content(10)] { #expect(try later.content(content) != nil) }
    }

    @Test("is never larger than the limit, whatever is downloaded", arguments: [100, 333, 1_000])
    func limit(byteCount: Int) throws {
        let cache = cache(byteCountMax: 1_000)
        for number in 0..<40 as Range<UInt8> {
            let part = try cache.part(Content(number, byteCount: byteCount))
            // What has yet to come is counted from the beginning.
            #expect(files().count <= 1_000 / byteCount)
            try part.append(Content(number, byteCount: byteCount).bytes)
            _ = try part.finish()
            #expect(files().count <= 1_000 / byteCount)
        }
        #expect(!files().isEmpty)
    }

    @Test("keeps a content until its last lease is released")
    func leases() throws {
        let cache = cache(byteCountMax: 300)
        let content = Content(0)
        let last: AssetCacheLease
        do {
            let first = try cache.download(content)
            last = try #require(try cache.content(content))
            for number in 1..<10 as Range<UInt8> { try cache.download(Content(number)) }
            #expect(FileSystem.exists(first.path))
        }
        for number in 10..<20 as Range<UInt8> { try cache.download(Content(number)) }
        #expect(FileSystem.exists(last.path))
    }

    @Test("takes a content away once its last lease is released")
    func released() throws {
        let cache = cache(byteCountMax: 300)
        let content = Content(0)
        let path = try cache.download(content).path
        for number in 1..<4 as Range<UInt8> { try cache.download(Content(number)) }
        #expect(!FileSystem.exists(path))
    }

    @Test("exceeds the limit rather than refuse a content when everything is leased")
    func allLeased() throws {
        let cache = cache(byteCountMax: 300)
        do {
            let leases = try (0..<6).map { try cache.download(Content($0)) }
            #expect(leases.allSatisfy { FileSystem.exists($0.path) })
            withExtendedLifetime(leases) {}
        }
        try cache.download(Content(6))
        #expect(files().count <= 3)
        #expect(try cache.content(Content(6)) != nil)
    }

    @Test("keeps a content that is larger than the limit while it is leased")
    func largerThanLimit() throws {
        let cache = cache(byteCountMax: 300)
        try cache.download(Content(1))
        do {
            let lease = try cache.download(Content(2, byteCount: 1_000))
            #expect(files() == [Content(2, byteCount: 1_000).checksum.description])
            withExtendedLifetime(lease) {}
        }
        try cache.download(Content(3))
        #expect(files() == [Content(3).checksum.description])
    }

    @Test("removes parts that nobody continues, and none that is being written, in this process or another")
    func partsAndLimit() throws {
        let (cache, other) = (cache(byteCountMax: 300), cache(byteCountMax: 300))
        do {
            let abandoned = try cache.part(Content(100))
            try abandoned.append([100])
        }
        let parts = try (cache.part(Content(101)), other.part(Content(102)))
        try parts.0.append([101])
        try parts.1.append([102])
        for number in 0..<6 as Range<UInt8> { try cache.download(Content(number)) }
        let names = withExtendedLifetime(parts) { files() }
        #expect(!names.contains("\(Content(100).checksum).part"))
        #expect(names.contains("\(Content(101).checksum).part"))
        #expect(names.contains("\(Content(102).checksum).part"))
    }

    // MARK: Accounts

    @Test("forgets an account with all that it has, leased or not, and no other account")
    func removedAccount() throws {
        let cache = cache()
        let content = Content(1)
        let lease = try cache.download(content)
        try cache.download(content, in: location(container: "iCloud.other"))
        do {
            let part = try cache.part(Content(2))
            try part.append([2])
        }
        for other in ["bob", nil] { try cache.download(content, in: location(other)) }
        try cache.removeAll(account: "ada")
        #expect(!FileSystem.exists(lease.path))
        #expect(try cache.content(content) == nil)
        #expect(files().count == 2)
        #expect(try cache.content(content, in: location("bob")) != nil)
        try cache.removeAll(account: nil)
        #expect(try cache.content(content, in: location(nil)) == nil)
        try cache.removeAll(account: "never seen")
        try cache.download(content)
        #expect(FileSystem.exists(lease.path))
    }

    @Test("fails a download that is finished after its account was removed")
    func removedWhileWritten() throws {
        let cache = cache()
        let content = Content(1)
        let part = try cache.part(content)
        try cache.removeAll(account: "ada")
        try part.append(content.bytes)
        // The next download of the same content is not touched by it.
        let next = try cache.part(content)
        #expect(throws: AssetError.self) { try part.finish() }
        #expect(!FileSystem.exists(part.path))
        try next.append(content.bytes)
        _ = try next.finish()
        #expect(try cache.content(content) != nil)
    }

    @Test("removes what an interrupted removal left")
    func interruptedRemoval() throws {
        try cache().download(Content(1))
        let assets = folder.path + "/assets"
        let account = try #require(try FileSystem.list(assets).first)
        try FileSystem.rename("\(assets)/\(account)", to: "\(assets)/removed-1")
        #expect(try cache().content(Content(1)) == nil)
        try cache().download(Content(2))
        #expect(files() == [Content(2).checksum.description])
    }
}
