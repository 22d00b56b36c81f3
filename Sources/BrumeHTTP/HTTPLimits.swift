/// The limits of an ``HTTPListener``.
enum HTTPLimits {
    /// Connections of a listener: a few monitors and their retries.
    static let connections: UInt32 = 16
    /// Connections from one address, so that nobody who opens many keeps out a monitor elsewhere.
    static let connectionsPerAddress = Int(connections) / 4
    /// How long a connection may be silent.
    static let timeoutSeconds: UInt32 = 2
    /// Memory for the headers of one connection.
    static let connectionBytes = 16 * 1024
}
