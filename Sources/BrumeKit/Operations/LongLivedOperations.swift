/// The process's long-lived operations that run.
final class LongLivedOperations: Sendable {
    static let shared = LongLivedOperations()

    private struct Entry: Sendable {
        let operation: CKOperation
        let core: ContainerCore
    }

    private let entries = Guarded<[CKOperation.ID: Entry]>([:])

    func started(_ operation: CKOperation, in core: ContainerCore) {
        entries.withLock { $0[operation.operationID] = Entry(operation: operation, core: core) }
    }

    func finished(_ operation: CKOperation) {
        entries.withLock { _ = $0.removeValue(forKey: operation.operationID) }
    }

    /// Those that run in a container, on one server with one account.
    func operations(in core: ContainerCore) -> [CKOperation] {
        entries.current.values.filter { $0.core.configuration == core.configuration }.map(\.operation)
    }
}
