import BrumeModel
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// What the server's own tests see of its inside.
extension SteppedServer {
    var core: ServerCore { stepwise.core }

    /// What came of a request of the operator.
    final class OperatorsCall: @unchecked Sendable {
        fileprivate(set) var outcome: AdminOutcome? {
            didSet { whenAnswered?() }
        }
        var whenAnswered: (() -> Void)?

        var isAnswered: Bool { outcome != nil }

        var error: ServiceError? {
            guard case .failure(let error) = outcome else { return nil }
            return error
        }

        /// What was deleted with an account.
        var summary: ResetSummary? {
            guard case .success(.accountRemoved(let summary)) = outcome else { return nil }
            return summary
        }
    }

    /// Makes a request of the operator.
    func administer(_ request: AdminRequest) -> OperatorsCall {
        let call = OperatorsCall()
        let identity = Identity(
            role: .admin, container: Self.container, environment: .development,
            deviceID: [UInt8](repeating: 0, count: 16), clientVersion: "test")
        core.adminLoop.execute { [core] in
            core.perform(request, identity: identity) { call.outcome = $0 }
        }
        return call
    }

    /// Begins to remove an account with its data.
    func beginRemoving(account: String) -> OperatorsCall {
        administer(.removeAccount(name: account, deletesData: true))
    }

    /// The accounts' names, with how many tokens each has.
    var tokenCounts: [String: Int] {
        Dictionary(uniqueKeysWithValues: core.accounts.list().map { ($0.name, $0.tokenHashes.count) })
    }

    /// The loop that has the private database of the first account (1) or the second.
    func loopOfPrivateDatabase(ofAccount number: Int) -> Int {
        loop(of: .private, owner: userRecordName(ofAccount: number))
    }

    var loopOfPublicDatabase: Int { loop(of: .public, owner: "") }

    private func loop(of scope: DatabaseScope, owner: String) -> Int {
        Placement(
            of: DatabaseID(container: Self.container, environment: .development, scope: scope, owner: owner)
        ).shard(of: core.shards.count)
    }

    /// The container's public database, if it is in memory.
    var loadedPublicDatabase: LoadedDatabase? {
        core.shards[loopOfPublicDatabase].databases.known(
            DatabaseID(container: Self.container, environment: .development, scope: .public, owner: ""))
    }
}
