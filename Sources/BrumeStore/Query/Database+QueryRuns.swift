internal import BrumeModel

/// A weak reference to a query, which ends with whoever asked for it.
struct WeakQueryRun {
    weak var run: QueryRun?
}

/// What a database does for the queries that read it as it was at one commit, while others follow.
///
/// A query of all zones takes them one after the other, and commits go on meanwhile. So a zone that is about to change
/// is first given to each query that has yet to take it.
extension Database {
    /// Adds a run, which is told of changes from now on.
    func add(_ run: QueryRun) {
        remove(run)
        queryRuns.append(WeakQueryRun(run: run))
    }

    func remove(_ run: QueryRun) {
        queryRuns.removeAll { $0.run == nil || $0.run === run }
    }

    /// Called before anything changes in a zone, its deletion included.
    func keepForQueries(zoneAt index: Int) {
        for weak in queryRuns { weak.run?.zoneWillChange(at: index) }
    }

    /// Called after a record was put or deleted.
    func tellQueries(of slot: Int32, inZoneAt index: Int) {
        let zone = zoneStates[index].incarnation
        for weak in queryRuns { weak.run?.noteChange(slot, inZone: zone) }
    }

    /// Called when a zone has got its first record, or lost its last one.
    func populationChanged(ofZoneAt index: Int) {
        let zone = zoneStates[index].incarnation
        var (low, high) = (0, populatedZones.count)
        while low < high {
            let middle = (low + high) / 2
            if populatedZones[middle] < zone { low = middle + 1 } else { high = middle }
        }
        if zoneStates[index].liveCount > 0 {
            populatedZones.insert(zone, at: low)
        } else {
            populatedZones.remove(at: low)
        }
    }
}
