internal import BrumeModel
internal import BrumeProtocol
internal import BrumeSystem

/// The scenarios `idle`, `connect` and `reconnect`, which measure what connections themselves cost.
///
/// `@unchecked Sendable`: belongs to its thread's loop.
final class ConnectionDriver: LoadDriver, @unchecked Sendable {
    private unowned let thread: LoadThread
    private var clients: [LoadClient] = []
    /// The clients of `connect` that are not connecting.
    private var free: [LoadClient] = []
    private var waiting: [UInt64] = []
    private var firstWaiting = 0
    private var isStopped = false
    private(set) var underWay = 0

    init(_ thread: LoadThread) {
        self.thread = thread
    }

    private var configuration: LoadConfiguration { thread.configuration }

    // MARK: Preparing

    func prepare(_ done: @escaping (LoadFailure?) -> Void) {
        for index in thread.connectionIndices {
            let client = thread.makeClient(index: index, token: thread.token(ofConnection: index))
            clients.append(client)
        }
        if configuration.scenario == .connect {
            free = clients
            return done(nil)
        }
        thread.each(
            clients.count,
            { [unowned self] index, done in
                let began = thread.now
                openWithStream(clients[index]) { [self] failure in
                    if failure == nil { thread.recorder.succeeded(.connect, from: began, to: thread.now) }
                    watch(clients[index])
                    done(failure)
                }
            }, done)
    }

    /// Connects and opens the device's notification stream; done when the server says that it is ready.
    private func openWithStream(_ client: LoadClient, _ done: @escaping (LoadFailure?) -> Void) {
        var waits: ((LoadFailure?) -> Void)? = done
        // The first outcome is reported, and only that.
        let settle: (LoadFailure?) -> Void = { failure in
            let done = waits
            waits = nil
            done?(failure)
        }
        client.lost = settle
        client.open { [unowned self, unowned client] failure in
            if let failure { return settle(failure) }
            client.listen(thread.coder.encodeNotificationsRequest(position: [])) { _ in settle(nil) }
        }
    }

    private func watch(_ client: LoadClient) {
        client.lost = { [unowned self, unowned client] failure in
            if isStopped { return }
            if configuration.scenario == .reconnect {
                underWay += 1
                reconnect(client, lostAt: thread.now)
            } else {
                thread.recorder.failed(.connect, from: thread.now, failure)
            }
        }
    }

    // MARK: The load

    func begin() {
        switch configuration.scenario {
        case .connect where configuration.rate == nil:
            while !free.isEmpty { connect(intended: thread.now) }
        case .reconnect: loseAllLater()
        default: break
        }
    }

    func issue(intended: UInt64) {
        if configuration.scenario == .connect { connect(intended: intended) }
    }

    func stop() {
        isStopped = true
        (waiting, firstWaiting) = ([], 0)
    }

    func timePassed() {}

    // MARK: connect

    private func connect(intended: UInt64) {
        if isStopped { return }
        guard let client = free.popLast() else {
            guard waiting.count - firstWaiting < LoadLimits.waitingConnects else {
                return thread.recorder.failed(
                    .connect, from: intended, LoadFailure(code: "not sent", message: "too many wait for a place"))
            }
            waiting.append(intended)
            return
        }
        underWay += 1
        client.open { [self] failure in
            underWay -= 1
            if let failure {
                thread.recorder.failed(.connect, from: intended, failure)
            } else {
                thread.recorder.succeeded(.connect, from: intended, to: thread.now)
            }
            client.close()
            thread.loop.execute { [self] in freed(client) }
        }
    }

    private func freed(_ client: LoadClient) {
        free.append(client)
        if firstWaiting < waiting.count {
            let intended = waiting[firstWaiting]
            firstWaiting += 1
            if firstWaiting == waiting.count { (waiting, firstWaiting) = ([], 0) }
            connect(intended: intended)
        } else if configuration.rate == nil {
            connect(intended: thread.now)
        }
    }

    // MARK: reconnect

    private func loseAllLater() {
        if isStopped { return }
        let now = thread.now
        for client in clients where client.isOpen {
            client.abort()
            underWay += 1
            reconnect(client, lostAt: now)
        }
        _ = thread.loop.schedule(afterMilliseconds: UInt64(configuration.herdSeconds * 1_000)) { [unowned self] in
            loseAllLater()
        }
    }

    /// Tries until the client is connected again: a server that restarts refuses connections for a while.
    private func reconnect(_ client: LoadClient, lostAt: UInt64) {
        openWithStream(client) { [self] failure in
            if let failure {
                if isStopped {
                    underWay -= 1
                    return
                }
                thread.recorder.failed(.reconnect, from: lostAt, failure)
                client.close()
                let pause = UInt64.random(in: LoadLimits.retryMilliseconds, using: &thread.generator)
                _ = thread.loop.schedule(afterMilliseconds: pause) { [unowned self] in
                    reconnect(client, lostAt: lostAt)
                }
                return
            }
            underWay -= 1
            thread.recorder.succeeded(.reconnect, from: lostAt, to: thread.now)
            watch(client)
        }
    }
}
