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
        let head: StatementHead
        let commit: Commit?
        if request.replacedHash.isEmpty {
            if database.statements[number] == statement { return .statementAppended }
            if let refusal = database.refusal(ofStatement: statement, number: number) { throw refusal }
            head = try self.head(with: signed, in: loaded, identity: identity)
            commit = try database.append(
                statement: statement, number: number, nowMilliseconds: wallClockMilliseconds)
        } else {
            if hasReplaced(request, in: database) { return .statementAppended }
            let replaced = try replacement(by: signed, naming: request.replacedHash, in: database)
            head = try first(signed, of: identity)
            commit = try database.replaceStatements(
                with: statement, replaced: replaced, nowMilliseconds: wallClockMilliseconds)
        }
        if let commit, let kept = database.statements[number] {
            loaded.statementHead = (head, kept)
            // Whoever begins anew is told as well: of zones that went, and that the app has not named.
            let origin = request.replacedHash.isEmpty ? ChangeOrigin(identity, in: database.id) : .server
            guard append(commit, to: loaded, origin: origin, by: share) else { throw .databaseLost }
        }
        return .statementAppended
    }

    /// Whether a request's statement is kept already, so that it is answered whatever the disk has room for.
    func isKept(_ request: DataRequest, in loaded: LoadedDatabase, identity: Identity) -> Bool {
        let database = loaded.database
        if case .joinRing(let request) = request {
            guard let caller = try? Authorisation.grantOfShared(in: database.id, to: identity) else { return false }
            return (try? plan(request, in: loaded, caller: caller).others.isEmpty) ?? false
        }
        if case .appendRingEntry(let request) = request { return database.endsRing(request.entry, in: request.zone) }
        guard case .appendStatement(let request) = request else { return false }
        if !request.replacedHash.isEmpty { return hasReplaced(request, in: database) }
        return database.statements.all.contains(request.statement)
    }

    /// Whether a request's statement took the place of those that it names, and nothing else did since.
    private func hasReplaced(_ request: AppendStatementRequest, in database: Database) -> Bool {
        database.statements.replaced.last?.lastHash == request.replacedHash
            && database.statements[1] == request.statement
    }

    /// What a first statement takes the place of.
    ///
    /// - Throws: Where others are there than the device knows, or the statement was there before: whoever has the keys
    ///   of then, as a device has that was removed, must not lead those that know no more back to it.
    private func replacement(
        by signed: SignedStatement, naming hash: [UInt8], in database: Database
    ) throws(ServiceError) -> ReplacedStatements {
        let statements = database.statements
        guard let first = statements[1], let last = statements[statements.last] else { throw Self.isNotReplaced }
        let replaced = try readKept("the account's statements") { () throws(EncryptionRefusal) in
            ReplacedStatements(
                firstHash: try Statement.hash(kept: first.array), lastHash: try Statement.hash(kept: last.array))!
        }
        guard replaced.lastHash == hash else { throw Self.isNotReplaced }
        let anew = signed.statement.hash
        guard anew != replaced.firstHash, !statements.replaced.contains(where: { $0.firstHash == anew }) else {
            throw Self.wasReplaced
        }
        return replaced
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
            let before = try readKept("the account's statements") { () throws(EncryptionRefusal) in
                try Statement(kept: last.array)
            }
            do throws(EncryptionRefusal) {
                try signed.checkSignatures(behind: before)
            } catch {
                throw Self.refusal(error)
            }
            let head = try readKept("the account's statements") { () throws(EncryptionRefusal) in
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
    func readKept<Value>(
        _ what: String, _ body: () throws(EncryptionRefusal) -> Value
    ) throws(ServiceError) -> Value {
        do throws(EncryptionRefusal) {
            return try body()
        } catch {
            if error == .newer {
                throw ServiceError(
                    .internalError, "\(what) can't be read: kept by a newer version of the server; update the server")
            }
            server.noteDamage()
            throw ServiceError(
                .internalError,
                "\(what) can't be read: not as the server took them; its operator has to restore a backup")
        }
    }

    private static let isNotReplaced = ServiceError(
        .serverRecordChanged,
        "the last statement is another one than this one is to take the place of; fetch it, and ask the person again")

    private static let wasReplaced = ServiceError(
        .invalidArguments, "the account began with this statement before, and it was replaced; make another one")

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
