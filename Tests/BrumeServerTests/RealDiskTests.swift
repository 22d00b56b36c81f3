import BrumeModel
import BrumeServer
import BrumeStore
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
