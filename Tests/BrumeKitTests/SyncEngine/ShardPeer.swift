@testable import BrumeKit
import BrumeModel
import BrumeServer
import BrumeSystem
import BrumeWire

/// A device's connection to a ``ShardServer``, both of its ends.
///
/// `@unchecked Sendable`: a world has one thread.
final class ShardPeer: PeerConnection, @unchecked Sendable {
    private let coder = MessageCoder()
    private var reader = FrameReader(payloadBytesLimit: Limits.frameBytes)
    private var receiver: (any PeerConnectionReceiver)?
    private var lastStream: UInt32 = 0
    private var notifications: UInt32 = 0
    private var outcomes: [UInt32: Result<[UInt8], ServiceError>] = [:]
    private var events: [NotificationEvent] = []
    private var acknowledgementCredit = 0
    /// The account's user record.
    private(set) var user = ""

    let peerAddress = "device"
    private(set) var isOpen = true
    let isOutputFull = false

    func connect(_ receiver: any PeerConnectionReceiver) {
        self.receiver = receiver
        receiver.established()
    }

    /// The device is gone.
    func end() {
        guard isOpen else { return }
        isOpen = false
        receiver?.closed(peer: peerAddress, reason: "gone")
        receiver = nil
    }

    // MARK: The server's end

    func pauseReading() {}
    func resumeReading() {}

    func withOutput(minimumCapacity: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
        var bytes = [UInt8](repeating: 0, count: minimumCapacity)
        let count = bytes.withUnsafeMutableBytes(body)
        bytes.removeLast(minimumCapacity - count)
        bytes.withUnsafeBytes { bytes in
            try! reader.read(bytes) { header, payload in
                received(header, Array(payload))
                return true
            }
        }
    }

    func close() { isOpen = false }

    func leave() -> @Sendable (EventLoop, any ConnectionDelegate) -> any PeerConnection { { _, _ in self } }

    // MARK: The device's end

    private func received(_ header: FrameHeader, _ payload: [UInt8]) {
        switch header.type {
        case .welcome:
            let welcome = try! payload.decoded(coder.decodeWelcome)
            user = welcome.userRecordName
            acknowledgementCredit = welcome.limits.streamCredit - 1
        case .message where header.stream == notifications:
            events.append(try! payload.decoded(coder.decodeNotificationEvent))
        case .message: outcomes[header.stream] = .success(payload)
        case .status:
            guard header.stream != 0, let status = try? payload.decoded(coder.decodeStatus) else { return }
            outcomes[header.stream] = .failure(ServiceError(status))
        case .credit where header.stream == notifications:
            acknowledgementCredit += Int(payload.withUnsafeBytes { FrameWriter.credit(in: $0) } ?? 0)
        default: break
        }
    }

    func send(_ type: FrameType, stream: UInt32 = 0, isLast: Bool = false, payload: [UInt8]) {
        FrameWriter.frame(type, stream: stream, isLast: isLast, payload: payload).withUnsafeBytes {
            receiver?.received($0)
        }
    }

    /// Opens a call and sends its request; returns its stream.
    @discardableResult
    func start(_ method: BrumeWire.Method, _ request: [UInt8], isLast: Bool = true) -> UInt32 {
        lastStream += 1
        let stream = lastStream
        send(.call, stream: stream, payload: coder.encodeCall(CallHeader(method: method)))
        send(.message, stream: stream, isLast: isLast, payload: request)
        return stream
    }

    func takeOutcome(_ stream: UInt32) -> Result<[UInt8], ServiceError>? { outcomes.removeValue(forKey: stream) }

    func openNotifications() {
        notifications = lastStream + 1
        start(.notificationsOpen, coder.encodeNotificationsRequest(position: []), isLast: false)
    }

    /// What came on the stream, which is acknowledged.
    func takeEvents() -> [NotificationEvent] {
        defer { events = [] }
        guard let last = events.last else { return [] }
        send(.credit, stream: notifications, payload: FrameWriter.creditPayload(UInt32(events.count)))
        if acknowledgementCredit > 0 {
            acknowledgementCredit -= 1
            send(
                .message, stream: notifications, payload: coder.encodeNotificationsRequest(position: last.position))
        }
        return events
    }
}
