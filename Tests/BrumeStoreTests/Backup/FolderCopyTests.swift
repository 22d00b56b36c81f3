import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

@Suite("Copies of a data folder")
struct FolderCopyTests {
    private static func copy(
        _ disk: SimulatedDisk, _ kind: FolderCopy.Source, to target: SimulatedDisk = SimulatedDisk(),
        epoch: UInt32? = nil
    ) throws -> SimulatedDisk {
        try FolderCopy(of: disk, kind, others: ["accounts", "none"])
            .run(to: target, epoch: epoch, salt: 5) { _ in }
        return target
    }

    @Test("a folder that nobody uses is copied with its journal, and the copy is sound and durable")
    func idle() throws {
        let folder = try SnapshotTests.filled()
        try folder.log.writeSnapshot(folder.desk.database.capture())
        try folder.save("later")
        folder.disk.replace("accounts", with: [1, 2, 3])
        let copy = try FolderCopyTests.copy(folder.disk, .idle)
        copy.crash(seed: 1)
        #expect(try Verification(of: copy).isSound)
        #expect(copy.contents(of: "accounts") == [1, 2, 3] && copy.contents(of: "none") == nil)
        let again = try Folder(on: copy)
        #expect(try SnapshotTests.portrait(again.desk.database) == SnapshotTests.portrait(folder.desk.database))
        #expect(again.log.epoch == 7)
        try again.save("and goes on")
    }

    @Test("of a folder in use the snapshots are copied: what came behind them is not there, and the copy goes on")
    func inUse() throws {
        let folder = try SnapshotTests.filled()
        let names = try folder.names
        let token = try folder.desk.changes(since: nil).token
        try folder.log.writeSnapshot(folder.desk.database.capture())
        try folder.save("later")
        let lost = try folder.desk.changes(since: nil).token
        let copy = try FolderCopyTests.copy(folder.disk, .inUse, epoch: 1234)
        #expect(try Verification(of: copy).isSound)
        let restored = try Folder(on: copy, run: 1235)
        #expect(try restored.names == names && restored.log.epoch == 1234)
        #expect(throws: ServiceError.self) { try restored.desk.changes(since: lost) }
        for index in 0..<4 { try restored.save("new\(index)") }
        #expect(throws: ServiceError.self) { try restored.desk.changes(since: lost) }
        #expect(try restored.desk.changes(since: token).live.count == 4)
        #expect(try Folder(on: copy.copy(), run: 1236).names.count == names.count + 4)
    }

    @Test("a copy that is cut short anywhere is opened by nobody, or is whole")
    func cutShort() throws {
        let folder = try SnapshotTests.filled()
        try folder.log.writeSnapshot(folder.desk.database.capture())
        let portrait = try SnapshotTests.portrait(folder.desk.database)
        for kind in [FolderCopy.Source.idle, .inUse] {
            var call = 1
            var whole = 0
            var refused = 0
            while true {
                let target = SimulatedDisk()
                target.faults = .init(failingCall: call)
                let failed = (try? FolderCopyTests.copy(folder.disk.copy(), kind, to: target)) == nil
                target.faults = .init()
                target.crash(seed: UInt64(call))
                do {
                    let opened = try Folder(on: target)
                    if !opened.log.report.isNewFolder {
                        let copied = try SnapshotTests.portrait(opened.desk.database)
                        #expect(copied == portrait, "call \(call)")
                        whole += 1
                    }
                } catch {
                    #expect(failed, "call \(call): \(error)")
                    refused += 1
                }
                if !failed { break }
                call += 1
            }
            #expect(whole > 0 && refused > 0 && call > 10)
        }
    }

    @Test("what is no data folder is not copied")
    func noFolder() {
        #expect(throws: StoreError.self) { try FolderCopyTests.copy(SimulatedDisk(), .idle) }
    }
}
