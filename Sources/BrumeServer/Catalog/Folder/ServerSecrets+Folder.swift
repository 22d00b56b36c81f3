internal import BrumeService
internal import BrumeSystem

extension ServerSecrets {
    /// The secrets of a data folder, in `secret.key` and `admin.token`. Both are made at the first start, readable by
    /// their owner only.
    init(folder: String) throws(ServerError) {
        do {
            let keyPath = folder + "/" + DataFolder.secretPath
            if !FileSystem.exists(keyPath) {
                // The key is made before the folder holds anything. With a new key no account would find its data
                // again.
                guard !DataFolder.holdsData(folder) else {
                    throw ServerError(
                        .damaged, "\(keyPath) is missing, but the folder holds data; restore it from a backup")
                }
                try FileSystem.atomicReplace(keyPath, SecureRandom.bytes(32))
            }
            let key = try FileSystem.read(keyPath, limit: 4096)
            let tokenPath = folder + "/" + DataFolder.operatorTokenPath
            if !FileSystem.exists(tokenPath) {
                try FileSystem.atomicReplace(tokenPath, Array((AccountToken.make().token + "\n").utf8))
            }
            let line = try FileSystem.read(tokenPath, limit: 4096).prefix { $0 > 0x20 }
            guard key.count == 32, let hash = AccountToken.hash(String(decoding: line, as: UTF8.self)) else {
                throw ServerError(
                    .damaged, "\(folder): secret.key or admin.token is damaged; restore both from a backup")
            }
            self.init(key: key, adminTokenHash: hash)
        } catch let error as ServerError {
            throw error
        } catch {
            throw ServerError(.folder, "the secrets in \(folder) can't be read: \(error)")
        }
    }
}
