import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

@Suite("The schema file")
struct SchemaFileTests {
    private static let container = "iCloud.com.example.app"

    private static func sample() throws -> ContainerSchemas {
        let development = try SchemaParser.parse(
            "DEFINE SCHEMA CREATE ROLE Editor; RECORD TYPE Note (title STRING QUERYABLE, GRANT WRITE TO Editor);")
        let production = try SchemaParser.parse("DEFINE SCHEMA RECORD TYPE Note (title STRING);")
        return ContainerSchemas(
            container: container,
            development: .init(
                schema: development, members: ["_u": ["Editor"]], lessons: ["_v": SchemaShare(types: 2, fields: 30)]),
            production: .init(schema: production))
    }

    private static var path: String { SchemaFile.path(of: container, on: SimulatedDisk()) }

    @Test("what is written is read, for any container")
    func roundTrip() throws {
        let names = [Self.container, "iCloud.", "iCloud.a/b+c%", "iCloud." + String(repeating: "x", count: 248)]
        let disk = SimulatedDisk()
        for name in names {
            let sample = try Self.sample()
            let schemas = ContainerSchemas(
                container: name, development: sample.development, production: sample.production)
            try SchemaFile.write(schemas, to: disk)
            #expect(try SchemaFile.read(SchemaFile.path(of: name, on: disk), from: disk) == schemas)
        }
        disk.crash(seed: 1)
        #expect(Set(try SchemaFile.readAll(from: disk).map(\.container)) == Set(names))
        #expect(try SchemaFile.read(SchemaFile.folder + "/none.schema", from: disk) == nil)
    }

