internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// One device of an account: the SDK's machines, and a transport made of virtual time.
final class SimulatedDevice: SimulatedConnection.Client {
    unowned let simulation: Simulation
    let number: Int
    let account: Int
    let deviceID: [UInt8]
    var generator: SeededGenerator
    let coder = MessageCoder()

    private var machine: ClientSessionStateMachine
    private var reader = FrameReader(payloadBytesLimit: ClientConnectionLimits.greetingFrameBytes)
    private var connection: SimulatedConnection?
    private var handlers: [UInt64: (Result<[UInt8], ServiceError>) -> Void] = [:]
    private var lastID: UInt64 = 0
    private var lives: UInt64 = 0
    private var fanOut = NotificationFanOut()
    private var consumerIsBusy = false
    /// How often each request of a call was sent.
    private var sentPayloads: [[UInt8]: Int] = [:]

    /// What the device knows; see ``Replica``.
    var replica = Replica()
    let pushes = PushLog()
    /// Transfers under way, by the ids of their streams: one at most.
    var assetTransfers: [UInt64: AssetTransfer] = [:]
    /// Uploads that broke, and go on or begin anew.
    var brokenUploads: [(request: UploadRequest, content: [UInt8])] = []
    /// What was uploaded, by zone, with receipts.
    var uploadedAssets: [String: [Asset]] = [:]
    /// What it knows of other accounts' zones.
    var shared = SharedReplica()
    /// The query that the device reads page by page.
    var reading: PagedQuery?
    /// What queries found before, if that promise is to be broken.
    var lastMatch: QueryMatch<Record>?
    var firstPages: [QueryRequest: QueryPage<Record>] = [:]
    /// What the fetch before showed, if enrolments are to be.
    var lastEnrolments: [RelayedEnrolment] = []
    /// What zones held in the fetch before, if fetches are to be mixed up.
    var lastFetch: [String: [RecordOutcome<Record>]] = [:]

    init(simulation: Simulation, number: Int, account: Int) {
        self.simulation = simulation
        self.number = number
        self.account = account
        generator = SeededGenerator(seed: simulation.options.seed &* 31 &+ UInt64(number))
        deviceID = (0..<16).map { UInt8(truncatingIfNeeded: number &* 16 &+ $0) }
        machine = Self.machine(simulation, account: account, deviceID: deviceID, seed: 0)
    }

    private static func machine(
        _ simulation: Simulation, account: Int, deviceID: [UInt8], seed: UInt64
    ) -> ClientSessionStateMachine {
        ClientSessionStateMachine(
            hello: Hello(
                clientVersion: "simulated", deviceID: deviceID, container: Simulation.container,
                environment: .development, credentials: .account(simulation.tokens[account])),
            serverName: "server:1", seed: simulation.options.seed &+ UInt64(deviceID[0]) &+ seed &* 77)
    }

    var now: UInt64 { simulation.scheduler.nowNanoseconds }

    // MARK: Calls

    var openCallCount: Int { handlers.count }

    /// Starts a call; `then` gets its outcome, unless the app ends before.
    func call(
        _ method: Method, _ payload: [UInt8], _ effect: UnaryCall.Effect,
        then: @escaping (Result<[UInt8], ServiceError>) -> Void
    ) {
        lastID += 1
        handlers[lastID] = then
        simulation.report.operations += 1
        simulation.say("device \(number) calls \(method), \(lastID)")
        let call = UnaryCall(method: method, payload: payload, effect: effect, requestID: "")
        perform(machine.callStarted(id: lastID, .unary(call), deadline: now + 45_000_000_000, now: now))
    }

    /// The app ends and starts again: what it waited for is forgotten, its device id and what it knows stay.
    func relaunch() {
        connection?.clientCloses()
        connection = nil
        handlers = [:]
        assetTransfers = [:]
        lives += 1
        machine = Self.machine(simulation, account: account, deviceID: deviceID, seed: lives)
        fanOut = NotificationFanOut()
        consumerIsBusy = false
        pushes.relaunched()
        listen()
    }

