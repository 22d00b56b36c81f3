internal import BrumeEncryption
internal import BrumeSystem
internal import Foundation

/// An account's key folder, for work that may take long or has to wait for another process.
struct KeyFolderAccess: Sendable {
    private let disk: any KeyDisk
    private let files = DispatchQueue(label: "brume.keys")

    init(disk: any KeyDisk = RealKeyDisk()) { self.disk = disk }

    /// The folder of the account's keys, which only the server can tell: whose token it is.
    ///
    /// - Parameter options: How long to wait for it; nil: as long as calls do by default.
    func folder(of account: AccountBinding, _ options: CallOptions? = nil) async throws(CKError) -> KeyFolder {
        let configuration = account.configuration
        guard configuration.token != nil else { throw configuration.missingAccount }
        let welcome =
            if let options {
                try await account.welcome(
                    timeoutNanoseconds: options.timeoutNanoseconds(), patience: options.patience)
            } else {
                try await account.welcome()
            }
        guard let user = welcome.userRecordName else { throw .noAccount }
        do throws(ConfigurationProblem) {
            let scope = IdentityScope(
                account: user, container: try configuration.sessionKey().container,
                environment: configuration.environment.rawValue)
            return KeyFolder(
                stateFolder: try configuration.resolvedStateFolder(),
                place: KeyPlace(server: try configuration.endpoint().name, scope: scope), disk: disk)
        } catch {
            throw CKError(.internalError, message: error.message)
        }
    }

    /// Works on the folder, once no other process does.
    func use<Value: Sendable>(
        _ folder: KeyFolder, _ body: @escaping @Sendable () throws(KeyFolderProblem) -> KeyFolder.Attempt<Value>
    ) async throws(CKError) -> Value {
        for _ in 0..<KeyLimits.lockAttemptsMax {
            let result = await withCheckedContinuation { continuation in
                files.async { continuation.resume(returning: Result { () throws(KeyFolderProblem) in try body() }) }
            }
            switch result {
            case .success(.done(let value)): return value
            case .success(.locked): break
            case .failure(let problem): throw CKError(.internalError, message: problem.message)
            }
            do {
                try await Task.sleep(for: .milliseconds(KeyLimits.lockPauseMilliseconds))
            } catch {
                throw .cancelled
            }
        }
        throw CKError(
            .internalError, message: "another process holds the lock of \(folder.path); look what it waits for")
    }
}
