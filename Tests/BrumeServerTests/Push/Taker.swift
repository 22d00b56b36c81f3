import BrumeModel
import BrumeProtocol
import BrumeStore

@testable import BrumeServer
@testable import BrumeService

/// A device that takes what it gets.
final class Taker: NotificationListener {
    let device: [UInt8]
    var place = ChangePosition.start
    var mayTake = true
    var taken: [NotificationEvent] = []
    var places: [StreamPosition.Place] = []
    var isDisplaced = false
    var takesRuns = true
    /// How many events each run had that it took.
    var runs: [Int] = []

    init(_ device: UInt8) { self.device = Array(repeating: device, count: 16) }

    func take(_ delivery: NotificationDelivery) {
        places.append(delivery.place)
        taken.append(
            delivery.message.withUnsafeBytes { bytes in
                do throws(ServiceError) {
                    return try MessageCoder().decodeNotificationEvent(bytes)
                } catch {
                    preconditionFailure("an event can't be read: \(error.message)")
                }
            })
    }

    /// All at once only where it was asked to.
    func take(_ run: NotificationRun) -> Bool {
        guard takesRuns, mayTake else { return false }
        runs.append(run.deliveries.count)
        for delivery in run.deliveries { take(delivery) }
        return true
    }

    func flush() {}
    func displaced() { isDisplaced = true }
    func end(_ error: ServiceError) {}

    /// The record of each event of a query subscription, and the kind of all others.
    var summary: [String] {
        taken.map {
            if case .recordChanged(let change) = $0.kind { return "\($0.subscriptionID) \(change.recordName)" }
            return "\($0.kind)"
        }
    }
}
