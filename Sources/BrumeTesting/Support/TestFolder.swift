internal import BrumeSystem
internal import Foundation
internal import Synchronization

/// A server's temporary folder. It goes with ``remove()``, else when the process ends; if that crashes, the next process that
/// makes one removes it.
///
/// A lock in the folder says whether its owner lives: that holds across containers that share the folder above, where process
/// ids say nothing.
final class TestFolder: Sendable {
    let path: String
    private let lock: DirectoryLock

    private static let prefix = "brume-testing-"

    private struct Known {
        var paths: Set<String> = []
        var isPrepared = false
    }

    private static let known = Mutex(Known())

    init() throws(TestServerError) {
        Self.prepare()
        var template = Array((Self.root + Self.prefix + "XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw TestServerError(
                "no temporary folder can be made in \(Self.root): \(String(cString: strerror(errno))); check TMPDIR and the "
                    + "free space")
        }
        path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        do throws(SystemError) {
            lock = try DirectoryLock(directory: path)
        } catch {
            try? FileManager.default.removeItem(atPath: path)
            throw TestServerError("the temporary folder \(path) can't be locked: \(error)")
        }
        let path = path
        _ = Self.known.withLock { $0.paths.insert(path) }
    }

    /// Removes the folder with all that is in it. May be called again.
    func remove() {
        lock.release()
        Self.removeTree(path)
        _ = Self.known.withLock { $0.paths.remove(path) }
    }

    private static var root: String {
        let root = NSTemporaryDirectory()
        return root.hasSuffix("/") ? root : root + "/"
    }

    /// Once in a process: what is left at its end goes, and what others left behind.
    private static func prepare() {
        let isFirst = known.withLock { known in
            defer { known.isPrepared = true }
            return !known.isPrepared
        }
        guard isFirst else { return }
        atexit {
            for path in TestFolder.known.withLock({ $0.paths }) { TestFolder.removeTree(path) }
        }
        removeAbandoned()
    }

    private static func removeAbandoned() {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let path = root + name
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            guard let changed = attributes?[.modificationDate] as? Date,
                -changed.timeIntervalSinceNow > TestLimits.staleFolderSeconds,
                let lock = try? DirectoryLock(directory: path)
            else { continue }
            removeTree(path)
            lock.release()
        }
    }

    /// Twice, where a server that is about to end wrote a file meanwhile.
    private static func removeTree(_ path: String) {
        for _ in 0..<2 where FileManager.default.fileExists(atPath: path) {
            try? FileManager.default.removeItem(atPath: path)
        }
    }
}
