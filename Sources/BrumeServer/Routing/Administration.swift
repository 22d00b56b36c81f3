internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem
internal import BrumeWire

/// The Admin service. Its work may wait for the disk, so it runs on a loop of its own.
extension ServerCore {
    /// One request of the operator, decoded.
    private enum AdminRequest: Sendable {
        case addAccount(name: String, email: String)
        case listAccounts(after: String)
        case removeAccount(name: String)
        case createToken(name: String)
        case revokeTokens(name: String)
        case snapshot
    }

    /// Decodes and checks on the session's loop, works on the admin loop, answers on the session's loop.
    func administer(
        _ method: Method, _ payload: UnsafeRawBufferPointer, session: Session, stream: UInt32
    ) throws(ServiceError) {
        if let problem = Authorisation.problemWithAdministration(by: session.identity) { throw problem }
        let coder = session.shard.coder
        let request: AdminRequest
        switch method {
        case .adminAddAccount:
            let (name, email) = try coder.decodeAddAccountRequest(payload)
            request = .addAccount(name: name, email: email)
        case .adminListAccounts:
            request = .listAccounts(after: try coder.decodeListAccountsRequest(payload))
        case .adminRemoveAccount: request = .removeAccount(name: try coder.decodeRemoveAccountRequest(payload))
        case .adminCreateToken: request = .createToken(name: try coder.decodeCreateTokenRequest(payload))
        case .adminRevokeTokens: request = .revokeTokens(name: try coder.decodeRevokeTokensRequest(payload))
        case .adminSnapshot:
            try coder.decodeSnapshotRequest(payload)
            request = .snapshot
        default: preconditionFailure("method \(method.rawValue) is not of the Admin service")
        }
        let identity = session.identity!
        let loop = session.shard.loop
        adminLoop.execute { [self] in
            perform(request, identity: identity) { reply in
                loop.execute { session.give(reply, stream: stream) }
            }
        }
    }

    /// On the admin loop.
    private func perform(
        _ request: AdminRequest, identity: Identity, _ reply: @escaping @Sendable (Shard.Reply) -> Void
    ) {
        let coder = MessageCoder()
        do throws(ServerError) {
            switch request {
            case .addAccount(let name, let email):
                let (account, token) = try accounts.add(
                    name: name, email: email, nowMilliseconds: adminLoop.wallClockMilliseconds)
                reply(.success(coder.encodeAddAccountResponse(account: view(account, identity), token: token)))
            case .listAccounts(let name):
                let rest = accounts.list().drop { $0.name <= name }
                let page = rest.prefix(ServerLimits.accountsPerPage).map { view($0, identity) }
                reply(.success(coder.encodeListAccountsResponse(page, moreComing: page.count < rest.count)))
            case .removeAccount(let name):
                _ = try accounts.remove(name: name)
                revoke(name)
                reply(.success(coder.encodeRemoveAccountResponse()))
            case .createToken(let name):
                reply(.success(coder.encodeCreateTokenResponse(token: try accounts.createToken(name: name))))
            case .revokeTokens(let name):
                let count = try accounts.revokeTokens(name: name)
                revoke(name)
                reply(.success(coder.encodeRevokeTokensResponse(revoked: count)))
            case .snapshot:
                snapshotAll { result in
                    switch result {
                    case .success(let report):
                        reply(
                            .success(
                                MessageCoder().encodeSnapshotResponse(
                                    SnapshotSummary(
                                        databases: report.databases, segmentsRemoved: report.segmentsRemoved))))
                    case .failure(let error): reply(.failure(Self.serviceError(error)))
                    }
                }
            }
        } catch {
            reply(.failure(Self.serviceError(error)))
        }
    }

    private func revoke(_ name: String) {
        for shard in shards { shard.loop.execute { shard.revoke(accountName: name) } }
    }

    private func view(_ account: StoredAccount, _ identity: Identity) -> Account {
        view(account, container: identity.container, environment: identity.environment)
    }

    func view(_ account: StoredAccount, container: String, environment: Environment) -> Account {
        Account(
            name: account.name, email: account.email, createdMilliseconds: account.createdMilliseconds,
            tokens: account.tokenHashes.count,
            userRecordName: secrets.userRecordName(
                accountID: account.id, container: container, environment: environment))
    }

    private static func serviceError(_ error: ServerError) -> ServiceError {
        let code: ErrorCode =
            switch error.code {
            case .accountUnknown: .unknownItem
            case .accountExists: .serverRejectedRequest
            case .accountInvalid: .invalidArguments
            case .limit: .limitExceeded
            case .folder, .folderInUse, .damaged, .certificate, .listen: .internalError
            }
        return ServiceError(code, error.message)
    }

