import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("Snapshots that nobody has asked for")
struct StartCheckTests {
    /// A folder whose journal is empty, with snapshots of so many databases.
    private static func folder(databases: Int, bytes: Int = 10) throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let log = try ManualJournal(opening: disk, options: Folder.options(), newEpoch: 7)
        for index in 0..<databases {
            let database = try log.open(id(index))
            let desk = Desk(database, caller: Caller(user: "_\(index)", isOwner: true))
            let field = FieldValue.bytes((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 5) })
            for step in 0..<2 {
                let commit = desk.modify(.defaultZone, saves: [.of("r\(step)", ["x": field])]).commit
                _ = try log.append(try #require(commit).entry)
            }
            try log.flush()
            try log.writeSnapshot(database.capture())
        }
        try log.trim()
        return disk
    }

    private static func id(_ index: Int) -> DatabaseID {
        DatabaseID(container: "a", environment: .development, scope: .private, owner: "_\(index)")
    }

    private static func path(_ index: Int) -> String { "snapshots/development+private+a+_\(index).snapshot" }

    private static func open(_ disk: SimulatedDisk, _ check: StartCheck = .automatic) throws(StoreError) -> Recovery {
        try Recovery(opening: disk, options: Folder.options(), newEpoch: 9, startCheck: check)
    }

    @Test("a damaged byte in any of them stops the start with file and offset, and so does a lost end")
    func everyByte() throws {
        let disk = try Self.folder(databases: 3)
        #expect(try Self.open(disk.copy()).report.snapshotsChecked == 3)
        let bytes = disk.contents(of: Self.path(1))!
        for index in bytes.indices {
            for changed in [bytes[..<index] + [bytes[index] ^ 0x10] + bytes[(index + 1)...], bytes[..<index]] {
                let damaged = disk.copy()
                damaged.replace(Self.path(1), with: Array(changed))
                let error = #expect(throws: StoreError.self, "byte \(index)") { try Self.open(damaged) }
                guard case .damaged(let damage) = error else {
                    Issue.record("byte \(index) gave \(String(describing: error))")
                    continue
                }
                #expect(damage.file == Self.path(1) && damage.offset <= UInt64(bytes.count))
            }
        }
        // One that is sound, in another's place.
        disk.replace(Self.path(1), with: disk.contents(of: Self.path(2)))
        #expect(throws: StoreError.self) { try Self.open(disk) }
    }

    @Test("if they are too many or too large, none is read at the start, and damage does not stop it")
    func limits() throws {
        let disk = try Self.folder(databases: 4)
        let total = (0..<4).reduce(UInt64(0)) { $0 + UInt64(disk.contents(of: Self.path($1))!.count) }
        disk.replace(Self.path(0), with: [])
        let rest = total - UInt64(try Self.folder(databases: 1).contents(of: Self.path(0))!.count)
        for check in [StartCheck(files: 3, bytes: .max), StartCheck(files: 4, bytes: rest - 1), .none] {
            #expect(try Self.open(disk.copy(), check).report.snapshotsChecked == nil, "\(check)")
        }
        for check in [StartCheck(files: 4, bytes: rest), .automatic, .all] {
            #expect(throws: StoreError.self, "\(check)") { try Self.open(disk.copy(), check) }
        }
    }

    @Test("a sweep reads all of them in pieces, and tells of those that are damaged")
    func sweep() throws {
        let disk = try Self.folder(databases: 5, bytes: 20_000)
        let large = disk.contents(of: Self.path(3))!
        disk.replace(Self.path(1), with: disk.contents(of: Self.path(1))!.dropLast())
        disk.replace(Self.path(3), with: large[..<200] + [large[200] ^ 1] + large[201...])
        for pieceBytes in [UInt64(1), 5_000, .max] {
            var sweep = try SnapshotSweep(on: disk)
            var findings: [SnapshotSweep.Finding] = []
            var steps = 0
            var cost: UInt64 = 0
            while !sweep.isDone {
                let step = sweep.step(bytes: pieceBytes)
                findings += step.findings
                cost += step.cost
                steps += 1
            }
            #expect(findings.map(\.path) == [Self.path(1), Self.path(3)])
            #expect(findings[1].concerns(Self.id(3), on: disk) && !findings[1].concerns(Self.id(1), on: disk))
            #expect(sweep.soundCount == 3 && cost > 5 * StoreLimits.checkedFileBytesMin)
            #expect(steps >= (pieceBytes == .max ? 1 : 5))
        }
    }

    @Test("a snapshot that is replaced or goes away while it is looked at is no damage")
    func replaced() throws {
        let disk = try Self.folder(databases: 2)
        let sound = disk.contents(of: Self.path(0))
        disk.replace(Self.path(0), with: sound!.dropLast())
        var sweep = try SnapshotSweep(on: disk)
        // Opened, and not read to the end.
        #expect(sweep.step(bytes: StoreLimits.checkedFileBytesMin + 1).findings.isEmpty)
        disk.replace(Self.path(0), with: sound)
        disk.replace(Self.path(1), with: nil)
        while !sweep.isDone { #expect(sweep.step(bytes: .max).findings.isEmpty) }
        #expect(sweep.soundCount == 1)
    }
}
