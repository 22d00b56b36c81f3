internal import BrumeModel
internal import BrumeStore

/// One user's events in one database, and the devices that listen to them.
final class NotificationMailbox {
    /// About how many bytes a mailbox takes without its events.
    static let overheadBytes = 512

    /// The user, as subscriptions name their owner: empty in a private database.
    let owner: String
    @exclusivity(unchecked) private(set) var ring: NotificationRing
    @exclusivity(unchecked) var listeners: [any NotificationListener] = []
    /// The device that is to be given events first.
    var nextListener = 0
    /// The number of events that its devices are to be given, and their bytes in the ring.
    var undeliveredCount = 0
    var undeliveredBytes = 0
    /// Where each device acknowledged last, and a count that says how recently.
    private var acknowledged: [[UInt8]: (place: ChangePosition, use: UInt64)] = [:]
    private let deviceLimit: Int
    private var uses: UInt64 = 0
    /// Whether the table was ever full: then a device that isn't in it may have been.
    private(set) var hasEvictedDevices = false

    init(owner: String, ring: NotificationRing, deviceLimit: Int) {
        self.owner = owner
        self.ring = ring
        self.deviceLimit = deviceLimit
    }

    /// The position of the next event of a commit.
    func nextPosition(inCommit sequence: UInt64) -> ChangePosition {
        ChangePosition(
            sequence: sequence,
            index: ring.head.sequence == sequence ? min(ring.head.index + 1, 1 << 20 - 1) : 0)
    }

    /// Whether an event pushes out none that the devices are to be given. Older ones may go: a ring is
    /// mostly full.
    func keepsUndelivered(with event: NotificationRing.Event) -> Bool {
        ring.holds(undeliveredCount + 1, byteCount: undeliveredBytes + NotificationRing.bytes(of: event))
    }

    /// Whether the ring's oldest event, at the position, is one that the devices have to be given yet.
    func isUndelivered(_ position: ChangePosition) -> Bool {
        undeliveredCount > 0 && position > ring.floor && ring.eventCount <= undeliveredCount
    }

    func append(_ event: NotificationRing.Event) { ring.append(event) }

    func overflow(at position: ChangePosition) { ring.overflow(at: position) }

    func drop(through position: ChangePosition) { ring.drop(through: position) }

    var knowsDevices: Bool { !acknowledged.isEmpty || hasEvictedDevices }

    /// Where a device acknowledged last, as far as it is known.
    func acknowledgedPlace(of device: [UInt8]) -> ChangePosition? { acknowledged[device]?.place }

    /// Notes that an unknown device began at the place. No device is forgotten for it: when there are more devices than
    /// are remembered, those that were never heard from are the ones that are not.
    func began(at place: ChangePosition, _ device: [UInt8]) {
        if acknowledged.count < deviceLimit { acknowledge(place, by: device) }
    }

    /// Notes that a device said where its last stream ended. It received everything up to there, and may have handled
    /// less: if it comes again without a place before it acknowledges anything, it is told to fetch.
    func resumed(_ device: [UInt8]) {
        if acknowledged[device] != nil { return }
        if acknowledged.count < deviceLimit {
            acknowledge(.start, by: device)
        } else {
            hasEvictedDevices = true
        }
    }

    /// Notes that the device has handled everything up to the place.
    func acknowledge(_ place: ChangePosition, by device: [UInt8]) {
        uses += 1
        if let known = acknowledged[device], known.place >= place {
            acknowledged[device]!.use = uses
            return
        }
        if acknowledged[device] == nil, acknowledged.count >= deviceLimit {
            let oldest = acknowledged.min { $0.value.use < $1.value.use }!.key
            acknowledged[oldest] = nil
            hasEvictedDevices = true
        }
        acknowledged[device] = (place, uses)
    }
}
