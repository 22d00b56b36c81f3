internal import BrumeModel
internal import BrumeProtocol
internal import BrumeSystem

/// The scenario `fan-out`: the configured connections are devices that listen, and each account (in the public database
/// only the first one) has one more connection, which publishes.
///
/// Events come from a query subscription and carry the publish's number, so that they can't be confused.
///
/// `@unchecked Sendable`: belongs to its thread's loop.
final class FanOutDriver: LoadDriver, @unchecked Sendable {
    private static let recordType = "LoadEvent"
    private static let subscriptionID = "brume-load"

    private unowned let thread: LoadThread
    private let board: DeliveryBoard
    /// This thread's publishers, with the number of devices that each one reaches.
    private var publishers: [(client: LoadClient, devices: Int)] = []
    private var nextPublisher = 0
    private var waiting: [UInt64] = []
    private var isStopped = false
    private var unanswered = 0

    init(_ thread: LoadThread, board: DeliveryBoard) {
        self.thread = thread
        self.board = board
    }

    private var configuration: LoadConfiguration { thread.configuration }
    private var scope: DatabaseScope { configuration.isPublic ? .public : .private }

    var underWay: Int { unanswered + board.count(thread: thread.index) + waiting.count }

    // MARK: Preparing

    func prepare(_ done: @escaping (LoadFailure?) -> Void) {
        let accounts = min(configuration.tokens.count, configuration.connections)
        let publishing = configuration.publisherCount
        for account in stride(from: thread.index, to: publishing, by: configuration.threads) {
            let devices =
                configuration.isPublic
                ? configuration.connections
                : (configuration.connections - account + accounts - 1) / accounts
            let client = thread.makeClient(
                index: configuration.connections + account, token: configuration.tokens[account])
            client.freed = { [unowned self] in publishWaiting() }
            publishers.append((client, devices))
        }
        let indices = Array(thread.connectionIndices)
        thread.each(
            publishers.count, { [unowned self] index, done in open(publishers[index].client, done) },
            { [self] failure in
                if let failure { return done(failure) }
                thread.each(
                    indices.count,
                    { [unowned self] place, done in
                        let index = indices[place]
                        let token = configuration.tokens[index % accounts]
                        subscribe(thread.makeClient(index: index, token: token), done)
                    }, done)
            })
    }

    /// Opens a publisher and saves a first record, so that the development schema knows the type that devices subscribe
    /// to.
    private func open(_ client: LoadClient, _ done: @escaping (LoadFailure?) -> Void) {
        client.open { [self] failure in
            if let failure { return done(failure) }
            save(serial: 0, client, done)
        }
    }

    /// Connects a device, subscribes and listens. Every device saves the same subscription of its user: the first one
    /// creates it.
    private func subscribe(_ client: LoadClient, _ done: @escaping (LoadFailure?) -> Void) {
        client.lost = { [unowned self] failure in
            thread.recorder.failed(.deliver, from: thread.now, failure)
        }
        client.open { [self] failure in
            if let failure { return done(failure) }
            var info = NotificationInfo()
            info.desiredKeys = ["serial"]
            let subscription = Subscription(
                id: Self.subscriptionID,
                kind: .query(
                    QuerySubscription(
                        recordType: Self.recordType, predicate: .constant(true), options: [.creation, .update])),
                notificationInfo: info)
            let request = ModifySubscriptionsRequest(database: scope, saves: [subscription])
            client.call(.subscriptionsModify, thread.coder.encodeModifySubscriptionsRequest(request)) { [self] answer in
                let failure = outcome(answer) { (bytes) throws(ServiceError) in
                    for save in try thread.coder.decodeModifySubscriptionsResponse(bytes).saves { _ = try save.get() }
                }
                if let failure { return done(failure) }
                listen(client, done)
            }
        }
    }

