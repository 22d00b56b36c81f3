internal import BrumeSystem

/// The connections of an HTTP listener, oldest first. Chooses which of them is closed in favour of a new one.
///
/// A client that opens connections and sends nothing can't shut out others: beyond the limits the newest is served, and
/// the oldest is closed.
struct HTTPConnections {
    private var open: [(fd: Int32, network: PeerNetwork)] = []
    private let limit: Int
    private let limitPerAddress: Int

    init(limit: Int = Int(HTTPLimits.connections), limitPerAddress: Int = HTTPLimits.connectionsPerAddress) {
        self.limit = limit
        self.limitPerAddress = limitPerAddress
    }

    /// A connection has begun.
    ///
    /// - Returns: The connection that has to be closed for it: the oldest of its address if that has too many, or the
    ///   oldest of all.
    mutating func began(_ fd: Int32, from network: PeerNetwork) -> Int32? {
        open.append((fd, network))
        let isOverShare = open.count { $0.network == network } > limitPerAddress
        guard isOverShare || open.count > limit else { return nil }
        let index = open.firstIndex { !isOverShare || $0.network == network }!
        return open.remove(at: index).fd
    }

    /// A connection has ended, and its descriptor is about to be closed.
    mutating func ended(_ fd: Int32) {
        if let index = open.firstIndex(where: { $0.fd == fd }) { open.remove(at: index) }
    }
}
