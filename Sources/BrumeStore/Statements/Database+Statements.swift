package import BrumeModel

/// What a private database keeps of its owner's keys and devices: statements, each of which follows the one before
/// (Documentation/EncryptionFormats.md, section 8).
extension Database {
    /// Keeps the next statement. Nil if it is kept already, so that a retry has one effect.
    ///
    /// - Parameters:
    ///   - number: As the statement says it.
    ///   - statement: Of which it is checked that it follows the last one.
    /// - Throws: See ``refusal(ofStatement:number:)``.
    package func append(
        statement: SharedBytes, number: UInt32, nowMilliseconds: Int64
    ) throws(ServiceError) -> Commit? {
        if statements[number] == statement { return nil }
        if let refusal = refusal(ofStatement: statement, number: number) { throw refusal }
        let kept = SharedBytes(statement.array)
        let isTaken = statements.append(kept)
        precondition(isTaken, "a statement is refused that was not")
        var builder = CommitBuilder(sequence: sequence + 1)
        builder.append(.statement(number: number, kept))
        return finish(builder, nowMilliseconds: nowMilliseconds)
    }

    /// Keeps a first statement in the place of all that there are: whoever has lost all devices and the recovery code
    /// begins anew. The zones whose keys are lost with them are deleted.
    ///
    /// - Parameters:
    ///   - statement: Of which it is checked that it is one, and none that had its place taken before.
    ///   - replaced: Those whose place it takes.
    /// - Throws: `limitExceeded` after ``Limits/statementResetsPerAccount`` of them, and where more zones than
    ///   ``Limits/zonesPerReset`` have keys.
    package func replaceStatements(
        with statement: SharedBytes, replaced: ReplacedStatements, nowMilliseconds: Int64
    ) throws(ServiceError) -> Commit? {
        precondition(statements.last > 0, "there is nothing whose place a statement could take")
        var builder = CommitBuilder(sequence: sequence + 1)
        guard statements.replaced.count < Limits.statementResetsPerAccount else { throw Self.tooManyResets }
        try deleteZonesWithRings(into: &builder)
        let kept = SharedBytes(statement.array)
        let isTaken = statements.replaceAll(replaced) && statements.append(kept)
        precondition(isTaken, "a first statement is refused that was read")
        builder.append(.statementsReplaced(replaced))
        builder.append(.statement(number: 1, kept))
        return finish(builder, nowMilliseconds: nowMilliseconds)
    }

    func forgetStatements(into builder: inout CommitBuilder) {
        if statements.isEmpty { return }
        builder.append(.statementsEnd)
        statements = AccountStatements()
    }

    /// Why a statement is not kept, whatever is in it; nil for one that is or can be: `serverRecordChanged` where
    /// another one of its number came first, or those between are missing; `limitExceeded` where there is no room.
    ///
    /// They count towards a quota, and none refuses them: whoever has a stolen device could use up what is left of it,
    /// and so keep the owner from removing that.
    package func refusal(ofStatement statement: SharedBytes, number: UInt32) -> ServiceError? {
        precondition(id.scope == .private, "an account's statements are in its private database")
        if statements[number] == statement { return nil }
        if number <= statements.last { return Self.statementIsTaken }
        if number > statements.last + 1 { return Self.statementsAreMissing }
        if statement.isEmpty || statement.count > Limits.statementBytes { return Self.statementIsTooLarge }
        let bytes = statements.statementBytes + statement.count
        if statements.last >= Limits.statementsPerAccount || bytes > Limits.statementBytesPerAccount {
            return Self.tooManyStatements
        }
        return nil
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
        case .statementsReplaced(let replaced):
            guard statements.replaceAll(replaced) else {
                throw ServiceError(.internalError, "statements are replaced that the server would not have replaced")
            }
        case .statementsEnd:
            if statements.isEmpty { throw ServiceError(.internalError, "statements go where there are none") }
            statements = AccountStatements()
        default: preconditionFailure("the change is none of statements")
        }
    }

    private static let statementIsTaken = ServiceError(
        .serverRecordChanged,
        "another device of the account has made another statement of this number; fetch those that are new, and make"
            + " one behind them")
    private static let statementsAreMissing = ServiceError(
        .serverRecordChanged,
        "statements before this one are missing here; append those that you have and the server has not, in their"
            + " order, or fetch all and compare")
    private static let statementIsTooLarge = ServiceError(
        .limitExceeded,
        "a statement has 1 to \(Limits.statementBytes) bytes; remove devices that are not used any more")
    private static let tooManyStatements = ServiceError(
        .limitExceeded,
        "the account has as many statements as it may have: \(Limits.statementsPerAccount), or"
            + " \(Limits.statementBytesPerAccount) bytes of them; a first statement may take the place of all")
    private static let tooManyResets = ServiceError(
        .limitExceeded,
        "the account began anew \(Limits.statementResetsPerAccount) times, which is as often as it may; its operator can"
            + " remove it and make it again")
}
