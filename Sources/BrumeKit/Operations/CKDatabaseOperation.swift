/// An operation in a database: the base of those that fetch and modify what is there.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    private let place = Guarded<CKDatabase?>(nil)

    /// Where the operation works. ``CKDatabase/add(_:)`` sets it. Nil when the operation starts: the private database
    /// of its configuration's container, or of ``CKContainer/default()``.
    public var database: CKDatabase? {
        get { place.current }
        set { place.withLock { $0 = newValue } }
    }

    override var namedContainer: CKContainer? { database.map { CKContainer(core: $0.core) } }
}

extension OperationRun {
    /// Where an operation works, with the account of this moment: when it changes, the operation's requests fail.
    func database(of operation: CKDatabaseOperation) -> CKDatabase {
        (operation.database ?? container.privateCloudDatabase).boundToAccount
    }
}
