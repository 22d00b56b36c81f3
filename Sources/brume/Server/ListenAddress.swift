/// `HOST:PORT`, an IPv6 address in brackets: `127.0.0.1:7440`, `[::]:7440`, `localhost:0`.
struct ListenAddress: Equatable, Sendable {
    let host: String
    let port: UInt16

    /// - Parameter isServer: Whether somebody listens there already, for which a port is needed; to listen on port 0
    ///   means any that is free.
    init(_ text: String, option: String, isServer: Bool = false) throws(UsageError) {
        let problem = UsageError(
            "--\(option) takes HOST:PORT, not \"\(text)\"", hint: "such as 127.0.0.1:7440, or [::]:7440 for IPv6")
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw problem
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw problem
        }
        guard !host.isEmpty else { throw problem }
        guard port > 0 || !isServer else {
            throw UsageError(
                "--\(option) takes HOST:PORT with a port from 1 to 65535, not \"\(text)\"",
                hint: "such as 127.0.0.1:7440")
        }
        self.host = String(host)
        self.port = port
    }
}