    @Test("a file of format version 1 is read")
    func versionOne() throws {
        let disk = SimulatedDisk()
        disk.replace(Self.path, with: FormatTests.bytes(Self.fixture))
        let sample = try Self.sample()
        // That version did not keep what each account has taught.
        let development = ContainerSchemas.Stage(schema: sample.development.schema, members: sample.development.members)
        #expect(
            try SchemaFile.read(Self.path, from: disk)
                == ContainerSchemas(
                    container: sample.container, development: development, production: sample.production))
    }

    @Test("damage to any byte is noticed, with the file's name, and by a verification")
    func everyByte() throws {
        let whole = SchemaFile.encode(try Self.sample())
        for place in whole.indices {
            for bit in [UInt8(1), 0x80] {
                var bytes = whole
                bytes[place] ^= bit
                let error = #expect(throws: StoreError.self, "byte \(place) is damaged") {
                    try SchemaFile.decode(bytes, path: "the file")
                }
                #expect(error?.description.contains("the file") == true)
            }
        }
        for length in 0..<whole.count {
            #expect(throws: StoreError.self) { try SchemaFile.decode(Array(whole[..<length]), path: "the file") }
        }
        let folder = try Folder(on: SimulatedDisk())
        try SchemaFile.write(try Self.sample(), to: folder.disk)
        #expect(try Verification(of: folder.disk).isSound)
        var bytes = try #require(folder.disk.contents(of: Self.path))
        bytes[bytes.count - 3] ^= 1
        folder.disk.replace(Self.path, with: bytes)
        let verification = try Verification(of: folder.disk)
        #expect(verification.problems.map(\.file) == [Self.path])
    }

    @Test("a file under another container's name is damage, and one of a newer version says so")
    func otherFiles() throws {
        let disk = SimulatedDisk()
        let bytes = SchemaFile.encode(try Self.sample())
        disk.replace(SchemaFile.folder + "/iCloud.other.schema", with: bytes)
        #expect(throws: StoreError.self) { try SchemaFile.readAll(from: disk) }
        var newer = bytes
        newer[8] = 2
        #expect(throws: StoreError.unknownVersion(file: "f", version: 2)) { try SchemaFile.decode(newer, path: "f") }
    }

    @Test("a power cut in any call leaves the schema from before or from after")
    func powerCut() throws {
        let before = ContainerSchemas(container: Self.container)
        let after = try Self.sample()
        var outcomes = [0, 0]
        for call in 0..<16 {
            for seed in 0..<8 as Range<UInt64> {
                let disk = SimulatedDisk()
                try SchemaFile.write(before, to: disk)
                disk.faults.powerCutCall = disk.calls + call
                let isDone = (try? SchemaFile.write(after, to: disk)) != nil
                disk.crash(seed: seed)
                let found = try #require(try SchemaFile.read(Self.path, from: disk))
                #expect(found == after || (found == before && !isDone), "call \(call), seed \(seed)")
                outcomes[found == after ? 1 : 0] += 1
            }
        }
        #expect(outcomes[0] > 0 && outcomes[1] > 0, "\(outcomes)")
    }

    @Test("a copy of a data folder holds the schemas, as a folder and as a file", arguments: [true, false])
    func copies(isInUse: Bool) throws {
        let folder = try SnapshotTests.filled()
        try folder.log.writeSnapshot(folder.desk.database.capture())
        try SchemaFile.write(try Self.sample(), to: folder.disk)
        let copy = try FolderCopy(of: folder.disk, isInUse ? .inUse : .idle, others: [])
        let target = SimulatedDisk()
        try copy.run(to: target, epoch: nil, salt: 5) { _ in }
        target.crash(seed: 3)
        #expect(try SchemaFile.readAll(from: target) == [try Self.sample()])
        #expect(try Verification(of: target).isSound)
        let files = SimulatedDisk()
        try copy.run(toFile: "backup", on: files, salt: 5) { _ in }
        let archive = try BackupFileDisk(reading: "backup", on: files, others: [])
        #expect(try SchemaFile.readAll(from: archive) == [try Self.sample()])
    }

    @Test(
        "a copy holds the schema that was made after the folder was looked at, as its data may",
        arguments: [true, false])
    func copiedSince(isFile: Bool) throws {
        let folder = try SnapshotTests.filled()
        try folder.log.writeSnapshot(folder.desk.database.capture())
        let copy = try FolderCopy(of: folder.disk, .inUse, others: [])
        try SchemaFile.write(try Self.sample(), to: folder.disk)
        let target = SimulatedDisk()
        if isFile {
            try copy.run(toFile: "backup", on: target, salt: 5) { _ in }
            let archive = try BackupFileDisk(reading: "backup", on: target, others: [])
            #expect(try SchemaFile.readAll(from: archive) == [try Self.sample()])
        } else {
            try copy.run(to: target, epoch: nil, salt: 5) { _ in }
            target.crash(seed: 3)
            #expect(try SchemaFile.readAll(from: target) == [try Self.sample()])
            #expect(try Verification(of: target).isSound)
        }
    }

    @Test("the databases of a container are found by their snapshots")
    func listing() throws {
        let disk = SimulatedDisk()
        let long = "iCloud." + String(repeating: "y", count: 240)
        var expected: [String: Set<DatabaseID>] = [:]
        for container in ["iCloud.a+b", long] {
            for environment in [Environment.development, .production] {
                for id in [
                    DatabaseID(container: container, environment: environment, scope: .public, owner: ""),
                    DatabaseID(container: container, environment: environment, scope: .private, owner: "_u%"),
                ] {
                    let database = Database(id: id, epoch: 1)
                    try disk.makeDirectory("snapshots")
                    _ = try SnapshotWriter.write(database.capture(), to: disk)
                    if environment == .development { expected[container, default: []].insert(id) }
                }
            }
        }
        for (container, ids) in expected {
            #expect(Set(try SnapshotListing.databases(of: container, .development, on: disk)) == ids)
        }
    }

    private static let fixture = """
        4252554d45534348010000005a050000a739230e0a1669436c6f75642e636f6d2e6578616d706c652e61707012c605080112
        b305444546494e4520534348454d410a0a2020202043524541544520524f4c4520456469746f723b0a0a202020205245434f
        52442054595045204e6f746520280a2020202020202020225f5f5f63726561746554696d65222054494d455354414d502c0a
        2020202020202020225f5f5f6372656174656442792220205245464552454e43452c0a2020202020202020225f5f5f657461
        672220202020202020535452494e472c0a2020202020202020225f5f5f6d6f6454696d65222020202054494d455354414d50
        2c0a2020202020202020225f5f5f6d6f646966696564427922205245464552454e43452c0a2020202020202020225f5f5f72
        65636f72644944222020205245464552454e43452c0a20202020202020207469746c65202020202020202020202053545249
        4e4720515545525941424c452c0a20202020202020204752414e5420575249544520544f20456469746f720a20202020293b
        0a0a202020205245434f5244205459504520557365727320280a2020202020202020225f5f5f63726561746554696d652220
        54494d455354414d502c0a2020202020202020225f5f5f6372656174656442792220205245464552454e43452c0a20202020
        20202020225f5f5f657461672220202020202020535452494e472c0a2020202020202020225f5f5f6d6f6454696d65222020
        202054494d455354414d502c0a2020202020202020225f5f5f6d6f646966696564427922205245464552454e43452c0a2020
        202020202020225f5f5f7265636f72644944222020205245464552454e43452c0a2020202020202020726f6c657320202020
        202020202020204c4953543c494e5436343e2c0a20202020202020204752414e5420575249544520544f20225f6372656174
        6f72222c0a20202020202020204752414e54205245414420544f20225f776f726c64220a20202020293b0a1a0c0a025f7512
        06456469746f7212f604080212f104444546494e4520534348454d410a0a202020205245434f52442054595045204e6f7465
        20280a2020202020202020225f5f5f63726561746554696d65222054494d455354414d502c0a2020202020202020225f5f5f
        6372656174656442792220205245464552454e43452c0a2020202020202020225f5f5f657461672220202020202020535452
        494e472c0a2020202020202020225f5f5f6d6f6454696d65222020202054494d455354414d502c0a2020202020202020225f
        5f5f6d6f646966696564427922205245464552454e43452c0a2020202020202020225f5f5f7265636f726449442220202052
        45464552454e43452c0a20202020202020207469746c652020202020202020202020535452494e470a20202020293b0a0a20
        2020205245434f5244205459504520557365727320280a2020202020202020225f5f5f63726561746554696d65222054494d
        455354414d502c0a2020202020202020225f5f5f6372656174656442792220205245464552454e43452c0a20202020202020
        20225f5f5f657461672220202020202020535452494e472c0a2020202020202020225f5f5f6d6f6454696d65222020202054
        494d455354414d502c0a2020202020202020225f5f5f6d6f646966696564427922205245464552454e43452c0a2020202020
        202020225f5f5f7265636f72644944222020205245464552454e43452c0a2020202020202020726f6c657320202020202020
        202020204c4953543c494e5436343e2c0a20202020202020204752414e5420575249544520544f20225f63726561746f7222
        2c0a20202020202020204752414e54205245414420544f20225f776f726c64220a20202020293b0a
        """
}
