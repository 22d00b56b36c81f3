import BrumeTestKit
import Glibc
import Testing

@testable import BrumeSystem

@Suite struct FileTests {
    private let directory: TestFolder

    init() throws { directory = try TestFolder() }

    @Test("a file is replaced whole, with its mode, and nothing else stays in the folder")
    func atomicReplace() throws {
        let path = directory.file("settings")
        try FileSystem.atomicReplace(path, Array("one".utf8))
        try FileSystem.atomicReplace(path, Array("two".utf8), permissions: 0o644)
        #expect(try FileSystem.read(path, limit: 100) == Array("two".utf8))
        #expect(try FileSystem.permissions(path) == 0o644)
        #expect(try FileSystem.list(directory.path) == ["settings"])
    }

    @Test("a file gives its room back where nobody can come to it any more, and only there")
    func givesBack() throws {
        let (path, link) = (directory.file("large"), directory.file("link"))
        let file = try File(path: path, mode: .createExclusively)
        try file.writeZeros(0..<9 << 20)
        file.giveBack()
        #expect(try file.size() == 9 << 20, "it has its name")
        try #require(Glibc.link(path, link) == 0)
        try FileSystem.remove(path)
        file.giveBack()
        #expect(try file.size() == 9 << 20, "it has another name")
        let reader = try File(path: link, mode: .read)
        try FileSystem.remove(link)
        file.giveBack()
        #expect(try file.size() == 9 << 20, "somebody reads it")
        reader.close()
        file.giveBack()
        #expect(try file.size() == 0)
        file.close()
    }

    @Test("a file gets a second name, under which it stays when the first one goes; nothing is replaced by it")
    func link() throws {
        func link(_ path: String, to target: String) throws -> Bool {
            try File(path: path, mode: .readRegular).link(to: target)
        }
        let (path, second) = (try directory.write("one", "content"), directory.file("two"))
        #expect(try link(path, to: second))
        #expect(FileSystem.isSame(path, second) && !FileSystem.isSame(path, directory.path))
        #expect(throws: SystemError.self) { try link(path, to: second) }
        let (symbolic, third) = (directory.file("symbolic"), directory.file("third"))
        try #require(symlink(path, symbolic) == 0)
        #expect(FileSystem.isLink(symbolic) && !FileSystem.isLink(path) && !FileSystem.isLink(directory.file("no")))
        #expect(try link(symbolic, to: third))
        // The file that was opened, whatever has its path by now.
        let file = try File(path: path, mode: .readRegular)
        try FileSystem.remove(path)
        _ = try directory.write("one", "another")
        #expect(try file.link(to: directory.file("four")))
        #expect(try FileSystem.read(directory.file("four"), limit: 100) == Array("content".utf8))
        try FileSystem.remove(path)
        #expect(try FileSystem.read(second, limit: 100) == Array("content".utf8))
        #expect(FileSystem.isSame(second, third))
        #expect(!FileSystem.isSame(path, second) && !FileSystem.isSame(path, path))
        // Another file system, which every Linux has.
        #expect(try !link("/proc/version", to: directory.file("version")))
        try FileSystem.syncFileSystem(of: directory.path)
        #expect(throws: SystemError.self) { try FileSystem.syncFileSystem(of: path) }
    }

    @Test("a folder's lock is a file of its own: no link to another one, and nothing else that has its name")
    func lock() throws {
        let folder = directory.file("locked")
        try FileSystem.makeDirectory(folder)
        let target = directory.file("target")
        try #require(symlink(target, folder + "/lock") == 0)
        #expect(throws: SystemError.self) { try DirectoryLock(directory: folder) }
        #expect(!FileSystem.exists(target))
        try FileSystem.remove(folder + "/lock")
        try #require(mkfifo(folder + "/lock", 0o600) == 0)
        #expect(throws: SystemError.self) { try DirectoryLock(directory: folder) }
        try FileSystem.remove(folder + "/lock")
        try DirectoryLock(directory: folder).release()
        try DirectoryLock(directory: folder).release()
    }

