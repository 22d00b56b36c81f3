package import BrumeModel

/// How far a device has read the changes of its user's shared database.
package struct SharedDatabaseToken: Equatable, Sendable {
    /// How far it has read which zones came and went, in the user's own database.
    package var zones: ChangeToken
    /// See ``ZoneTouches/run``.
    package var touchRun: UInt32
    /// The last of the changes in these zones that it was told of.
    package var touchSequence: UInt64

    package init(zones: ChangeToken, touchRun: UInt32, touchSequence: UInt64) {
        self.zones = zones
        self.touchRun = touchRun
        self.touchSequence = touchSequence
    }
}
