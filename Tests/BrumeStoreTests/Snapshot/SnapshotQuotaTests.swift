import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// What a quota counts of a database that nobody has loaded.
@Suite("The bytes that a snapshot counts towards a quota")
struct SnapshotQuotaTests {
    /// A folder with one database, of `bytes`, whose snapshot `change` has changed.
    private static func folder(
        _ change: (inout DatabaseCapture) -> Void = { _ in }
    ) throws -> (disk: SimulatedDisk, bytes: Int) {
        let folder = try Folder()
        try folder.makeZone()
        for name in ["a", "b"] { try folder.save(name) }
        var capture = folder.desk.database.capture()
        change(&capture)
        try folder.log.writeSnapshot(capture)
        try folder.log.trim()
        return (folder.disk, folder.desk.database.quotaBytes)
    }

    private static func quotaBytes(of id: DatabaseID = Desk.privateID, on disk: SimulatedDisk) throws -> Int? {
        try snapshots(on: disk).quotaBytes(of: id)
    }

    private static func snapshots(on disk: SimulatedDisk) throws -> Recovery.SnapshotSource {
        try Recovery(opening: disk, options: Folder.options(), newEpoch: 7).snapshots
    }

    @Test("are those of the database")
    func same() throws {
        let (disk, bytes) = try Self.folder()
        #expect(try Self.quotaBytes(on: disk) == bytes && bytes > 0)
    }

    @Test("are counted from its records where an earlier version, which did not say it, has written the snapshot")
    func earlier() throws {
        let (disk, bytes) = try Self.folder { $0.quotaBytes = 0 }
        #expect(try Self.quotaBytes(on: disk) == nil)
        let snapshots = try Self.snapshots(on: disk)
        #expect(try snapshots.countedQuotaBytes(of: Desk.privateID) { true } == bytes)
        #expect(throws: StoreError.self) { try snapshots.countedQuotaBytes(of: Desk.privateID) { false } }
    }

    @Test("are no number that sums of them could not take, whatever the file says")
    func forged() throws {
        let (disk, _) = try Self.folder { $0.quotaBytes = .max }
        #expect(try Self.quotaBytes(on: disk) == 1 << 50)
    }

    @Test("are none of a database that never was")
    func none() throws {
        let other = DatabaseID(
            container: "iCloud.other", environment: .development, scope: .private, owner: Desk.owner)
        #expect(try Self.quotaBytes(of: other, on: Self.folder().disk) == 0)
    }

    @Test("are unknown, and not none, when the file is damaged")
    func damaged() throws {
        let (disk, _) = try Self.folder()
        let snapshots = try Self.snapshots(on: disk)
        let path = SnapshotFormat.path(of: Desk.privateID, on: disk)
        var bytes = try #require(disk.contents(of: path))
        bytes[40] ^= 1
        disk.replace(path, with: bytes)
        #expect(throws: StoreError.self) { try snapshots.quotaBytes(of: Desk.privateID) }
        disk.replace(path, with: nil)
        #expect(throws: StoreError.self) { try snapshots.quotaBytes(of: Desk.privateID) }
    }
}
