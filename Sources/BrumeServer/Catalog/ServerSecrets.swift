package import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// The secrets of a data folder: `secret.key` (32 random bytes, from which MACs and user record names derive) and
/// `admin.token` (opens the Admin service). Both are made at the first start, readable by their owner only.
package struct ServerSecrets: Sendable {
    let key: [UInt8]
    let adminTokenHash: [UInt8]

    /// Secrets that are in no folder.
    package init(key: [UInt8], adminTokenHash: [UInt8]) {
        self.key = key
        self.adminTokenHash = adminTokenHash
    }

    init(folder: String) throws(ServerError) {
        do {
            let keyPath = folder + "/secret.key"
            if !FileSystem.exists(keyPath) {
                // The key is made before the folder holds anything. With a new key no account would find its data
                // again.
                guard !FileSystem.exists(folder + "/" + MetaFile.path) else {
                    throw ServerError(
                        .damaged, "\(keyPath) is missing, but the folder holds data; restore it from a backup")
                }
                try FileSystem.atomicReplace(keyPath, SecureRandom.bytes(32))
            }
            key = try FileSystem.read(keyPath, limit: 4096)
            let tokenPath = folder + "/admin.token"
            if !FileSystem.exists(tokenPath) {
                try FileSystem.atomicReplace(tokenPath, Array((AccountToken.make().token + "\n").utf8))
            }
            let line = try FileSystem.read(tokenPath, limit: 4096).prefix { $0 > 0x20 }
            guard key.count == 32, let hash = AccountToken.hash(String(decoding: line, as: UTF8.self)) else {
                throw ServerError(
                    .damaged, "\(folder): secret.key or admin.token is damaged; restore both from a backup")
            }
            adminTokenHash = hash
        } catch let error as ServerError {
            throw error
        } catch {
            throw ServerError(.folder, "the secrets in \(folder) can't be read: \(error)")
        }
    }

    /// Whether `token` is the operator's. Takes the same time for each wrong one.
    func isAdminToken(_ token: String) -> Bool {
        guard let hash = AccountToken.hash(token) else { return false }
        return ConstantTime.isEqual(hash, adminTokenHash)
    }

    /// The user record name of an account in a container and environment: `_` and 32 hexadecimal digits, different in
    /// each (Documentation/CloudKit.md, The model), and revealing nothing about the account.
    package func userRecordName(accountID: [UInt8], container: String, environment: Environment) -> String {
        let message = Array("user".utf8) + accountID + [environment.rawValue] + Array(container.utf8)
        let digits = Array("0123456789abcdef".utf8)
        var name: [UInt8] = [UInt8(ascii: "_")]
        for byte in MessageAuthentication(key: key).authenticate(message).prefix(16) {
            name.append(digits[Int(byte >> 4)])
            name.append(digits[Int(byte & 15)])
        }
        return String(decoding: name, as: UTF8.self)
    }
}
