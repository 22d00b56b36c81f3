/// The deletion of an earlier zone whose name another zone has now.
package struct EarlierDeletion: Equatable, Sendable {
    package var position: ChangePosition
    package var reason: ZoneDeletionReason

    package init(position: ChangePosition, reason: ZoneDeletionReason) {
        self.position = position
        self.reason = reason
    }
}
