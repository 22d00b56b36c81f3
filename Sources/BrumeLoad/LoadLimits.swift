/// The limits of a load, each with its reason.
enum LoadLimits {
    /// Handshakes of one thread at a time while a load prepares: a server takes some thousand, and has other clients.
    static let handshakes = 64

    /// Operations that wait for one connection when the rate is higher than the connection sustains. One more is a
    /// failure: a longer queue shows nothing new.
    static let waitingPerConnection = 10_000

    /// Operations that wait for one of the connections of `connect` to be free.
    static let waitingConnects = 100_000

    /// Names that a connection uses in rotation for its records, in each zone.
    static let recordsPerZone = 256

    /// Different errors of one kind that are counted by their text; further ones are counted by their code.
    static let errorTexts = 32

    /// How long the delivery of an event to all devices may take before its publish counts as failed.
    static let deliveryNanoseconds: UInt64 = 10_000_000_000

    /// How long operations that are under way at the end may take.
    static let drainNanoseconds: UInt64 = 5_000_000_000

    /// Pauses between attempts to connect again while the server is away.
    static let retryMilliseconds: ClosedRange<UInt64> = 50...500

    /// The shortest sleep of the pacer: above 2,000 operations a second they come in groups.
    static let paceNanoseconds: UInt64 = 500_000

    /// Bytes of one request while a load prepares.
    static let requestBytes = 1_000_000
}
