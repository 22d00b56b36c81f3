import BrumeModel
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer

/// What the server's own tests see of its inside.
extension SteppedServer {
    var core: ServerCore { stepwise.core }

    /// What came of the removal of an account with its data.
    final class Removal: @unchecked Sendable {
        var summary: ResetSummary?
        var error: ServiceError?
    }

    /// Begins to remove an account with its data, as the operator's command does.
    func beginRemoving(account: String) -> Removal {
        let removal = Removal()
        core.adminLoop.execute { [core] in
            do throws(ServerError) {
                try core.removeWithData(account) { outcome in
                    switch outcome {
                    case .success(.accountRemoved(let summary)): removal.summary = summary
                    case .success: Issue.record("the removal has another answer")
                    case .failure(let error): removal.error = error
                    }
                }
            } catch {
                removal.error = ServiceError(.unknownItem, error.message)
            }
        }
        return removal
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
