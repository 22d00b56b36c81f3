import BrumeSystem
import Foundation
import Glibc
import Testing

@Suite("The lock of a folder")
struct DirectoryLockTests {
    private func withFolder(_ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.path + "/brume-lock-\(UUID().uuidString)"
        try FileSystem.makeDirectoryTree(path, permissions: 0o700)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test("is held by one at a time, and a file that is left means nothing") func once() throws {
        try withFolder { folder in
            let lock = try DirectoryLock(directory: folder)
            #expect(throws: SystemError.self) { try DirectoryLock(directory: folder) }
            lock.release()
            try DirectoryLock(directory: folder).release()
        }
    }

    @Test("is no link to another file") func link() throws {
        try withFolder { folder in
            let victim = folder + "/victim"
            try Data("text".utf8).write(to: URL(fileURLWithPath: victim))
            try FileManager.default.createSymbolicLink(atPath: folder + "/lock", withDestinationPath: victim)
            #expect(throws: SystemError.self) { try DirectoryLock(directory: folder) }
        }
    }

    @Test("belongs to the folder's owner where root makes it, and stays whose it was", .enabled(if: geteuid() == 0))
    func owner() throws {
        try withFolder { folder in
            #expect(chown(folder, 12_345, 12_345) == 0)
            try DirectoryLock(directory: folder).release()
            #expect(try FileSystem.owner(folder + "/lock") == 12_345)
            #expect(chown(folder + "/lock", 0, 0) == 0)
            try DirectoryLock(directory: folder).release()
            #expect(try FileSystem.owner(folder + "/lock") == 0)
        }
    }
}
