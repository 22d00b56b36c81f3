internal import BrumeModel
internal import BrumeProtocol
internal import BrumeSystem

/// A device's notification stream: the events of its user's private database and of the public one, one after the
/// other, with positions that hold the place in both.
///
/// `@unchecked Sendable`: belongs to the loop of its session.
final class DeviceStream: @unchecked Sendable {
    let id: UInt32
    let device: [UInt8]
    /// Unowned, so that no references are counted for every event: the session owns the stream, and closes it before
    /// the session is released.
    private unowned(unsafe) let session: Session
    private let interceptor: (any ServerInterceptor)?
    private let frames: EventFrames
    /// The token scope of the private database.
    private let scope: [UInt8]
    /// Whether changes in the databases may be reported to the device: asked once, since a session's identity never
    /// changes.
    private let mayReceivePrivate: Bool
    private let mayReceivePublic: Bool
    /// Whether records of the last subject may still be read, and the version of the loop's schemas that said so: many
    /// events are of one type.
    private var reading: (subject: NotificationSubject, schemasVersion: UInt64, isAllowed: Bool)?
    /// The position after the last event that was sent.
    private var position: NotificationPosition
    /// What is sent first, as soon as the public database's place is known.
    private var ready: [UInt8] = []
    private var isPlaced = false
    private var isReady = false
    private(set) var isClosed = false
    /// Events of the public database that wait for the stream; at most ``ServerLimits/publicEventsUnderWay``.
    private var inbox: [NotificationDelivery] = []
    private var firstInInbox = 0
    /// The device's acknowledgements in the public database.
    var acknowledgements = AcknowledgementRelay()
    /// Asks for so many more events of the public database.
    var grant: (Int) -> Void = { _ in }
    /// Goes on with the private database's events.
    private var pumpPrivate: () -> Void = {}
    /// Events that an interceptor held back or doubled, and that leave as soon as they may.
    private var late: [[UInt8]] = []

    /// - Parameter publicPlace: Where the device stood; kept for the case that the public database is damaged.
    init(
        _ session: Session, id: UInt32, publicPlace: NotificationPosition.Place?, frames: EventFrames,
        scope: [UInt8],
        privateID: DatabaseID
    ) {
        self.session = session
        interceptor = session.server.configuration.interceptor
        self.id = id
        device = session.identity.deviceID
        position = NotificationPosition(
            privatePlace: .init(epoch: 0, position: .start), publicPlace: publicPlace)
        self.frames = frames
        self.scope = scope
        mayReceivePrivate = Authorisation.mayReceive(from: privateID, session.identity)
        mayReceivePublic = Authorisation.mayReceive(from: session.identity.publicDatabase, session.identity)
    }

    /// Sets where the private database's events begin. Call it before ``placed(publicPlace:)``.
    ///
    /// - Parameters:
    ///   - ready: The event that says that the stream is ready, without its position.
    ///   - pump: Goes on with the private database's events.
    func start(privatePlace: NotificationPosition.Place, ready: [UInt8], pump: @escaping () -> Void) {
        position.privatePlace = privatePlace
        self.ready = ready
        pumpPrivate = pump
    }

    /// Opens the stream: the public database has answered.
    ///
    /// - Parameter publicPlace: Where its events begin; nil if it is damaged, and the stream reports the private one
    ///   alone.
    func placed(publicPlace: NotificationPosition.Place?) {
        if isClosed { return }
        if let publicPlace { position.publicPlace = publicPlace }
        isPlaced = true
        resume()
    }

    func close() {
        if isReady, !isClosed {
            interceptor?.notificationsChanged(isOpen: false, of: InterceptedPeer(session.identity))
        }
        isClosed = true
        late = []
        inbox = []
        firstInInbox = 0
        // They refer to what refers to this stream.
        grant = { _ in }
        pumpPrivate = {}
    }

    /// The device opened another stream.
    func displaced() {
        fail(ServiceError(.operationCancelled, "the device opened another notification stream"))
    }

