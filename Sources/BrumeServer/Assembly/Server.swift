internal import BrumeLock
package import BrumeModel
package import BrumeService
package import BrumeStore
internal import BrumeSystem
internal import Glibc

/// A Brume server in this process: opens its data folder, recovers, listens, and stops in order.
///
/// `@unchecked Sendable`: set up by one thread; `drain` and `wait` may come from any.
package final class Server: @unchecked Sendable {
    let core: ServerCore
    private let configuration: ServerConfiguration
    /// The accounts of its folder, for the process that it runs in.
    let accounts: AccountStore
    private let lock: DirectoryLock
    /// Where its assets are.
    let assets: AssetsFolder
    /// Whether its loops run, or did.
    private var hasStarted = false
    private let assembly: ServerAssembly
    private let listeners = Lock<[Listener]>([])
    private let finished = Semaphore()
    /// Set by `start`.
    package private(set) var port: UInt16 = 0
    /// Set by `start`, and released by `drain`.
    private let door = Lock<LocalListener?>(nil)
    /// Set by `start`, and released by `wait`.
    private var metrics: MetricsListener?
    /// The port where figures are served; 0 when they are not.
    package var metricsPort: UInt16 { metrics?.port ?? 0 }
    /// The address where figures are served, `host:port`.
    package var metricsAddress: String { Self.address(configuration.metricsAddress?.host ?? "", metricsPort) }
    /// What recovery found, for the operator.
    package let recoveryReport: String

    /// Opens the data folder, makes what is missing in it, and recovers what the journal holds.
    ///
    /// - Parameter disk: What the store uses in place of the folder; nil for the folder itself.
    /// - Throws: `folderInUse` when another server has the folder, or that of the assets; `damaged` with file and
    ///   offset when a file is not what was written (P8: nothing is repaired by deleting); `folder` when it can't be
    ///   read or written; and what ``AssetsFolder`` throws where the assets are not where they should be.
    package init(_ configuration: ServerConfiguration, disk: (any Disk)? = nil) throws(ServerError) {
        self.configuration = configuration
        let folder = configuration.dataFolder
        do {
            try FileSystem.makeDurableDirectory(folder)
        } catch {
            throw ServerError(folderNotMade: error)
        }
        do {
            lock = try DirectoryLock(directory: folder)
        } catch {
            throw ServerError(folderNotLocked: folder, error)
        }
        let log = configuration.log
        let failStop: FailStop = { reason in
            log.error(reason)
            _exit(Self.failStopExitCode)
        }
        let loops: ServerLoops
        do {
            loops = try ServerLoops(shards: max(1, configuration.loopCount))
        } catch {
            throw ServerError(.limit, "the event loops can't be made: \(error)")
        }
        let secrets = try ServerSecrets(folder: folder)
        accounts = try AccountStore(folder: folder, failStop: failStop)
        do throws(DiskError) {
            try accounts.makeFileIfMissing()
        } catch {
            throw ServerError(
                error.isFull ? .diskFull : .folder, "the account file can't be made in \(folder): \(error)")
        }
        assets = try AssetsFolder.open(for: folder, at: configuration.assetsFolder, log: log)
        let disk = disk ?? assets.disk
        let report: Recovery.Report
        do throws(StoreError) {
            let recovery = try Recovery(
                opening: disk,
                options: JournalWriter.Options(
                    salt: Self.randomNumber(), segmentBytes: configuration.journalSegmentBytes),
                newEpoch: configuration.run ?? max(1, Self.randomNumber()), startCheck: configuration.startCheck,
                history: configuration.history, threads: .system(count: ServerLimits.loadThreads))
            report = recovery.report
            (assembly, _) = try ServerAssembly.folder(
                of: recovery, on: disk, configuration: configuration, secrets: secrets, accounts: accounts,
                loops: loops, spinner: Spinner(limitNanoseconds: configuration.spinMicroseconds * 1_000),
                blobThreadCount: ServerLimits.blobThreads, startedNanoseconds: MonotonicClock.nowNanoseconds,
                nowNanoseconds: { MonotonicClock.nowNanoseconds },
                failStop: failStop)
        } catch {
            switch error {
            case .disk: throw ServerError(.folder, "\(folder): \(error)")
            case .damaged, .unknownVersion: throw ServerError(damaged: folder, error)
            }
        }
        core = assembly.core
        recoveryReport =
            "\(report.entries) commits, \(report.snapshotsRead) snapshots"
            + (report.snapshotsChecked.map { ", \($0) more checked" } ?? "")
            + (report.tornBytes > 0 ? ", a torn tail of \(report.tornBytes) bytes cut" : "")
    }

    deinit {
        if !hasStarted { core.abandon() }
    }

    /// The process's exit code when the journal can't be written, or anything can't be synced (EX_IOERR of sysexits.h).
    package static let failStopExitCode: Int32 = 74

    /// The address of a socket that a service manager opened.
    private var inheritedAddress: String?
    /// Where the server listens, `host:port`.
    package var address: String { inheritedAddress ?? Self.address(configuration.host, port) }

    private static func address(_ host: String, _ port: UInt16) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    // MARK: Start

    /// Listens and serves. Returns when clients can connect.
    package func start() throws(ServerError) {
        precondition(!hasStarted, "a server is started twice")
        assembly.handOver()
        let tls: TLSServerContext
        do {
            tls = try TLSServerContext(certificatePath: configuration.certificatePath, keyPath: configuration.keyPath)
        } catch {
            throw ServerError(
                .certificate, "the certificate can't be used: \(error); `brume certs` makes one for development")
        }
        do {
            if configuration.port != 0, configuration.inheritedSocket == nil {
                // Sockets that share a port share it with any other socket of this user: only one that doesn't share it
                // shows that the port is free.
                try Listener(
                    host: configuration.host, port: configuration.port, tls: tls, loop: core.adminLoop,
                    limits: assembly.door.socketLimits, sharesPort: false, accept: { _ in nil }
                ).close()
            }
            for shard in core.shards {
                let (door, index) = (assembly.door, shard.index)
                let accept: (Connection) -> (any ConnectionDelegate)? = { door.accept($0, onLoop: index) }
                let listener: Listener
                if let socket = configuration.inheritedSocket {
                    listener = try Listener(
                        on: socket, tls: tls, loop: shard.loop, limits: door.socketLimits, admission: door.admission,
                        accept: accept)
                    inheritedAddress = listener.address
                } else {
                    listener = try Listener(
                        host: configuration.host, port: port == 0 ? configuration.port : port, tls: tls,
                        loop: shard.loop, limits: door.socketLimits, admission: door.admission, sharesPort: true,
                        accept: accept)
                }
                port = listener.port
                listeners.withLock { $0.append(listener) }
            }
        } catch {
            throw ServerError(listeningOn: configuration.host, configuration.port, error)
        }
        if let address = configuration.metricsAddress {
            do {
                metrics = try MetricsListener(host: address.host, port: address.port, server: core) {
                    [configuration, path = assets.path] in MachineFigures(configuration, assetsPath: path)
                }
            } catch {
                throw ServerError(listeningOn: address.host, address.port, error)
            }
        }
        do throws(ServerError) {
            let listener = try OperatorDoor.open(assembly.door, onLoop: 0)
            door.withLock { $0 = listener }
        } catch {
            metrics?.stop()
            throw error
        }
        do {
            try FileSystem.atomicReplace(configuration.dataFolder + "/server.json", Array(serverFile.utf8))
        } catch {
            metrics?.stop()
            door.withLock { $0.take() }?.close()
            throw ServerError(.folder, "the data folder can't be written: \(error)")
        }
        hasStarted = true
        core.logs.start()
        assembly.blobThreads?.start()
        core.adminLoop.start()
        core.background.start()
        core.loader.start()
        for shard in core.shards { shard.loop.start() }
        core.log.info("serving", [("address", address), ("recovered", recoveryReport)])
        let bounds = core.shares.bounds
        core.log.info(
            "connections",
            [
                ("descriptors", String(bounds.descriptors)), ("all", String(bounds.all)),
                ("perAccount", String(bounds.perAccount)), ("perAddress", String(bounds.perAddress)),
            ])
        if let wanted = configuration.connections, wanted > bounds.all {
            core.log.warning(
                "fewer connections than asked for: raise the limit of open files",
                [("asked", String(wanted)), ("connections", String(bounds.all))])
        }
        if let path = assets.path { core.log.info("assets", [("folder", path)]) }
        if metrics != nil { core.log.info("figures over HTTP", [("address", metricsAddress)]) }
    }

    /// What the commands on this machine need to reach the server.
    private var serverFile: String {
        let ca = configuration.caPath.map(JSONText.string) ?? "null"
        return "{\"server\":\(JSONText.string(address)),\"ca\":\(ca),\"pid\":\(getpid())}\n"
    }

    /// About how many bytes the databases in memory take; 0 without a memory budget.
    package var databaseBytes: Int { core.memory.bytes }

    /// Bytes that are held for clients: answers that they have not read, and requests that are incomplete or under way.
    package var heldBytes: (output: Int, input: Int) { (core.shares.output.bytes, core.shares.input.bytes) }

    /// Processor time that each loop of clients has used, in nanoseconds; 0 for one that does not run.
    package var loopProcessorNanoseconds: [UInt64] { core.shards.map(\.loop.processorNanoseconds) }

    // MARK: Accounts, for the process that runs the server

    /// Makes an account with one token, which is returned this once.
    ///
    /// - Parameter id: 16 bytes that no other account has, from which its user record names derive; nil for random
    ///   ones.
    package func addAccount(
        name: String, email: String, id: [UInt8]? = nil
    ) throws(AccountError) -> (account: Account, token: String) {
        let (account, token) = try accounts.add(
            name: name, email: email, nowMilliseconds: SystemClock.nowMilliseconds, id: id)
        return (view(account), token)
    }

    /// Makes another token for an account.
    package func createToken(name: String) throws(AccountError) -> String {
        try accounts.createToken(name: name)
    }

    /// The account of that name, with its user record name in a container and environment.
    package func account(named name: String, container: String, environment: Environment) -> Account? {
        guard let account = core.accounts.account(named: name) else { return nil }
        return core.view(account, container: container, environment: environment)
    }

    /// Makes all tokens of an account invalid and closes its sessions. `done` is called when no loop has such a session
    /// any more, on one of them.
    package func revokeTokens(name: String, done: @escaping @Sendable () -> Void) throws(AccountError) {
        core.endClients(ofTokens: try accounts.change(.revokeTokens(name: name)).revokedTokens, then: done)
    }

    /// Closes an account's sessions. `done` is called when no loop has one any more, on one of them.
    ///
    /// - Parameter reason: What the sessions are told.
    package func endSessions(ofAccount name: String, reason: ServiceError, done: @escaping @Sendable () -> Void) {
        core.endClients(ofAccount: name, reason: reason, then: done)
    }

    /// Makes a token that was revoked valid for its account again.
    package func restoreToken(_ token: String, name: String) throws(AccountError) {
        guard let hash = AccountToken.hash(token) else {
            throw AccountError(.invalid, "this is no token of a server")
        }
        if core.accounts.isValid(tokenHash: hash) { return }
        _ = try accounts.change(.addToken(hash: hash, name: name))
    }

    private func view(_ account: StoredAccount) -> Account {
        core.view(account, container: "", environment: .development)
    }

    // MARK: While it runs

    /// Reads the certificate and its key again, for new connections; existing ones stay. Files that can't be used
    /// change nothing, and the log says so. Any thread.
    package func reloadCertificate() {
        let tls: TLSServerContext
        do throws(TLSError) {
            tls = try TLSServerContext(certificatePath: configuration.certificatePath, keyPath: configuration.keyPath)
        } catch {
            return core.log.error(
                "the certificate can't be read again, the former one stays in use", [("reason", "\(error)")])
        }
        let (log, path) = (core.log, configuration.certificatePath)
        let listening = listeners.withLock { Array(zip($0, core.shards)) }
        @Sendable func use(_ index: Int) {
            guard index < listening.count else {
                return log.info("new connections get the certificate as it is now", [("certificate", path)])
            }
            let (listener, shard) = listening[index]
            shard.loop.execute {
                listener.use(tls)
                use(index + 1)
            }
        }
        use(0)
    }

    // MARK: Stop

    /// Stops in order: no new connections, goaway to all, calls in flight end, snapshots, the last sync. Any thread;
    /// ``wait()`` returns when it is done.
    package func drain() {
        guard core.beginDraining() else { return }
        core.log.info("draining")
        let core = core
        // The listeners live on: connections whose handshakes have begun need them.
        for (listener, shard) in zip(listeners.withLock { $0 }, core.shards) {
            shard.loop.execute { listener.close() }
        }
        if let door = door.withLock({ $0.take() }) { core.shards[0].loop.execute { door.close() } }
        for door in core.doors { door.drain() }
        // The admin loop may be busy with the disk: clients are told before it is asked.
        core.adminLoop.execute { [self] in
            let deadline = core.adminLoop.nowNanoseconds + configuration.drainTimeoutMilliseconds * 1_000_000
            waitForCalls(until: deadline)
        }
    }

    /// On the admin loop: asks the shards until nothing is in flight, or the time is up.
    private func waitForCalls(until deadline: UInt64) {
        let core = core
        let count = DrainCount(shards: core.shards.count)
        for shard in core.shards {
            shard.loop.execute { [self] in
                let unfinished = shard.unfinishedCount
                core.adminLoop.execute { [self] in
                    guard count.add(unfinished) else { return }
                    if count.total == 0 || core.adminLoop.nowNanoseconds >= deadline {
                        if count.total > 0 { core.log.warning("calls were cut off", [("count", String(count.total))]) }
                        finish()
                    } else {
                        _ = core.adminLoop.schedule(afterMilliseconds: 5) { [self] in waitForCalls(until: deadline) }
                    }
                }
            }
        }
    }

    /// On the admin loop: closes the sessions, writes the snapshots, and lets ``wait()`` go on.
    ///
    /// A disk that is still full ends the process instead, as a failed one does: nothing that waits for it was
    /// acknowledged.
    private func finish() {
        core.logs.giveUpWhenFull()
        for door in core.doors { door.close() }
        // Failures are logged; nothing is lost by them.
        core.logs.saveAll { [finished] _ in finished.post() }
    }

    /// Waits until ``drain()`` is done, then takes everything down.
    package func wait() {
        finished.wait()
        metrics?.stop()
        metrics = nil
        for shard in core.shards {
            shard.loop.stop()
            shard.loop.join()
        }
        listeners.withLock { $0.removeAll() }
        core.endLoading()
        core.loader.stop()
        core.loader.join()
        assembly.blobThreads?.stop()
        core.logs.stop()
        core.background.stop()
        core.background.join()
        core.adminLoop.stop()
        core.adminLoop.join()
        core.disassemble()
        try? FileSystem.remove(configuration.dataFolder + "/server.json")
        assets.release()
        lock.release()
        core.log.info("stopped")
    }

    private static func randomNumber<Number: FixedWidthInteger>() -> Number {
        SecureRandom.bytes(MemoryLayout<Number>.size).reduce(0) { $0 << 8 | Number($1) }
    }
}

/// Adds up what is in flight. On the admin loop only, which is why it may be handed around.
private final class DrainCount: @unchecked Sendable {
    private var remaining: Int
    private(set) var total = 0

    init(shards: Int) { remaining = shards }

    /// Returns true for the last of the shards.
    func add(_ count: Int) -> Bool {
        total += count
        remaining -= 1
        return remaining == 0
    }
}
