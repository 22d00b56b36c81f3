internal import BrumeService
package import BrumeStore
package import BrumeSystem

/// What a server keeps in its data folder beside what the store does.
package enum DataFolder {
    /// Files that a backup needs as well: the accounts, and the secrets from which user names and tokens derive.
    package static let backedUpFiles = [AccountFile.path, secretPath, operatorTokenPath]

    static let secretPath = "secret.key"
    static let operatorTokenPath = "admin.token"

    /// The files that no start makes anew, once there is a `brume.meta`: one that is missing is damage.
    package static let filesAlwaysThere = [
        Verification.OtherFile(path: AccountFile.path) { bytes throws(StoreError) in
            _ = try AccountFile.decode(bytes, path: AccountFile.path)
        },
        Verification.OtherFile(path: secretPath) { bytes throws(StoreError) in
            guard bytes.count == 32 else {
                throw .damaged(
                    Damage(file: secretPath, offset: 0, problem: "it has \(bytes.count) bytes in place of 32"))
            }
        },
    ]

    /// What is at a path that is meant to be a data folder.
    package enum Content: Sendable {
        case missing
        /// A folder without files, or with nothing but what may be in it before its first server starts.
        case empty
        /// A data folder, whole or damaged, or a backup folder.
        case data
        /// Another folder, or a file.
        case foreign
    }

    /// Tells what is at a path, so that nothing is written into a folder of something else.
    package static func content(of path: String) throws(SystemError) -> Content {
        guard FileSystem.exists(path) else { return .missing }
        guard FileSystem.isDirectory(path) else { return .foreign }
        let names = try FileSystem.list(path)
        // Without any of the store's: an account that was added before the first start.
        if holdsData(path) || names.contains(secretPath) && names.contains(operatorTokenPath) { return .data }
        return names.allSatisfy(mayStandInEmpty) ? .empty : .foreign
    }

    /// Whether two folders are of one server, its data folder or backups of it: they have the same secret.
    package static func haveOneSecret(_ path: String, _ other: String) throws(SystemError) -> Bool {
        try FileSystem.read(path + "/" + secretPath, limit: 4096)
            == FileSystem.read(other + "/" + secretPath, limit: 4096)
    }

    /// Whether a server has opened the folder, though some of its files may be lost.
    static func holdsData(_ path: String) -> Bool {
        [MetaFile.path, ManifestFile.path, JournalExtent.path].contains { FileSystem.exists(path + "/" + $0) }
    }

    /// The lock and the secrets are what a process that ended early may leave; certificates are made before the first
    /// start; what begins with a dot, and `lost+found`, is in folders that are new.
    private static func mayStandInEmpty(_ name: String) -> Bool {
        name.hasPrefix(".")
            || [
                "lost+found", "lock", "certs", "dev-certificates", "secret.key", "secret.key.tmp", "admin.token.tmp",
                AssetPlace.path, AssetPlace.path + ".tmp",
                "ca.pem", "ca.key", "server.pem", "server.key",
            ].contains(name)
    }
}
