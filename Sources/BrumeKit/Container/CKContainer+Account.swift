internal import BrumeModel

extension CKContainer {
    /// Whether the user's private database can be used.
    ///
    /// `available` when the server knows the account's token. `noAccount` when the container has no token, and also when the
    /// server does not take it any more: its owner revoked it, so to this device the account is gone.
    ///
    /// - Throws: The `CKError` that kept the container from finding out (`networkFailure`, for example), where the status is
    ///   `couldNotDetermine`.
    public func accountStatus() async throws -> CKAccountStatus {
        guard core.configuration.token != nil else { return .noAccount }
        let session = try core.openSession()
        do throws(ServiceError) {
            return try await session.welcome().userRecordName == nil ? .noAccount : .available
        } catch {
            if error.code == .notAuthenticated { return .noAccount }
            throw CKError(error)
        }
    }

    /// The id of the account's user record, which differs between containers and environments.
    ///
    /// - Throws: `notAuthenticated` without an account.
    public func userRecordID() async throws -> CKRecord.ID {
        guard core.configuration.token != nil else { throw CKError.noAccount }
        let session = try core.openSession()
        do throws(ServiceError) {
            guard let name = try await session.welcome().userRecordName else { throw .noAccount }
            guard CKRecord.ID.problem(withName: name) == nil else {
                throw ServiceError(.internalError, "the server named a user record that no record can be")
            }
            return CKRecord.ID(recordName: name)
        } catch {
            throw CKError(error)
        }
    }

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

extension ServiceError {
    static let noAccount = ServiceError(
        .notAuthenticated, "there is no account for this; set BRUME_TOKEN to an account's token")
}

extension CKError {
    static var noAccount: CKError { CKError(ServiceError.noAccount) }
}
