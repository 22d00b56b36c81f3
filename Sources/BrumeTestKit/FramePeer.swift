internal import BrumeModel
package import BrumeProtocol
package import BrumeServer
package import BrumeSystem

/// Both ends of a connection to a server that a test steps by hand: what the server sends is kept as frames, and what
/// the client sends has arrived when the call returns.
///
/// `@unchecked Sendable`: a test has one thread.
package final class FramePeer: PeerConnection, @unchecked Sendable {
    package struct Frame {
        package let type: FrameType
        package let stream: UInt32
        package let payload: [UInt8]
    }

    private let coder = MessageCoder()
    private var reader = FrameReader(payloadBytesLimit: Limits.frameBytes)
    private let badFrame: (FrameError) -> Void
    private var receiver: (any PeerConnectionReceiver)?
    private var lastStream: UInt32 = 0
    /// The frames that the server has sent and nobody has taken.
    package private(set) var frames: [Frame] = []

    package let peerAddress = "test"
    package let peerNetwork = PeerNetwork.local
    package private(set) var isOpen = true
    package let isOutputFull = false

    /// Connects to the first loop and says hello. The welcome arrives once the server has had its turns.
    ///
    /// - Parameter badFrame: Called when the server sends something that is no frame.
    package init(
        _ server: StepwiseServer, hello: Hello,
        badFrame: @escaping (FrameError) -> Void = { preconditionFailure("the server sent a bad frame: \($0)") }
    ) {
        self.badFrame = badFrame
        receiver = server.accept(self, loop: 0)
        receiver?.established()
        send(.hello, payload: coder.encodeHello(hello))
    }

    // MARK: The server's end

    package let pendingOutputBytes = 0

    /// Whether what the client sends waits while the server does not read; it is handed over by ``deliver()``.
    package var waitsWhilePaused = false
    package private(set) var isReadingPaused = false
    private var held: [UInt8] = []
    /// Whether something that the client sent has not been read yet.
    package var holdsInput: Bool { !held.isEmpty }

    package func opened(hasAccount: Bool) {}
    package func countOutput(with counter: any OutputCounter) {}
    package func pauseReading() { isReadingPaused = true }
    package func resumeReading() { isReadingPaused = false }
    package func readNow() { deliver() }

    package func withOutput(minimumCapacity: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
        if !isOpen { return }
        var bytes = [UInt8](repeating: 0, count: minimumCapacity)
        let count = bytes.withUnsafeMutableBytes(body)
        bytes.removeLast(minimumCapacity - count)
        bytes.withUnsafeBytes { bytes in
            do throws(FrameError) {
                try reader.read(bytes) { header, payload in
                    frames.append(Frame(type: header.type, stream: header.stream, payload: Array(payload)))
                    return true
                }
            } catch {
                badFrame(error)
            }
        }
    }

    package func close() { isOpen = false }
    package func abort() { isOpen = false }

    package func leave() -> @Sendable (EventLoop, any ConnectionDelegate) -> any PeerConnection { { _, _ in self } }

    // MARK: The client's end

    package func send(_ type: FrameType, stream: UInt32 = 0, isLast: Bool = false, payload: [UInt8] = []) {
        held += FrameWriter.frame(type, stream: stream, isLast: isLast, payload: payload)
        deliver()
    }

    /// Hands over what was sent, unless the server does not read.
    package func deliver() {
        if held.isEmpty || (waitsWhilePaused && isReadingPaused) { return }
        if waitsWhilePaused {
            receiver?.willRead()
            if isReadingPaused { return }
        }
        let bytes = held
        held = []
        bytes.withUnsafeBytes { receiver?.received($0) }
        if waitsWhilePaused { receiver?.didRead() }
    }

    /// Opens a call and sends its request; returns its stream.
    @discardableResult
    package func start(
        _ method: BrumeProtocol.Method, timeoutMilliseconds: UInt32 = 0, _ request: [UInt8], isLast: Bool = true
    ) -> UInt32 {
        lastStream += 1
        let stream = lastStream
        let header = CallHeader(method: method, timeoutMilliseconds: timeoutMilliseconds)
        send(.call, stream: stream, payload: coder.encodeCall(header))
        send(.message, stream: stream, isLast: isLast, payload: request)
        return stream
    }

    /// The frames that came since they were taken last.
    package func takeFrames() -> [Frame] {
        defer { frames = [] }
        return frames
    }

    /// Ends the connection, because the client is gone.
    package func disconnect() {
        isOpen = false
        receiver?.closed(peer: peerAddress, reason: "gone")
        receiver = nil
    }
}
