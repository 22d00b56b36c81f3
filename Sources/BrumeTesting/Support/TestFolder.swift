internal import BrumeSystem
internal import Foundation

/// A server's temporary folder. It goes with ``remove()``, else when the process ends; if that crashes, the next
/// process that makes one removes it.
///
/// A lock in the folder says whether its owner lives: that holds across containers that share the folder above, where
/// process ids say nothing.
final class TestFolder: Sendable {
    private let folder: TemporaryFolder
    private let lock: DirectoryLock

    private static let prefix = "brume-testing"
    /// Once in a process.
    private static let removalOfAbandoned: Void = removeAbandoned()

    var path: String { folder.path }

    init() throws(TestServerError) {
        _ = Self.removalOfAbandoned
        do throws(SystemError) {
            folder = try TemporaryFolder(prefix: Self.prefix)
        } catch {
            throw TestServerError("no temporary folder can be made: \(error); check TMPDIR and the free space")
        }
        do throws(SystemError) {
            lock = try DirectoryLock(directory: folder.path)
        } catch {
            folder.remove()
            throw TestServerError("the temporary folder \(folder.path) can't be locked: \(error)")
        }
    }

    /// Removes the folder with all that is in it. May be called again.
    func remove() {
        lock.release()
        folder.remove()
    }

    /// What others left behind goes.
    private static func removeAbandoned() {
        let parent = TemporaryFolder.parent
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        for name in names where name.hasPrefix(prefix + "-") {
            let path = parent + "/" + name
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            guard let changed = attributes?[.modificationDate] as? Date,
                -changed.timeIntervalSinceNow > TestLimits.staleFolderSeconds,
                let lock = try? DirectoryLock(directory: path)
            else { continue }
            try? FileSystem.removeTree(path)
            lock.release()
        }
    }
}
