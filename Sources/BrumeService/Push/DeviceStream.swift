internal import BrumeModel
internal import BrumeSystem

/// A device's notification stream: the events of its user's private database and of the public one, one after the
/// other, with positions that hold the place in both.
///
/// `@unchecked Sendable`: belongs to the loop of its client.
final class DeviceStream: ServiceStream, @unchecked Sendable {
    let responder: Responder
    let shard: Shard
    let device: [UInt8]
    /// The database whose events it reports besides those of the public one.
    let privateID: DatabaseID
    /// Unowned, so that no references are counted for every event: the door keeps the stream, and closes it before it
    /// is released itself.
    private unowned(unsafe) let door: any ClientDoor
    private let interceptor: (any ServerInterceptor)?
    /// The token scope of the private database.
    private let scope: [UInt8]
    /// Whether changes in the databases may be reported to the device: asked once, since a client's identity never
    /// changes.
    private let mayReceivePrivate: Bool
    private let mayReceivePublic: Bool
    /// Whether records of the last subject may still be read, and the version of the loop's schemas that said so: many
    /// events are of one type.
    private var reading: (subject: NotificationSubject, schemasVersion: UInt64, isAllowed: Bool)?
    /// The position after the last event that was sent.
    private var position = StreamPosition()
    /// What is sent first, as soon as the public database's place is known.
    private var ready: [UInt8] = []
    private var isPlaced = false
    private var isReady = false
    private(set) var isClosed = false
    /// Events of the public database: the first ``firstInInbox`` were sent, the others wait for the stream. At most
    /// twice ``ServiceLimits/publicEventsUnderWay``.
    private(set) var inbox: [NotificationDelivery] = []
    private var firstInInbox = 0
    /// What of the shared database is to be told.
    var shared = SharedNews()
    /// Whether the shard has it among the streams that have events to send.
    var isListed = false
    /// The device's acknowledgements in the public database.
    var acknowledgements = AcknowledgementRelay()
    private var databases = Databases()
    /// Events that an interceptor held back or doubled, and that leave as soon as they may.
    private var late: [StreamEvent] = []

    /// How the stream reaches its databases; nothing while it is being opened, and after its end.
    struct Databases {
        /// Goes on with the private database's events.
        var pumpPrivate: () -> Void = {}
        /// Asks for so many more events of the public database.
        var grantPublic: (Int) -> Void = { _ in }
        /// Ends the stream in both.
        var leave: () -> Void = {}
    }

    init(_ responder: Responder, in privateID: DatabaseID, on shard: Shard) {
        self.responder = responder
        self.privateID = privateID
        self.shard = shard
        door = responder.client.door
        let identity = responder.client.identity
        device = identity.deviceID
        interceptor = shard.server.configuration.interceptor
        scope = shard.sealer.scope(privateID, zone: nil)
        mayReceivePrivate = Authorisation.mayReceive(from: privateID, identity)
        mayReceivePublic = Authorisation.mayReceive(from: identity.publicDatabase, identity)
    }

    var client: Client { responder.client }

    /// Reads a position that a client gave; nil for an empty one.
    func open(_ position: [UInt8]) throws(ServiceError) -> StreamPosition? {
        try shard.runSealer.sealer.open(position, scope: scope)
    }

    // MARK: Opening

    /// Sets where the events begin. Call it before ``placed(publicPlace:)``.
    ///
    /// - Parameters:
    ///   - publicPlace: Where the device stood; kept for the case that the public database is damaged.
    ///   - ready: The event that says that the stream is ready.
    func start(
        privatePlace: StreamPosition.Place, publicPlace: StreamPosition.Place?, ready: [UInt8],
        _ databases: Databases
    ) {
        position[.privateDatabase] = privatePlace
        position[.publicDatabase] = publicPlace
        self.ready = ready
        self.databases = databases
    }

    /// Opens the stream: the public database has answered.
    ///
    /// - Parameter publicPlace: Where its events begin; nil if it is damaged, and the stream reports the private one
    ///   alone.
    func placed(publicPlace: StreamPosition.Place?) {
        if isClosed { return }
        if let publicPlace { position[.publicDatabase] = publicPlace }
        isPlaced = true
        resume()
    }

    // MARK: The end

    func close() {
        let leave = databases.leave
        abandon()
        leave()
    }

    func abandon() {
        if isReady, !isClosed { interceptor?.notificationsChanged(isOpen: false, of: peer) }
        isClosed = true
        late = []
        inbox = []
        firstInInbox = 0
        // They refer to what refers to this stream.
        databases = Databases()
    }

    /// The device opened another stream.
    func displaced() {
        fail(ServiceError(.operationCancelled, "the device opened another notification stream"))
    }

    /// Ends the stream and tells its device why.
    func fail(_ error: ServiceError) {
        if isClosed { return }
        // The door's reference may be the last one.
        withExtendedLifetime(self) {
            pumpPublic()
            responder.refuse(error)
        }
    }