    /// Ends the stream and tells its device why.
    func fail(_ error: ServiceError) {
        if isClosed { return }
        // The session's reference may be the last one.
        withExtendedLifetime(self) {
            session.deviceStreamClosed(self)
            session.refuse(id, error)
        }
    }

    // MARK: Events

    /// Goes on when credit came, or the connection's output has drained.
    func resume() {
        guard isPlaced, !isClosed, session.maySend(stream: id) else { return }
        if !isReady {
            isReady = true
            session.send(stream: id, message: frames.sealer.field(for: position, scope: scope), ready)
            ready = []
            interceptor?.notificationsChanged(isOpen: true, of: InterceptedPeer(session.identity))
        }
        if !late.isEmpty { sendLate() }
        pumpPublic()
        pumpPrivate()
    }

    var mayTakePrivateEvent: Bool {
        isReady && !isClosed && mayReceivePrivate && session.maySend(stream: id)
    }

    func sendPrivate(_ delivery: NotificationDelivery) {
        position.privatePlace = delivery.place
        send(delivery.message)
    }

    /// Sends all events of a run at once; returns false, and sends none, if they have to leave one by one.
    func sendPrivate(_ run: NotificationRun) -> Bool {
        let count = run.deliveries.count
        guard interceptor == nil, isReady, !isClosed, mayReceivePrivate, session.maySend(stream: id, count: count)
        else { return false }
        let bytes = frames.frames(of: run, behind: position, stream: id, scope: scope)
        guard session.maySend(stream: id, count: count, byteCount: bytes.count) else { return false }
        position.privatePlace = run.deliveries[count - 1].place
        session.shard.push.sent += UInt64(count)
        session.send(stream: id, count: count, frames: bytes)
        return true
    }

    func receivedPublic(_ deliveries: [NotificationDelivery]) {
        if isClosed { return }
        inbox += deliveries
        pumpPublic()
    }

    private func pumpPublic() {
        var count = 0
        while firstInInbox < inbox.count, isReady, !isClosed, mayReceivePublic, session.maySend(stream: id) {
            position.publicPlace = inbox[firstInInbox].place
            let message = inbox[firstInInbox].message
            let isAllowed = mayRead(inbox[firstInInbox].subject)
            firstInInbox += 1
            count += 1
            // An event that may no longer be read is left out: the place moves on with the next event.
            if isAllowed { send(message) }
        }
        if firstInInbox == inbox.count {
            inbox.removeAll(keepingCapacity: true)
            firstInInbox = 0
        }
        if count > 0 { grant(count) }
    }

    /// Whether the user may still read the record that an event reports: when it was changed they might.
    private func mayRead(_ subject: NotificationSubject?) -> Bool {
        guard let subject else { return true }
        let shard = session.shard
        if let reading, reading.schemasVersion == shard.schemasVersion, reading.subject == subject {
            return reading.isAllowed
        }
        let identity = session.identity!
        let permissions = shard.access(of: identity, to: identity.publicDatabase)?
            .permissions(type: subject.recordType, isCreator: subject.isOwn)
        let isAllowed = permissions?.contains(.read) ?? true
        reading = (subject, shard.schemasVersion, isAllowed)
        return isAllowed
    }

    /// Sends an event, which has no position yet, with the stream's position.
    private func send(_ event: [UInt8]) {
        let field = frames.sealer.field(for: position, scope: scope)
        guard let interceptor else { return transmit(field, event) }
        let message = field + event
        switch interceptor.plan(for: message, to: InterceptedPeer(session.identity)) {
        case .leaves: transmit(message)
        case .isLost: break
        case .leavesTwice:
            transmit(message)
            late.append(message)
            sendLate()
        case .waits(let register):
            let loop = session.shard.loop
            register {
                loop.execute {
                    if self.isClosed { return }
                    self.late.append(message)
                    self.sendLate()
                }
            }
        }
    }

    /// Sends a message, which may be in two parts.
    private func transmit(_ front: [UInt8], _ back: [UInt8] = []) {
        session.shard.push.sent += 1
        session.send(stream: id, message: front, back)
    }

    private func sendLate() {
        while !late.isEmpty, session.maySend(stream: id) { transmit(late.removeFirst()) }
    }
}
