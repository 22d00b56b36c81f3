internal import Glibc

/// A TCP connection with TLS, or one to a process of the same machine without, on one event loop.
///
/// Everything is asynchronous: `write` appends to a buffer, which is encrypted into full records and sent once at the
/// end of the loop's turn or, where others go first (``FlushOrder``), of a later one; what the peer sends arrives at
/// the delegate, decrypted. The loop keeps the connection, and the connection its delegate, until `connectionClosed`.
/// An idle connection holds no buffers.
///
/// `@unchecked Sendable`, so that a reference may travel in a task to the loop: all members but `peerAddress` are for
/// the thread of `loop` only.
///
/// `@exclusivity(unchecked)`: for members that every message accesses several times. The code that changes them only
/// computes and calls nothing that could access them meanwhile, which is what the check would detect.
package final class Connection: @unchecked Sendable {
    enum State: Equatable {
        /// A client waits for the addresses of the host. Goes to `connecting` or `closed`.
        case resolving
        /// A client connects by TCP. Goes to `handshaking` or `closed`.
        case connecting
        /// TLS is under way. Goes to `open` or `closed`.
        case handshaking
        /// Goes to `closing`, `detached` or `closed`.
        case open
        /// `close()` was called: pending output and close_notify are sent, input is dropped. Goes to `lingering` or
        /// `closed`.
        case closing
        /// Our last byte is sent: waits for the end of the peer's stream, so that the peer can read ours. Goes to
        /// `closed`.
        case lingering
        /// The descriptor is closed; the delegate is told at the end of the turn.
        case closed
        /// Everything belongs to a ``DetachedConnection``.
        case detached
    }

    /// The user of the connection. Kept until `connectionClosed`; may be replaced at any time before.
    @exclusivity(unchecked) package var delegate: (any ConnectionDelegate)?
    /// The peer's address, for logs: an address with port, for a client the host name with port.
    package let peerAddress: String
    /// The loop that owns this connection.
    package let loop: EventLoop
    package let limits: ConnectionLimits

    var state: State
    var fd: Int32 = -1
    var registration: Registration?
    /// The TLS session; nil in an open connection that has no TLS.
    @exclusivity(unchecked) var session: TLSSession?

    /// Plaintext that waits for encryption at the end of the turn, or of a later one.
    @exclusivity(unchecked) private(set) var outputPlaintext = ByteQueue()
    /// Ciphertext that the kernel did not take.
    @exclusivity(unchecked) private(set) var outputCiphertext = ByteQueue()
    /// The sizes of the two queues: every message reads them several times, and reading a number needs no exclusivity
    /// check.
    private(set) var outputPlaintextBytes = 0
    private(set) var outputCiphertextBytes = 0
    var outputCounter: (any OutputCounter)?
    /// The number of bytes that ``outputCounter`` has been told.
    var countedOutputBytes = 0
    /// Ciphertext from the peer that waits until reading is resumed.
    @exclusivity(unchecked) var heldCiphertext = ByteQueue()
    /// Plaintext that the user gave back when the connection was detached.
    @exclusivity(unchecked) var heldPlaintext = ByteQueue()

    var isReadingPaused = false
    /// A run of decryption is in progress: the loop's buffers hold input of this connection.
    var isFeeding = false
    /// How it is marked to send at the end of a turn.
    private var flushOrder: FlushOrder?
    /// The lines of the loop in which it stands; in those other than ``flushOrder`` its turn passes.
    private var lines = FlushLines()
    /// How much of the plaintext that waits is no news, and where the last of it ends.
    private var awaited = (bytes: 0, end: 0)
    var isMarkedForContinue = false
    /// The output was busy, or full, and the user waits for ``ConnectionDelegate/connectionDrained(_:)``.
    var isWaitingForDrain = false
    var hasSentCloseNotify = false
    /// Nothing was sent yet: an alert may leave without encryption.
    var hasSentBytes = false
    var waitsForReadable = false
    var waitsForWritable = false

    /// Deadline of the handshake, of closing, or of lingering.
    var deadlineTimer: TimerID?
    var stallTimer: TimerID?
    /// When the kernel last took a byte, or output began to wait.
    var lastProgressNanoseconds: UInt64 = 0
    var closeReason: CloseReason?

    /// The place of a server's connection among all connections, and, while it is opening, the listener in charge of
    /// it.
    var admission: AdmittedConnection?
    weak var listener: Listener?
    /// Whether the handshake waits until the listener lets it continue.
    var isWaitingForHandshake = false {
        didSet { updateInterest() }
    }
    /// A client's progress in connecting, while it lasts.
    var connecting: ClientConnecting?

    init(
        loop: EventLoop, state: State, peerAddress: String, limits: ConnectionLimits,
        delegate: (any ConnectionDelegate)?
    ) {
        precondition(
            limits.outputLowWaterBytes <= limits.outputBusyBytes
                && limits.outputBusyBytes <= limits.outputHighWaterBytes,
            "output that is busy or full has to drain below the low-water mark")
        self.loop = loop
        self.state = state
        self.peerAddress = peerAddress
        self.limits = limits
        self.delegate = delegate
    }

    deinit {
        precondition(fd < 0, "a connection went away before it was closed")
    }

    /// Plaintext and ciphertext that the kernel has not taken yet.
    package var pendingOutputBytes: Int { outputPlaintextBytes + outputCiphertextBytes }

    func changePlaintext(_ change: (inout ByteQueue) -> Void) {
        change(&outputPlaintext)
        let removed = outputPlaintextBytes - outputPlaintext.count
        outputPlaintextBytes = outputPlaintext.count
        if removed > 0, awaited.end > 0 {
            awaited.end = max(0, awaited.end - removed)
            awaited.bytes = min(awaited.bytes, awaited.end)
        }
    }

    /// Appends plaintext that waits for encryption.
    ///
    /// - Parameter isNews: Whether the peer does not wait for it.
    func appendPlaintext(isNews: Bool, _ append: (inout ByteQueue) -> Void) {
        let before = outputPlaintextBytes
        changePlaintext(append)
        if !isNews { awaited = (awaited.bytes + outputPlaintextBytes - before, outputPlaintextBytes) }
    }

    /// How the plaintext that waits should leave. A small answer takes the news before it along.
    var outputOrder: FlushOrder {
        if awaited.end == 0 { return .news }
        return awaited.bytes <= Limits.promptOutputBytes && awaited.end <= Limits.promptSendBytes ? .prompt : .large
    }

    func changeCiphertext(_ change: (inout ByteQueue) -> Void) {
        change(&outputCiphertext)
        outputCiphertextBytes = outputCiphertext.count
    }

    /// Whether the pending output is above the high-water mark. A user that sees this stops producing, for example by
    /// `pauseReading()`; `connectionDrained` says when to go on.
    package var isOutputFull: Bool { pendingOutputBytes > limits.outputHighWaterBytes }

    /// Whether so much output is pending that an answer would wait for it: the user stops producing what can wait
    /// itself. `connectionDrained` says when to go on.
    package var isOutputBusy: Bool { pendingOutputBytes > limits.outputBusyBytes }

    /// The handshake is done and nobody has closed the connection.
    package var isOpen: Bool { state == .open }

    /// The TLS handshake was shortened by the ticket of an earlier session.
    package var isResumed: Bool { session?.isResumed ?? false }

    /// The peer's network, for code that counts peers; a client's connection is not counted for any network.
    package var peerNetwork: PeerNetwork { admission?.network ?? .local }

    /// The peer has been identified: the connection is no longer opening, and with an account it no longer counts for
    /// its network. Call it on the loop that accepted the connection; see ``ConnectionLimits/awaitsIdentity``.
    package func opened(hasAccount: Bool) {
        listener?.openingEnded(self)
        listener = nil
        admission?.opened(hasAccount: hasAccount)
    }

    /// Stops taking input from the peer, which TCP slows down eventually. Input in progress (at most 64 KiB) may still
    /// have been delivered by the time this returns; nothing is delivered afterwards.
    package func pauseReading() {
        guard !isReadingPaused else { return }
        isReadingPaused = true
        // The poller is told at the end of the turn: resuming within the same turn costs no system call.
        flushAtEndOfTurn(.prompt)
    }

    /// Takes input again. What waits is delivered in the next turn.
    package func resumeReading() {
        guard isReadingPaused else { return }
        isReadingPaused = false
        if hasHeldInput { continueNextTurn() }
        flushAtEndOfTurn(.prompt)
    }

    // MARK: Interest and marks

    func register() throws(SystemError) {
        (waitsForReadable, waitsForWritable) = wantedInterest
        registration = try loop.register(fd, readable: waitsForReadable, writable: waitsForWritable, self)
    }

    func unregister(isClosing: Bool = false) {
        guard let registration else { return }
        loop.unregister(registration, fd, isClosing: isClosing)
        self.registration = nil
    }

    /// Whether input is to be taken now. The poller may wait for some still, until the turn ends.
    var takesInput: Bool { wantedInterest.readable }

    private var wantedInterest: (readable: Bool, writable: Bool) {
        switch state {
        case .connecting: (false, true)
        case .handshaking: (!isWaitingForHandshake, outputCiphertextBytes > 0)
        case .closing, .lingering: (true, outputCiphertextBytes > 0)
        case .open: (!isReadingPaused, outputCiphertextBytes > 0)
        case .resolving, .closed, .detached: (false, false)
        }
    }

    func updateInterest() {
        guard let registration else { return }
        let wanted = wantedInterest
        guard wanted != (waitsForReadable, waitsForWritable) else { return }
        (waitsForReadable, waitsForWritable) = wanted
        loop.update(registration, fd, readable: wanted.readable, writable: wanted.writable)
    }

    /// Has the plaintext that waits sent, as soon as its kind allows.
    func flushOutput() { flushAtEndOfTurn(outputOrder) }

    func flushAtEndOfTurn(_ order: FlushOrder) {
        if let flushOrder, flushOrder <= order { return }
        flushOrder = order
        if lines.insert(order) { loop.flush(self, order) }
    }

    func continueNextTurn() {
        guard !isMarkedForContinue else { return }
        isMarkedForContinue = true
        loop.continueNextTurn(self)
    }

    func setDeadline(afterMilliseconds: UInt64, _ reason: CloseReason) {
        cancelDeadline()
        deadlineTimer = loop.schedule(afterMilliseconds: afterMilliseconds) { [unowned self] in
            deadlineTimer = nil
            terminate(reason)
        }
    }

    func cancelDeadline() {
        if let deadlineTimer { loop.cancel(deadlineTimer) }
        deadlineTimer = nil
    }
}