    /// Forgets the calls that are open: the run is over.
    func forgetCalls() { handlers = [:] }

    // MARK: Transfers

    /// Opens a transfer's stream, if there is a connection.
    func begin(_ method: Method, _ opening: [UInt8], _ transfer: AssetTransfer) {
        lastID += 1
        let id = 1 << 62 | lastID
        let header = CallHeader(method: method)
        guard let actions = machine.transferStarted(id: id, header: header, opening: opening, now: now) else { return }
        assetTransfers[id] = transfer
        perform(actions)
    }

    /// Sends a message of a transfer; false where there is no credit.
    func sendTransfer(_ id: UInt64, _ payload: [UInt8]) -> Bool {
        guard let actions = machine.transferSent(id: id, payload: payload, now: now) else { return false }
        perform(actions)
        return true
    }

    private func perform(_ actions: [ClientSessionStateMachine.Action]) {
        for action in actions {
            switch action {
            case .send(let frame):
                var output: [UInt8] = []
                tampered(frame).encode(to: &output, coder: coder)
                connection?.send(output)
            case .connect: connect()
            case .disconnect:
                connection?.clientCloses()
                connection = nil
            case .welcomed, .accountRefused: break
            case .finish(let id, let result):
                guard let handler = handlers.removeValue(forKey: id) else {
                    simulation.violated("a call was finished twice")
                    continue
                }
                simulation.report.answers += 1
                if case .failure(let error) = result {
                    simulation.say("device \(number) is refused \(id): \(error.message)")
                } else {
                    simulation.say("device \(number) is answered \(id)")
                }
                handler(
                    result.map { answer in
                        if case .message(let payload) = answer { payload } else { [] }
                    })
            case .streamReceived(let payload): streamReceived(payload)
            case .transferReceived(let id, let payload):
                transferReceived(id, payload)
                perform(machine.transferTaken(id: id, byteCount: payload.count, now: now))
            case .transferWritable(let id): goOn(id)
            case .transferEnded(let id, let error): transferEnded(id, error)
            case .streamDisplaced: break
            case .streamPositionRefused: simulation.violated("I5: a position that the server gave is refused")
            case .streamFailed(let error):
                if error.code == .notAuthenticated, simulation.isRevoked(account) { continue }
                simulation.violated("I5: the notification stream ended: \(error.message)")
            }
        }
        armTimer()
    }

    private func armTimer() {
        guard let deadline = machine.deadlineNanoseconds else { return }
        let life = lives
        simulation.scheduler.at(deadline) { [self] in
            guard life == lives, let due = machine.deadlineNanoseconds, due <= now else { return }
            perform(machine.timePassed(now: now))
        }
    }

    // MARK: The connection

    private func connect() {
        reader = FrameReader(payloadBytesLimit: ClientConnectionLimits.greetingFrameBytes)
        let opened = simulation.newConnection(for: self, account: account)
        connection = opened
        let life = lives
        simulation.scheduler.after(UInt64.random(in: 10_000...2_000_000, using: &generator)) { [self] in
            guard life == lives, connection === opened else { return }
            if simulation.server.accept(opened) {
                connected(opened)
            } else {
                connection = nil
                perform(machine.disconnected(.unreachable("nobody listens"), now: now))
            }
        }
    }

    func connected(_ connection: SimulatedConnection) {
        perform(machine.connected(now: now))
    }

    func received(_ bytes: [UInt8], _ connection: SimulatedConnection) {
        guard connection === self.connection else { return }
        machine.bytesReceived(now: now)
        var input = bytes
        while connection === self.connection {
            let limit = machine.payloadBytesLimit
            reader.payloadBytesLimit = limit
            var actions: [ClientSessionStateMachine.Action] = []
            do throws(FrameError) {
                try input.withUnsafeBytes { buffer in
                    Result { () throws(FrameError) in
                        try reader.read(buffer) { header, payload in
                            do throws(ServerFrame.Violation) {
                                actions += machine.frameReceived(
                                    try ServerFrame(header, payload, coder: coder), now: now)
                            } catch {
                                simulation.violated("the server broke the protocol: \(error.message)")
                            }
                            return machine.payloadBytesLimit == limit
                        }
                    }
                }.get()
            } catch {
                simulation.violated("the server sent what is no frame: \(error.message)")
            }
            let isDone = machine.payloadBytesLimit == limit
            perform(actions)
            if isDone { return }
            input = []
        }
    }