    @Test("a path stands in a folder at any depth, whatever the two are called")
    func stands() throws {
        let (outer, inner) = (directory.file("outer"), directory.file("outer/inner"))
        try FileSystem.makeDirectoryTree(inner + "/deep")
        try FileSystem.makeDirectory(directory.file("outer-2"))
        try #require(symlink(inner, directory.file("link")) == 0)
        for path in [outer, outer + "/", inner + "/deep", outer + "/new", directory.file("link/deep/new")] {
            #expect(FileSystem.stands(path, in: outer), "\(path)")
        }
        for path in [
            directory.path, directory.file("outer-2"), directory.file("outer-2/new"), directory.file("new"), "/",
        ] {
            #expect(!FileSystem.stands(path, in: outer), "\(path)")
        }
        #expect(!FileSystem.stands(outer, in: directory.file("nowhere")))
        #expect(try FileSystem.canonicalPath(directory.file("link/../inner/.")) == FileSystem.canonicalPath(inner))
        #expect(throws: SystemError.self) { try FileSystem.canonicalPath(outer + "/new") }
    }

    @Test("a file's version changes when it is edited or replaced, and not when it is read")
    func versions() throws {
        let path = directory.file("photo")
        try FileSystem.atomicReplace(path, [1, 2, 3])
        let file = try File(path: path, mode: .write)
        try file.setTimes(accessedNanoseconds: -1, modifiedNanoseconds: 1_500_000_000)
        let status = try file.status()
        #expect(status.isRegular && status.version.byteCount == 3)
        #expect(status.version.modifiedNanoseconds == 1_500_000_000 && status.accessedNanoseconds == -1)
        try FileSystem.setAccessTime(path, nanoseconds: 7_000_000_001)
        #expect(try FileSystem.status(path).accessedNanoseconds == 7_000_000_001)
        #expect(try FileSystem.status(path).version == status.version)
        try withUnsafeBytes(of: UInt8(9)) { try file.write($0, at: 0) }
        #expect(try file.status().version != status.version)
        try FileSystem.atomicReplace(path, [1, 2, 3])
        #expect(try FileSystem.status(path).version.inode != file.status().version.inode)
    }

    @Test("a file knows whether its path still leads to it")
    func inPlace() throws {
        let path = directory.file("part")
        let file = try File(path: path, mode: .createExclusively)
        #expect(try file.isInPlace())
        try FileSystem.rename(path, to: path + "2")
        #expect(try !file.isInPlace())
        _ = try File(path: path, mode: .createExclusively)
        #expect(try !file.isInPlace())
    }

    @Test("only a regular file is opened as one, and a pipe without a writer is not waited for")
    func regularFiles() throws {
        try FileSystem.atomicReplace(directory.file("file"), [1])
        _ = try File(path: directory.file("file"), mode: .readRegular)
        try #require(mkfifo(directory.file("pipe"), 0o600) == 0)
        for path in [directory.file("pipe"), directory.path, "/dev/null"] {
            let error = #expect(throws: SystemError.self) { try File(path: path, mode: .readRegular) }
            #expect(error?.message == "it is not a regular file", "\(path)")
        }
        let error = #expect(throws: SystemError.self) { try File(path: directory.file("none"), mode: .readRegular) }
        #expect(error?.isNotFound == true)
    }

    @Test("one opener of a file has its lock at a time, until it unlocks")
    func fileLocks() throws {
        let path = directory.file("part")
        let files = try (0..<2).map { _ in try File(path: path, mode: .readWrite) }
        #expect(try files[0].tryLock())
        #expect(try files[0].tryLock())
        #expect(try !files[1].tryLock())
        files[0].unlockAndClose()
        #expect(try files[1].tryLock())
    }

    @Test("a folder is made with those above it, and a file in its way is named with what is wrong")
    func directoryTree() throws {
        let path = directory.file("a/b/c")
        try FileSystem.makeDirectoryTree(path + "/")
        try FileSystem.makeDirectoryTree(path)
        #expect(FileSystem.isDirectory(path))
        try FileSystem.atomicReplace(directory.file("file"), [])
        let error = #expect(throws: SystemError.self) { try FileSystem.makeDirectoryTree(directory.file("file/b/c")) }
        #expect(error?.errno == ENOTDIR && error?.call == "mkdir", "\(String(describing: error))")
    }

    @Test("the leftover of a crash does not stop the next replacement")
    func leftoverIsReplaced() throws {
        let path = directory.file("settings")
        _ = try File(path: path + ".tmp", mode: .createExclusively)
        try FileSystem.atomicReplace(path, [1])
        #expect(try FileSystem.list(directory.path) == ["settings"])
    }

