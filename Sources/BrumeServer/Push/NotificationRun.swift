internal import BrumeModel

/// Events that stand one behind the other, and the place before them: all the devices that stand there are given them
/// at once.
final class NotificationRun {
    /// The events stand behind it.
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

    /// Behind the last one.
    var end: ChangePosition { deliveries[deliveries.count - 1].place.position }

    /// Whether the device is not to get all of them.
    func leavesOut(_ device: [UInt8]) -> Bool { origins.contains(device) }
}
