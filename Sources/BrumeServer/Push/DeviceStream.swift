internal import BrumeModel
internal import BrumeProtocol
internal import BrumeSystem

/// A device's notification stream: the events of its user's private database and of the public one, each behind the
/// other, with positions that hold the place in both.
///
/// `@unchecked Sendable`: belongs to the loop of its session.
final class DeviceStream: @unchecked Sendable {
    let id: UInt32
    let device: [UInt8]
    /// Its count is not kept for every event: the session owns the stream, and closes it before it goes.
    private unowned(unsafe) let session: Session
    private let interceptor: (any ServerInterceptor)?
    private let frames: EventFrames
    /// Of the private database.
    private let scope: [UInt8]
    /// Whether the device may be told of changes in the databases: asked once, since a session's identity never
    /// changes.
    private let mayReceivePrivate: Bool
    private let mayReceivePublic: Bool
    /// Whether records may still be read, as the loop's schemas said when the last one was asked for: many events are
    /// of one type.
    private var reading: (subject: NotificationSubject, schemasVersion: UInt64, isAllowed: Bool)?
    /// Behind what was sent.
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

    /// Where the private database's events begin; before ``placed(publicPlace:)``.
    ///
    /// - Parameters:
    ///   - ready: The event that says so, without its position.
    ///   - pump: Goes on with the private database's events.
    func start(privatePlace: NotificationPosition.Place, ready: [UInt8], pump: @escaping () -> Void) {
        position.privatePlace = privatePlace
        self.ready = ready
        pumpPrivate = pump
    }

    /// The public database has answered: the stream is open.
    ///
    /// - Parameter publicPlace: Where its events begin; nil where it is damaged, and the stream tells of the private
    ///   one alone.
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
        // They hold what holds this.
        grant = { _ in }
        pumpPrivate = {}
    }

    /// The device opened another stream.
    func displaced() {
        fail(ServiceError(.operationCancelled, "the device opened another notification stream"))
    }

    /// The stream ends, and its device is told why.
    func fail(_ error: ServiceError) {
        if isClosed { return }
        // The session's reference may be the last one.
        withExtendedLifetime(self) {
            session.deviceStreamClosed(self)
            session.fail(stream: id, error)
        }
    }

    // MARK: Events

    /// Credit came, or the connection's output has drained.
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

    /// All events of a run at once, or none of them, where they have to leave one by one: then false.
    func sendPrivate(_ run: NotificationRun) -> Bool {
        let count = run.deliveries.count
        guard interceptor == nil, isReady, !isClosed, mayReceivePrivate, session.maySend(stream: id, count: count)
        else { return false }
        let bytes = frames.frames(of: run, behind: position, stream: id, scope: scope)
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
            // What may no longer be read is as if it had not been told: the place moves on with the next event.
            if isAllowed { send(message) }
        }
        if firstInInbox == inbox.count {
            inbox.removeAll(keepingCapacity: true)
            firstInInbox = 0
        }
        if count > 0 { grant(count) }
    }

    /// Whether the user may read a record now that is told of: when it was changed they might.
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

    /// Sends an event, which has no position yet, at the stream's.
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
