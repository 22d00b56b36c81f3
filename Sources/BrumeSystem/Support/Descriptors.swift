internal import Glibc

/// The descriptors of this process: how many it may have, and has.
package enum Descriptors {
    /// Raises the number that the process may have (the soft limit) as far as it may by itself (the hard limit), to
    /// about a million at most: what an unlimited hard limit allows costs the kernel memory. Returns the number now in
    /// force.
    ///
    /// For programs: a library leaves its host's limits alone.
    @discardableResult
    package static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return self.limit }
        let wanted = min(limit.rlim_max, rlim_t(Limits.descriptorsMax))
        if wanted > limit.rlim_cur {
            limit.rlim_cur = wanted
            // The kernel's own bound (fs.nr_open) may be lower; then all stays as it is.
            _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        return self.limit
    }

    /// How many the process may have.
    package static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// How many it has now. Kernels since 6.2 report it directly; with older ones it costs about a microsecond for
    /// each.
    package static var open: Int {
        var status = stat()
        guard stat("/proc/self/fd", &status) == 0 else { return 0 }
        if status.st_size > 0 { return Int(status.st_size) }
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while let entry = readdir(folder) {
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        return count
    }
}
