internal import BrumeSystem

/// Servers whose operator had to go back to a backup.
extension TestServer {
    /// The data of a test server at one moment; removed when the server stops.
    public struct Backup: Sendable {
        fileprivate let path: String
        fileprivate let accounts: [String: TestAccount]
    }

    /// Makes a backup of all that the server has now, as `brume backup` does. The server is restarted for it: see
    /// ``restart()``.
    ///
    /// - Throws: ``TestServerError`` when the server was stopped, or the disk has no room.
    public func backUp() async throws -> Backup {
        try await restart { [self] server in
            let path = "\(server.folder.path)/backup-\(server.run)"
            try RunningServer.copyData(from: server.dataFolder, to: path)
            return Backup(path: path, accounts: knownAccounts)
        }
    }

    /// The server has what it had when the backup was made, and nothing of what came later: as after a disk was lost
    /// and `brume restore` brought back what there was. It is restarted for that: see ``restart()``.
    ///
    /// Apps meet what their users would. Change tokens of what is gone are `changeTokenExpired`; saves of a newer
    /// version fail with `serverRecordChanged`, those of a record made since with `unknownItem`, and in a zone made
    /// since with `zoneNotFound`. Nothing that only devices have is sent again unless the app does it.
    ///
    /// Devices give back encryption keys that the backup lacks, each when it next asks for them. Where another device
    /// has made others first, ``CKContainer/encryptionStatus()`` is `conflict`, or saves fail until
    /// ``CKDatabase/acceptEncryptionKeys(of:)``; a guest opens the share's newest link.
    ///
    /// Accounts that were made after the backup are gone, and their devices' calls fail with `notAuthenticated`;
    /// whether an account is signed in is as it was. The script is no part of a backup. One can be used many times.
    ///
    /// - Throws: ``TestServerError`` for another server's backup, when the server was stopped, or the disk has no room:
    ///   then the server goes on with what it has.
    public func restore(_ backup: Backup) async throws {
        let isPredictable = options.isPredictable
        try await restart { [self] server in
            guard backup.path.hasPrefix(server.folder.path + "/") else {
                throw TestServerError("the backup is another test server's: restore it where backUp() made it")
            }
            let restored = "\(server.folder.path)/restored-\(server.run)"
            try RunningServer.copyData(
                from: backup.path, to: restored, epoch: isPredictable ? server.run + 1 : .random(in: 1 ... .max))
            try FileSystem.removeTree(server.dataFolder)
            try FileSystem.rename(restored, to: server.dataFolder)
            knownAccounts = backup.accounts
        }
    }
}
