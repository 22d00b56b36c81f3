internal import BrumeModel
internal import BrumeService
internal import BrumeSystem

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

    /// Opens the folder; makes it when it is missing.
    ///
    /// - Throws: `folderInUse` while a server, or another command, has the folder.
    init(_ path: String, container: String, environment: Environment) throws(ServerError) {
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
    }

    /// Releases the folder for a server.
    func release() { lock.release() }

    /// An account as the operator sees it.
    func view(_ account: StoredAccount) -> Account {
        secrets.view(account, container: container, environment: environment)
    }
}
