import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("The folders of databases' assets")
struct DatabaseFoldersTests {
    private static func id(_ owner: String, container: String = "iCloud.test") -> DatabaseID {
        DatabaseID(
            container: container, environment: .production, scope: owner.isEmpty ? .public : .private, owner: owner)
    }

    /// Stores a content of a few bytes in a database's folder.
    private static func store(in id: DatabaseID, on disk: SimulatedDisk) throws -> (BlobFolder, BlobName) {
        let folder = BlobFolder(of: id, on: disk)
        guard case .open(let upload) = try folder.open(BlobScene.identity(3)) else { throw TestFailure("busy") }
        try upload.append([1, 2, 3])
        let name = BlobName(checksum: upload.finishChecksum(), generation: 1)
        try folder.seal(upload, as: name)
        try folder.syncNames(of: [name])
        return (folder, name)
    }

    @Test("tell which databases they are of, those with long names too, after a power cut")
    func names() throws {
        let disk = SimulatedDisk()
        let long = String(repeating: "ä+", count: 60)
        let ids = [Self.id(""), Self.id("_ada"), Self.id("_ada", container: long), Self.id("", container: long)]
        for id in ids { _ = try Self.store(in: id, on: disk) }
        disk.crash(seed: 1, .nothing)
        #expect(Set(try DatabaseFolders.databases(on: disk)) == Set(ids))
    }

    @Test("are believed no further than their names")
    func strangers() throws {
        let disk = SimulatedDisk()
        let long = String(repeating: "x", count: 190)
        _ = try Self.store(in: Self.id("_ada", container: long), on: disk)
        let path = try #require(disk.paths.first { $0.hasSuffix("/database") })
        let text = try #require(disk.contents(of: path))
        for other in ["development+private+x+_y", "production+private+\(long)+_bob", "", "\u{0}"] {
            disk.replace(path, with: Array(other.utf8))
            #expect(try DatabaseFolders.databases(on: disk) == [], "\(other)")
        }
        disk.replace(path, with: text + [0])
        #expect(try DatabaseFolders.databases(on: disk) == [])
        disk.replace(path, with: [UInt8](repeating: 1, count: 100_000))
        #expect(try DatabaseFolders.databases(on: disk) == [])
        disk.replace(path, with: nil)
        #expect(try DatabaseFolders.databases(on: disk) == [])
        // The next upload writes it anew.
        _ = try Self.store(in: Self.id("_ada", container: long), on: disk)
        #expect(try DatabaseFolders.databases(on: disk) == [Self.id("_ada", container: long)])
        for folder in ["lost+found", "production+private+a%2+_b", "production+shared+a+_b", "production+public+a+_b"] {
            disk.replace("assets/\(folder)/00/x", with: [1])
        }
        #expect(try DatabaseFolders.databases(on: disk).count == 1)
    }

    @Test(
        "go when they hold nothing, and come back with the next upload",
        arguments: ["iCloud.test", String(repeating: "x", count: 190)])
    func empty(container: String) throws {
        let disk = SimulatedDisk()
        let id = Self.id("_ada", container: container)
        let (folder, name) = try Self.store(in: id, on: disk)
        try folder.removeEmptyFolders()
        #expect(try folder.isDurable(name) && disk.listFolders("assets").count == 1, "it holds something")
        #expect(try folder.remove([name]) == [])
        try folder.removeEmptyFolders()
        #expect(try disk.listFolders("assets") == [] && disk.paths == [])
        try folder.removeEmptyFolders()
        let (again, second) = try Self.store(in: id, on: disk)
        #expect(try folder.isDurable(second))
        disk.crash(seed: 3, .nothing)
        #expect(try again.isDurable(second) && DatabaseFolders.databases(on: disk) == [id])
    }
}
