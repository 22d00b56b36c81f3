internal import Glibc

/// Resolves host names. The system's resolver blocks, so it runs on a thread of its own.
enum NameResolver {
    enum Outcome: Sendable {
        case addresses([SocketAddress])
        case failed(String)
    }

    /// Asks the system's resolver, and blocks while it does.
    /// - Parameters:
    ///   - isNumeric: Takes literal addresses only; that never blocks.
    ///   - isPassive: For a listener: an empty host means every address of the machine.
    static func resolve(host: String, port: UInt16, isNumeric: Bool, isPassive: Bool = false) -> Outcome {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = (isNumeric ? AI_NUMERICHOST : 0) | AI_NUMERICSERV | (isPassive ? AI_PASSIVE : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host.isEmpty ? nil : host, String(port), &hints, &list)
        guard result == 0 else { return .failed("\(host): \(String(cString: gai_strerror(result)))") }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next, addresses.count < Limits.addressesPerHost {
            if let address = entry.pointee.ai_addr {
                addresses.append(SocketAddress(address, length: entry.pointee.ai_addrlen))
            }
            next = entry.pointee.ai_next
        }
        return addresses.isEmpty ? .failed("\(host): no address") : .addresses(addresses)
    }

    /// Resolves without blocking the loop; `body` runs on the loop, later. One thread per call, for as long as the
    /// system's resolver takes.
    static func resolve(
        host: String, port: UInt16, loop: EventLoop, _ body: @escaping @Sendable (Outcome) -> Void
    ) {
        let literal = resolve(host: host, port: port, isNumeric: true)
        if case .addresses = literal {
            loop.execute { body(literal) }
            return
        }
        do throws(SystemError) {
            try SystemThread {
                let outcome = NameResolver.resolve(host: host, port: port, isNumeric: false)
                loop.execute { body(outcome) }
            }.detach()
        } catch {
            loop.execute { body(.failed("\(host): no thread to resolve it")) }
        }
    }
}
