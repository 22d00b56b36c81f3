internal import BrumeModel
internal import BrumeSystem

/// An event on its way to a device, and the place after it.
struct NotificationDelivery: Sendable {
    var place: StreamPosition.Place
    /// An encoded `brume.v1.NotificationEvent` without its position.
    var message: [UInt8]
    /// What decides whether the user may read the record of an event; nil in a private database.
    var subject: NotificationSubject?
}

/// What decides whether a user may read a record: checked again when the event leaves, since roles may have been taken
/// away.
struct NotificationSubject: Equatable, Sendable {
    let recordType: String
    /// Whether the user made the record.
    let isOwn: Bool
}

/// A device that listens to one database's events. Belongs to the loop of the database.
protocol NotificationListener: AnyObject {
    var device: [UInt8] { get }
    /// The place after the last event that it took.
    var place: ChangePosition { get set }
    /// Whether it takes an event now.
    var mayTake: Bool { get }
    func take(_ delivery: NotificationDelivery)
    /// Takes all events of a run and returns true, or takes none and returns false; then they are offered one by one.
    func take(_ run: NotificationRun) -> Bool
    /// No more events come now.
    func flush()
    /// The device opened another stream.
    func displaced()
    /// The database sends no more events; the device has to come back.
    func end(_ error: ServiceError)
}

/// A stream on the loop of the database: the user's private one.
final class NearListener: NotificationListener {
    let device: [UInt8]
    /// Unowned, so that no references are counted for every event: the hub releases the listener when the stream ends,
    /// before the stream is released.
    private unowned(unsafe) let stream: DeviceStream
    var place = ChangePosition.start

    init(_ stream: DeviceStream) {
        self.stream = stream
        device = stream.device
    }

    var mayTake: Bool { stream.mayTakePrivateEvent }
    func take(_ delivery: NotificationDelivery) { stream.sendPrivate(delivery) }
    func take(_ run: NotificationRun) -> Bool { stream.sendPrivate(run) }
    func flush() {}
    func displaced() { stream.displaced() }
    func end(_ error: ServiceError) { stream.fail(error) }
}

/// A stream that may be on another loop than the database, which is the public one: events go there in batches, as many
/// as the stream has asked for.
///
/// `@unchecked Sendable`: made on the stream's loop and then owned by the one of the database.
final class FarListener: NotificationListener, @unchecked Sendable {
    let device: [UInt8]
    var place = ChangePosition.start
    private let stream: DeviceStream
    private let loop: EventLoop
    /// Called on the stream's loop, once, when the database has taken the listener in, or will not.
    private let settled: () -> Void
    private var isSettled = false
    /// Whether the stream has ended.
    var isClosed = false
    private var credit = ServiceLimits.publicEventsUnderWay
    private var batch: [NotificationDelivery] = []

    init(_ stream: DeviceStream, loop: EventLoop, settled: @escaping () -> Void) {
        self.stream = stream
        self.loop = loop
        self.settled = settled
        device = stream.device
    }

    var mayTake: Bool { credit > 0 && !isClosed }

    /// Tells the stream where its events begin, before any of them; nil if the database is damaged and there will be
    /// none.
    func start(at place: StreamPosition.Place?) {
        loop.execute { [stream] in stream.placed(publicPlace: place) }
        settle()
    }

    /// Notes that the database has answered, or that the stream ended before it could.
    func settle() {
        if isSettled { return }
        isSettled = true
        loop.execute { [self] in settled() }
    }

    /// Ends the stream, which can't listen to the database now.
    func fail(_ error: ServiceError) {
        loop.execute { [stream] in stream.fail(error) }
        settle()
    }

    func take(_ delivery: NotificationDelivery) {
        credit -= 1
        batch.append(delivery)
    }

    func take(_ run: NotificationRun) -> Bool {
        guard credit >= run.deliveries.count else { return false }
        credit -= run.deliveries.count
        batch += run.deliveries
        return true
    }

    func grant(_ count: Int) { credit += count }

    func flush() {
        if batch.isEmpty { return }
        let deliveries = batch
        batch = []
        loop.execute { [stream] in stream.receivedPublic(deliveries) }
    }

    /// Does nothing: the private database's hub, which every stream listens to, tells the stream.
    func displaced() {}

    func end(_ error: ServiceError) {
        isClosed = true
        fail(error)
    }
}
