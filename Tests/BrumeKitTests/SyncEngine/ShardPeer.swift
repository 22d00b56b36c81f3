@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import BrumeTestKit

/// A device's end of its connection to a ``ShardServer``.
final class ShardPeer {
    private let connection: FramePeer
    private let coder = MessageCoder()
    private var notifications: UInt32 = 0
    private var outcomes: [UInt32: Result<[UInt8], ServiceError>] = [:]
    private var events: [NotificationEvent] = []
    private var acknowledgementCredit = 0
    /// What the events count that came and have not been granted anew.
    private var taken = StreamCredit.none
    /// The account's user record.
    private(set) var user = ""

    init(_ connection: FramePeer) {
        self.connection = connection
    }

    var isOpen: Bool { connection.isOpen }

    /// The device is gone.
    func end() { connection.disconnect() }

    /// Takes in what the server has sent.
    private func receive() {
        for frame in connection.takeFrames() {
            if frame.stream == notifications, frame.type == .message {
                taken += StreamCredit(messages: 1, bytes: frame.payload.count)
            }
            switch frame.type {
            case .welcome:
                let welcome = try! frame.payload.decoded(coder.decodeWelcome)
                user = welcome.userRecordName
                acknowledgementCredit = welcome.limits.streamCredit - 1
            case .message where frame.stream == notifications:
                events.append(try! frame.payload.decoded(coder.decodeNotificationEvent))
            case .message: outcomes[frame.stream] = .success(frame.payload)
            case .status:
                guard frame.stream != 0, let status = try? frame.payload.decoded(coder.decodeStatus) else { continue }
                outcomes[frame.stream] = .failure(ServiceError(status))
            case .credit where frame.stream == notifications:
                acknowledgementCredit += frame.payload.withUnsafeBytes { FrameWriter.credit(in: $0) }?.messages ?? 0
            default: break
            }
        }
    }

    /// Opens a call and sends its request; returns its stream.
    @discardableResult
    func start(_ method: BrumeProtocol.Method, _ request: [UInt8]) -> UInt32 { connection.start(method, request) }

    func takeOutcome(_ stream: UInt32) -> Result<[UInt8], ServiceError>? {
        receive()
        return outcomes.removeValue(forKey: stream)
    }

    /// After the welcome.
    func openNotifications() {
        receive()
        let request = coder.encodeNotificationsRequest(position: [])
        notifications = connection.start(.notificationsOpen, request, isLast: false)
    }

    /// What came on the stream, which is acknowledged.
    func takeEvents() -> [NotificationEvent] {
        receive()
        guard let last = events.last else { return [] }
        defer { events = [] }
        connection.send(.credit, stream: notifications, payload: FrameWriter.creditPayload(taken))
        taken = .none
        if acknowledgementCredit > 0 {
            acknowledgementCredit -= 1
            connection.send(
                .message, stream: notifications, payload: coder.encodeNotificationsRequest(position: last.position))
        }
        receive()
        return events
    }
}
