package import BrumeModel

/// When the zones of others changed last in which a user takes part, as their owners' databases tell. In memory alone:
/// another run, after a start or when it was forgotten, means that all may have changed.
package struct ZoneTouches: Sendable {
    /// Tells it from what was there before: never used twice.
    package let run: UInt32
    /// The number of the last change.
    package private(set) var sequence: UInt64 = 0
    private var last: [ZoneID: UInt64] = [:]

    package init(run: UInt32) {
        self.run = run
    }

    /// Zones that are noted.
    package var count: Int { last.count }

    package mutating func touch(_ zone: ZoneID) {
        sequence += 1
        last[zone] = sequence
    }

    /// Zones came or went, which the user's database tells by itself; what is told here has another number from now on.
    package mutating func changedZones(gone: ZoneID?) {
        sequence += 1
        if let gone { last[gone] = nil }
    }

    /// The zones that changed since, oldest change first.
    func zones(after sequence: UInt64) -> [(zone: ZoneID, sequence: UInt64)] {
        if sequence >= self.sequence { return [] }
        return last.filter { $0.value > sequence }.map { (zone: $0.key, sequence: $0.value) }
            .sorted { $0.sequence < $1.sequence }
    }
}
