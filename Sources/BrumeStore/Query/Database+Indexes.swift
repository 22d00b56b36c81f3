internal import BrumeModel

extension Database {
    /// Puts a record into a zone and into the zone's indexes.
    ///
    /// - Parameter existing: The slot of its older version, where that is known.
    func putRecord(_ record: RecordSlot, replacing existing: Int32? = nil, inZoneAt index: Int) {
        guard !zoneIndexes.isEmpty, let indexes = zoneIndexes[zoneStates[index].incarnation] else {
            _ = withZone(at: index) { $0.put(record, replacing: existing) }
            return
        }
        let old = (existing ?? zoneStates[index].liveSlot(of: record.name)).map { zoneStates[index][$0] }
        let slot = withZone(at: index) { $0.put(record, replacing: existing) }
        indexes.noteChange(slot, from: old, to: zoneStates[index][slot])
    }

    /// Deletes a record from a zone and from the zone's indexes.
    func deleteRecord(_ slot: Int32, at position: ChangePosition, inZoneAt index: Int) {
        let old = zoneStates[index][slot]
        withZone(at: index) { $0.delete(slot, at: position, tombstoneLimit: history.tombstonesPerZone) }
        zoneIndexes[zoneStates[index].incarnation]?.noteChange(slot, from: old, to: nil)
    }

    /// The indexes of a zone that is worth them, or nil: they are begun, or begun anew where most of their numbers are worn.
    func indexes(ofZoneAt index: Int) -> ZoneIndexes? {
        let zone = zoneStates[index]
        guard zone.liveCount >= indexedZoneMinimum else { return nil }
        if let known = zoneIndexes[zone.incarnation], !known.isWorn { return known }
        let indexes = ZoneIndexes(breaker: wordBreaker)
        zoneIndexes[zone.incarnation] = indexes
        return indexes
    }
}
