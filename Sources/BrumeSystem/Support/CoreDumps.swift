internal import Glibc

/// What the kernel writes of a process that fails.
package enum CoreDumps {
    /// Has nothing of this process written when it fails (the soft limit is 0): it holds keys, which lie in no file
    /// but their own.
    ///
    /// For programs: a library leaves its host's limits alone.
    package static func turnOff() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = 0
        _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }
}
