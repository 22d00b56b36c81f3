import BrumeRandom
import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("Backups in one file")
struct BackupFileTests {
    private static let others = ["accounts", "secret.key"]

    /// The backup file of a folder, as bytes.
    private static func file(of disk: SimulatedDisk, _ kind: FolderCopy.Source) throws -> [UInt8] {
        let target = SimulatedDisk()
        try FolderCopy(of: disk, kind, others: others).run(toFile: "x.brume", on: target, salt: 5) { _ in }
        target.crash(seed: 1, .everything)
        return try #require(target.contents(of: "x.brume"))
    }

    private static func open(_ bytes: [UInt8]) throws(StoreError) -> BackupFileDisk {
        let disk = SimulatedDisk()
        disk.replace("x.brume", with: bytes)
        return try BackupFileDisk(reading: "x.brume", on: disk, others: others)
    }

    private static func expectDamage(_ bytes: [UInt8], _ comment: Comment) {
        let error = #expect(throws: StoreError.self, comment) { try open(bytes) }
        switch error {
        case .damaged(let damage):
            #expect(damage.file == "x.brume" && damage.offset <= UInt64(bytes.count), comment)
        case .unknownVersion(let file, _): #expect(file == "x.brume", comment)
        default: Issue.record("\(comment) gave \(String(describing: error))")
        }
    }

    /// A file of the given blocks behind one another, with checksums that hold.
    private static func file(
        _ files: [(name: String, bytes: [UInt8])], endingWith meta: [UInt8]? = MetaFile(epoch: 3).encoded
    ) throws -> [UInt8] {
        let disk = SimulatedDisk()
        var writer = try BackupFileWriter(creating: "x.brume", on: disk)
        for file in files + (meta.map { [(MetaFile.path, $0)] } ?? []) {
            try writer.begin(file.name, byteCount: UInt64(file.bytes.count))
            for start in stride(from: 0, to: file.bytes.count, by: StoreLimits.backupBlockBytes) {
                try writer.append(Array(file.bytes[start...].prefix(StoreLimits.backupBlockBytes)))
            }
        }
        try writer.finish()
        writer.close()
        return disk.contents(of: "x.brume")!
    }

    /// A path that an asset's file may have, unless a part of it is another one.
    private static func assetPath(
        database: String = "development+private+a+b", bucket: String = "ab",
        name: String = String(repeating: "ab", count: 32) + ".0123456789abcdef"
    ) -> String {
        "assets/\(database)/\(bucket)/\(name)"
    }

    @Test("a path that assets have is taken")
    func assetPaths() throws { _ = try Self.open(Self.file([(Self.assetPath(), [1])])) }

    private static func filled() throws -> Folder {
        let folder = try SnapshotTests.filled()
        try folder.log.writeSnapshot(folder.desk.database.capture())
        folder.disk.replace("accounts", with: [1, 2, 3])
        folder.disk.replace("secret.key", with: [])
        folder.disk.replace("server.json", with: [7])
        return folder
    }

    @Test("a file of a folder that nobody uses is sound, and a folder made of it holds the same and goes on")
    func idle() throws {
        let folder = try Self.filled()
        try folder.save("later")
        let backup = try Self.open(Self.file(of: folder.disk, .idle))
        let verification = try Verification(of: backup)
        #expect(try verification == Verification(of: folder.disk) && verification.isSound)
        let restored = SimulatedDisk()
        try FolderCopy(of: backup, .idle, others: Self.others).run(to: restored, epoch: nil, salt: 1) { _ in }
        restored.crash(seed: 2)
        #expect(restored.contents(of: "accounts") == [1, 2, 3] && restored.contents(of: "secret.key") == [])
        #expect(restored.contents(of: "server.json") == nil)
        let again = try Folder(on: restored)
        #expect(try SnapshotTests.portrait(again.desk.database) == SnapshotTests.portrait(folder.desk.database))
        try again.save("and goes on")
    }

    @Test("of a folder in use the snapshots are in the file; restored under a new epoch, lost tokens expire")
    func inUse() throws {
        let folder = try Self.filled()
        let names = try folder.names
        let token = try folder.desk.changes(since: nil).token
        try folder.save("later")
        let lost = try folder.desk.changes(since: nil).token
        let backup = try Self.open(Self.file(of: folder.disk, .inUse))
        #expect(try Verification(of: backup).isSound)
        let restored = SimulatedDisk()
        try FolderCopy(of: backup, .idle, others: Self.others).run(to: restored, epoch: 1234, salt: 1) { _ in }
        let again = try Folder(on: restored, run: 1235)
        #expect(try again.names == names && again.log.epoch == 1234)
        try again.save("new")
        #expect(throws: ServiceError.self) { try again.desk.changes(since: lost) }
        #expect(try again.desk.changes(since: token).live == ["new"])
    }

    @Test("every damaged byte is noticed, and so are every lost end and whatever follows the end")
    func everyByte() throws {
        let folder = try Self.filled()
        for kind in [FolderCopy.Source.idle, .inUse] {
            let bytes = try Self.file(of: folder.disk, kind)
            #expect(bytes.count > 500)
            _ = try Self.open(bytes)
            for index in bytes.indices {
                for mask in [UInt8(1) << (index % 8), 0xFF] {
                    var damaged = bytes
                    damaged[index] ^= mask
                    Self.expectDamage(damaged, "byte \(index) changed by \(mask)")
                }
                Self.expectDamage(Array(bytes[..<index]), "cut at \(index)")
            }
            Self.expectDamage(bytes + [0], "longer")
            Self.expectDamage(bytes + bytes, "twice")
        }
    }

