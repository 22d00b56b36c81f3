/// The container's calls with completion handlers. Each is called once, on a thread of its own.
extension CKContainer {
    /// ``userRecordID()`` with a completion handler.
    @preconcurrency
    public func fetchUserRecordID(
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.userRecordID() }
    }

    // MARK: Long-lived operations

    /// The ids of the operations with ``CKOperationConfiguration/isLongLived`` that run in this container.
    ///
    /// Differs from CloudKit: those of this process alone, because no operation outlives its process. What has to
    /// survive is better kept as pending changes, which `CKSyncEngine` does.
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        LongLivedOperations.shared.operations(in: core).map(\.operationID).sorted()
    }

    /// ``allLongLivedOperationIDs()`` with a completion handler.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.allLongLivedOperationIDs() }
    }

    /// The long-lived operation of the given id while it runs in this container; nil when it has ended or never was.
    ///
    /// Differs from CloudKit: it is the instance itself, which goes on with the blocks that it is given. Adding it
    /// again changes nothing while it runs.
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        LongLivedOperations.shared.operations(in: core).first { $0.operationID == operationID }
    }

    /// ``longLivedOperation(for:)`` with a completion handler.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID,
        completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        complete(
            { (result: Result<CKOperation?, any Error>) in
                completionHandler((try? result.get()) ?? nil, result.error)
            }, { try await self.longLivedOperation(for: operationID) })
    }
}