    // MARK: What the client sends

    func received(_ message: StreamMessage, _ credit: StreamCredit) {
        switch message {
        case .acknowledgement(let position): shard.acknowledge(position, credit, on: self)
        case .content, .uploadEnd: preconditionFailure("a notification stream is given the content of an asset")
        }
    }

    func clientEnded() { shard.endNotifications(self) }

    /// Ends the stream as its client asked for, behind the events that it was given.
    func succeed() {
        pumpPublic()
        responder.succeed()
    }

    // MARK: Events

    func resume() {
        guard isPlaced, !isClosed, door.maySend(responder.call) else { return }
        if !isReady {
            isReady = true
            var event = event(ready)
            event.isAwaited = true
            door.send(responder.call, event)
            ready = []
            interceptor?.notificationsChanged(isOpen: true, of: peer)
        }
        if !late.isEmpty { sendLate() }
        pumpPublic()
        pumpShared()
        databases.pumpPrivate()
    }

    var mayTakePrivateEvent: Bool {
        isReady && !isClosed && mayReceivePrivate && door.maySend(responder.call)
    }

    func sendPrivate(_ delivery: NotificationDelivery) {
        position[.privateDatabase] = delivery.place
        send(delivery.message)
    }

    /// Sends all events of a run at once; returns false, and sends none, if they have to leave one by one.
    func sendPrivate(_ run: NotificationRun) -> Bool {
        guard interceptor == nil, isReady, !isClosed, mayReceivePrivate,
            door.maySendRun(responder.call, atLeast: run.leastCredit),
            door.send(responder.call, shard.runSealer.seal(run, behind: position, scope: scope))
        else { return false }
        position[.privateDatabase] = run.deliveries[run.deliveries.count - 1].place
        shard.push.sent += UInt64(run.deliveries.count)
        return true
    }

    func receivedPublic(_ deliveries: [NotificationDelivery]) {
        if isClosed { return }
        inbox += deliveries
        shard.hasNews(self)
    }

    /// Sends the events of the public database that may leave.
    func pumpPublic() {
        var count = 0
        while firstInInbox < inbox.count, isReady, !isClosed, mayReceivePublic, door.maySend(responder.call) {
            position[.publicDatabase] = inbox[firstInInbox].place
            let message = inbox[firstInInbox].message
            let isAllowed = mayRead(inbox[firstInInbox].subject)
            firstInInbox += 1
            count += 1
            // An event that may no longer be read is left out: the place moves on with the next event.
            if isAllowed { send(message) }
        }
        // Those that were sent leave when they are as many as may wait, so that they are not moved each time.
        if firstInInbox == inbox.count || firstInInbox >= ServiceLimits.publicEventsUnderWay {
            inbox.removeFirst(firstInInbox)
            firstInInbox = 0
        }
        if count > 0 { databases.grantPublic(count) }
    }

    /// Tells of the shared database what may leave.
    func pumpShared() {
        while isReady, !isClosed, mayReceivePrivate, door.maySend(responder.call),
            let (change, subscription, place) = shared.next({ shard.subscriptions(for: $0, home: privateID) })
        {
            if let place { position[.sharedDatabase] = place }
            if let message = shard.event(of: change, for: subscription, home: privateID) { send(message) }
        }
    }

    /// Whether the user may still read the record that an event reports: when it was changed they might.
    private func mayRead(_ subject: NotificationSubject?) -> Bool {
        guard let subject else { return true }
        if let reading, reading.schemasVersion == shard.schemasVersion, reading.subject == subject {
            return reading.isAllowed
        }
        let identity = client.identity
        let permissions = shard.access(of: identity, to: identity.publicDatabase)?
            .permissions(type: subject.recordType, isCreator: subject.isOwn)
        let isAllowed = permissions?.contains(.read) ?? true
        reading = (subject, shard.schemasVersion, isAllowed)
        return isAllowed
    }

    private var peer: InterceptedPeer { InterceptedPeer(client.identity) }

    /// An event with the stream's position.
    private func event(_ message: [UInt8]) -> StreamEvent {
        StreamEvent(position: shard.runSealer.sealer.seal(position, scope: scope), message: message)
    }

    private func send(_ message: [UInt8]) {
        let event = event(message)
        guard let interceptor else { return transmit(event) }
        switch interceptor.plan(for: message, to: peer) {
        case .leaves: transmit(event)
        case .isLost: break
        case .leavesTwice:
            transmit(event)
            late.append(event)
            sendLate()
        case .waits(let register):
            let loop = shard.loop
            register {
                loop.execute {
                    if self.isClosed { return }
                    self.late.append(event)
                    self.sendLate()
                }
            }
        }
    }

    private func transmit(_ event: StreamEvent) {
        shard.push.sent += 1
        door.send(responder.call, event)
    }

    private func sendLate() {
        while !late.isEmpty, door.maySend(responder.call) { transmit(late.removeFirst()) }
    }
}
