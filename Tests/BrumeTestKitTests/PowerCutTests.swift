import BrumeStore
import BrumeTestKit
import Testing

/// What a power cut leaves of names: a file system promises no more.
@Suite("A power cut of the simulated disk")
struct PowerCutTests {
    private let disk = SimulatedDisk()

    private func makeFile(_ path: String, _ content: [UInt8] = [1, 2, 3]) throws {
        let file = try disk.create(path)
        try disk.write(content, to: file, at: 0)
        try disk.sync(file)
        disk.close(file)
    }

    @Test("leaves a file that was renamed to another folder its old name, its new one or both, and never none")
    func renames() throws {
        for folder in ["a", "b"] { try disk.makeDirectory(folder) }
        try makeFile("a/1")
        disk.syncEverything()
        try disk.rename("a/1", to: "b/2")
        var found = Set<[String]>()
        for seed in 0..<40 as Range<UInt64> {
            let copy = disk.copy()
            copy.crash(seed: seed)
            found.insert(copy.paths)
            for path in copy.paths { #expect(copy.contents(of: path) == [1, 2, 3]) }
        }
        #expect(found == [["a/1"], ["b/2"], ["a/1", "b/2"]])
        // Once its new folder is synced it has the new name; the old one it may have still.
        try disk.syncDirectory("b")
        let half = disk.copy()
        half.crash(seed: 1, .nothing)
        #expect(half.paths == ["a/1", "b/2"])
        try disk.syncDirectory("a")
        disk.crash(seed: 1, .nothing)
        #expect(disk.paths == ["b/2"])
    }

    @Test(
        "does not take the name that a new file was given after the former one was renamed away",
        arguments: [["b", "a"], ["a", "b"], ["a"], []])
    func reusedNames(syncs: [String]) throws {
        for folder in ["a", "b"] {
            try disk.makeDirectory(folder)
            try disk.syncDirectory("")
        }
        try makeFile("a/1")
        try disk.syncDirectory("a")
        try disk.rename("a/1", to: "b/2")
        try makeFile("a/1", [4])
        for folder in syncs { try disk.syncDirectory(folder) }
        for seed in 0..<20 as Range<UInt64> {
            let copy = disk.copy()
            copy.crash(seed: seed, seed == 0 ? .nothing : .byChance)
            let contents = copy.paths.map { copy.contents(of: $0) }
            #expect(contents.contains([1, 2, 3]), "seed \(seed): the former file has a name")
            if !syncs.isEmpty {
                #expect(copy.contents(of: "a/1") == [4] && copy.contents(of: "b/2") == [1, 2, 3])
            }
        }
    }

    @Test("leaves what was renamed over another file, in whatever order the folders are synced")
    func replacedNames() throws {
        for folder in ["a", "b"] { try disk.makeDirectory(folder) }
        try makeFile("a/1")
        try makeFile("b/2", [4])
        disk.syncEverything()
        try disk.remove("b/2")
        try disk.rename("a/1", to: "b/2")
        for folder in ["a", "b"] { try disk.syncDirectory(folder) }
        disk.crash(seed: 1, .nothing)
        #expect(disk.paths == ["b/2"] && disk.contents(of: "b/2") == [1, 2, 3])
    }

    @Test("leaves a file its old name when the folder is lost that it was renamed into")
    func lostFolders() throws {
        try disk.makeDirectory("a")
        try makeFile("a/1")
        disk.syncEverything()
        try disk.makeDirectory("b")
        try disk.rename("a/1", to: "b/2")
        for seed in 0..<20 as Range<UInt64> {
            let copy = disk.copy()
            copy.crash(seed: seed, seed == 0 ? .nothing : .byChance)
            #expect(copy.paths == ["a/1"] || copy.paths == ["b/2"] || copy.paths == ["a/1", "b/2"], "seed \(seed)")
        }
    }

    @Test("takes a folder with all that is in it, unless the folder around it was synced")
    func folders() throws {
        try disk.makeDirectory("a")
        try disk.syncDirectory("")
        try disk.makeDirectory("a/b")
        try makeFile("a/b/1")
        try disk.syncDirectory("a/b")
        let unsynced = disk.copy()
        unsynced.crash(seed: 1, .nothing)
        #expect(unsynced.paths == [])
        #expect(throws: DiskError.self, "it is gone") { _ = try unsynced.create("a/b/1") }
        try disk.syncDirectory("a")
        disk.crash(seed: 1, .nothing)
        #expect(disk.paths == ["a/b/1"])
        #expect(throws: DiskError.self) { try disk.makeDirectory("c/d") }
        #expect(throws: DiskError.self) { try disk.syncDirectory("c") }
    }
}
