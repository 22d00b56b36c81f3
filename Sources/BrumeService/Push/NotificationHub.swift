internal import BrumeModel
internal import BrumeRecord
internal import BrumeStore

/// The pushes of one database: durable commits become events of the users whose subscriptions they fire, and go to
/// those users' devices.
///
/// Lives on the loop that owns the database. An event that somebody listens for is encoded once, in ``publish(_:)``;
/// then (``deliver()``) the devices that stand where all others stand are given the new events in one
/// piece, and every other device takes them from its user's ring at its own pace. A commit costs nothing for users
/// whose subscriptions it does not fire, however many listen, and little for users without a connected device.
package final class NotificationHub {
    /// What one commit reports, matched when it was applied and published when it is durable.
    struct Publication {
        var sequence: UInt64
        var origin: ChangeOrigin
        var committedMilliseconds: Int64
        /// Zone and database subscriptions, which only private databases have.
        var hints: [KeptSubscription]
        var matches: CommitMatches

        var isEmpty: Bool { hints.isEmpty && matches.isEmpty }

        /// The number of events that it makes, orders to fetch included.
        var eventCount: Int { hints.count + matches.matches.count + matches.overflowingOwners.count }
    }

    let database: Database
    let coder: EventCoder
    private let backlogEvents: Int
    let backlogBytes: Int
    @exclusivity(unchecked) private(set) var mailboxes: [String: NotificationMailbox] = [:]
    /// Where the ring of a user who has none yet begins: nothing is known of what was before.
    private var floor: ChangePosition
    /// Whether devices may have listened before this hub existed, because the database was loaded. Then a device that
    /// gives no place, and that the hub doesn't know, may have missed something.
    private let hasForgottenDevices: Bool
    private var listenerCount = 0
    /// Mailboxes with devices that were not given the newest events, each once.
    @exclusivity(unchecked) var undelivered: [NotificationMailbox] = []
    @exclusivity(unchecked) var undeliveredEvents = 0
    /// Whether the shard has it among the hubs whose devices are to be given something.
    var isListed = false
    /// All rings' events, oldest first, where several users share the room for them.
    @exclusivity(unchecked) var order: [(mailbox: NotificationMailbox, position: ChangePosition)] = []
    private var firstInOrder = 0
    @exclusivity(unchecked) private var eventCount = 0 {
        didSet { figures.backlogEvents += eventCount - oldValue }
    }
    @exclusivity(unchecked) private(set) var ringBytes = 0 {
        didSet { figures.backlogBytes += ringBytes - oldValue }
    }
    /// Durable commits, the oldest first; the events of those from ``firstPublishing`` on have not all been made.
    @exclusivity(unchecked) var publishing: [Publishing] = []
    @exclusivity(unchecked) var firstPublishing = 0
    @exclusivity(unchecked) var publishedCommits: [UInt64] = []
    /// The commits after those that are not told one by one.
    @exclusivity(unchecked) var overflow: Overflow?
    /// Events that wait to be made.
    @exclusivity(unchecked) var waitingEvents = 0
    let waitingEventsLimit: Int
    /// The figures of all hubs of the shard.
    let figures: PushFigures

    /// - Parameters:
    ///   - mayHaveForgotten: Whether devices may have listened before that are no longer known: in an earlier life of
    ///     the server, or of this hub. For a database with commits this is taken for granted.
    ///   - backlogBytes: The limit for all users' events together.
    ///   - waitingEventsLimit: The number of events that may wait to be made; more become orders to fetch.
    ///   - figures: What all hubs of a shard count together.
    init(
        database: Database, head: ChangePosition, coder: EventCoder, mayHaveForgotten: Bool = false,
        backlogEvents: Int = ServiceLimits.backlogEvents, backlogBytes: Int = ServiceLimits.publicBacklogBytes,
        waitingEventsLimit: Int = ServiceLimits.eventsWaiting, figures: PushFigures = PushFigures()
    ) {
        self.waitingEventsLimit = waitingEventsLimit
        self.figures = figures
        self.database = database
        self.coder = coder
        self.backlogEvents = backlogEvents
        self.backlogBytes = backlogBytes
        floor = head
        hasForgottenDevices = mayHaveForgotten || head.sequence > 0
    }

    deinit {
        figures.backlogEvents -= eventCount
        figures.backlogBytes -= ringBytes
    }

    /// Events that are kept for devices, and their bytes.
    package var backlog: (events: Int, bytes: Int) {
        (eventCount, mailboxes.values.reduce(0) { $0 + $1.ring.byteCount })
    }

    /// Whether any device has ever listened, as far as it is known.
    var knowsDevices: Bool { hasForgottenDevices || mailboxes.values.contains(where: \.knowsDevices) }

    /// Whether any device listens.
    var hasStreams: Bool { listenerCount > 0 }

    /// About what the kept events, and what is known of devices, take in memory.
    var approximateBytes: Int {
        ringBytes + mailboxes.count * NotificationMailbox.overheadBytes
    }

    var isPublic: Bool { database.id.scope == .public }

    private lazy var lastPlace = StreamPosition.Place(run: database.run(of: .start), position: .start)

    // MARK: Devices

    /// Where a device's events begin.
    struct Start: Equatable, Sendable {
        var place: StreamPosition.Place
        /// Whether the hub knew where the device stood.
        var isResumed: Bool
    }

    /// Adds a device that begins to listen. Its events follow with ``pump(_:of:)``.
    ///
    /// - Parameter place: Where its last stream ended; nil to begin where it acknowledged last.
    func add(
        _ listener: any NotificationListener, of user: String, place: StreamPosition.Place?
    ) -> Result<Start, ServiceError> {
        let mailbox = mailbox(of: user)
        if let former = mailbox.listeners.first(where: { $0.device == listener.device }) {
            remove(former, of: user)
            former.displaced()
        }
        guard mailbox.listeners.count < ServiceLimits.streamsPerDatabase else {
            return .failure(
                ServiceError(
                    .requestRateLimited,
                    "\(mailbox.listeners.count) devices of this user hold a stream, which is the limit; close one",
                    retryAfterMilliseconds: 60_000))
        }
        var resumption: ChangePosition?
        if let place {
            // A place of a lost future comes after nothing that this server knows: the device has to fetch.
            let isOurs =
                place.run == database.run(of: place.position) && place.position <= max(mailbox.ring.head, floor)
            resumption = isOurs ? place.position : .start
        } else {
            resumption = mailbox.acknowledgedPlace(of: listener.device)
        }
        // From the start means from the floor: what was before it becomes an order to fetch.
        var start =
            resumption ?? (hasForgottenDevices || mailbox.hasEvictedDevices ? .start : mailbox.ring.head)
        if start < mailbox.ring.floor, !mayHaveMissed(mailbox, behind: start) { start = mailbox.ring.floor }
        listener.place = start
        // The device is known from now on: if nothing of this stream reaches it, not even that it is open, its next
        // stream begins here.
        if place != nil {
            mailbox.resumed(listener.device)
        } else if resumption == nil, start != .start {
            mailbox.began(at: start, listener.device)
        }
        mailbox.listeners.append(listener)
        listenerCount += 1
        return .success(
            Start(place: .init(run: database.run(of: start), position: start), isResumed: resumption != nil))
    }

    /// Whether a device at a place before the ring's floor may have missed events. In the public database most users
    /// never subscribe to anything; a user who ever did may have, even if no subscription is left.
    private func mayHaveMissed(_ mailbox: NotificationMailbox, behind place: ChangePosition) -> Bool {
        if !isPublic || mailbox.ring.hasDropped { return true }
        // A device that stands within a commit may have missed the rest of it, which may have ended its last
        // subscription.
        let isBehindAll = place == .end(ofSequence: place.sequence)
        let sequence = isBehindAll ? place.sequence : max(place.sequence, 1) - 1
        return database.hadSubscriptions(of: mailbox.owner, behind: sequence)
    }

    func remove(_ listener: any NotificationListener, of user: String) {
        guard let mailbox = mailboxes[user],
            let index = mailbox.listeners.firstIndex(where: { $0 === listener })
        else { return }
        mailbox.listeners.remove(at: index)
        listenerCount -= 1
    }

    /// Ends all streams, because the database can't be used any more.
    func endStreams(_ error: ServiceError) {
        let listening = mailboxes.filter { !$0.value.listeners.isEmpty }
        for (_, mailbox) in listening.sorted(by: { $0.key < $1.key }) {
            let listeners = exchange(&mailbox.listeners, with: [])
            listenerCount -= listeners.count
            for listener in listeners { listener.end(error) }
        }
    }

    /// Notes that the device has handled everything up to the place.
    func acknowledge(_ place: StreamPosition.Place, by device: [UInt8], of user: String) {
        let mailbox = mailbox(of: user)
        let isOurs =
            place.run == database.run(of: place.position) && place.position <= max(mailbox.ring.head, floor)
        mailbox.acknowledge(isOurs ? place.position : .start, by: device)
    }

    /// A position, with the run that wrote it.
    func place(_ position: ChangePosition) -> StreamPosition.Place {
        // Kept, since an event goes to many devices in a row.
        if lastPlace.position != position {
            lastPlace = StreamPosition.Place(run: database.run(of: position), position: position)
        }
        return lastPlace
    }

    func mailbox(of user: String) -> NotificationMailbox {
        if let known = mailboxes[user] { return known }
        if mailboxes.count >= ServiceLimits.mailboxesPerDatabase { forgetMailboxes() }
        let mailbox = NotificationMailbox(
            owner: user, ring: NotificationRing(head: floor, eventLimit: backlogEvents),
            deviceLimit: isPublic ? ServiceLimits.rememberedPublicDevices : ServiceLimits.rememberedDevices)
        mailboxes[user] = mailbox
        return mailbox
    }

    /// Forgets the users who don't listen: when they come back they are told to fetch.
    private func forgetMailboxes() {
        var newest = floor
        for mailbox in mailboxes.values where mailbox.listeners.isEmpty {
            newest = max(newest, mailbox.ring.head)
            mailboxes[mailbox.owner] = nil
            eventCount -= mailbox.ring.eventCount
            ringBytes -= mailbox.ring.approximateBytes
            mailbox.drop(through: mailbox.ring.head)
        }
        floor = newest
        forgetStaleOrder()
    }

    // MARK: Room

    /// Counts what a change of a mailbox's ring adds or takes.
    func note(_ mailbox: NotificationMailbox, _ change: () -> Void) {
        ringBytes -= mailbox.ring.approximateBytes
        eventCount -= mailbox.ring.eventCount
        change()
        ringBytes += mailbox.ring.approximateBytes
        eventCount += mailbox.ring.eventCount
    }

    /// Drops the oldest events, whoever their users are, while all of them take too much room, up to the first one that
    /// devices have to be given yet.
    func dropOldest() {
        while ringBytes > backlogBytes, firstInOrder < order.count {
            let (mailbox, position) = order[firstInOrder]
            if mailbox.isUndelivered(position) { break }
            firstInOrder += 1
            note(mailbox) { mailbox.drop(through: position) }
        }
        // What the rings dropped by themselves stays in `order` for a while.
        if order.count > 1024 + 2 * eventCount { forgetStaleOrder() }
    }

    private func forgetStaleOrder() {
        order = order[firstInOrder...].filter { $0.position > $0.mailbox.ring.floor }
        firstInOrder = 0
    }
}
