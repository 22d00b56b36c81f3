import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer

@Suite("A folder of backups")
struct BackupsFolderTests {
    @Test("has those that were verified, the oldest first, and the time of the newest that lacks nothing")
    func names() throws {
        try TestFolder.with { path in
            #expect(throws: SystemError.self) { _ = try BackupsFolder(path + "/none") }
            #expect(try BackupsFolder(path).backups.isEmpty && BackupsFolder(path).newestWholeSeconds == nil)
            for name in [
                "brume-20270101T000000Z-lacking", "brume-20261130T021500Z", "brume-20261130T021501Z.brume",
                "brume-20200101T000000Z", "brume-20261231T000000Z.unverified",
                "brume-20261231T000000Z.unverified.brume",
                "brume-20261231T000000Z.removing", "brume-2026123!T000000Z", "brume-20261231T000000", "notes", ".lock",
                "brume-20280101T000000Z-lacking.brume", "brume-20261231T000000Z.copy", "brume-",
            ] { try FileSystem.makeDirectory("\(path)/\(name)") }
            let folder = try BackupsFolder(path)
            #expect(
                folder.backups.map(\.name) == [
                    "brume-20200101T000000Z", "brume-20261130T021500Z", "brume-20261130T021501Z.brume",
                    "brume-20270101T000000Z-lacking", "brume-20280101T000000Z-lacking.brume",
                ])
            #expect(folder.backups.map(\.isLacking) == [false, false, false, true, true])
            #expect(folder.backups[0].seconds == 1_577_836_800 && folder.newestWholeSeconds == 1_796_004_901)
        }
    }
}
