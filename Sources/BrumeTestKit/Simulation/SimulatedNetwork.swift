internal import BrumeProtocol
internal import BrumeRandom
internal import BrumeServer
internal import BrumeSystem

/// One connection, both of its ends, and the bytes between them, which arrive in order, in pieces of any size and late,
/// and are lost when it is cut.
final class SimulatedConnection {
    /// The client's end.
    protocol Client: AnyObject {
        func connected(_ connection: SimulatedConnection)
        func received(_ bytes: [UInt8], _ connection: SimulatedConnection)
        func ended(_ connection: SimulatedConnection, reason: String)
    }

    /// How long a socket waits for a peer that takes nothing of what is pending.
    private static let stallNanoseconds = BrumeSystem.ConnectionLimits().writeStallTimeoutMilliseconds * 1_000_000

    unowned let simulation: Simulation
    let number: UInt64
    let account: Int
    /// Which of its account's tokens it came with.
    private let tokenNumber: Int
    weak var client: (any Client)?
    var server: SimulatedServerEnd?
    var generator: SeededGenerator
    private var lastUpNanoseconds: UInt64 = 0
    private var lastDownNanoseconds: UInt64 = 0
    private(set) var isCut = false
    private var isBlackHole = false
    private var clientKnowsTheEnd = false
    private var bytesUntilCut: Int
    private var bytesUntilSilence: Int
    /// Bytes on their way to the client: what fills the server's output.
    private(set) var downByteCount = 0

    init(simulation: Simulation, number: UInt64, account: Int, client: any Client) {
        self.simulation = simulation
        self.number = number
        self.account = account
        tokenNumber = simulation.tokenNumbers[account]
        self.client = client
        let options = simulation.options
        var generator = SeededGenerator(seed: options.seed &* 0x9E37 &+ number)
        func limit(oneIn count: Int) -> Int {
            if simulation.isQuiet || !generator.oneIn(count) { return .max }
            return Int.random(in: 0...6_000, using: &generator)
        }
        bytesUntilCut = limit(oneIn: options.cutOneIn)
        bytesUntilSilence = limit(oneIn: options.blackHoleOneIn)
        self.generator = generator
    }

    /// Whether its token has been revoked, and no part of the server accepts it any more.
    var isRevoked: Bool { tokenNumber < simulation.validTokenNumbers[account] }

    private func latency() -> UInt64 {
        if !simulation.isQuiet, generator.oneIn(simulation.options.stallOneIn) {
            return UInt64.random(in: 500_000_000...20_000_000_000, using: &generator)
        }
        return UInt64.random(in: 1_000...simulation.options.latencyMicrosecondsMax * 1_000, using: &generator)
    }

    // MARK: Bytes

    /// Sends bytes from the client.
    func send(_ bytes: [UInt8]) {
        transmit(bytes, last: &lastUpNanoseconds) { connection, piece in connection.server?.arrived(piece) }
    }

    /// Sends bytes from the server.
    func sendDown(_ bytes: [UInt8]) {
        downByteCount += bytes.count
        transmit(bytes, last: &lastDownNanoseconds) { connection, piece in
            connection.downByteCount -= piece.count
            connection.server?.drainedSome()
            guard !connection.clientKnowsTheEnd else { return }
            connection.client?.received(piece, connection)
        }
    }

    private func transmit(
        _ bytes: [UInt8], last: inout UInt64, _ deliver: @escaping (SimulatedConnection, [UInt8]) -> Void
    ) {
        if isCut || isBlackHole { return }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = generator.oneIn(3) ? Int.random(in: 1...rest.count, using: &generator) : rest.count
            let piece = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            last = max(last + 1, simulation.scheduler.nowNanoseconds + latency())
            simulation.scheduler.at(last) { [self] in
                if isCut || isBlackHole { return }
                simulation.trace.note(number)
                simulation.trace.note(piece)
                let arriving = min(piece.count, bytesUntilCut, bytesUntilSilence)
                if bytesUntilCut != .max { bytesUntilCut -= arriving }
                if bytesUntilSilence != .max { bytesUntilSilence -= arriving }
                // What arrives of a cut piece is its beginning: a part of a frame as well as a whole one.
                if arriving > 0 { deliver(self, Array(piece.prefix(arriving))) }
                if arriving < piece.count {
                    if bytesUntilSilence == 0 { fallSilent() } else { cut("the network was cut") }
                }
            }
        }
    }

    // MARK: The end

    /// Nothing arrives any more, at either end, and nobody is told.
    private func fallSilent() {
        isBlackHole = true
        endStalled()
    }

    /// The server's socket gives the peer up. Nothing else ends a session that reads nothing because its output is
    /// full, as it can't tell a silent peer then.
    private func endStalled() {
        simulation.scheduler.after(Self.stallNanoseconds) { [self] in
            if isCut { return }
            guard downByteCount > 0 else { return endStalled() }
            isCut = true
            server?.ended("the peer stopped reading")
        }
    }

    /// Cuts the connection. Each side learns of it separately, the server sometimes much later.
    func cut(_ reason: String) {
        if isCut { return }
        isCut = true
        simulation.report.cutConnections += 1
        let clientDelay = UInt64.random(in: 0...200_000_000, using: &generator)
        let serverDelay =
            generator.oneIn(4)
            ? UInt64.random(in: 0...30_000_000_000, using: &generator)
            : UInt64.random(in: 0...100_000_000, using: &generator)
        simulation.scheduler.after(clientDelay) { [self] in tellClient(reason) }
        simulation.scheduler.after(serverDelay) { [self] in server?.ended(reason) }
    }

    /// The client closes: what it sent arrives before the server learns of the end.
    func clientCloses() {
        clientKnowsTheEnd = true
        let time = max(lastUpNanoseconds + 1, simulation.scheduler.nowNanoseconds + latency())
        simulation.scheduler.at(time) { [self] in
            if isCut || isBlackHole { return }
            isCut = true
            server?.ended("the client closed")
        }
    }

    /// The server closes: what it sent arrives before the client learns of the end.
    func serverCloses() {
        let time = max(lastDownNanoseconds + 1, simulation.scheduler.nowNanoseconds + latency())
        simulation.scheduler.at(time) { [self] in
            if isCut || isBlackHole { return }
            isCut = true
            tellClient("the server closed")
            server?.ended("closed")
        }
    }

    /// The server's process is gone.
    func serverDied() {
        server = nil
        if isCut { return }
        isCut = true
        let delay = UInt64.random(in: 0...500_000_000, using: &generator)
        simulation.scheduler.after(delay) { [self] in tellClient("the server is gone") }
    }

    private func tellClient(_ reason: String) {
        if clientKnowsTheEnd { return }
        clientKnowsTheEnd = true
        client?.ended(self, reason: reason)
    }
}

