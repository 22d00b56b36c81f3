internal import BrumeModel

/// Consecutive events, and the place before them: all devices that stand there are given them at once.
final class NotificationRun {
    /// The place before the events.
    let start: ChangePosition
    /// Never empty.
    let deliveries: [NotificationDelivery]
    /// Devices that made the changes; each is left out of its own.
    private let origins: Set<[UInt8]>

    init(after start: ChangePosition, _ deliveries: [NotificationDelivery], origins: Set<[UInt8]>) {
        precondition(!deliveries.isEmpty, "a run has events")
        self.start = start
        self.deliveries = deliveries
        self.origins = origins
    }

    /// The place after the last event.
    var end: ChangePosition { deliveries[deliveries.count - 1].place.position }

    /// Whether the device must not get all of them.
    func leavesOut(_ device: [UInt8]) -> Bool { origins.contains(device) }
}
