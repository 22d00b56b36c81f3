import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("An earlier copy whose assets a new one takes over")
struct EarlierCopyTests {
    private let folder: Folder
    private let scene: BlobScene
    private let photo: BlobName
    private let film: BlobName
    /// The copy, on a disk of its own.
    private let earlier = SimulatedDisk()

    private static let filmContent = BlobScene.content(2_500_000, 2)

    init() throws {
        folder = try SnapshotTests.filled()
        scene = BlobScene(on: folder.disk)
        photo = try scene.store(BlobScene.content(700, 1))
        film = try scene.store(EarlierCopyTests.filmContent)
        try save("page", [photo, film])
        try FolderCopy(of: folder.disk, .idle, others: []).run(to: earlier, epoch: nil, salt: 5) { _ in }
    }

    private func save(_ name: String, _ blobs: [BlobName]) throws {
        let assets = try blobs.map { blob in
            let size = try scene.folder.contentByteCount(of: blob)
            return Asset(checksum: blob.checksum, byteCount: try #require(size), generation: blob.generation)
        }
        let saved = folder.desk.modify(
            policy: .changedKeys, saves: [.of(name, ["pages": .assets(assets)])], grants: assets)
        try folder.keep(try #require(saved.commit))
    }

    private func bytes(of name: BlobName) throws -> [UInt8] {
        try #require(earlier.contents(of: scene.path(of: name)))
    }

    private func find(_ name: BlobName, readsAll: Bool = false) throws -> EarlierCopy.Finding {
        let length = try #require(folder.disk.contents(of: scene.path(of: name))).count
        return try EarlierCopy(on: earlier, readsAll: readsAll).find(scene.path(of: name), byteCount: UInt64(length))
    }

    /// A new copy that takes over what it can, and the paths of that.
    private func renew(readsAll: Bool) throws -> (disk: SimulatedDisk, shared: Set<String>) {
        let target = SimulatedDisk()
        let copy = try EarlierCopy(on: earlier, readsAll: readsAll)
        var shared = Set<String>()
        try FolderCopy(of: folder.disk, .idle, others: []).run(
            to: target, epoch: nil, salt: 6,
            adopting: { (path, byteCount) in
                guard case .whole = copy.find(path, byteCount: byteCount), let bytes = earlier.contents(of: path) else {
                    return false
                }
                target.replace(path, with: bytes)
                shared.insert(path)
                return true
            }, progress: { _ in })
        return (target, shared)
    }

    @Test("gives those that are whole, and a new copy with them is sound, whichever of the two is the newer one")
    func whole() throws {
        let new = try scene.store(BlobScene.content(1_234, 7))
        try save("new", [new])
        for readsAll in [false, true] {
            #expect(try find(photo, readsAll: readsAll) == .whole(contentBytes: 700))
            #expect(try find(film, readsAll: readsAll) == .whole(contentBytes: 2_500_000))
            #expect(try find(new, readsAll: readsAll) == .absent)
            let (target, shared) = try renew(readsAll: readsAll)
            #expect(shared == [scene.path(of: photo), scene.path(of: film)])
            let verification = try Verification(of: target)
            #expect(verification.isSound && verification.assets.wholeCount == 3)
        }
        // The folder is an older state than the copy.
        try folder.disk.remove(scene.path(of: new))
        #expect(try renew(readsAll: true).shared.count == 2)
    }

    @Test("does not give one whose end has any other byte, nor one of another length")
    func ends() throws {
        let path = scene.path(of: photo)
        let whole = try bytes(of: photo)
        for index in 700..<whole.count {
            for bit in 0..<8 {
                var damaged = whole
                damaged[index] ^= 1 << bit
                earlier.replace(path, with: damaged)
                #expect(try find(photo) == .damaged, "byte \(index), bit \(bit)")
            }
        }
        for damaged in [Array(whole.dropLast()), whole + [0], [], Array(repeating: 0, count: whole.count)] {
            earlier.replace(path, with: damaged)
            #expect(try find(photo) == .damaged)
        }
        // Whole, and of another blob.
        let other = try scene.store(BlobScene.content(700, 9))
        earlier.replace(path, with: folder.disk.contents(of: scene.path(of: other)))
        #expect(try find(photo) == .damaged)
        let (target, shared) = try renew(readsAll: false)
        #expect(shared == [scene.path(of: film)])
        #expect(try Verification(of: target).isSound)
    }

    @Test("does not give one that the disk does not read")
    func unreadable() throws {
        earlier.faults.unreadablePart = film.fileName
        #expect(try find(film) == .damaged && find(photo) == .whole(contentBytes: 700))
    }

    @Test("gives one that is damaged in its midst only where it is not read, and then a verification finds it")
    func content() throws {
        var damaged = try bytes(of: film)
        damaged[1_700_000] ^= 4
        earlier.replace(scene.path(of: film), with: damaged)
        #expect(try find(film, readsAll: true) == .damaged)
        let read = try renew(readsAll: true)
        #expect(read.shared == [scene.path(of: photo)])
        #expect(try Verification(of: read.disk).isSound)

        #expect(try find(film) == .whole(contentBytes: 2_500_000))
        let unread = try renew(readsAll: false)
        #expect(try Verification(of: unread.disk).assets.problems.map(\.file) == [scene.path(of: film)])
    }

    @Test("leaves a verification to read what is new, and to look at the ends of all else")
    func verification() throws {
        let (target, shared) = try renew(readsAll: false)
        let path = scene.path(of: film)
        var damaged = try bytes(of: film)
        damaged[1_700_000] ^= 4
        target.replace(path, with: damaged)
        let trusting = try Verification(of: target, exceptContentOf: shared.contains)
        #expect(trusting.isSound && trusting.assets.unreadCount == 2 && trusting.assets.wholeCount == 2)
        #expect(trusting.assets.wholeByteCount == 2_500_700)
        let half = try Verification(of: target, exceptContentOf: { $0 != path })
        #expect(half.assets.problems.map(\.file) == [path] && half.assets.unreadCount == 1)
        damaged.removeLast()
        target.replace(path, with: damaged)
        #expect(try !Verification(of: target, exceptContentOf: shared.contains).isSound)
        try target.remove(path)
        #expect(try !Verification(of: target, exceptContentOf: shared.contains).isSound)
    }

    @Test("saves the bytes of what it has")
    func byteCount() throws {
        let copy = try FolderCopy(of: folder.disk, .idle, others: [])
        let without = try copy.byteCount(beside: EarlierCopy(on: earlier, readsAll: false))
        #expect(without == copy.byteCount - copy.assets.byteCount)
        let new = try scene.store(BlobScene.content(1_234, 7))
        let length = UInt64(try #require(folder.disk.contents(of: scene.path(of: new))).count)
        #expect(try copy.byteCount(beside: EarlierCopy(on: earlier, readsAll: false)) == without + length)
    }

    @Test("is none when it is not complete")
    func incomplete() throws {
        try earlier.remove(MetaFile.path)
        #expect(throws: StoreError.self) { try EarlierCopy(on: earlier, readsAll: false) }
    }
}
