/// The deletion of the zone that had the name of another one before.
package struct EarlierDeletion: Equatable, Sendable {
    package var position: ChangePosition
    package var reason: ZoneDeletionReason

    package init(position: ChangePosition, reason: ZoneDeletionReason) {
        self.position = position
        self.reason = reason
    }
}
