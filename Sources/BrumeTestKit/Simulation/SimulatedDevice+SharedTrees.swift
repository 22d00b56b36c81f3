internal import BrumeModel

/// What is checked of zones in which single records are shared with a device's user.
extension SimulatedDevice {
    /// I15: a user is shown what stands below the roots that are shared with them, as some commit left it.
    func check(
        _ page: ZoneChangesPage<Record, [UInt8]>, ofTreesIn zone: ZoneID, start: UInt64, seen: UInt64
    ) {
        let timeline = simulation.history[simulation.privateDatabase(of: zone.owner)]
        let shown = page.records.map { ($0.system.name, $0.system.changeTag) }
        let isTrue = timeline.wasTrue(since: seen) { state in
            guard state.start(of: user, in: zone.name) == start, let view = state.zones[zone.name]?.view(of: user)
            else {
                return false
            }
            return shown.allSatisfy { view[$0] == $1 } && page.deletions.allSatisfy { view[$0.name] == nil }
        }
        if !isTrue { simulation.violated("I15: \(user) is shown something of \(zone.name) that no commit shows them") }
        for record in page.records where record.share != nil && record.system.parent != nil {
            simulation.violated("I15: \(user) is shown the parent of a root in \(zone.name)")
        }
    }

    /// I3: who has fetched all holds what some commit shows them.
    func checkWhole(_ records: [String: String], ofTreesIn zone: ZoneID, start: UInt64, seen: UInt64) {
        let timeline = simulation.history[simulation.privateDatabase(of: zone.owner)]
        let isTrue = timeline.wasTrue(since: seen) { state in
            state.start(of: user, in: zone.name) == start && state.zones[zone.name]?.view(of: user) == records
        }
        if !isTrue { simulation.violated("I3: \(user) does not hold of \(zone.name) what is shared with them") }
    }

    /// I15: a user changed what was theirs to change, and what they made stands below what is shared with them.
    func checkWrites(_ before: CommitHistory.State, _ after: CommitHistory.State, in name: String) {
        guard let old = before.zones[name], let new = after.zones[name] else { return }
        for record in Set(old.records.keys).union(new.records.keys) {
            if old.records[record]?.record == new.records[record]?.record { continue }
            if old.records[record]?.share != nil { continue }
            // By what they might do before: the same request may leave the share.
            let cover = old.records[record] == nil ? new.cover(of: record) : old.cover(of: record)
            let permission = cover.flatMap { old.records[$0]?.share?.participant(ofUser: user)?.permission }
            let isMoved =
                old.records[record] != nil && new.records[record] != nil
                && old.cover(of: record) != new.cover(of: record)
            let isUndone = new.records[record] == nil && old.isShared(record)
            if permission != .readWrite || isMoved || isUndone {
                simulation.violated("I15: \(user) changed \(record) in \(name), which was not theirs to change so")
            }
        }
    }
}