    @Test("a replacement that fails leaves the old file")
    func failedReplacement() throws {
        let path = directory.file("folder")
        try FileSystem.makeDirectory(path)
        let error = #expect(throws: SystemError.self) { try FileSystem.atomicReplace(path, [1]) }
        #expect(error?.call == "rename")
        #expect(FileSystem.isDirectory(path))
        #expect(try FileSystem.list(directory.path) == ["folder"])
    }

    @Test("the folder's lock keeps a second owner out, and lets it in after its release")
    func lockExcludes() throws {
        let lock = try DirectoryLock(directory: directory.path)
        let path = directory.path
        let error = #expect(throws: SystemError.self) { _ = try DirectoryLock(directory: path) }
        #expect(error?.isExisting == true)
        lock.release()
        let second = try DirectoryLock(directory: path)
        second.release()
    }

    @Test(
        "the folder is free as soon as its lock is released, also while a process that is being started has the descriptor"
    )
    func lockEndsWithItsRelease() throws {
        let path = directory.path
        func release(_ end: (inout DirectoryLock?) -> Void) throws {
            var lock: DirectoryLock? = try DirectoryLock(directory: path)
            // What a fork leaves behind until the program runs.
            let copies = try copiesOfDescriptors(of: path + "/lock")
            defer { for copy in copies { close(copy) } }
            #expect(copies.count == 1)
            end(&lock)
            try DirectoryLock(directory: path).release()
        }
        try release { $0?.release() }
        try release { $0 = nil }
    }

    /// Duplicates of this process's descriptors of a file.
    private func copiesOfDescriptors(of path: String) throws -> [Int32] {
        try FileSystem.list("/proc/self/fd").compactMap { Int32($0) }.filter { fd in
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(fd)", &target, target.count - 1)
            return count > 0 && String(decoding: target[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) == path
        }.map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
    }

    @Test("a transfer goes on after short counts and interruptions, and stops at the end of the file")
    func shortTransfers() throws {
        var calls: [(Int, Int)] = []
        var answers = [3, -1, 4, 1]
        let moved = try SystemCall.transferAll("pwrite", "x", count: 8) { offset, remaining in
            calls.append((offset, remaining))
            let answer = answers.removeFirst()
            if answer < 0 { errno = EINTR }
            return answer
        }
        #expect(moved == 8)
        #expect(calls.map(\.0) == [0, 3, 3, 7])
        #expect(calls.map(\.1) == [8, 5, 5, 1])
        answers = [5, 0]
        let ended = try SystemCall.transferAll("pread", "x", count: 8) { _, _ in answers.removeFirst() }
        #expect(ended == 5)
        let error = #expect(throws: SystemError.self) {
            _ = try SystemCall.transferAll("pwrite", "the/path", count: 8) { offset, _ in
                errno = ENOSPC
                return offset == 0 ? 5 : -1
            }
        }
        #expect(error == SystemError(call: "pwrite", errno: ENOSPC, context: "the/path"))
        #expect(error?.isDiskFull == true)
    }

    @Test("bytes are written and read at offsets, cut, and filled with zeros")
    func readAndWrite() throws {
        let file = try File(path: directory.file("data"), mode: .createExclusively)
        try file.writeZeros(0..<3_000_000)
        #expect(try file.size() == 3_000_000)
        let bytes = [UInt8](1...200)
        try bytes.withUnsafeBytes { try file.write($0, at: 2_999_900) }
        try file.syncData()
        try file.sync()
        #expect(try file.size() == 3_000_100)
        var target = [UInt8](repeating: 9, count: 300)
        let count = try target.withUnsafeMutableBytes { try file.read(into: $0, at: 2_999_850) }
        #expect(count == 250)
        #expect(Array(target[..<50]) == [UInt8](repeating: 0, count: 50))
        #expect(Array(target[50..<250]) == bytes)
        try file.truncate(to: 10)
        #expect(try FileSystem.size(file.path) == 10)
        file.close()
        file.close()
    }

    @Test("exclusive creation refuses a file that is there, and errors name call and path")
    func errorsNameThePath() throws {
        let path = directory.file("data")
        _ = try File(path: path, mode: .createExclusively)
        let existing = #expect(throws: SystemError.self) { _ = try File(path: path, mode: .createExclusively) }
        #expect(existing?.isExisting == true)
        let missing = #expect(throws: SystemError.self) { _ = try File(path: path + "x", mode: .read) }
        #expect(missing?.isNotFound == true)
        #expect(missing?.description.hasPrefix("open \(path)x: ") == true)
    }

