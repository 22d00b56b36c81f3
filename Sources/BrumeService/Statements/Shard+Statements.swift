internal import BrumeEncryption
internal import BrumeModel
internal import BrumeStore

/// What an account says of its keys and devices. The server keeps it in order, and takes no statement that other
/// devices would refuse: whoever has an account's token and none of its keys can't put one there that ends the chain.
///
/// The first one is anybody's who has the token, since there is nothing yet to check it against; and so is one that
/// takes the place of all. A device that knows the last one follows neither without a person's word.
extension Shard {
    /// Keeps the next statement of a database's owner, or a first one in the place of all.
    func append(
        _ request: AppendStatementRequest, to loaded: LoadedDatabase, identity: Identity, share: ClientShare
    ) throws(ServiceError) -> Answer {
        let (database, statement) = (loaded.database, request.statement)
        let signed: SignedStatement
        do throws(EncryptionRefusal) {
            signed = try SignedStatement(statement.array)
        } catch {
            throw Self.refusal(error)
        }
        let number = signed.statement.number
        if database.statements[number] == statement { return .statementAppended }
        let head: StatementHead
        let commit: Commit?
        if request.replacedHash.isEmpty {
            if let refusal = database.refusal(ofStatement: statement, number: number) { throw refusal }
            head = try self.head(with: signed, in: loaded, identity: identity)
            commit = try database.append(
                statement: statement, number: number, nowMilliseconds: wallClockMilliseconds)
        } else {
            guard try hashOfLast(in: loaded) == request.replacedHash else { throw Self.isNotReplaced }
            head = try first(signed, of: identity)
            commit = database.replaceStatements(with: statement, nowMilliseconds: wallClockMilliseconds)
        }
        if let commit, let kept = database.statements[number] {
            loaded.statementHead = (head, kept)
            let origin = ChangeOrigin(identity, in: database.id)
            guard append(commit, to: loaded, origin: origin, by: share) else { throw .databaseLost }
        }
        return .statementAppended
    }

    /// Whether a request's statement is kept already, so that it is answered whatever the disk has room for.
    func isKept(_ request: DataRequest, in database: Database) -> Bool {
        guard case .appendStatement(let request) = request else { return false }
        return database.statements.all.contains(request.statement)
    }

    private func hashOfLast(in loaded: LoadedDatabase) throws(ServiceError) -> [UInt8]? {
        let statements = loaded.database.statements
        guard let last = statements[statements.last] else { return nil }
        return try read { () throws(EncryptionRefusal) in try Statement(kept: last.array).hash }
    }

    private func first(_ signed: SignedStatement, of identity: Identity) throws(ServiceError) -> StatementHead {
        let scope = IdentityScope(
            account: identity.userRecordName, container: identity.container, environment: identity.environment.name)
        do throws(EncryptionRefusal) {
            return try StatementHead(first: signed, of: scope)
        } catch {
            throw Self.refusal(error)
        }
    }

    /// The head of a database's statements with the next one, once that is checked.
    private func head(
        with signed: SignedStatement, in loaded: LoadedDatabase, identity: Identity
    ) throws(ServiceError) -> StatementHead {
        let statements = loaded.database.statements
        let last = try statements[statements.last].map { last throws(ServiceError) in
            // Only whoever has the keys makes the server read all the statements, and once.
            if let known = loaded.statementHead, known.last == last { return known.head }
            let before = try read { () throws(EncryptionRefusal) in try Statement(kept: last.array) }
            do throws(EncryptionRefusal) {
                try signed.checkSignatures(behind: before)
            } catch {
                throw Self.refusal(error)
            }
            let head = try read { () throws(EncryptionRefusal) in
                try StatementHead(kept: statements.all.lazy.map(\.array))!
            }
            loaded.statementHead = (head, last)
            return head
        }
        guard var head = last else { return try first(signed, of: identity) }
        do throws(EncryptionRefusal) {
            try head.append(signed)
            return head
        } catch {
            throw Self.refusal(error)
        }
    }

    /// Reads what is kept, which nobody but the server answers for.
    private func read<Value>(_ body: () throws(EncryptionRefusal) -> Value) throws(ServiceError) -> Value {
        do throws(EncryptionRefusal) {
            return try body()
        } catch {
            if error == .newer { throw Self.keptByNewer }
            server.noteDamage()
            throw ServiceError(
                .internalError,
                "the account's statements are not as the server took them; its operator has to restore a backup")
        }
    }

    private static let keptByNewer = ServiceError(
        .internalError, "the account's statements were kept by a newer version of the server; update the server")
    private static let isNotReplaced = ServiceError(
        .serverRecordChanged,
        "the last statement is another one than this one is to take the place of; fetch it, and ask the person again")

    private static func refusal(_ refusal: EncryptionRefusal) -> ServiceError {
        let problem =
            switch refusal {
            case .newer: "a statement has a format that this server doesn't know; update the server"
            case .badSignature: "a statement is not signed by the keys of the account"
            case .brokenChain:
                "a statement is of another account, container or environment than this connection, or does not follow"
                    + " the last one; fetch all, and compare them with those that you know"
            default: "a statement is damaged"
            }
        return ServiceError(.invalidArguments, problem)
    }
}
