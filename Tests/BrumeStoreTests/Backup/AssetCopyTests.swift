import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("Assets in copies of a data folder")
struct AssetCopyTests {
    private let folder: Folder
    private let scene: BlobScene
    /// What records name, and what none names.
    private let photo: BlobName
    private let film: BlobName
    private let unnamed: BlobName

    private static let filmContent = BlobScene.content(2_500_000, 2)

    init() throws {
        folder = try SnapshotTests.filled()
        scene = BlobScene(on: folder.disk)
        photo = try scene.store(BlobScene.content(700, 1))
        film = try scene.store(AssetCopyTests.filmContent)
        unnamed = try scene.store(BlobScene.content(90, 3))
        try AssetCopyTests.save("page", [photo, film], in: folder)
        try AssetCopyTests.save("other", [photo], in: folder)
        try folder.log.writeSnapshot(folder.desk.database.capture())
        // Some of an upload.
        let upload = try scene.open(BlobScene.identity(5_000_000, 9))
        try upload.append(BlobScene.content(2_000_000, 9))
        try upload.checkpoint()
        upload.close()
    }

    /// Saves a record that names contents, durably. The page's are encrypted.
    private static func save(_ name: String, _ blobs: [BlobName], in folder: Folder) throws {
        let assets = try blobs.map { blob in
            let size = try BlobScene(on: folder.disk).folder.contentByteCount(of: blob)
            return Asset(checksum: blob.checksum, byteCount: try #require(size), generation: blob.generation)
        }
        let value = name == "page" ? EncryptedSamples.assets(assets) : .assets(assets)
        let saved = folder.desk.modify(
            policy: .changedKeys, saves: [.of(name, ["pages": value])], grants: assets)
        #expect(saved.result.saveCodes == [nil])
        try folder.keep(try #require(saved.commit))
    }

    /// A copy that went through a power cut: in a folder, or in a file and out of it.
    private func copy(_ kind: FolderCopy.Source, throughFile: Bool) throws -> SimulatedDisk {
        let target = SimulatedDisk()
        let copy = try FolderCopy(of: folder.disk, kind, others: [])
        guard throughFile else {
            try copy.run(to: target, epoch: nil, salt: 5) { _ in }
            target.crash(seed: 1, .nothing)
            return target
        }
        let disk = SimulatedDisk()
        try copy.run(toFile: "x.brume", on: disk, salt: 5) { _ in }
        let backup = try BackupFileDisk(reading: "x.brume", on: disk, others: [])
        try FolderCopy(of: backup, .idle, others: []).run(to: target, epoch: nil, salt: 5) { _ in }
        target.crash(seed: 1, .nothing)
        return target
    }

    @Test("are there, whole, and uploads are not", arguments: [FolderCopy.Source.idle, .inUse], [false, true])
    func copies(kind: FolderCopy.Source, throughFile: Bool) throws {
        let copy = try copy(kind, throughFile: throughFile)
        let verification = try Verification(of: copy)
        #expect(verification.isSound)
        let assets = verification.assets
        #expect(assets.wholeCount == 2 && assets.wholeByteCount == 2_500_700 && assets.unnamedCount == 1)
        #expect(try assets == Verification(of: folder.disk).assets)
        let copied = BlobScene(on: copy)
        #expect(try copied.content(of: film) == AssetCopyTests.filmContent)
        #expect(copied.incoming.isEmpty && !scene.incoming.isEmpty)
    }

    @Test("come with what tells whose they are, where the names of their folders don't", arguments: [false, true])
    func longNames(throughFile: Bool) throws {
        let id = DatabaseID(
            container: String(repeating: "x", count: 190), environment: .production, scope: .private, owner: "_ada")
        let other = BlobFolder(of: id, on: folder.disk)
        guard case .open(let upload) = try other.open(BlobScene.identity(3)) else { throw TestFailure("busy") }
        try upload.append([1, 2, 3])
        let name = BlobName(checksum: upload.finishChecksum(), generation: 1)
        try other.seal(upload, as: name)
        try other.syncNames(of: [name])
        let copy = try copy(.inUse, throughFile: throughFile)
        #expect(try DatabaseFolders.databases(on: copy).contains(id))
        #expect(try Verification(of: copy).isSound)
    }

    @Test("count among the bytes that are to be copied, and the copy tells how many it has")
    func progress() throws {
        let copy = try FolderCopy(of: folder.disk, .idle, others: [])
        #expect(copy.assets.files == 3 && copy.byteCount > copy.assets.byteCount)
        #expect(try copy.assets.byteCount == AssetVerification.byteCount(on: folder.disk))
        var done: [UInt64] = []
        try copy.run(to: SimulatedDisk(), epoch: nil, salt: 5) { done.append($0) }
        #expect(done.last == copy.byteCount && done == done.sorted())
        done = []
        try copy.run(toFile: "x.brume", on: SimulatedDisk(), salt: 5) { done.append($0) }
        #expect(done.last == copy.byteCount && done == done.sorted())
    }

    @Test("that came behind the look at the folder are copied with the snapshots that name them")
    func later() throws {
        let copy = try FolderCopy(of: folder.disk, .inUse, others: [])
        let new = try scene.store(BlobScene.content(1_234, 7))
        try AssetCopyTests.save("new", [new], in: folder)
        try folder.log.writeSnapshot(folder.desk.database.capture())
        let target = SimulatedDisk()
        try copy.run(to: target, epoch: nil, salt: 5) { _ in }
        let verification = try Verification(of: target)
        #expect(verification.isSound && verification.assets.wholeCount == 3)
    }

    @Test("are taken over from an earlier copy where that has them")
    func adoption() throws {
        let earlier = try copy(.idle, throughFile: false)
        let new = try scene.store(BlobScene.content(1_234, 7))
        try AssetCopyTests.save("new", [new], in: folder)
        let target = SimulatedDisk()
        var adopted: [String] = []
        let copy = try FolderCopy(of: folder.disk, .idle, others: [])
        var done: UInt64 = 0
        try copy.run(
            to: target, epoch: nil, salt: 5,
            adopting: { (path, byteCount) in
                #expect(scene.disk.contents(of: path)?.count == Int(byteCount))
                guard let bytes = earlier.contents(of: path) else { return false }
                target.replace(path, with: bytes)
                adopted.append(path)
                return true
            },
            progress: { done = $0 })
        #expect(adopted.count == 3 && done == copy.byteCount)
        let verification = try Verification(of: target)
        #expect(verification.isSound && verification.assets.wholeCount == 3)
    }

    @Test("that are missing are told of with their records, and all else is sound", arguments: [false, true])
    func missing(throughFile: Bool) throws {
        let path = scene.path(of: photo)
        try folder.disk.remove(path)
        let verification = try Verification(of: copy(.inUse, throughFile: throughFile))
        #expect(!verification.isSound && verification.problems.isEmpty && verification.assets.wholeCount == 1)
        let problem = try #require(verification.assets.problems.first)
        #expect(verification.assets.problems.count == 1)
        #expect(problem.file == path && problem.problem == "the file is missing")
        #expect(problem.affects == "record page of zone notes and 1 more")
    }

    @Test("that the disk does not give are zeros in the copy, and told of", arguments: [false, true])
    func unreadable(throughFile: Bool) throws {
        let path = scene.path(of: film)
        folder.disk.faults.unreadablePart = film.fileName
        #expect(try Verification(of: folder.disk).assets.problems.map(\.file) == [path])
        let copy = try copy(.idle, throughFile: throughFile)
        let verification = try Verification(of: copy)
        #expect(verification.assets.problems.map(\.file) == [path] && verification.problems.isEmpty)
        #expect(verification.assets.problems.first?.affects == "record page of zone notes")
        #expect(copy.contents(of: path)?.allSatisfy { $0 == 0 } == true)
    }

    @Test("that are not as long as a record says are told of, though they are whole")
    func wrongLength() throws {
        let stored = Asset(checksum: unnamed.checksum, byteCount: 91, generation: unnamed.generation)
        let saved = folder.desk.modify(
            policy: .changedKeys, saves: [.of("wrong", ["page": .asset(stored)])], grants: [stored])
        try folder.keep(try #require(saved.commit))
        let assets = try Verification(of: folder.disk).assets
        #expect(assets.problems.map(\.problem) == ["it is not as long as its record says"])
    }

    @Test("of which any byte is damaged are told of")
    func everyByte() throws {
        let path = scene.path(of: photo)
        let bytes = try #require(folder.disk.contents(of: path))
        // The content here and there, and all that is behind it.
        for index in bytes.indices where index >= 700 || index % 29 == 0 {
            var damaged = bytes
            damaged[index] ^= UInt8(1) << (index % 8)
            folder.disk.replace(path, with: damaged)
            let assets = try Verification(of: folder.disk).assets
            #expect(assets.problems.map(\.file) == [path] && assets.wholeCount == 1, "byte \(index)")
        }
        folder.disk.replace(path, with: Array(bytes.dropLast()))
        #expect(try !Verification(of: folder.disk).isSound)
        folder.disk.replace(path, with: bytes)
        #expect(try Verification(of: folder.disk).isSound)
    }

    @Test("are told of one by one up to a hundred, and then counted")
    func many() throws {
        let blobs = try (0..<StoreLimits.assetProblems + 7).map {
            try scene.store(BlobScene.content(20, UInt8($0)), generation: 5)
        }
        try AssetCopyTests.save("many", blobs, in: folder)
        for blob in blobs { try folder.disk.remove(scene.path(of: blob)) }
        let assets = try Verification(of: folder.disk).assets
        #expect(assets.problems.count == StoreLimits.assetProblems && assets.furtherProblemCount == 7)
    }

    @Test("that a commit in the journal alone names, or no longer names, are looked at as it says")
    func journal() throws {
        let new = try scene.store(BlobScene.content(1_234, 7))
        try AssetCopyTests.save("new", [new], in: folder)
        try folder.keep(try #require(folder.desk.modify(deletions: ["page"]).commit))
        let assets = try Verification(of: folder.disk).assets
        #expect(assets.wholeCount == 2 && assets.wholeByteCount == 1_934 && assets.unnamedCount == 2)
    }
}
