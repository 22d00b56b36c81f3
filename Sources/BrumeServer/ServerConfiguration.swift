package import BrumeProtocol
package import BrumeService
package import BrumeStore
package import BrumeSystem

/// How a server runs: the configuration of its service, and of what surrounds it. The properties of ``service`` can be
/// read and written on this value directly.
@dynamicMemberLookup
package struct ServerConfiguration: Sendable {
    package var service = ServiceConfiguration()
    /// The data folder. It is made when missing; one server at a time has it.
    package var dataFolder: String
    /// The folder on another disk that has the contents of the assets; nil for the data folder itself. See
    /// ``AssetsFolder``.
    package var assetsFolder: String?
    /// Where its backups are, of which metrics tell; it need not be there.
    package var backupsFolder = ServerConfiguration.standardBackupsFolder
    /// The default of ``backupsFolder``: that of the packages' timer.
    package static let standardBackupsFolder = "/var/lib/brume-backups"
    package var host = "127.0.0.1"
    /// The port to listen on; 0 for any free port, see ``Server/port``.
    package var port: UInt16 = 7440
    /// Where figures and health are served over HTTP, without TLS; nil for nowhere.
    package var metricsAddress: (host: String, port: UInt16)?
    /// PEM files of the server's certificate chain and its key.
    package var certificatePath: String
    package var keyPath: String
    /// The CA file that clients verify with, written to `server.json` for clients on this machine; nil if unknown.
    package var caPath: String?
    /// Event loops. Databases are divided among them.
    package var loopCount = 2
    /// How long a loop, and the journal's thread, look for more work before they sleep, if work mostly comes that soon
    /// and the core is free (``SpinPolicy``): when there are few clients, they get their answers in half the time. 0
    /// means that they sleep at once.
    package var spinMicroseconds = ServerConfiguration.standardSpinMicroseconds
    /// The default of ``spinMicroseconds``.
    package static let standardSpinMicroseconds: UInt64 = 200
    /// Calls that take as long are logged, streams aside; 0: none.
    package var slowCallMilliseconds: UInt64 = ServerConfiguration.standardSlowCallMilliseconds
    /// The default of ``slowCallMilliseconds``.
    package static let standardSlowCallMilliseconds: UInt64 = 1_000
    /// Size of a journal file. Smaller ones start faster, larger ones rotate less.
    package var journalSegmentBytes = 16 * 1024 * 1024
    /// A socket that a service manager listens on for the server, in the place of ``host`` and ``port``.
    package var inheritedSocket: InheritedSocket?
    /// Snapshots are written when the journal holds this many bytes beyond them: what a start replays in about a
    /// second. A database whose snapshot is larger waits until the journal is as long, so that little is written twice.
    package var snapshotJournalBytes = 256 * 1024 * 1024
    /// Snapshots are written when a commit has been in the journal alone for so long.
    package var snapshotAgeMilliseconds: UInt64 = 15 * 60 * 1_000
    /// Snapshots of at most so many bytes, and not of many records, are loaded on the loop that needs them, larger ones
    /// on the loader's thread while the loop goes on; 0 means all on that thread.
    package var shortLoadBytes = 64 * 1024
    /// Which snapshots a start reads whole before it serves. If there are more, all are read after the start.
    package var startCheck = StartCheck.automatic
    /// How much of the disk stays free of assets, in percent: with less, uploads are refused; 0 for nothing.
    package var assetFreePercent = 0
    /// The default of a server with users.
    package static let standardAssetFreePercent = 5
    /// Seconds that an upload is kept which was left.
    package var keptUploadSeconds = ServerLimits.keptUploadSeconds
    /// How long a stop waits for calls in flight.
    package var drainTimeoutMilliseconds: UInt64 = 10_000
    /// What one connection may take.
    package var connectionLimits = ServerConnectionLimits()
    /// Sockets: handshakes, stalls, counts.
    package var socketLimits = BrumeSystem.ConnectionLimits()
    /// How much of its past every database keeps.
    package var history = HistoryLimits.standard
    /// The number of this run in change tags and tokens: not 0, and a different one at each start; nil for a random
    /// number.
    package var run: UInt32?
    /// For tests of apps: what makes calls that come in by the port end otherwise. What makes the service behave
    /// otherwise is ``ServiceConfiguration/interceptor``.
    package var callInterceptor: (any CallInterceptor)?

    package init(dataFolder: String, certificatePath: String, keyPath: String) {
        self.dataFolder = dataFolder
        self.certificatePath = certificatePath
        self.keyPath = keyPath
    }

    package subscript<Value>(dynamicMember path: WritableKeyPath<ServiceConfiguration, Value>) -> Value {
        get { service[keyPath: path] }
        set { service[keyPath: path] = newValue }
    }
}