/// The server's end, as a session sees it.
///
/// `@unchecked Sendable`: a simulation has one thread.
final class SimulatedServerEnd: PeerConnection, @unchecked Sendable {
    private static let highWaterBytes = 16 * 1024
    private static let busyBytes = 8 * 1024
    private static let lowWaterBytes = 4 * 1024
    /// How many bytes may wait for a client that takes nothing: the high-water mark, and the answers to what was read
    /// before it.
    static let outputBytesMax = 4 * 1024 * 1024

    private let connection: SimulatedConnection
    private unowned let host: SimulatedServer
    private var loop: Int
    var receiver: (any PeerConnectionReceiver)?
    private var input: [UInt8] = []
    private var isPaused = false
    private var isClosing = false
    private var isEnded = false
    private var wantsDrained = false
    private var isAway = false

    let peerAddress: String
    let peerNetwork = PeerNetwork.local
    var isOpen: Bool { !isClosing && !isEnded }
    var isOutputFull: Bool { connection.downByteCount > Self.highWaterBytes }
    var isOutputBusy: Bool { connection.downByteCount > Self.busyBytes }

    init(_ connection: SimulatedConnection, host: SimulatedServer, loop: Int) {
        self.connection = connection
        self.host = host
        self.loop = loop
        peerAddress = "connection \(connection.number)"
    }

    // MARK: From the session

    var pendingOutputBytes: Int { connection.downByteCount }

    func opened(hasAccount: Bool) {}
    func countOutput(with counter: any OutputCounter) {}

    func pauseReading() { isPaused = true }

    func resumeReading() {
        isPaused = false
        if !input.isEmpty { later { $0.read() } }
    }

    func readNow() { read() }

    func withOutput(minimumCapacity: Int, isNews: Bool, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
        if isClosing || isEnded { return }
        var frame = [UInt8](repeating: 0, count: minimumCapacity)
        let count = frame.withUnsafeMutableBytes(body)
        frame.removeLast(minimumCapacity - count)
        host.leaving(frame, on: connection)
        if isOutputBusy { wantsDrained = true }
        if connection.downByteCount > Self.outputBytesMax {
            host.simulation.violated("I10: \(connection.downByteCount) bytes wait for a client that does not read")
        }
    }

    func close() {
        if isClosing || isEnded { return }
        isClosing = true
        connection.serverCloses()
    }

    func abort() { close() }

    func leave() -> @Sendable (EventLoop, any ConnectionDelegate) -> any PeerConnection {
        isAway = true
        return { loop, _ in
            self.isAway = false
            self.loop = self.host.index(of: loop)
            if !self.input.isEmpty, !self.isPaused { self.later { $0.read() } }
            if self.isEnded { self.later { $0.tellEnd() } }
            return self
        }
    }

    // MARK: From the network

    func arrived(_ bytes: [UInt8]) {
        if isEnded || isClosing { return }
        input += bytes
        later { $0.read() }
    }

    func drainedSome() {
        guard wantsDrained, connection.downByteCount <= Self.lowWaterBytes, !isEnded else { return }
        wantsDrained = false
        later { end in if !end.isEnded, !end.isAway { end.receiver?.drained() } }
    }

    func ended(_ reason: String) {
        if isEnded { return }
        isEnded = true
        if !isAway { later { $0.tellEnd() } }
    }

    private func tellEnd() {
        guard let receiver else { return }
        self.receiver = nil
        receiver.closed(peer: peerAddress, reason: "ended")
    }

    private func read() {
        if isPaused || isEnded || isAway || input.isEmpty { return }
        receiver?.willRead()
        if isPaused { return }
        let bytes = input
        input = []
        bytes.withUnsafeBytes { receiver?.received($0) }
        receiver?.didRead()
    }

    private func later(_ body: @escaping @Sendable (SimulatedServerEnd) -> Void) {
        host.execute(on: loop) { [self] in body(self) }
    }
}
