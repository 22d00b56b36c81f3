/// The limits of a client's session, each with its reason.
enum ClientSessionLimits {
    /// Calls that wait or are in flight. More fail at once with `requestRateLimited`: an app that has a thousand calls
    /// open gains nothing from another one.
    static let callsMax = 1_000

    /// Bytes of the requests of those calls, with the same rule: a phone has to hold them.
    static let callBytesMax = 64 * 1024 * 1024

    /// Requests of one call of the app that are in flight at once when each names another share's URL: enough to hide
    /// the way to the server, and few enough that a long list leaves room for other calls.
    static let shareLinkCallsMax = 4

    /// Bytes of requests in flight; further calls wait, so that the transport's buffer stays small. One call always
    /// may.
    static let bytesInFlightMax = 8 * 1024 * 1024

    /// How long a call takes when the caller says nothing, waiting for a connection included: CloudKit's request
    /// timeout.
    static let callNanoseconds: UInt64 = 60_000_000_000

    /// How long calls that don't wait for a server that can't be reached give one to come back that was connected: as
    /// long as a restart takes.
    static let comebackNanoseconds: UInt64 = 2_000_000_000

    /// Such a call tries to connect at once, but not within this time behind the last attempt: an app that asks in a
    /// loop does not connect in one.
    static let impatientPauseNanoseconds: UInt64 = 1_000_000_000

    /// How long the question for the account's status takes at most: an app that starts waits for the answer.
    static let accountStatusNanoseconds: UInt64 = 5_000_000_000

    /// Pauses between looks whether the server takes an account again that it refused, each with jitter: a token comes
    /// back seldom, and a look is a handshake.
    static let refusedAccountPauseNanosecondsMin: UInt64 = 60_000_000_000
    static let refusedAccountPauseNanosecondsMax: UInt64 = 1_800_000_000_000

    /// How often a call is sent again because its connection broke before the answer, or because the server was about
    /// to stop. A request that always breaks the connection would otherwise break it until its time is over.
    static let lossesMax = 10

    /// Uploads, and downloads, of assets that run at once for an account, and those among them for one operation:
    /// enough to hide the way to the server and its disk's syncs where files are small.
    static let transfersMax = 8
    static let transfersPerOperation = 4

    /// How long a transfer waits at most before it tries again.
    static let transferPauseSecondsMax = 5.0

    /// How often a record is fetched again because it names another asset by the time that this is downloaded.
    static let assetFetchesMax = 3

    /// How often a transfer of an asset begins again without getting any further.
    static let transferAttempts = 5

    /// TCP and TLS; the connection's greeting has a time of its own.
    static let connectMilliseconds: UInt64 = 10_000

    /// Servers that fail this many handshakes in a row, or answer with something else than Brume's protocol, are not
    /// the ones that the configuration means: the calls that wait are told. A restart fails one or two.
    static let unfitAttemptsMax = 3

    /// Pauses between attempts to connect: they double from the first to the last, each with jitter.
    static let pauseNanosecondsMin: UInt64 = 100_000_000
    static let pauseNanosecondsMax: UInt64 = 30_000_000_000

    /// A notification stream that another process of the same device displaced comes back so late that the two do not
    /// wrestle for it.
    static let displacedStreamNanoseconds: UInt64 = 30_000_000_000

    /// Notifications that wait for one consumer. At more they become one that says: fetch what changed.
    static let notificationsPerConsumer = 256

    /// Sessions that are kept although nobody uses them at the moment; those used least recently close first.
    static let idleSessionsMax = 16
}
