public import BrumeKit
internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeSystem
internal import Foundation
public import FoundationEssentials

extension TestServer {
    /// How a test server is set up. The defaults suit most tests.
    public struct Options: Sendable {
        /// The container that devices are given.
        public var containerIdentifier = "iCloud.test"
        /// The environment that devices are given. `production` takes what ``schema`` holds and nothing else.
        public var environment = BrumeConfiguration.Environment.development
        /// The container's schema in CloudKit's language (`.ckdb`), in both environments; nil: development learns from
        /// saves.
        public var schema: String?
        /// Refuses the queries that CloudKit refuses and Brume would answer, such as those with `OR`.
        public var followsCloudKitQueryRules = false
        /// How many bytes an asset may have: more fail with `limitExceeded`. With 0 the server keeps no assets, as its
        /// operator may want it: saves of records with them fail with `serverRejectedRequest`.
        public var assetLimitBytes = 250 * 1024 * 1024
        /// What the records and assets of the public database may take together; nil: no limit. For private databases
        /// there is ``TestServer/setQuota(_:of:)``.
        public var publicQuotaBytes: Int?
        /// Threads that serve, each with its share of the databases; 1 to 64. Tests need more only to look for races.
        public var loopCount = 1
        /// How long after the last change that is added a `CKSyncEngine` on a device sends by itself; see
        /// `BrumeConfiguration.automaticSendDelay`. An app that adds changes behind its database's commits may be
        /// tested with less.
        public var automaticSendDelay = BrumeConfiguration().automaticSendDelay
        /// Whether devices encrypt the files of private records, in zones whose keys are made from now on; see
        /// `BrumeConfiguration.encryptsAssets`. Then devices of an account have to be let in to see each other's files
        /// (``TestDevice/letIn(_:)``).
        public var encryptsAssets = BrumeConfiguration().encryptsAssets
        /// The clock that the server dates records by, and that delays of its script wait for; see
        /// ``TestServer/clock``. Nil: records have the machine's time, and the script has a clock of its own. A
        /// ``TestServerProcess`` ignores it.
        public var clock: TestClock?
        /// Whether names and change tags are the same in every run, so that a test can compare an app's output with an
        /// earlier one. Change tags and users' record names then depend only on the calls and their order. Within
        /// ``TestServer/run(accounts:options:isolation:_:)`` that also holds for the names of records and subscriptions
        /// that the app does not name itself; see ``withPredictableNames(isolation:_:)``. A ``TestServerProcess``
        /// ignores it.
        public var isPredictable = false
        /// What the server logs, on the standard error output.
        public var log = LogLevel.none

        /// From which level on a server logs.
        public enum LogLevel: Sendable {
            /// Nothing.
            case none
            /// Failures.
            case error
            /// What an operator would want to know.
            case warning
            /// Connections that were refused, starts and stops too.
            case info
            /// Everything.
            case debug
        }

        /// The defaults.
        public init() {}

        /// The same output in every run: ``isPredictable``, and a ``clock`` that begins with 2001 and stands still
        /// until the test turns it.
        public static var predictable: Options {
            var options = Options()
            options.isPredictable = true
            options.clock = TestClock()
            return options
        }

        /// The schema in a file, as `brume schema export` or `xcrun cktool export-schema` wrote it.
        ///
        /// - Throws: When the file can't be read as text.
        public mutating func readSchema(_ file: URL) throws {
            schema = try String(contentsOf: file, encoding: .utf8)
        }
    }
}

extension TestServer.Options {
    var serverLog: Log {
        switch log {
        case .none: .none
        case .error: .standardError(.error)
        case .warning: .standardError(.warning)
        case .info: .standardError(.info)
        case .debug: .standardError(.debug)
        }
    }

    var modelEnvironment: BrumeModel.Environment { environment == .production ? .production : .development }

    var checkedAssetLimit: UInt64 {
        precondition(assetLimitBytes >= 0, "an asset can't have up to \(assetLimitBytes) bytes")
        return UInt64(assetLimitBytes)
    }

    /// 0 for no limit.
    var checkedPublicQuota: Int {
        precondition(publicQuotaBytes ?? 1 > 0, "a quota is a byte at least; it can't be \(publicQuotaBytes ?? 0)")
        return publicQuotaBytes ?? 0
    }

    /// The schema, read.
    func parsedSchema() throws(TestServerError) -> Schema? {
        guard let schema else { return nil }
        do throws(SchemaSyntaxError) {
            return try SchemaParser.parse(schema)
        } catch {
            throw TestServerError("the schema of the test server is none: \(error)")
        }
    }
}
