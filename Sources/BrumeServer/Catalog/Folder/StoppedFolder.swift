internal import BrumeModel
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem
internal import Glibc

/// A data folder that no server has open, for the commands that administer a stopped server: its accounts and secrets,
/// with the user record names of one container and environment.
///
/// Holds the folder's lock until ``release()``; records are neither read nor recovered.
struct StoppedFolder {
    let secrets: ServerSecrets
    let accounts: AccountStore
    let container: String
    let environment: Environment
    private let lock: DirectoryLock
    private let audit: (log: FolderAuditLog, origin: OperatorOrigin)?

    /// Opens the folder; makes it when it is missing.
    ///
    /// - Parameter isOperators: Whether what is done is an operator's doing, which the audit log keeps: not where a
    ///   program makes the folder of a server of its own.
    /// - Throws: `folderInUse` while a server, or another command, has the folder.
    init(
        _ path: String, container: String, environment: Environment, isOperators: Bool
    ) throws(ServerError) {
        do throws(SystemError) {
            try FileSystem.makeDurableDirectory(path)
        } catch {
            throw ServerError(folderNotMade: error)
        }
        do throws(SystemError) {
            lock = try DirectoryLock(directory: path)
        } catch {
            throw ServerError(folderNotLocked: path, error)
        }
        secrets = try ServerSecrets(folder: path)
        accounts = try AccountStore(folder: path)
        self.container = container
        self.environment = environment
        audit = isOperators ? (try .ofStopped(path), .thisProcess) : nil
    }

    /// Does something that the audit log has a note of, before and after.
    ///
    /// - Parameters:
    ///   - request: What a server would be asked for the same.
    ///   - reported: What the log says of a failure.
    ///   - refused: What a failure of the log is to the caller, for whom nothing was done.
    func audited<Value, Failure: Error>(
        _ request: AdminRequest, reported: (Failure) -> ServiceError, refused: (ServiceError) -> Failure,
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard let audit, let act = request.act(container: container, environment) else { return try body() }
        let noted: UInt64?
        do throws(ServiceError) {
            noted = try audit.log.begin(act, from: audit.origin)
        } catch {
            throw refused(error)
        }
        guard let number = noted else { return try body() }
        do throws(Failure) {
            let value = try body()
            audit.log.end(number, nil)
            return value
        } catch {
            audit.log.end(number, reported(error))
            throw error
        }
    }

    /// Releases the folder for a server.
    func release() { lock.release() }

    /// An account as the operator sees it.
    func view(_ account: StoredAccount) -> Account {
        secrets.view(account, container: container, environment: environment)
    }
}

extension OperatorOrigin {
    /// A command that works on a folder itself.
    static var thisProcess: OperatorOrigin {
        OperatorOrigin(peer: "process \(getpid()) of user \(getuid())", request: "")
    }
}