    @Test("a file that a crash or a failing disk cut short is whole, or noticed")
    func cutShort() throws {
        let folder = try Self.filled()
        var call = 0
        var whole = 0
        var refused = 0
        while true {
            let target = SimulatedDisk()
            target.faults = .init(powerCutCall: call)
            let failed =
                (try? FolderCopy(of: folder.disk, .idle, others: Self.others)
                    .run(toFile: "x.brume", on: target, salt: 5) { _ in }) == nil
            target.crash(seed: UInt64(call))
            if let bytes = target.contents(of: "x.brume") {
                if let backup = try? Self.open(bytes) {
                    #expect(try Verification(of: backup).isSound)
                    whole += 1
                } else {
                    #expect(failed, "call \(call)")
                    refused += 1
                }
            }
            if !failed { break }
            call += 1
        }
        #expect(whole + refused > 3 && call > 10)
    }

    @Test(
        "a name that no data folder has is refused",
        arguments: [
            "", "/", "..", "../accounts", "/etc/passwd", "accounts/", "./accounts", "other", "lock", "brume.meta.tmp",
            "journal/", "journal/x", "journal/../accounts", "journal/0000000000000001.journal.tmp",
            "journal/000000000000000G.journal", "journal/0000000000000001.journal/x", "snapshots/x.snapshot",
            "snapshots/development+private+a+../../../x.snapshot", "snapshots/../snapshots/development+a.snapshot",
            "snapshots/development+private+a+b.snapshot.tmp", "snapshots/development+private+a\0+b.snapshot",
            "snapshots/development+private+é+b.snapshot",
            "snapshots/development+private+" + String(repeating: "a", count: 300) + ".snapshot", "assets/", "assets/x",
            assetPath(bucket: "../x"), assetPath(bucket: "ac"), assetPath(bucket: "AB"), assetPath(database: ".."),
            assetPath(database: "development+private+a+../b"), assetPath(database: "incoming"),
            assetPath(name: String(repeating: "AB", count: 32) + ".0123456789abcdef"),
            assetPath(name: String(repeating: "ab", count: 32) + ".0123456789abcde"), assetPath() + "/x",
            "assets/" + assetPath(),
        ])
    func hostileNames(name: String) throws {
        Self.expectDamage(try Self.file([("accounts", [1]), (name, [1])]), "\(name)")
    }

    @Test("files that stand there twice, or without the folder's own file, are refused")
    func wrongFiles() throws {
        _ = try Self.open(Self.file([("accounts", [1])]))
        Self.expectDamage(try Self.file([("accounts", [1]), ("accounts", [1])]), "twice")
        Self.expectDamage(try Self.file([("brume.meta", [1])]), "two meta files")
        Self.expectDamage(try Self.file([("brume.meta", [1]), ("accounts", [1])], endingWith: nil), "meta first")
        Self.expectDamage(try Self.file([("accounts", [1])], endingWith: nil), "no meta")
        Self.expectDamage(try Self.file([], endingWith: nil), "empty")
        // The container is sound here: what it holds is looked at as in a folder.
        let backup = try Self.open(Self.file([], endingWith: [1, 2, 3]))
        #expect(
            try Verification(of: backup).problems.map(\.file) == [MetaFile.path])
    }

    @Test("content is read back from any place, whether it was compressed or not")
    func reading() throws {
        var generator = SeededGenerator(seed: 11)
        let noise = (0..<1_300_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let zeros = [UInt8](repeating: 0, count: 3 * StoreLimits.backupBlockBytes)
        let bytes = try Self.file([("accounts", noise), ("secret.key", zeros)])
        #expect(bytes.count < noise.count + 10_000)
        let disk = try Self.open(bytes)
        #expect(disk.byteCount == UInt64(bytes.count))
        for (name, expected) in [("accounts", noise), ("secret.key", zeros)] {
            let file = try disk.openForReading(name)
            defer { disk.close(file) }
            #expect(try disk.size(of: file) == UInt64(expected.count))
            for _ in 0..<10 {
                let start = Int.random(in: 0...expected.count, using: &generator)
                let length = Int.random(in: 0...2_000_000, using: &generator)
                #expect(
                    try disk.read(file, at: UInt64(start), length: length) == Array(expected[start...].prefix(length)))
            }
            #expect(try disk.read(file, at: 0, length: .max) == expected)
        }
    }

    @Test("a backup is not changed, and a version to come is refused as such")
    func unchangeable() throws {
        let bytes = try Self.file([])
        let disk = try Self.open(bytes)
        #expect(throws: DiskError.self) { try disk.create("accounts") }
        #expect(throws: DiskError.self) { try disk.remove("brume.meta") }
        var header = Array(bytes[..<12])
        header[8] = 2
        header.appendInteger(CRC32C.checksum(header))
        #expect(throws: StoreError.unknownVersion(file: "x.brume", version: 2)) {
            try Self.open(header + bytes[16...])
        }
    }
}
