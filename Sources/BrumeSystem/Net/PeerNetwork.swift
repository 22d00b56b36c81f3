internal import Glibc

/// What counts as one peer before it is identified: an IPv4 address, or the 64 bits of an IPv6 address that name its
/// network, since a peer with such a network has all of its addresses.
package struct PeerNetwork: Hashable, Sendable {
    private enum Family: UInt8 {
        case other, ipv4, ipv6
    }

    private let family: Family
    private let bits: UInt64

    private init(_ family: Family, _ bits: UInt64) {
        self.family = family
        self.bits = bits
    }

    /// Peers without a network address: Unix sockets, simulated ones.
    package static let local = PeerNetwork(.other, 0)

    /// The network of the peer of a connected socket.
    package init(ofPeerAt fd: Int32) {
        self.init(SocketAddress { address, length in _ = getpeername(fd, address, length) })
    }

    init(_ address: SocketAddress) {
        switch address.family {
        case AF_INET:
            self.init(.ipv4, UInt64(address.ipv4Address))
        case AF_INET6:
            let (network, rest) = address.ipv6Address
            // An IPv4 peer on a socket that accepts both.
            if network == 0, rest >> 32 == 0xffff {
                self.init(.ipv4, rest & 0xffff_ffff)
            } else {
                self.init(.ipv6, network)
            }
        default: self = .local
        }
    }
}
