internal import BrumeModel

extension CKContainer {
    /// Whether the user's private database can be used: what the server says of the account's token.
    ///
    /// - `available`: the server takes the account.
    /// - `noAccount`: the container has no token; the server is not asked. Also when the server does not know the
    ///   token, or its operator revoked it or removed the account: to this device the account is gone.
    /// - `restricted`: the server said that the account may not be used (`managedAccountRestricted`).
    /// - `temporarilyUnavailable`: the server said that it may not be used just now (`accountTemporarilyUnavailable`).
    ///   Keep the user's data and wait for `CKAccountChanged`.
    ///
    /// A server of this version knows no restrictions and says neither of the last two; the testing kit does.
    ///
    /// Waits 5 s at most, and ends with the first attempt to connect that fails.
    ///
    /// Differs from CloudKit: the answer is the server's, not the device's, so that it takes a connection.
    ///
    /// - Throws: Where the status is `couldNotDetermine`, the `CKError` that kept the container from finding out, such
    ///   as `networkUnavailable`. `CKAccountChanged` is posted when a later call finds out.
    public func accountStatus() async throws -> CKAccountStatus {
        let account = core.account
        guard account.configuration.token != nil else { return .noAccount }
        do throws(CKError) {
            let welcome = try await account.welcome(
                timeoutNanoseconds: ClientSessionLimits.accountStatusNanoseconds, isPatient: false)
            return welcome.userRecordName == nil ? .noAccount : .available
        } catch {
            switch error.code {
            case .notAuthenticated where account.isEnded: return try await accountStatus()
            case .notAuthenticated: return .noAccount
            case .managedAccountRestricted: return .restricted
            case .accountTemporarilyUnavailable: return .temporarilyUnavailable
            default:
                account.statusRemainedOpen()
                throw error
            }
        }
    }

    /// ``accountStatus()`` with a completion handler, which is called on a thread of its own.
    ///
    /// - Parameter completionHandler: Gets the status, or `couldNotDetermine` with the error that kept the container
    ///   from finding out.
    @preconcurrency
    public func accountStatus(
        completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void
    ) {
        Task(priority: .userInitiated) {
            do {
                completionHandler(try await accountStatus(), nil)
            } catch {
                completionHandler(.couldNotDetermine, error)
            }
        }
    }

    /// The id of the account's user record, which differs between containers and environments.
    ///
    /// - Throws: `notAuthenticated` without an account, or with one that the server does not take.
    public func userRecordID() async throws -> CKRecord.ID {
        try await core.userRecordID(callOptions)
    }

    /// How the server knows the device for the account that is signed in.
    package func deviceID() throws(CKError) -> [UInt8] { try core.configuration.deviceID() }

    /// Nanoseconds from a ping to the server's answer; connects when there is no connection.
    package func ping(
        timeoutNanoseconds: UInt64 = ClientSession.defaultTimeoutNanoseconds
    ) async throws -> UInt64 {
        let session = try core.openSession()
        do throws(ServiceError) {
            return try await session.ping(timeoutNanoseconds: timeoutNanoseconds)
        } catch {
            throw CKError(error)
        }
    }
}

extension ContainerCore {
    /// The id of the account's user record.
    func userRecordID(_ options: CallOptions) async throws(CKError) -> CKRecord.ID {
        let account = account
        guard account.configuration.token != nil else { throw account.configuration.missingAccount }
        let welcome = try await account.welcome(
            timeoutNanoseconds: options.timeoutNanoseconds(), patience: options.patience)
        guard let name = welcome.userRecordName else { throw CKError.noAccount }
        guard CKRecord.ID.problem(withName: name) == nil else {
            throw CKError.malformedResponse("it names a user record that no record can be")
        }
        return CKRecord.ID(recordName: name)
    }
}

extension ServiceError {
    static let noAccount = ServiceError(
        .notAuthenticated,
        "there is no account for this; set BRUME_TOKEN to an account's token, or sign in with CKContainer.signIn(token:)"
    )
}

extension BrumeConfiguration {
    /// What a call that needs an account fails with, where none is configured.
    var missingAccount: CKError {
        if server != nil { return .noAccount }
        return CKError(
            .notAuthenticated,
            message:
                "neither a server nor an account is configured; set BRUME_SERVER, BRUME_CA and BRUME_TOKEN, as `brume dev` "
                + "prints them, or give the container a BrumeConfiguration")
    }
}

extension CKError {
    static var noAccount: CKError { CKError(ServiceError.noAccount) }
}
