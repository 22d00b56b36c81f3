import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("The file that tells where assets are")
struct AssetPlaceTests {
    private let place = AssetPlace(
        id: Array(1...16), kind: .elsewhere, use: Array(17...32), formerUse: Array(33...48),
        otherPath: "/mnt/disk é/assets")

    @Test("is read as it was written, whatever it says")
    func reading() throws {
        let disk = SimulatedDisk()
        #expect(try AssetPlace.read(from: disk) == nil)
        for kind in [AssetPlace.Kind.elsewhere, .here, .holder, .moving] {
            for path in ["", "/a", place.otherPath] {
                let place = AssetPlace(
                    id: place.id, kind: kind, use: place.use, formerUse: place.formerUse, otherPath: path)
                try place.write(to: disk)
                disk.crash(seed: 1, .nothing)
                #expect(try AssetPlace.read(from: disk) == place)
            }
        }
    }

    @Test("is damaged when any bit of it is another one, and when it is cut off or longer")
    func damage() {
        let bytes = place.encoded
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << bit
                #expect(throws: StoreError.self, "byte \(index), bit \(bit)") { try AssetPlace(decoding: damaged) }
            }
            #expect(throws: StoreError.self) { try AssetPlace(decoding: Array(bytes[..<index])) }
        }
        #expect(throws: StoreError.self) { try AssetPlace(decoding: bytes + [0]) }
    }

    @Test("is of one time with the other folder's until each has seen a start that the other has not")
    func time() {
        func place(_ use: UInt8, _ former: UInt8? = nil) -> AssetPlace {
            func number(_ value: UInt8) -> [UInt8] { [UInt8](repeating: value, count: AssetPlace.idBytes) }
            return AssetPlace(
                id: number(1), kind: .holder, use: number(use), formerUse: former.map(number), otherPath: "")
        }
        #expect(place(1).isOfOneTime(with: place(1)) && !place(1).isOfOneTime(with: place(2)))
        #expect(place(2, 1).isOfOneTime(with: place(1)) && place(1).isOfOneTime(with: place(2, 1)))
        #expect(place(2, 1).isOfOneTime(with: place(2)) && !place(2, 1).isOfOneTime(with: place(3)))
    }

    @Test("is of a version to come when it says so")
    func version() throws {
        var bytes = place.encoded
        bytes.setInteger(UInt32(2), at: 8)
        var crc = CRC32C()
        crc.update(Array(bytes[..<64]))
        crc.update(Array(bytes[68...]))
        bytes.setInteger(crc.value, at: 64)
        #expect(throws: StoreError.unknownVersion(file: "brume.assets", version: 2)) {
            try AssetPlace(decoding: bytes)
        }
    }

    @Test("is missed by a start, and by a verification, from the start on that found it first")
    func missing() throws {
        let folder = try SnapshotTests.filled()
        try place.write(to: folder.disk)
        #expect(try ManifestFile.read(from: folder.disk)?.files[AssetPlace.path] == nil)
        _ = try Recovery(opening: folder.disk, options: JournalWriter.Options(salt: 5), newEpoch: 7)
        #expect(try ManifestFile.read(from: folder.disk)?.files[AssetPlace.path] == 0)
        #expect(try Verification(of: folder.disk).isSound)
        // A copy has the assets in itself, unless it is made where they are elsewhere.
        let copy = SimulatedDisk()
        try FolderCopy(of: folder.disk, .idle, others: []).run(to: copy, epoch: nil, salt: 5) { _ in }
        #expect(try Verification(of: copy).isSound && !copy.paths.contains(AssetPlace.path))
        let elsewhere = SimulatedDisk()
        try place.write(to: elsewhere)
        try FolderCopy(of: folder.disk, .idle, others: []).run(to: elsewhere, epoch: nil, salt: 5) { _ in }
        #expect(try Verification(of: elsewhere).isSound)
        #expect(try ManifestFile.read(from: elsewhere)?.files[AssetPlace.path] == 0)

        try folder.disk.remove(AssetPlace.path)
        let problems = try Verification(of: folder.disk).problems
        #expect(problems.map(\.file) == [AssetPlace.path])
        #expect(problems.first?.affects == "where the contents of assets are")
        #expect(throws: StoreError.self) { try FolderCopy(of: folder.disk, .idle, others: []) }
        #expect(throws: StoreError.self) {
            try Recovery(opening: folder.disk, options: JournalWriter.Options(salt: 5), newEpoch: 7)
        }
    }

    @Test("is told of by the folder of assets, too: one that is gone is missed, whether or not it holds anything")
    func missingFolder() throws {
        let folder = try SnapshotTests.filled()
        func start() throws(StoreError) {
            _ = try Recovery(opening: folder.disk, options: JournalWriter.Options(salt: 5), newEpoch: 7)
        }
        try folder.disk.makeDirectory(BlobFolder.root)
        #expect(try ManifestFile.read(from: folder.disk)?.files[BlobFolder.root] == nil)
        // A server that made it notes it with the next file.
        let manifest = try #require(try FolderManifest.open(on: folder.disk))
        manifest.noted("schemas/x.schema", sequence: 0)
        try manifest.save()
        #expect(try ManifestFile.read(from: folder.disk)?.files[BlobFolder.root] == 0)
        folder.disk.crash(seed: 1, .nothing)
        #expect(try folder.disk.listFolders("").contains(BlobFolder.root))
        manifest.forget("schemas/x.schema")
        manifest.noted("brume.meta", sequence: 0)
        manifest.forget("brume.meta")
        try manifest.save()
        try start()

        // A copy has it where it has assets.
        let copy = SimulatedDisk()
        try FolderCopy(of: folder.disk, .idle, others: []).run(to: copy, epoch: nil, salt: 5) { _ in }
        #expect(try ManifestFile.read(from: copy)?.files[BlobFolder.root] == nil && Verification(of: copy).isSound)
        try folder.disk.replaceFile("assets/x", in: "assets", with: [1])
        try folder.disk.remove("assets/x")
        try start()

        try folder.disk.removeDirectory(BlobFolder.root)
        let problems = try Verification(of: folder.disk).problems
        #expect(problems.map(\.file) == [BlobFolder.root] && problems.first?.affects == "the contents of all assets")
        #expect(throws: StoreError.self) { try FolderCopy(of: folder.disk, .idle, others: []) }
        #expect(throws: StoreError.self) { try start() }
        // Schemas are not what is missed.
        #expect(throws: Never.self) { _ = try FolderManifest.open(on: folder.disk) }
        let losses = try LossAcceptance(on: folder.disk, options: JournalWriter.Options(salt: 5), newEpoch: 8).losses
        #expect(losses.map(\.file) == [BlobFolder.root])
        try start()
    }
}
