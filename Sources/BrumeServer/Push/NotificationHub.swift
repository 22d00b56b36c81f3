internal import BrumeModel
internal import BrumeStore
internal import BrumeWire

/// The pushes of one database: matches durable commits against its subscriptions and feeds the devices' streams.
///
/// Lives on the loop that owns the database. A commit's matches become events once, in ``publish(_:)``; each stream takes
/// them from the ring at its own pace, as far as its credit and its connection's output allow.
final class NotificationHub {
    /// Events of one commit, matched when it was applied and published when it is durable.
    struct Publication {
        var sequence: UInt64
        var origin: [UInt8]
        var committedMilliseconds: Int64
        var matches: [(subscription: Subscription, zone: ZoneID?)]
    }

    private struct Stream {
        unowned let session: Session
        let id: UInt32
        let device: [UInt8]
        var place: ChangePosition
    }

    private let database: Database
    private let sealer: TokenSealer
    private let coder: MessageCoder
    private let scope: [UInt8]
    private var ring: NotificationRing
    private var streams: [Stream] = []
    /// Devices may have been here before this hub was: the database was loaded. Then one that gives no place, and that the hub
    /// doesn't know, may have missed something.
    private let hasForgottenDevices: Bool
    /// Where each device acknowledged last, and a count that says how recently.
    private var acknowledged: [[UInt8]: (place: ChangePosition, use: UInt64)] = [:]
    private var uses: UInt64 = 0
    /// The table was full once: a device that isn't in it may have been.
    private var hasEvictedDevices = false

    init(
        database: Database, head: ChangePosition, sealer: TokenSealer, coder: MessageCoder,
        backlogEvents: Int = ServerLimits.backlogEvents
    ) {
        self.database = database
        self.sealer = sealer
        self.coder = coder
        scope = sealer.scope(database.id, zone: nil)
        hasForgottenDevices = head.sequence > 0
        ring = NotificationRing(head: head, eventLimit: backlogEvents)
    }

    /// Whether any device listens.
    var hasStreams: Bool { !streams.isEmpty }

    // MARK: Streams

    /// A device opens its stream. Sends `ready` and what was kept for it, or says why it can't be opened.
    func open(_ session: Session, stream: UInt32, position: [UInt8]) -> ServiceError? {
        let device = session.identity.deviceID
        let resumption: ChangePosition?
        switch resolve(position, device: device) {
        case .success(let place): resumption = place
        case .failure(let error): return error
        }
        if let index = streams.firstIndex(where: { $0.device == device }) {
            let former = streams.remove(at: index)
            former.session.fail(
                stream: former.id, ServiceError(.operationCancelled, "the device opened another notification stream"))
        }
        guard streams.count < ServerLimits.streamsPerDatabase else {
            return ServiceError(
                .requestRateLimited,
                "\(streams.count) devices of this user hold a stream, which is the limit; close one",
                retryAfterMilliseconds: 60_000)
        }
        // From the start means from the floor: what was before it is told as an order to fetch.
        let place = resumption ?? (hasForgottenDevices || hasEvictedDevices ? .start : ring.head)
        streams.append(Stream(session: session, id: stream, device: device, place: place))
        session.send(stream: stream, message: event(.ready(resumed: resumption != nil), at: place))
        pump(streams.count - 1)
        return nil
    }

    /// The device has handled everything up to the position.
    func acknowledge(_ session: Session, stream: UInt32, position: [UInt8]) {
        let device = session.identity.deviceID
        switch resolve(position, device: device) {
        case .success(let place?): remember(device, place)
        case .success(nil): break
        case .failure(let error):
            close(session, stream: stream)
            session.fail(stream: stream, error)
        }
    }

    /// The stream, or its connection, has ended.
    func close(_ session: Session, stream: UInt32) {
        streams.removeAll { $0.session === session && $0.id == stream }
    }

    /// Credit came, or the connection's output has drained.
    func resume(_ session: Session) {
        for index in streams.indices where streams[index].session === session { pump(index) }
    }

    // MARK: Events

    /// A commit became durable: its events go into the ring and to the streams.
    func publish(_ publication: Publication) {
        for (index, match) in publication.matches.enumerated() {
            let position = ChangePosition(sequence: publication.sequence, index: UInt32(index))
            let kind: NotificationEvent.Kind =
                switch match.subscription.kind {
                case .zone(let zone, _): .zoneChanged(match.zone ?? zone)
                case .database: .databaseChanged(database.id.scope)
                }
            let message = event(
                kind, at: position, subscription: match.subscription,
                committedMilliseconds: publication.committedMilliseconds)
            ring.append(NotificationRing.Event(position: position, origin: publication.origin, message: message))
        }
        for index in streams.indices { pump(index) }
    }

    /// Sends what the stream may have now.
    private func pump(_ index: Int) {
        while streams[index].session.maySend(stream: streams[index].id) {
            let stream = streams[index]
            guard Authorisation.mayReceive(from: database.id, stream.session.identity) else { return }
            switch ring.next(after: stream.place, device: stream.device) {
            case .none: return
            case .skipped(let place):
                streams[index].place = place
            case .missed(let floor):
                streams[index].place = floor
                stream.session.send(stream: stream.id, message: event(.fetchFromToken(database.id.scope), at: floor))
            case .event(let place, let message):
                streams[index].place = place
                stream.session.send(stream: stream.id, message: message)
            }
        }
    }

    // MARK: Positions

    /// The place that a position names; nil for a device that gives none and isn't known.
    private func resolve(_ position: [UInt8], device: [UInt8]) -> Result<ChangePosition?, ServiceError> {
        do throws(ServiceError) {
            guard let token = try sealer.open(position, kind: .notifications, scope: scope) else {
                return .success(acknowledged[device]?.place)
            }
            // A place of a lost future is behind nothing that this server knows: the device has to fetch.
            let isOurs = token.epoch == database.run(of: token.position) && token.position <= ring.head
            return .success(isOurs ? token.position : .start)
        } catch {
            return .failure(error)
        }
    }

    private func remember(_ device: [UInt8], _ place: ChangePosition) {
        uses += 1
        if let known = acknowledged[device], known.place >= place {
            acknowledged[device]!.use = uses
            return
        }
        if acknowledged[device] == nil, acknowledged.count >= ServerLimits.rememberedDevices {
            let oldest = acknowledged.min { $0.value.use < $1.value.use }!.key
            acknowledged[oldest] = nil
            hasEvictedDevices = true
        }
        acknowledged[device] = (place, uses)
    }

    private func event(
        _ kind: NotificationEvent.Kind, at place: ChangePosition, subscription: Subscription? = nil,
        committedMilliseconds: Int64 = 0
    ) -> [UInt8] {
        let epoch = database.run(of: place)
        let token = ChangeToken(kind: .notifications, epoch: epoch, incarnation: 0, position: place)
        return coder.encodeNotificationEvent(
            NotificationEvent(
                position: sealer.seal(token, scope: scope),
                notificationID: String(epoch, radix: 36) + "-" + String(place.rawValue, radix: 36),
                subscriptionID: subscription?.id ?? "", notificationInfo: subscription?.notificationInfo, kind: kind,
                committedMilliseconds: committedMilliseconds))
    }
}
