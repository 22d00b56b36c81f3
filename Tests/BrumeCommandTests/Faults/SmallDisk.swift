internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// A file system in memory, of a few MiB, that goes with the object.
final class SmallDisk {
    let path: String

    /// Whether this process may mount one: in a container without that right the tests are skipped.
    static let isPossible: Bool = {
        guard let folder = try? TestFolder(), let disk = try? SmallDisk(in: folder, mebibytes: 1) else { return false }
        return FileManager.default.fileExists(atPath: disk.path)
    }()

    init(in folder: TestFolder, at name: String = "disk", mebibytes: Int) throws {
        path = folder.path + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let mounted = try Tool.run(["mount", "-t", "tmpfs", "-o", "size=\(mebibytes)m", "brume-test", path])
        guard mounted.status == 0 else { throw TestFailure("no tmpfs can be mounted here: \(mounted.output)") }
    }

    deinit { _ = try? Tool.run(["umount", "-l", path]) }

    /// Takes all the room but for some bytes.
    func fill(leaving bytes: Int) throws {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { throw TestFailure("statvfs failed") }
        let free = Int(status.f_bavail) * Int(status.f_frsize)
        try Data(count: max(0, free - bytes)).write(to: URL(fileURLWithPath: path + "/filler"))
    }

    /// Gives the room back.
    func empty() throws { try FileManager.default.removeItem(atPath: path + "/filler") }
}
