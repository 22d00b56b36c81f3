internal import CBrume
internal import Glibc

/// Random bytes that nobody can guess, from the kernel.
package enum SecureRandom {
    package static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            fill(UnsafeMutableRawBufferPointer(buffer))
            initialized = count
        }
    }

    package static func fill(_ target: UnsafeMutableRawBufferPointer) {
        var offset = 0
        while offset < target.count {
            let count = getrandom(target.baseAddress! + offset, target.count - offset, 0)
            // Going on without is impossible: anybody could forge what is made from predictable bytes.
            precondition(count > 0 || errno == EINTR, "the kernel gives no random bytes: errno \(errno)")
            if count > 0 { offset += count }
        }
    }
}
