/// One run of an operation, as its implementation sees it.
struct OperationRun: Sendable {
    /// Why nothing is to be done but to tell so: the operation was cancelled before its start, or ran already.
    let refusal: CKError?
    /// Where an operation works that names no database.
    let container: CKContainer
    let options: CallOptions

    /// Does the operation's work, and gives what it fails with as a whole.
    func attempt(_ body: () async throws(CKError) -> Void) async -> CKError? {
        do throws(CKError) {
            try check()
            try await body()
            return nil
        } catch {
            return error
        }
    }

    /// Throws when the operation is not to go on.
    func check() throws(CKError) {
        if let refusal { throw refusal }
        if Task.isCancelled { throw .cancelled }
    }
}

extension CKError {
    static var cancelled: CKError { CKError(.operationCancelled, message: "the operation was cancelled") }

    static func reused(_ operation: CKOperation) -> CKError {
        CKError(
            .invalidArguments,
            message: "this \(type(of: operation)) was added or ran before, and an operation runs once; make a new one")
    }
}

extension Result where Failure == any Error {
    /// The error of a failure.
    var error: (any Error)? { if case .failure(let error) = self { error } else { nil } }
}

/// The outcomes of an operation's items, for its last block.
struct ItemOutcomes<ID: Hashable> {
    /// What fails the whole operation; every item without a result of its own has it.
    let failure: CKError?
    private var errors: [AnyHashable: any Error] = [:]

    init(failure: CKError?) {
        self.failure = failure
    }

    /// The item's own result, or the whole operation's failure.
    mutating func outcome<Value>(_ result: Result<Value, any Error>?, of id: ID) -> Result<Value, any Error> {
        let result = result ?? .failure(failure ?? CKError.malformedResponse("it holds no result for \(id)"))
        if case .failure(let error) = result { errors[id] = error }
        return result
    }

    /// For a result block: what fails for an item was told for the item.
    var result: Result<Void, any Error> { failure.map { .failure($0) } ?? .success(()) }

    /// For a completion block of the earlier style.
    var error: (any Error)? { failure ?? (errors.isEmpty ? nil : CKError.partialFailure(errors)) }
}
