/// The limits of a load, each with its reason.
enum LoadLimits {
    /// Handshakes of one thread at a time while a load prepares: a server takes some thousand, and has others.
    static let handshakes = 64

    /// Operations that wait for one connection, where a rate asks for more than it takes. One more is a failure: a
    /// longer queue tells nothing new.
    static let waitingPerConnection = 10_000

    /// Operations that wait for a place among the connections of `connect`.
    static let waitingConnects = 100_000

    /// Names that a connection's records go round in, in each zone.
    static let recordsPerZone = 256

    /// Different errors of one kind that are told apart by their sentence; the others by their code.
    static let errorTexts = 32

    /// How long an event may take to all devices before its publish counts as failed.
    static let deliveryNanoseconds: UInt64 = 10_000_000_000

    /// How long operations that are under way at the end may take.
    static let drainNanoseconds: UInt64 = 5_000_000_000

    /// Pauses between attempts to connect again while the server is away.
    static let retryMilliseconds: ClosedRange<UInt64> = 50...500

    /// The shortest time between two wakes of who keeps the rate: above 2,000 operations a second they come in groups.
    static let paceNanoseconds: UInt64 = 500_000

    /// Bytes of one request while a load prepares.
    static let requestBytes = 1_000_000
}
