package import BrumeModel
internal import BrumeServer
package import BrumeService
package import BrumeSystem

/// A catalog in memory. The test decides when each change becomes durable, and whether it does.
///
/// `@unchecked Sendable`: a test has one thread.
package final class ScriptedCatalog: Catalog, @unchecked Sendable {
    private enum Change {
        case account(AccountChange, @Sendable (Result<AccountChange.Effect, AccountError>) -> Void)
        case schemas(of: String, SchemaChange, @Sendable (Result<ContainerSchemas, ServiceError>) -> Void)
    }

    package let secrets: ServerSecrets
    package let accounts: AccountDirectory
    package private(set) var schemas: [String: ContainerSchemas] = [:]
    /// Whether changes wait until the test lets them go on.
    package var isHeld = false
    private let loop: EventLoop
    private var changes: [Change] = []

    /// - Parameters:
    ///   - loop: The operator's loop of the server.
    ///   - key: 32 bytes, from which MACs and user record names derive.
    package init(on loop: EventLoop, key: [UInt8], accounts: [StoredAccount] = []) {
        self.loop = loop
        secrets = ServerSecrets(key: key, adminTokenHash: [])
        self.accounts = AccountDirectory(AccountTable(accounts))
    }

    // MARK: What a test does

    /// Changes that wait.
    package var heldCount: Int { changes.count }

    /// Makes the change that has waited longest durable, in the loop's next turn; or has it fail.
    package func finishNext(failing: Bool = false) {
        loop.execute { [self] in
            if !changes.isEmpty { finish(changes.removeFirst(), isTaken: !failing) }
        }
    }

    /// Lets all go on: those that wait, and those that come.
    package func release() {
        isHeld = false
        loop.execute { [self] in goOn() }
    }

    // MARK: What a server asks

    package func change(
        _ change: AccountChange, then done: @escaping @Sendable (Result<AccountChange.Effect, AccountError>) -> Void
    ) {
        changes.append(.account(change, done))
        goOn()
    }

    package func changeSchemas(
        of container: String, _ change: @escaping SchemaChange,
        then done: @escaping @Sendable (Result<ContainerSchemas, ServiceError>) -> Void
    ) {
        changes.append(.schemas(of: container, change, done))
        goOn()
    }

    private func goOn() {
        while !isHeld, !changes.isEmpty { finish(changes.removeFirst(), isTaken: true) }
    }

    private func finish(_ change: Change, isTaken: Bool) {
        switch change {
        case .account(let change, let done): done(result(of: change, isTaken: isTaken))
        case .schemas(let container, let change, let done): done(result(of: change, container, isTaken: isTaken))
        }
    }

    private func result(of change: AccountChange, isTaken: Bool) -> Result<AccountChange.Effect, AccountError> {
        do throws(AccountError) {
            var table = accounts.current
            let effect = try table.apply(change)
            if !isTaken { throw AccountError(.full, "the script takes no change") }
            accounts.takeOver(table, effect)
            return .success(effect)
        } catch {
            return .failure(error)
        }
    }

    private func result(
        of change: SchemaChange, _ container: String, isTaken: Bool
    ) -> Result<ContainerSchemas, ServiceError> {
        do throws(ServiceError) {
            var changed = schemas[container] ?? ContainerSchemas(container: container)
            try change(&changed)
            if !isTaken { throw ServiceError(.serviceUnavailable, "the script takes no change") }
            schemas[container] = changed
            return .success(changed)
        } catch {
            return .failure(error)
        }
    }
}
