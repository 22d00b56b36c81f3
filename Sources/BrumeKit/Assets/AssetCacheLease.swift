internal import BrumeLock
internal import Foundation

/// A content in the cache that somebody uses: as long as the lease is held, this process keeps the file.
///
/// The file may go nevertheless: another process may remove it to make room, the account may change, the app may edit
/// it. Ask the cache again before relying on a content that was leased earlier.
final class AssetCacheLease: Sendable {
    let path: String
    private let cache: AssetCache

    var fileURL: URL { URL(fileURLWithPath: path, isDirectory: false) }

    /// Takes the lease. The file need not exist yet.
    init(_ path: String, in cache: AssetCache) {
        self.path = path
        self.cache = cache
        cache.state.withLock { $0.leaseCounts[path, default: 0] += 1 }
    }

    deinit {
        cache.state.withLock { state in
            guard let count = state.leaseCounts[path] else {
                preconditionFailure("a lease is released that nobody took")
            }
            state.leaseCounts[path] = count > 1 ? count - 1 : nil
        }
    }
}