    @Test("a file larger than the limit is not read", arguments: [0, 1, 9, 10, 11, 100])
    func readHasALimit(limit: Int) throws {
        let path = directory.file("ten")
        try FileSystem.atomicReplace(path, [UInt8](0..<10))
        if limit >= 10 {
            #expect(try FileSystem.read(path, limit: limit) == [UInt8](0..<10))
        } else {
            #expect(throws: SystemError.self) { try FileSystem.read(path, limit: limit) }
        }
    }

    @Test("files without a size, as in /proc, are read up to the limit")
    func readsFilesWithoutSize() throws {
        #expect(try FileSystem.read("/proc/self/status", limit: 100_000).starts(with: Array("Name:".utf8)))
        #expect(throws: SystemError.self) { try FileSystem.read("/proc/self/status", limit: 10) }
    }

    @Test("folders are made, listed and removed; making one again is no error, but a file in its place is")
    func folders() throws {
        let path = directory.file("folder")
        try FileSystem.makeDirectory(path)
        try FileSystem.makeDirectory(path)
        for name in ["b", "a"] { _ = try File(path: path + "/" + name, mode: .createExclusively) }
        #expect(try FileSystem.list(path) == ["a", "b"])
        #expect(throws: SystemError.self) { try FileSystem.makeDirectory(path + "/a") }
        try FileSystem.rename(path + "/a", to: path + "/c")
        try FileSystem.syncDirectory(path)
        for name in ["b", "c"] { try FileSystem.remove(path + "/" + name) }
        try FileSystem.removeDirectory(path)
        #expect(!FileSystem.exists(path))
        #expect(FileSystem.directory(of: "/a") == "/")
        #expect(FileSystem.directory(of: "a") == ".")
        #expect(FileSystem.directory(of: "/a/b") == "/a")
        #expect(try FileSystem.availableBytes(directory.path) > 0)
        let space = try FileSystem.space(directory.path)
        #expect(space.available > 0 && space.available <= space.total)
    }

    @Test("a folder goes with all that is in it, and what a link in it leads to stays")
    func removeTree() throws {
        let (path, other) = (directory.file("folder"), directory.file("other"))
        for folder in [path, path + "/inner", path + "/inner/empty", other] { try FileSystem.makeDirectory(folder) }
        for name in ["/a", "/inner/b"] { _ = try File(path: path + name, mode: .createExclusively) }
        _ = try File(path: other + "/kept", mode: .createExclusively)
        try #require(symlink(other, path + "/inner/link") == 0)
        try FileSystem.removeTree(path)
        #expect(try FileSystem.list(directory.path) == ["other"])
        #expect(try FileSystem.list(other) == ["kept"])
        try FileSystem.removeTree(path)
        try FileSystem.removeTree(other + "/kept")
        #expect(try FileSystem.list(other) == [])
    }

    @Test("a temporary folder is its owner's alone, has a name of its own, and goes when it is told to")
    func temporaryFolders() throws {
        let folders = try (0..<2).map { _ in try TemporaryFolder(prefix: "brume-system") }
        #expect(folders[0].path != folders[1].path)
        for folder in folders {
            #expect(folder.path.hasPrefix(TemporaryFolder.parent + "/brume-system-"))
            #expect(try FileSystem.permissions(folder.path) == 0o700)
            _ = try File(path: folder.path + "/file", mode: .createExclusively)
        }
        folders[0].remove()
        #expect(!FileSystem.exists(folders[0].path) && FileSystem.exists(folders[1].path))
        folders[0].remove()
        folders[1].remove()
        #expect(!FileSystem.exists(folders[1].path))
    }

    @Test("a temporary folder goes when its process ends")
    func temporaryFolderGoesWithItsProcess() async throws {
        let result = try await #require(
            processExitsWith: .success, observing: [\.standardOutputContent]
        ) {
            let folder = try TemporaryFolder(prefix: "brume-system")
            _ = try File(path: folder.path + "/file", mode: .createExclusively)
            print("folder=\(FileSystem.exists(folder.path) ? folder.path : "")=")
            exit(0)
        }
        let parts = String(decoding: result.standardOutputContent, as: UTF8.self).split(separator: "=")
        let path = String(try #require(parts.dropFirst().first))
        #expect(path.hasPrefix(TemporaryFolder.parent + "/brume-system-") && !FileSystem.exists(path))
    }
}
