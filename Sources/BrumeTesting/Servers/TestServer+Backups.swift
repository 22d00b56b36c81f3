internal import BrumeSystem

/// Servers whose operator had to go back to a backup.
extension TestServer {
    /// What a server had at one moment. It goes with the server.
    public struct Backup: Sendable {
        fileprivate let path: String
        fileprivate let accounts: Set<String>
    }

    /// Keeps all that the server has now, as `brume backup` does. The server is started again for it: see
    /// ``restart()``.
    ///
    /// - Throws: ``TestServerError`` when the server was stopped, or the disk has no room.
    public func backUp() async throws -> Backup {
        let accounts = accountNames
        let path = try await restart { server in
            let path = "\(server.folder.path)/backup-\(server.run)"
            try RunningServer.copyData(from: server.dataFolder, to: path)
            return path
        }
        return Backup(path: path, accounts: accounts)
    }

    /// The server has what it had when the backup was made, and nothing of what came later: as after a disk was lost
    /// and `brume restore` brought back what there was.
    ///
    /// Apps meet what their users would: change tokens of what is gone are `changeTokenExpired`, saves of versions that
    /// the server does not have any more are `serverRecordChanged`, and what only devices have is sent by nobody unless
    /// the app does it. Encryption keys that the backup lacks devices give back by themselves. Accounts that were made
    /// after the backup are gone: their devices' calls fail with `notAuthenticated`. A backup can be used many times.
    ///
    /// - Throws: ``TestServerError`` for another server's backup, when the server was stopped, or the disk has no room.
    public func restore(_ backup: Backup) async throws {
        let isPredictable = options.isPredictable
        try await restart { server in
            guard backup.path.hasPrefix(server.folder.path + "/") else {
                throw TestServerError("the backup is another test server's: restore it where backUp() made it")
            }
            try FileSystem.removeTree(server.dataFolder)
            try RunningServer.copyData(
                from: backup.path, to: server.dataFolder,
                epoch: isPredictable ? server.run + 1 : .random(in: 1 ... .max))
        }
        forgetAccounts(but: backup.accounts)
    }
}
