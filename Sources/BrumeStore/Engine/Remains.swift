/// What a deleted zone or a dropped database held. A million records are a million pieces of memory, which take a quarter of a
/// second to give back: the host does that where nobody waits for it.
///
/// `@unchecked Sendable`: the database has let go of it.
package final class Remains: @unchecked Sendable {
    /// A zone with fewer slots goes at once.
    static let slotsMin = 64

    private var zones: [ZoneState]
    private var indexes: [ZoneIndexes]

    init(zones: [ZoneState], indexes: [ZoneIndexes] = []) {
        self.zones = zones
        self.indexes = indexes
    }

    /// Once, on any thread.
    package func giveBack() {
        zones = []
        indexes = []
    }
}

extension Database {
    /// Takes everything out of a database that is not used any more.
    package func takeApart() -> Remains {
        let remains = Remains(zones: zoneStates, indexes: Array(zoneIndexes.values))
        zoneStates = []
        zoneIndexes = [:]
        return remains
    }

    /// Puts a zone into the place of one that was deleted, whose memory is given back elsewhere if it is much.
    func replaceZone(at index: Int, with state: ZoneState) {
        let former = withZone(at: index) { exchange(&$0, with: state) }
        if let giveBack, former.slots.count >= Remains.slotsMin { giveBack(Remains(zones: [former])) }
    }
}