    func ended(_ connection: SimulatedConnection, reason: String) {
        guard connection === self.connection else { return }
        self.connection = nil
        perform(machine.disconnected(.lost(reason), now: now))
    }

    /// How often a request was sent: its call's, or others with the same bytes.
    func sendCount(of payload: [UInt8]) -> Int { sentPayloads[payload] ?? 0 }

    /// Counts calls that are sent again and, if that promise is to be broken, gives them another operation id on the
    /// way.
    private func tampered(_ frame: ClientFrame) -> ClientFrame {
        guard case .call(let stream, let header, let payload, let isLast) = frame, isLast, payload.count > 16 else {
            return frame
        }
        sentPayloads[payload, default: 0] += 1
        if sentPayloads[payload] == 1 { return frame }
        simulation.report.repeatedOperations += 1
        guard simulation.options.brokenPromise == .forgetsOperationIDs, let id = simulation.operationIDs[payload] else {
            return frame
        }
        var changed = payload
        for start in 0...payload.count - 16 where Array(payload[start..<start + 16]) == id { changed[start] ^= 0xFF }
        return .call(stream: stream, header, payload: changed, isLast: isLast)
    }

    // MARK: Pushes

    /// Begins to listen for notifications.
    func listen() {
        fanOut.consumerAdded(1)
        simulation.say("device \(number) listens from \(PushLog.places(of: fanOut.resumePosition))")
        perform(
            machine.streamWanted(opening: coder.encodeNotificationsRequest(position: fanOut.resumePosition), now: now))
    }

    private func streamReceived(_ payload: [UInt8]) {
        let decoded = payload.withUnsafeBytes { buffer in
            Result { () throws(ServiceError) in try coder.decodeNotificationEvent(buffer) }
        }
        guard case .success(let event) = decoded else { return simulation.violated("a notification can't be read") }
        if case .fetchFromToken = event.kind, simulation.options.brokenPromise == .dropsEventsOnOverflow { return }
        if case .recordChanged = event.kind, simulation.options.brokenPromise == .dropsQueryEvents,
            generator.oneIn(4)
        {
            return
        }
        simulation.say(
            "device \(number) is pushed \(event.kind) \(event.subscriptionID) at \(PushLog.places(of: event))")
        if PushLog.scope(of: event) == .shared {
            shared.newsCount += 1
        } else if let problem = pushes.received(
            event, timelines: { simulation.timeline(of: self, $0) }, owner: { simulation.owner(of: self, $0) },
            device: deviceID)
        {
            simulation.violated(problem)
        }
        simulation.sawPush(event, on: self)
        simulation.wasAnswered()
        fanOut.eventReceived(event)
        machine.streamAdvanced(opening: coder.encodeNotificationsRequest(position: fanOut.resumePosition))
        consume()
    }

    /// The app handles an event, and asks for the next one when it is done.
    private func consume() {
        if consumerIsBusy { return }
        let event = fanOut.next(1)
        acknowledge()
        guard event != nil else { return }
        consumerIsBusy = true
        let life = lives
        simulation.scheduler.after(UInt64.random(in: 10_000...300_000_000, using: &generator)) { [self] in
            guard life == lives else { return }
            consumerIsBusy = false
            consume()
        }
    }

    private func acknowledge() {
        guard let position = fanOut.takeAcknowledgement() else { return }
        simulation.say("device \(number) acknowledges \(PushLog.places(of: position))")
        perform(machine.streamAcknowledged(coder.encodeNotificationsRequest(position: position), now: now))
    }
}
