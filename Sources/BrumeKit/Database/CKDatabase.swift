internal import BrumeModel
internal import BrumeProtocol
public import Foundation

/// One of a container's databases: records in zones, and the subscriptions to them.
///
/// Made by ``CKContainer``. May be used from several threads.
///
/// The shared database holds zones of other users: those whose shares the user has accepted. Their ids name the owner
/// by user record name, and come from ``allRecordZones()`` and ``databaseChanges(since:resultsLimit:)``. The user
/// leaves a zone by deleting it there, or its share's record; its owner keeps it. Where a call names zones of several
/// owners, it sends one request for each owner. When one of these requests fails, its items have that error as their
/// results; the call throws when all of them failed.
///
/// A call opens the connection when there is none, and ends at once with `networkUnavailable` where the server can't be
/// reached; see ``CKOperationConfiguration/qualityOfService``. Reads, and saves and deletions too, are sent again when
/// the connection breaks before the answer; the server does them once. A cancelled task's call throws
/// `operationCancelled`; what it sent may still happen. At most 1,000 calls, or 64 MiB of requests, are under way for
/// one account at a time; one more throws `requestRateLimited`.
///
/// Its own calls are sent as those of the quality of service `utility` are, behind more urgent ones; see
/// `configuredWith(configuration:group:body:)`.
/// Completion handlers are called on threads of their own, and may wait.
public final class CKDatabase: NSObject, Sendable {
    /// Which of a container's databases.
    public typealias Scope = CKDatabaseScope

    let core: ContainerCore
    let defaults: CallDefaults
    private let queue = OperationQueue()

    /// Which of its container's databases this is.
    public let databaseScope: Scope

    init(core: ContainerCore, scope: Scope, defaults: CallDefaults = CallDefaults()) {
        self.core = core
        self.defaults = defaults
        databaseScope = scope
        queue.name = "brume.database"
    }

    /// How a call of the database itself is made that starts now.
    var callOptions: CallOptions { defaults.callOptions(otherwise: .utility, clock: core.configuration.clock) }

    /// Runs an operation in this database.
    ///
    /// An operation that was added or ran before tells its blocks `invalidArguments`; see ``CKOperation``.
    public func add(_ operation: CKDatabaseOperation) {
        operation.enqueue(on: queue, of: nil) { operation.database = self }
    }

    /// The database's scope.
    public override var description: String { "<CKDatabase: scope=\(databaseScope)>" }

    /// The scope as a request names it.
    ///
    /// - Throws: `notAuthenticated` without an account, which all databases but the public one need. The server says
    ///   the same. Nothing else can come of it, so there is no need to wait for a connection.
    func requestScope() throws(CKError) -> DatabaseScope {
        if databaseScope != .public, core.configuration.token == nil { throw core.configuration.missingAccount }
        return switch databaseScope {
        case .public: .public
        case .private: .private
        case .shared: .shared
        }
    }
}

extension CKError {
    /// The server's answer has another shape than the request asks for.
    static func malformedResponse(_ what: String) -> CKError {
        CKError(
            .internalError,
            message: "the server's answer can't be used: \(what); check that both sides run versions that fit")
    }
}

extension Result where Failure == CKError {
    /// The result as CloudKit's API has it.
    var erased: Result<Success, any Error> { mapError { $0 as any Error } }
}

extension [ServiceError?] {
    /// Results of deletions, in the order of the ids that were to be deleted.
    func deleteResults<ID: Hashable>(_ ids: [ID]) throws(CKError) -> [ID: Result<Void, any Error>] {
        guard count == ids.count else {
            throw .malformedResponse("it holds \(count) results for \(ids.count) deletions")
        }
        var results: [ID: Result<Void, any Error>] = [:]
        for (id, error) in zip(ids, self) {
            results[id] = error.map { .failure(CKError($0)) } ?? .success(())
        }
        return results
    }
}

/// The ids without repetitions, in the order in which each comes first.
func withoutRepetitions<ID: Hashable>(_ ids: [ID]) -> [ID] {
    var seen: Set<ID> = []
    return ids.filter { seen.insert($0).inserted }
}
