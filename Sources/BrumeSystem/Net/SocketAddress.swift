internal import Glibc

/// An IPv4 or IPv6 address with its port, as the kernel wants it.
struct SocketAddress: Sendable {
    private var storage: sockaddr_storage
    private var length: UInt32

    var family: Int32 { Int32(storage.ss_family) }

    /// Copies an address that `getaddrinfo` or the kernel returned.
    init(_ pointer: UnsafePointer<sockaddr>, length: UInt32) {
        storage = sockaddr_storage()
        self.length = min(length, UInt32(MemoryLayout<sockaddr_storage>.size))
        withUnsafeMutableBytes(of: &storage) {
            $0.baseAddress!.copyMemory(from: pointer, byteCount: Int(self.length))
        }
    }

    /// Lets the kernel fill an address in.
    init<Failure: Error>(
        filledBy body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<UInt32>) throws(Failure) -> Void
    ) throws(Failure) {
        var storage = sockaddr_storage()
        var length = UInt32(MemoryLayout<sockaddr_storage>.size)
        try withUnsafeMutablePointer(to: &storage) { (pointer) throws(Failure) in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (address) throws(Failure) in
                try body(address, &length)
            }
        }
        self.storage = storage
        self.length = length
    }

    func with<Result>(_ body: (UnsafePointer<sockaddr>, UInt32) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    var port: UInt16 {
        withUnsafeBytes(of: storage) { bytes in
            switch family {
            case AF_INET: UInt16(bigEndian: bytes.load(as: sockaddr_in.self).sin_port)
            case AF_INET6: UInt16(bigEndian: bytes.load(as: sockaddr_in6.self).sin6_port)
            default: 0
            }
        }
    }

    /// The address, which must be of the family `AF_INET`.
    var ipv4Address: UInt32 {
        withUnsafeBytes(of: storage) { UInt32(bigEndian: $0.load(as: sockaddr_in.self).sin_addr.s_addr) }
    }

    /// The two halves of the address, which must be of the family `AF_INET6`.
    var ipv6Address: (network: UInt64, rest: UInt64) {
        withUnsafeBytes(of: storage) { bytes in
            withUnsafeBytes(of: bytes.load(as: sockaddr_in6.self).sin6_addr) { address in
                (
                    UInt64(bigEndian: address.loadUnaligned(as: UInt64.self)),
                    UInt64(bigEndian: address.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
        }
    }

    /// `192.0.2.1:443` or `[2001:db8::1]:443`.
    var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { host in
            let result = with {
                getnameinfo($0, $1, host.baseAddress, UInt32(host.count), nil, 0, NI_NUMERICHOST)
            }
            guard result == 0 else { return "unknown" }
            let name = String(cString: host.baseAddress!)
            return family == AF_INET6 ? "[\(name)]:\(port)" : "\(name):\(port)"
        }
    }
}
