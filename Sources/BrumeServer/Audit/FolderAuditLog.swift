internal import BrumeLock
internal import BrumeModel
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem

/// The audit log of a data folder. Any thread; each call waits for the disk.
final class FolderAuditLog: AuditLog {
    private let writer: Lock<AuditWriter>
    private let log: Log
    private let nowMilliseconds: @Sendable () -> Int64
    /// Ends the server after a failed sync; nil where the process is about to end anyway.
    private let failStop: FailStop?

    /// - Parameters:
    ///   - log: Gets a line for each act as well, with the hash of the entry: where that log goes elsewhere, it shows
    ///     an audit log that was written anew as a whole.
    ///   - nowMilliseconds: The wall clock.
    init(
        on disk: any Disk, log: Log, nowMilliseconds: @escaping @Sendable () -> Int64, failStop: FailStop?
    ) throws(StoreError) {
        let found: AuditWriter
        do throws(DiskError) {
            found = try AuditWriter(on: disk)
        } catch {
            throw .disk(error)
        }
        // What commands have done while no server ran is in no log but this.
        if found.lastNumber > 0 {
            log.info(
                "audit log", [("audit", String(found.lastNumber)), ("hash", found.lastHash.hexadecimal)])
        }
        writer = Lock(found)
        (self.log, self.nowMilliseconds, self.failStop) = (log, nowMilliseconds, failStop)
    }

    /// That of a folder that no server has open, for a command.
    static func ofStopped(_ folder: String) throws(ServerError) -> FolderAuditLog {
        do throws(StoreError) {
            return try FolderAuditLog(
                on: RealDisk(folder: folder), log: .none, nowMilliseconds: { SystemClock.nowMilliseconds },
                failStop: nil)
        } catch {
            throw ServerError(.folder, "the audit log can't be read: \(folder)/\(error)")
        }
    }

    func begin(_ act: OperatorAct, from origin: OperatorOrigin) throws(ServiceError) -> UInt64? {
        do throws(DiskError) {
            let (number, hash) = try append(
                .began(act: act.name, target: act.target, peer: origin.peer, request: origin.request))
            log.info(
                "operator",
                [
                    ("act", act.name), ("target", act.target), ("peer", origin.peer), ("request", origin.request),
                    ("audit", String(number)), ("hash", hash.hexadecimal),
                ])
            return number
        } catch {
            if error.isFull, act.isLook {
                log.warning(
                    "an operator's look is not in the audit log: the disk is full",
                    [
                        ("act", act.name), ("target", act.target), ("peer", origin.peer),
                        ("request", origin.request),
                    ])
                return nil
            }
            if error.isFull { throw .diskFull }
            throw ServiceError(
                .internalError, "the audit log can't be written, and without it nothing is done: \(error)")
        }
    }

    func end(_ number: UInt64, _ error: ServiceError?) {
        do throws(DiskError) {
            _ = try append(.ended(number: number, error: error.map { Int($0.code.rawValue) } ?? 0))
        } catch {
            log.error(
                "the audit log has no end of an act", [("audit", String(number)), ("reason", error.description)])
        }
    }

    private func append(_ event: AuditEntry.Event) throws(DiskError) -> (number: UInt64, hash: [UInt8]) {
        let now = nowMilliseconds()
        let result = writer.withLock { writer in
            Result { () throws(DiskError) in
                (number: try writer.append(event, milliseconds: now), hash: writer.lastHash)
            }
        }
        if case .failure(let error) = result, error.isFailedSync {
            failStop?("the audit log can't be synced: \(error). Check the disk before the next start")
        }
        return try result.get()
    }
}
