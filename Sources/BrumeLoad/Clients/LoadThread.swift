internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom
internal import BrumeSystem
internal import Glibc

/// One event loop of a load with its connections and its driver.
///
/// `@unchecked Sendable`: everything belongs to `loop`. Other threads use `loop.execute`.
final class LoadThread: @unchecked Sendable {
    let index: Int
    let loop: EventLoop
    let coder = MessageCoder()
    let configuration: LoadConfiguration
    let tls: TLSClientContext
    var recorder = LoadRecorder()
    var generator: SeededGenerator
    /// Not from the load's seed: a server answers an operation that it has done before without doing it again, so a
    /// second run with the same seed would measure the answers of the first.
    private var operationIDs = SeededGenerator(seed: .random(in: .min ... .max))
    private(set) var clients: [LoadClient] = []
    private(set) var driver: (any LoadDriver)!
    /// Tells the thread of that number that one of its publishes has ended, so that it may begin another.
    var publishEnded: ((Int) -> Void)?
    private(set) var handshakes: (full: UInt64, resumed: UInt64) = (0, 0)

    init(index: Int, configuration: LoadConfiguration, board: DeliveryBoard) throws {
        self.index = index
        self.configuration = configuration
        loop = try EventLoop(name: "load \(index)")
        tls = try TLSClientContext(caPath: configuration.server.caPath)
        generator = SeededGenerator(seed: configuration.seed &+ UInt64(index) &* 0x1_0000_0001)
        driver =
            switch configuration.scenario {
            case .mixed, .save, .catchUp: RequestDriver(self)
            case .fanOut: FanOutDriver(self, board: board)
            case .idle, .connect, .reconnect: ConnectionDriver(self)
            }
    }

    /// Monotonic time now.
    var now: UInt64 { loop.currentNanoseconds }

    /// The indices of this thread's connections.
    var connectionIndices: StrideTo<Int> {
        stride(from: index, to: configuration.connections, by: configuration.threads)
    }

    func token(ofConnection index: Int) -> String { configuration.tokens[index % configuration.tokens.count] }

    func makeClient(index: Int, token: String) -> LoadClient {
        let client = LoadClient(index: index, token: token, thread: self)
        clients.append(client)
        return client
    }

    func noteHandshake(isResumed: Bool) {
        if isResumed { handshakes.resumed += 1 } else { handshakes.full += 1 }
    }

    func operationID() -> [UInt8] {
        var id: [UInt8] = []
        withUnsafeBytes(of: operationIDs.next()) { id += $0 }
        withUnsafeBytes(of: operationIDs.next()) { id += $0 }
        return id
    }

    // MARK: The run

    /// Makes the driver prepare, and reports its failure or nil.
    func prepare(_ done: @escaping @Sendable (LoadFailure?) -> Void) {
        loop.execute { [self] in
            sweepLater()
            driver.prepare(done)
        }
    }

    /// Calls `body` for each index, several at a time; ends with the first failure.
    func each(
        _ count: Int, _ body: @escaping (_ index: Int, _ done: @escaping (LoadFailure?) -> Void) -> Void,
        _ done: @escaping (LoadFailure?) -> Void
    ) {
        let progress = Progress(count: count, done: done)
        if count == 0 { return done(nil) }
        func startNext() {
            guard progress.failure == nil, progress.next < count else { return }
            let index = progress.next
            progress.next += 1
            body(index) { failure in
                progress.ended(failure)
                startNext()
            }
        }
        for _ in 0..<min(count, LoadLimits.handshakes) { startNext() }
    }

    /// Used on the loop only.
    private final class Progress: @unchecked Sendable {
        var next = 0
        private var left: Int
        private(set) var failure: LoadFailure?
        private var done: ((LoadFailure?) -> Void)?

        init(count: Int, done: @escaping (LoadFailure?) -> Void) {
            left = count
            self.done = done
        }

        func ended(_ failure: LoadFailure?) {
            left -= 1
            if let failure, self.failure == nil { self.failure = failure }
            guard let done, left == 0 || self.failure != nil else { return }
            self.done = nil
            done(self.failure)
        }
    }

    private func sweepLater() {
        _ = loop.schedule(afterMilliseconds: 1_000) { [unowned self] in
            for client in clients { client.timePassed() }
            driver.timePassed()
            sweepLater()
        }
    }

    /// Ends all connections.
    func closeClients() {
        for client in clients { client.close() }
    }
}

/// The part of a scenario that one thread runs, on the thread's loop.
protocol LoadDriver: AnyObject {
    /// Does the work that is not measured.
    func prepare(_ done: @escaping (LoadFailure?) -> Void)
    /// The load begins. Where no rate is given, operations follow each other from now on.
    func begin()
    /// Starts an operation of an open loop, whose time counts from `intended`.
    func issue(intended: UInt64)
    /// Stops starting operations.
    func stop()
    /// Operations that have begun and not ended.
    var underWay: Int { get }
    /// Called about every second.
    func timePassed()
}
