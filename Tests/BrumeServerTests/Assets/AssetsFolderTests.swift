import BrumeStore
import BrumeSystem
import BrumeTestKit
import Glibc
import Testing

@testable import BrumeServer

/// The steps between the two folders; the commands' own tests have servers and their refusals.
@Suite("The folder of assets on another disk")
struct AssetsFolderTests {
    private let folder: TestFolder
    private let data: String
    private let other: String
    private let id = [UInt8](repeating: 7, count: AssetPlace.idBytes)

    init() throws {
        folder = try TestFolder()
        let path = try FileSystem.canonicalPath(folder.path)
        (data, other) = (path + "/data", path + "/other")
        try FileSystem.makeDirectory(data)
        try FileSystem.makeDirectory(other)
    }

    private func place(_ path: String) throws -> AssetPlace? { try AssetPlace.read(from: RealDisk(folder: path)) }

    private func write(_ kind: AssetPlace.Kind, _ otherPath: String, to path: String) throws {
        try AssetPlace(id: id, kind: kind, use: id, otherPath: otherPath).write(to: RealDisk(folder: path))
    }

    private func open(_ path: String?) throws -> String? {
        let assets = try AssetsFolder.open(for: data, at: path, log: .none)
        assets.release()
        return assets.path
    }

    @Test("is known by both folders, and by one id")
    func settled() throws {
        #expect(try open(nil) == nil && open(data) == nil && place(data) == nil)
        #expect(try open(other) == other)
        let (own, holder) = (try #require(try place(data)), try #require(try place(other)))
        #expect(own.kind == .elsewhere && own.otherPath == other && holder.kind == .holder && holder.otherPath == data)
        #expect(own.id == holder.id && own.id.contains { $0 != 0 })
        #expect(try FileSystem.list(other) == ["assets", "brume.assets", "lock"])
        #expect(try open(other) == other && AssetsFolder.known(to: data).path == other)
    }

    @Test("is looked for nowhere else after a crash behind any step, until the steps are taken again, or taken back")
    func crashes() throws {
        for steps in 1...3 {
            for path in [data, other] { try FileSystem.removeTree(path) }
            for path in [data, other] { try FileSystem.makeDirectory(path) }
            try FileSystem.makeDirectory(other + "/assets")
            try write(.moving, other, to: data)
            if steps > 1 { try write(.holder, data, to: other) }
            if steps > 2 { try write(.elsewhere, other, to: data) }
            let error = #expect(throws: ServerError.self) { try open(nil) }
            #expect(error?.code == .assetsNotNamed && error?.message.contains("--assets \(other)") == true)
            if steps < 3 {
                let unknown = #expect(throws: ServerError.self) { try AssetsFolder.known(to: data) }
                #expect(unknown?.code == .assetsNotNamed && unknown?.message.contains("were being moved") == true)
                let own = try #require(try place(data))
                #expect(try open(data) == nil && place(data)?.kind == .here && open(nil) == nil)
                try own.write(to: RealDisk(folder: data))
            }
            #expect(try open(other) == other, "\(steps) steps")
            #expect(try place(data)?.id == id && place(other)?.id == id)
        }
    }

    /// Puts files of the one folder or of the other back as they were.
    private func restoring(_ path: String, _ body: () throws -> Void) throws {
        let bytes = try FileSystem.read(path + "/brume.assets", limit: 1_000)
        try body()
        try FileSystem.atomicReplace(path + "/brume.assets", bytes)
    }

    @Test("is not used with a copy of the data folder from before the last start, nor a copy of it with that")
    func copies() throws {
        #expect(try open(other) == other)
        let former = try #require(try place(data)).use
        for older in [data, other] {
            try restoring(older) { () throws in #expect(try open(other) == other) }
            let (own, holder) = (try place(data), try place(other))
            let error = #expect(throws: ServerError.self) { try open(other) }
            #expect(error?.code == .assetsConflict && error?.message.contains("another state") == true)
            #expect(error?.message.contains("as \(data)") == true)
            #expect(try place(data) == own && place(other) == holder)
            // Nor are assets taken back with it.
            #expect(throws: ServerError.self) { try open(data) }
            // Accepting that makes them a pair.
            try AssetsFolder.open(for: data, at: other, acceptingLoss: true).release()
            #expect(try open(other) == other)
        }
        #expect(try place(data)?.use != former && place(data)?.use == place(other)?.use)
    }

    @Test("is not used with a copy of the data folder that had its assets in itself")
    func copiesOfBefore() throws {
        #expect(try open(other) == other && open(data) == nil)
        try restoring(data) { () throws in #expect(try open(other) == other && open(other) == other) }
        let error = #expect(throws: ServerError.self) { try open(other) }
        #expect(error?.code == .assetsConflict && error?.message.contains("another state") == true)
    }

    @Test("is used with the data folder that it was used with after a crash behind any step of a start")
    func crashesOfStarts() throws {
        #expect(try open(other) == other)
        let (own, holder) = (try #require(try place(data)), try #require(try place(other)))
        let use = [UInt8](repeating: 9, count: AssetPlace.idBytes)
        for steps in 1...3 {
            try own.write(to: RealDisk(folder: data))
            try AssetPlace(
                id: own.id, kind: .holder, use: use, formerUse: steps < 3 ? own.use : use, otherPath: data
            ).write(to: RealDisk(folder: other))
            if steps > 1 {
                try AssetPlace(id: own.id, kind: .elsewhere, use: use, otherPath: other)
                    .write(to: RealDisk(folder: data))
            }
            #expect(try open(other) == other, "\(steps) steps")
            #expect(try place(data)?.use == place(other)?.use)
        }
        #expect(holder.use == own.use)
    }

    @Test("is one server's at a time")
    func locked() throws {
        let assets = try AssetsFolder.open(for: data, at: other, log: .none)
        let error = #expect(throws: ServerError.self) { try open(other) }
        #expect(error?.code == .folderInUse)
        // Those who read don't mind.
        #expect(try AssetsFolder.known(to: data).path == other)
        assets.release()
        #expect(try open(other) == other)
    }

    @Test("is not another data folder's, whichever of the two is newer")
    func foreign() throws {
        #expect(try open(other) == other)
        let second = data + "-2"
        try FileSystem.makeDirectory(second)
        for acceptsLoss in [false, true] {
            let error = #expect(throws: ServerError.self) {
                try AssetsFolder.open(for: second, at: other, acceptingLoss: acceptsLoss)
            }
            #expect(error?.code == .assetsConflict)
        }
        let made = #expect(throws: ServerError.self) { try AssetsFolder.make(for: second, at: other) }
        #expect(made?.code == .assetsConflict)
        #expect(try place(second) == nil)
    }

    @Test("is not the right one any more when it was given up for another one")
    func givenUp() throws {
        #expect(try open(other) == other)
        let (id, another) = (try place(other)?.id, other + "-2")
        try FileSystem.makeDirectory(another)
        try AssetsFolder.open(for: data, at: another, acceptingLoss: true).release()
        #expect(try place(other)?.id == id && place(data)?.id != id && place(another)?.id == place(data)?.id)
        for acceptsLoss in [false, true] {
            let error = #expect(throws: ServerError.self) {
                try AssetsFolder.open(for: data, at: other, acceptingLoss: acceptsLoss)
            }
            #expect(error?.code == .assetsConflict && error?.message.contains("it was given up") == true)
        }
        #expect(try open(another) == another)
    }

    @Test("is nobody's to change but the server's")
    func owners() throws {
        try FileSystem.makeDirectory(other + "/assets")
        for path in [other, other + "/assets"] {
            for mode: mode_t in [0o720, 0o702, 0o777] {
                try #require(chmod(path, mode) == 0)
                let error = #expect(throws: ServerError.self, "\(path), \(mode)") { try open(other) }
                #expect(error?.code == .notPermitted && error?.message.contains("\(path) can be changed") == true)
            }
            try #require(chmod(path, 0o755) == 0)
        }
        #expect(try FileSystem.list(other) == ["assets"])
        // Where this process may give files away.
        if chown(other, 65_534, 65_534) == 0 {
            let error = #expect(throws: ServerError.self) { try open(other) }
            #expect(error?.code == .notPermitted)
            // They are the data folder's owner's.
            try #require(chown(data, 65_534, 65_534) == 0)
        }
        #expect(try open(other) == other)
    }

    @Test("is not followed to where links lead, and waits for no pipe")
    func links() throws {
        let target = data + "-target"
        try #require(symlink(target, other + "/lock") == 0)
        #expect(throws: ServerError.self) { try open(other) }
        #expect(!FileSystem.exists(target) && !FileSystem.exists(other + "/brume.assets"))
        try FileSystem.remove(other + "/lock")

        try #require(mkfifo(other + "/brume.assets", 0o600) == 0)
        #expect(throws: ServerError.self) { try open(other) }
        try FileSystem.remove(other + "/brume.assets")
        try AssetPlace(id: id, kind: .holder, use: id, otherPath: data).write(to: RealDisk(folder: folder.path))
        try #require(symlink(folder.path + "/brume.assets", other + "/brume.assets") == 0)
        let link = #expect(throws: ServerError.self) { try open(other) }
        #expect(link?.message.contains("is a symbolic link") == true)
        try FileSystem.remove(other + "/brume.assets")

        // A link holds something, wherever it leads.
        try #require(symlink(folder.path + "/nowhere", data + "/assets") == 0)
        let own = #expect(throws: ServerError.self) { try open(other) }
        #expect(own?.code == .assetsConflict)
        try FileSystem.remove(data + "/assets")
        #expect(try open(other) == other)
    }

    @Test("has assets in a folder of its own, and not where a link leads")
    func linkedAssets() throws {
        for target in [folder.path, folder.path + "/nowhere", folder.path + "/data/brume.assets"] {
            try #require(symlink(target, other + "/assets") == 0)
            let error = #expect(throws: ServerError.self, "\(target)") { try open(other) }
            #expect(error?.code == .assetsConflict || error?.code == .folder)
            try FileSystem.remove(other + "/assets")
        }
        #expect(try open(other) == other)
        try FileSystem.rename(other + "/assets", to: folder.path + "/elsewhere")
        try #require(symlink(folder.path + "/elsewhere", other + "/assets") == 0)
        for call in [{ try open(other) }, { try AssetsFolder.known(to: data).path }] {
            let error = #expect(throws: ServerError.self) { try call() }
            #expect(error?.code == .assetsConflict && error?.message.contains("symbolic link") == true)
        }
    }

    @Test("has nothing of what a data folder that could not be made was to have")
    func removed() throws {
        let made = try AssetsFolder.make(for: data, at: other)
        try made.disk.replaceFile("assets/x", in: "assets", with: [1])
        made.removeMade()
        made.release()
        #expect(try FileSystem.list(other) == ["lock"])
    }
}
