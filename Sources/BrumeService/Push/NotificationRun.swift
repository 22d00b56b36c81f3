internal import BrumeModel

/// Consecutive events, and the place before them: all devices that stand there are given them at once.
final class NotificationRun {
    /// The place before the events.
    let start: ChangePosition
    /// Never empty.
    let deliveries: [NotificationDelivery]
    /// What the events take of a stream's credit at least: their positions take more.
    let leastCredit: StreamCredit
    /// Devices that made the changes; each is left out of its own.
    private let origins: Set<[UInt8]>

    init(after start: ChangePosition, _ deliveries: [NotificationDelivery], origins: Set<[UInt8]>) {
        precondition(!deliveries.isEmpty, "a run has events")
        self.start = start
        self.deliveries = deliveries
        leastCredit = StreamCredit(
            messages: deliveries.count, bytes: deliveries.reduce(0) { $0 + $1.message.count })
        self.origins = origins
    }

    /// The place after the last event.
    var end: ChangePosition { deliveries[deliveries.count - 1].place.position }

    /// Whether the device must not get all of them.
    func leavesOut(_ device: [UInt8]) -> Bool { origins.contains(device) }
}
