internal import BrumeModel

/// How much of its past a database keeps. Every database has the standard limits; tests take small ones.
///
/// Commits alone decide what is dropped: a database that is replayed, or read from a snapshot, has dropped the same.
package struct HistoryLimits: Equatable, Sendable {
    /// See ``Limits/tombstonesPerZone``. At least 2, so that the newest one always stays.
    package var tombstonesPerZone: Int
    /// See ``Limits/tombstonesPerDatabase``.
    package var tombstones: Int
    /// See ``Limits/deletedZonesPerDatabase``. At least 2.
    package var deletedZones: Int
    /// See ``Limits/runsPerDatabase``.
    package var runs: Int

    /// - Parameter tombstones: The limit of all zones together; nil for none but the zones' own.
    package init(tombstonesPerZone: Int, tombstones: Int? = nil, deletedZones: Int, runs: Int) {
        precondition(tombstonesPerZone >= 2 && deletedZones >= 2 && runs >= 1, "a history needs room for two deletions")
        self.tombstonesPerZone = tombstonesPerZone
        self.tombstones = tombstones ?? .max
        self.deletedZones = deletedZones
        self.runs = runs
    }

    package static let standard = HistoryLimits(
        tombstonesPerZone: Limits.tombstonesPerZone, tombstones: Limits.tombstonesPerDatabase,
        deletedZones: Limits.deletedZonesPerDatabase, runs: Limits.runsPerDatabase)
}