    // MARK: Snapshots

    struct SnapshotReport: Sendable {
        var databases: Int
        var segmentsRemoved: Int
        var bytes: UInt64
    }

    /// The journal has grown by a segment: writes snapshots when they are due. Any thread.
    func journalGrew(segmentsKept: UInt64) {
        adminLoop.execute { [self] in
            // A stop writes them anyway.
            guard !isDraining, snapshotSchedule.segmentBegan(segmentsKept: segmentsKept) else { return }
            snapshotAll(endsWithDrain: true) { [self] result in
                switch result {
                case .success(let report):
                    log.info(
                        "snapshots written",
                        [
                            ("databases", String(report.databases)), ("bytes", String(report.bytes)),
                            ("segmentsRemoved", String(report.segmentsRemoved)),
                        ])
                case .failure where isDraining: break
                case .failure(let error):
                    log.error("no snapshots, the journal grows on", [("reason", error.message)])
                }
                adminLoop.execute { [self] in
                    snapshotSchedule.ended(snapshotBytes: try? result.get().bytes)
                }
            }
        }
    }

    /// Writes snapshots of all databases that changed and cuts the journal. `done` is called on the journal's thread, or on
    /// the admin loop for a failure.
    ///
    /// A new segment begins first: each shard's captures, taken afterwards, hold all that the older segments hold. They are
    /// written here, on the admin loop, while the shards go on.
    ///
    /// - Parameter endsWithDrain: Whether a stop, which writes snapshots itself, need not wait for these.
    func snapshotAll(
        endsWithDrain: Bool = false, _ done: @escaping @Sendable (Result<SnapshotReport, ServerError>) -> Void
    ) {
        groupCommit.rotate { [self] result in
            adminLoop.execute { [self] in
                let segment: UInt64
                switch result {
                case .success(let number): segment = number
                case .failure(let error):
                    return done(.failure(ServerError(.folder, "there is no room for snapshots: \(error)")))
                }
                let gathering = SnapshotGathering(remaining: shards.count, firstKeptSegment: segment, done: done)
                for shard in shards {
                    shard.loop.execute { [self] in
                        shard.captureChanged { [self] captures in
                            adminLoop.execute { [self] in
                                let result = writeSnapshots(captures, of: shard, endsWithDrain: endsWithDrain)
                                gathering.gather(result, groupCommit)
                            }
                        }
                    }
                }
            }
        }
    }
}

extension ServerCore {
    /// Writes a shard's captures. On the admin loop.
    private func writeSnapshots(
        _ captures: [DatabaseCapture], of shard: Shard, endsWithDrain: Bool
    ) -> Result<SnapshotReport, ServerError> {
        var report = SnapshotReport(databases: captures.count, segmentsRemoved: 0, bytes: 0)
        do throws(StoreError) {
            for capture in captures {
                if endsWithDrain, isDraining { return .failure(ServerError(.folder, "the server is about to stop")) }
                report.bytes += try shard.log.writeSnapshot(capture)
                shard.loop.execute { shard.snapshotted(capture.id, upTo: capture.sequence) }
            }
            return .success(report)
        } catch {
            return .failure(ServerError(.folder, "a snapshot can't be written, the journal stays whole: \(error)"))
        }
    }
}

/// Waits for the snapshots of all shards. On the admin loop only, which is why it may be handed around.
private final class SnapshotGathering: @unchecked Sendable {
    private var remaining: Int
    private let firstKeptSegment: UInt64
    private let done: @Sendable (Result<ServerCore.SnapshotReport, ServerError>) -> Void
    private var report = ServerCore.SnapshotReport(databases: 0, segmentsRemoved: 0, bytes: 0)
    private var failure: ServerError?

    init(
        remaining: Int, firstKeptSegment: UInt64,
        done: @escaping @Sendable (Result<ServerCore.SnapshotReport, ServerError>) -> Void
    ) {
        self.remaining = remaining
        self.firstKeptSegment = firstKeptSegment
        self.done = done
    }

    func gather(_ result: Result<ServerCore.SnapshotReport, ServerError>, _ groupCommit: GroupCommit) {
        switch result {
        case .success(let part):
            report.databases += part.databases
            report.bytes += part.bytes
        case .failure(let error): failure = error
        }
        remaining -= 1
        guard remaining == 0 else { return }
        if let failure { return done(.failure(failure)) }
        let done = done
        groupCommit.removeSegments(before: firstKeptSegment) { [report] removed in
            var report = report
            report.segmentsRemoved = removed
            done(.success(report))
        }
    }
}
