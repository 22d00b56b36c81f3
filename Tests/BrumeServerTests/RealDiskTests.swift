import BrumeModel
import BrumeServer
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@Suite("The real disk")
struct RealDiskTests {
    private let folder: TestFolder
    private let disk: RealDisk

    private init() throws {
        folder = try TestFolder()
        disk = RealDisk(folder: folder.path)
    }

    @Test("makes no file when it is to open one that is missing")
    func missingFiles() throws {
        for open in [disk.openForReading, disk.openForWriting] as [(String) throws(DiskError) -> DiskFile] {
            let error = #expect(throws: DiskError.self) { _ = try open("a") }
            #expect(error?.isMissing == true)
        }
        #expect(try disk.list("") == [])
    }

    @Test("has assets in a second folder, and makes none where that one is gone")
    func assetsFolder() throws {
        let other = try TestFolder()
        let disk = RealDisk(folder: folder.path, assetsFolder: try OpenFolder(other.path))
        let gone = #expect(throws: DiskError.self) { try disk.makeDirectory("assets") }
        #expect(gone?.isMissing == false && gone?.message.contains("is its disk mounted?") == true)
        #expect(try FileSystem.list(other.path).isEmpty && FileSystem.list(folder.path).isEmpty)
        try FileSystem.makeDirectory(other.path + "/assets")
        try disk.makeDirectory("assets")
        try disk.makeDirectory("assets/a")
        try disk.syncDirectory("assets")
        try disk.replaceFile("assets/a/b", in: "assets/a", with: [1])
        // Others only begin like it.
        try disk.replaceFile("assets-2", in: "", with: [2])
        #expect(try disk.list("assets/a") == ["b"] && disk.listFolders("assets") == ["a"])
        #expect(try FileSystem.read(other.path + "/assets/a/b", limit: 10) == [1])
        #expect(try FileSystem.list(folder.path) == ["assets-2"])
        #expect(try disk.space(of: "assets") != nil)
    }

    @Test("has assets where the second folder was, and not where its path leads by now")
    func exchangedFolder() throws {
        let other = folder.path + "/other"
        for path in [other, other + "/assets", other + "-2", other + "-2/assets"] {
            try FileSystem.makeDirectory(path)
        }
        let disk = RealDisk(folder: folder.path, assetsFolder: try OpenFolder(other))
        try disk.replaceFile("assets/x", in: "assets", with: [1])
        try FileSystem.rename(other, to: other + "-1")
        #expect(try disk.list("assets") == ["x"])
        try FileSystem.rename(other + "-2", to: other)
        #expect(try disk.list("assets") == ["x"])
        try disk.remove("assets/x")
        #expect(try disk.list("assets").isEmpty)
        let missing = #expect(throws: DiskError.self) { try disk.remove("assets/x") }
        #expect(missing?.isMissing == true && missing?.isLost == false)
        #expect(missing?.message.contains("\(other)/assets/x") == true)
    }

    @Test("misses no asset where the second folder has lost all of them")
    func lostFolder() throws {
        let other = folder.path + "/other"
        for path in [other, other + "/assets"] { try FileSystem.makeDirectory(path) }
        let disk = RealDisk(folder: folder.path, assetsFolder: try OpenFolder(other))
        try disk.replaceFile("assets/x", in: "assets", with: [1])
        func expectLoss(_ call: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) {
            let error = #expect(throws: DiskError.self, sourceLocation: sourceLocation) { try call() }
            #expect(error?.isLost == true && error?.isMissing == false, sourceLocation: sourceLocation)
            #expect(error?.message.contains("is its disk mounted?") == true, sourceLocation: sourceLocation)
        }
        try FileSystem.rename(other + "/assets", to: other + "/moved")
        for _ in 0..<2 {
            expectLoss { _ = try disk.openForReading("assets/x") }
            expectLoss { _ = try disk.list("assets/a") }
            expectLoss { try disk.remove("assets/x") }
            expectLoss { try disk.syncDirectory("assets/a") }
            // Another folder in its place is none.
            try FileSystem.makeDirectory(other + "/assets")
        }
        #expect(throws: Never.self) { _ = try disk.list("") }
        #expect(try disk.list("nothing").isEmpty)
    }

    @Test("keeps an asset whose upload broke and went on, and gives its room back")
    func asset() throws {
        let content = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
        let database = DatabaseID(container: "iCloud.a", environment: .development, scope: .private, owner: "_a")
        let identity = BlobUpload.Identity(
            id: try #require(UploadID([UInt8](repeating: 1, count: 16))), user: "_a", zone: "Photos",
            byteCount: UInt64(content.count))
        func open(in folder: BlobFolder) throws -> BlobUpload {
            guard case .open(let upload) = try folder.open(identity) else { throw TestFailure("it does not open") }
            while !upload.isCaughtUp { #expect(try upload.catchUp()) }
            return upload
        }
        let broken = try open(in: BlobFolder(of: database, on: disk))
        try broken.append(Array(content[..<2_500_000]))
        try broken.checkpoint()
        broken.close()

        let assets = BlobFolder(of: database, on: disk)
        var recovery = try assets.makeRecovery()
        #expect(try recovery.step() == [.begun(identity, durableByteCount: 2 << 20)])
        let upload = try open(in: assets)
        try upload.append(Array(content[(2 << 20)...]))
        let name = BlobName(checksum: upload.finishChecksum(), generation: 7)
        #expect(name.checksum.bytes == disk.sha256(content))
        try assets.seal(upload, as: name)
        try assets.syncNames(of: [name])
        let reader = try #require(try assets.open(name))
        try reader.verify()
        reader.close()
        #expect(try assets.isDurable(name))
        #expect(try assets.remove([name]) == [] && assets.open(name) == nil)
    }
}