    private func listen(_ client: LoadClient, _ done: @escaping (LoadFailure?) -> Void) {
        var ready: ((LoadFailure?) -> Void)? = done
        client.listen(thread.coder.encodeNotificationsRequest(position: [])) { [unowned self] bytes in
            let event: NotificationEvent
            do throws(ServiceError) {
                event = try bytes.withUnsafeBytes { buffer in
                    Result { () throws(ServiceError) in try thread.coder.decodeNotificationEvent(buffer) }
                }.get()
            } catch {
                return thread.recorder.failed(.deliver, from: thread.now, LoadFailure(error))
            }
            switch event.kind {
            case .ready:
                ready?(nil)
                ready = nil
            case .recordChanged(let change):
                if case .int64(let serial)? = change.fields["serial"] { delivered(serial) }
            case .fetchFromToken:
                thread.recorder.failed(
                    .deliver, from: thread.now,
                    LoadFailure(code: "missed", message: "the server kept no more events and said: fetch"))
            case .zoneChanged, .databaseChanged, .unknown: break
            }
        }
    }

    // MARK: The load

    func begin() {
        if configuration.rate != nil { return }
        for index in 0..<configuration.inFlight where index % configuration.issuingThreads == thread.index {
            publish(intended: thread.now)
        }
    }

    func issue(intended: UInt64) { publish(intended: intended) }

    func stop() {
        isStopped = true
        waiting = []
    }

    /// Fails the publishes that have not reached all devices in time.
    func timePassed() {
        let now = thread.now
        guard now > LoadLimits.deliveryNanoseconds else { return }
        for intended in board.takeLate(thread: thread.index, before: now - LoadLimits.deliveryNanoseconds) {
            thread.recorder.failed(
                .deliverAll, from: intended,
                LoadFailure(code: "late", message: "not all devices were told within 10 seconds"))
            publishNext()
        }
    }

    private func publish(intended: UInt64) {
        if isStopped { return }
        precondition(!publishers.isEmpty, "a publish is for a thread that has a publisher")
        nextPublisher = (nextPublisher + 1) % publishers.count
        let (client, devices) = publishers[nextPublisher]
        guard client.mayCall else {
            guard client.isOpen, waiting.count < LoadLimits.waitingPerConnection else {
                return thread.recorder.failed(
                    .publish, from: intended,
                    LoadFailure(code: "not sent", message: client.isOpen ? "too many wait" : "not connected"))
            }
            waiting.append(intended)
            return
        }
        let serial = board.begin(devices: devices, intended: intended, thread: thread.index)
        unanswered += 1
        save(serial: serial, client) { [self] failure in
            unanswered -= 1
            guard let failure else {
                return thread.recorder.succeeded(.publish, from: intended, to: thread.now, records: 1)
            }
            board.cancel(serial)
            thread.recorder.failed(.publish, from: intended, failure)
            publishNext()
        }
    }

    private func save(serial: Int64, _ client: LoadClient, _ done: @escaping (LoadFailure?) -> Void) {
        let payload = [UInt8](repeating: UInt8(truncatingIfNeeded: serial), count: configuration.recordBytes)
        let record = RecordSave<DecodedFields>(
            name: "load-\(client.index)-\(serial % Int64(LoadLimits.recordsPerZone))", type: Self.recordType,
            fields: ["payload": .bytes(payload), "serial": .int64(serial)])
        let request = ModifyRecordsRequest<DecodedFields>(
            database: scope, savePolicy: .allKeys, operationID: thread.operationID(),
            zones: [ZoneModification(zone: .defaultZone, saves: [record])])
        client.call(.recordsModify, thread.coder.encodeModifyRecordsRequest(request)) { [self] answer in
            done(
                outcome(answer) { (bytes) throws(ServiceError) in
                    for result in try thread.coder.decodeModifyRecordsResponse(bytes).flatMap(\.saves) {
                        if case .failure(let error) = result.outcome { throw error }
                    }
                })
        }
    }

    private func publishWaiting() {
        while let intended = waiting.first, publishers.contains(where: { $0.client.mayCall }) {
            waiting.removeFirst()
            publish(intended: intended)
            if waiting.last == intended { return }
        }
    }

    private func delivered(_ serial: Int64) {
        guard let delivery = board.delivered(serial) else { return }
        let now = thread.now
        thread.recorder.succeeded(.deliver, from: delivery.intended, to: now, records: 1)
        guard let finished = delivery.finishedThread else { return }
        thread.recorder.succeeded(.deliverAll, from: delivery.intended, to: now)
        if configuration.rate == nil { thread.publishEnded?(finished) }
    }

    /// Begins the next publish after one has reached all devices, or failed.
    func publishNext() {
        if configuration.rate != nil || isStopped { return }
        thread.loop.execute { [self] in publish(intended: thread.now) }
    }
}
