internal import BrumeModel
internal import BrumeProtocol
internal import BrumeServer
internal import BrumeSystem

/// The server's end of a ``FramePeer``'s connection: keeps what the server sends as frames, and hands over what the
/// client sends at once.
///
/// It does not know the peer, which keeps the server alive. `@unchecked Sendable`: a test has one thread.
final class FramePeerEnd: PeerConnection, @unchecked Sendable {
    var receiver: (any PeerConnectionReceiver)?
    private var reader = FrameReader(payloadBytesLimit: Limits.frameBytes)
    /// The frames that the server has sent and nobody has taken.
    var frames: [ReceivedFrame] = []
    /// What the client sent and the server has not read.
    private(set) var held: [UInt8] = []
    var waitsWhilePaused = false
    private(set) var isReadingPaused = false

    let peerAddress = "test"
    let peerNetwork = PeerNetwork.local
    private(set) var isOpen = true
    let isOutputFull = false
    /// Whether so much output waits that streams send no more. When it ends, the server is told.
    var isOutputBusy = false {
        didSet { if oldValue, !isOutputBusy { receiver?.drained() } }
    }
    /// After how many frames of the server the output is busy; nil when it doesn't change by them.
    var framesUntilBusy: Int?
    let pendingOutputBytes = 0

    func opened(hasAccount: Bool) {}
    func countOutput(with counter: any OutputCounter) {}
    func pauseReading() { isReadingPaused = true }
    func resumeReading() { isReadingPaused = false }
    func readNow() { deliver() }

    func withOutput(minimumCapacity: Int, isNews: Bool, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
        if !isOpen { return }
        if let left = framesUntilBusy {
            framesUntilBusy = left > 1 ? left - 1 : nil
            if left <= 1 { isOutputBusy = true }
        }
        var bytes = [UInt8](repeating: 0, count: minimumCapacity)
        let count = bytes.withUnsafeMutableBytes(body)
        bytes.removeLast(minimumCapacity - count)
        bytes.withUnsafeBytes { bytes in
            do throws(FrameError) {
                try reader.read(bytes) { header, payload in
                    frames.append(ReceivedFrame(header, payload))
                    return true
                }
            } catch {
                preconditionFailure("the server sent a bad frame: \(error)")
            }
        }
    }

    func close() { isOpen = false }
    func abort() { isOpen = false }

    func leave() -> @Sendable (EventLoop, any ConnectionDelegate) -> any PeerConnection { { _, _ in self } }

    // MARK: From the client

    func send(_ bytes: [UInt8]) {
        held += bytes
        deliver()
    }

    func deliver() {
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

    func disconnect() {
        isOpen = false
        receiver?.closed(peer: peerAddress, reason: "gone")
        receiver = nil
    }
}
