internal import BrumeLock
internal import BrumeModel
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem

/// The accounts of a data folder, in one file: names, e-mail addresses and hashes of tokens.
///
/// The file is replaced whole at each change, and synced before the change takes effect. A failed sync ends the server,
/// because nobody knows which of the two files a start will find.
///
/// Changes may come from any thread, and wait for the disk there: the loops of the shards never make any.
final class AccountStore: Sendable {
    /// The accounts in effect.
    let directory: AccountDirectory
    private let disk: any Disk
    /// Ends the server after a failed sync; nil when the error is only thrown, because the process is about to end
    /// anyway.
    private let failStop: FailStop?
    /// One change after the other. Held while the disk works.
    private let changing = Lock(())

    /// Reads the account file of the data folder that `disk` stands for, if there is one. In a folder that a server has
    /// opened it is damage when there is none.
    ///
    /// - Parameter accounts: The accounts of a folder that has no file yet.
    init(disk: any Disk, startingWith accounts: [StoredAccount] = [], failStop: FailStop? = nil) throws(StoreError) {
        self.disk = disk
        self.failStop = failStop
        let bytes: [UInt8]?
        do throws(DiskError) {
            bytes = try disk.readWhole(AccountFile.path, limit: ServerLimits.accountFileBytes)
            // A process that ended may have left a file whose name can be seen but is not durable yet: a token that is
            // refused from here on would come back with a power cut.
            if bytes != nil { try disk.syncDirectory("") }
        } catch {
            throw .disk(error)
        }
        if let bytes {
            directory = AccountDirectory(AccountTable(try AccountFile.decode(bytes, path: AccountFile.path)))
        } else if try MetaFile.isOpened(disk) {
            throw .damaged(Damage(missing: AccountFile.path, "the file is missing, but the folder holds data"))
        } else {
            directory = AccountDirectory(AccountTable(accounts))
        }
    }

    /// The same for a folder's path.
    convenience init(folder: String, failStop: FailStop? = nil) throws(ServerError) {
        do throws(StoreError) {
            try self.init(disk: RealDisk(folder: folder), failStop: failStop)
        } catch {
            switch error {
            case .disk(let error): throw ServerError(.folder, "the account file can't be read: \(error)")
            case .unknownVersion: throw ServerError(.damaged, "\(folder)/\(error)")
            case .damaged: throw ServerError(.damaged, "\(folder)/\(error); restore the file from a backup")
            }
        }
    }

    /// Makes the account file when there is none yet, so that a missing file is damage from then on.
    func makeFileIfMissing() throws(DiskError) {
        if try disk.list("").contains(AccountFile.path) { return }
        try disk.replaceFile(AccountFile.path, in: "", with: AccountFile.encode(directory.list()))
    }

    /// Makes a change. It takes effect when it is on disk, and not at all when this throws.
    func change(_ change: AccountChange) throws(AccountError) -> AccountChange.Effect {
        let result: Result<AccountChange.Effect, AccountError> = changing.withLock { _ in
            do throws(AccountError) {
                var changed = directory.current
                let effect = try changed.apply(change)
                do throws(DiskError) {
                    try disk.replaceFile(AccountFile.path, in: "", with: AccountFile.encode(changed.list))
                } catch {
                    return .failure(refusal(error))
                }
                directory.takeOver(changed, effect)
                return .success(effect)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Makes an account with one token, which is returned this once.
    ///
    /// - Parameter id: 16 bytes that no other account has; nil for random ones.
    func add(
        name: String, email: String, phone: String = "", nowMilliseconds: Int64, id: [UInt8]? = nil
    ) throws(AccountError) -> (account: StoredAccount, token: String) {
        let (change, token) = AccountChange.adding(
            name: name, email: email, phone: phone, nowMilliseconds: nowMilliseconds, id: id)
        return (try self.change(change).after!, token)
    }

    /// Makes another token for an account, which is returned this once.
    func createToken(name: String) throws(AccountError) -> String {
        let (change, token) = AccountChange.addingToken(name: name)
        _ = try self.change(change)
        return token
    }

    private func refusal(_ error: DiskError) -> AccountError {
        guard error.isFailedSync else {
            return AccountError(
                error.isFull ? .full : .notKept, "the account file can't be written, nothing changed: \(error)")
        }
        let reason =
            "the account file can't be synced: \(error). Whether it changed shows at the next start; check the disk"
            + " first"
        failStop?(reason)
        return AccountError(.notKept, reason)
    }
}