extension Connection: LoopHandler {
    func socketReady(readable: Bool, writable: Bool) {
        if state == .connecting {
            if writable { connectFinished() }
            return
        }
        // Flushing may end the wait for input that the poller reports together with writability.
        let waitedForReadable = waitsForReadable
        if writable, waitsForWritable { flush(atMost: 0) }
        guard readable, state != .closed else { return }
        if waitedForReadable {
            if state == .handshaking, let listener { listener.handshakeReady(self) } else { readFromSocket() }
        } else {
            // The kernel reports errors again and again, even when nothing is waited for: the peer reset the
            // connection.
            terminate(.peerVanished)
        }
    }

    func turnEnding(_ order: FlushOrder) {
        lines.remove(order)
        guard order == flushOrder else { return }
        flushOrder = nil
        switch state {
        case .closed: tellClosed()
        case .detached: break
        case .open where order == .prompt && outputPlaintextBytes > 0 && outputOrder != .prompt:
            // More has been added since it was marked, or reading was paused or resumed, and nothing else.
            updateInterest()
            flushOutput()
        case .open where order == .prompt: flush(atMost: Limits.promptSendBytes)
        default: flush()
        }
    }

    func turnContinuing() {
        isMarkedForContinue = false
        guard state == .open else { return }
        if isWaitingForDrain, pendingOutputBytes <= limits.outputLowWaterBytes {
            isWaitingForDrain = false
            delegate?.connectionDrained(self)
        }
        guard state == .open, !isReadingPaused, hasHeldInput else { return }
        deliverHeldInput()
    }

    func loopStopped() { terminate(.loopStopped) }
}
