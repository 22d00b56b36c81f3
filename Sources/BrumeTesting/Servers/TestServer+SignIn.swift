public import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeServer
internal import BrumeService

/// Accounts that sign out and in, and what keeps them from the server.
extension TestServer {
    /// The account signs out, as when its token is revoked: its devices' connections end, and their calls fail with
    /// `notAuthenticated` until ``signIn(_:)``. Its data stays.
    ///
    /// - Throws: ``TestServerError`` when the server was stopped.
    public func signOut(_ name: String) async throws {
        let account = try account(name)
        let connections = devices.connections(ofUser: account.userRecordID.recordName)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do {
                try withServer { server in try server.revokeTokens(name: account.name) { continuation.resume() } }
            } catch {
                continuation.resume(throwing: error is TestServerError ? error : TestServerError("\(error)"))
            }
        }
        await connections.ended()
    }

    /// What the account is from now on, for all of its devices: with `restricted` and `temporarilyUnavailable` their
    /// connections end and their calls fail with `managedAccountRestricted` and `accountTemporarilyUnavailable`, and
    /// `accountStatus()` says so; `noAccount` is ``signOut(_:)``, and `available` makes it as it was.
    ///
    /// - Throws: ``TestServerError`` when the server was stopped.
    public func setAccountStatus(_ status: CKAccountStatus, of name: String) async throws {
        let error: ServiceError
        switch status {
        case .restricted:
            error = ServiceError(.managedAccountRestricted, "the test restricted the account \(name)")
        case .temporarilyUnavailable:
            error = ServiceError(.accountTemporarilyUnavailable, "the test made the account \(name) unavailable")
        case .noAccount: return try await signOut(name)
        case .available: return try signIn(name)
        case .couldNotDetermine:
            preconditionFailure("what can't be determined is a server that can't be reached: stop it")
        }
        let account = try account(name)
        let connections = devices.connections(ofUser: account.userRecordID.recordName)
        script.state.withLock { $0.refusals[account.name] = error }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do {
                try withServer { server in
                    server.endSessions(ofAccount: account.name, reason: error) { continuation.resume() }
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        await connections.ended()
    }

    /// The account is there again, on the devices that it had.
    ///
    /// - Throws: ``TestServerError`` when the server was stopped.
    public func signIn(_ name: String) throws {
        let account = try account(name)
        script.state.withLock { $0.refusals[account.name] = nil }
        try withServer { server in
            do throws(AccountError) {
                try server.restoreToken(account.token, name: account.name)
            } catch {
                throw TestServerError("\(name) can't sign in: \(error)")
            }
        }
        devices.circumstancesChanged()
    }
}
