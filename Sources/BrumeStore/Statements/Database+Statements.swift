package import BrumeModel

/// What a private database keeps of its owner's keys and devices: statements, each of which follows the one before
/// (Documentation/EncryptionFormats.md, section 8).
extension Database {
    /// Keeps the next statement. Nil if it is kept already, so that a retry has one effect.
    ///
    /// - Parameters:
    ///   - number: As the statement says it.
    ///   - statement: Of which it is checked that it follows the last one.
    ///   - quota: Refuses it only where a zone would be refused, too: an owner whose records have used up the quota
    ///     must be able to remove a device that was stolen.
    /// - Throws: `serverRecordChanged` where another device's statement of that number came first, or those between are
    ///   missing; `limitExceeded` where there is no room; `quotaExceeded`.
    package func append(
        statement: SharedBytes, number: UInt32, quota: StorageQuota? = nil, nowMilliseconds: Int64
    ) throws(ServiceError) -> Commit? {
        precondition(id.scope == .private, "an account's statements are in its private database")
        if statements[number] == statement { return nil }
        guard number == statements.last + 1 else { throw Self.statementIsNotNext }
        guard statement.count <= Limits.statementBytes else { throw Self.statementIsTooLarge }
        if let refusal = overheadRefusal(quota) { throw refusal }
        let kept = SharedBytes(statement.array)
        guard statements.append(kept) else { throw Self.tooManyStatements }
        var builder = CommitBuilder(sequence: sequence + 1)
        builder.append(.statement(number: number, kept))
        return finish(builder, nowMilliseconds: nowMilliseconds)
    }

    /// The statements behind a number, the first in front, as many as fit into a page; one at least where there are
    /// any.
    package func statements(after number: UInt32) -> ArraySlice<SharedBytes> {
        statements.page(after: number, bytes: Limits.pageBytes)
    }

    /// Replays one of the changes.
    func apply(statement change: Change) throws(ServiceError) {
        guard id.scope == .private else {
            throw ServiceError(.internalError, "a database keeps statements that is no user's own")
        }
        switch change {
        case .statement(let number, let statement):
            guard number == statements.last + 1, statements.append(statement) else {
                throw ServiceError(.internalError, "a statement is kept that the server would not have kept")
            }
        case .statementsEnd:
            if statements.isEmpty { throw ServiceError(.internalError, "statements go where there are none") }
            statements = AccountStatements()
        default: preconditionFailure("the change is none of statements")
        }
    }

    private static let statementIsNotNext = ServiceError(
        .serverRecordChanged,
        "another device of the account has made another statement; fetch those that are new, and make one behind them")
    private static let statementIsTooLarge = ServiceError(
        .limitExceeded, "a statement has \(Limits.statementBytes) bytes at most; remove devices that are not used")
    private static let tooManyStatements = ServiceError(
        .limitExceeded,
        "the account has as many statements as it may have: \(Limits.statementsPerAccount), or"
            + " \(Limits.statementBytesPerAccount) bytes of them; reset its encrypted data to begin anew")
}
