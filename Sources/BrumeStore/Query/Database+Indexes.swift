internal import BrumeModel
internal import BrumeRecord

extension Database {
    /// Puts a record into a zone and into the zone's indexes, and returns its slot.
    ///
    /// - Parameters:
    ///   - position: Must be greater than every earlier position.
    ///   - existing: The slot of its older version, where that is known.
    ///   - references: How its references differ from those of the older version, where that is known.
    @discardableResult
    func putRecord(
        _ record: SharedBytes, marks: RecordMarks, at position: ChangePosition, replacing existing: Int32? = nil,
        references: ReferenceChange = .unknown, inZoneAt index: Int
    ) -> Int32 {
        if marks.contains(.assets) || zoneStates[index].assetHolderCount > 0 {
            noteAssets(of: record, marks, replacing: existing, inZoneAt: index)
        }
        guard !zoneIndexes.isEmpty, let indexes = zoneIndexes[zoneStates[index].incarnation] else {
            let slot = withZone(at: index) {
                $0.put(
                    record, marks: marks, at: position, replacing: existing, references: references)
            }
            if !queryRuns.isEmpty { tellQueries(of: slot, inZoneAt: index) }
            return slot
        }
        let known =
            existing
            ?? record.withUnsafeBytes {
                zoneStates[index].liveSlot(of: String(decoding: StoredRecord.head(of: $0).name, as: UTF8.self))
            }
        let old = known.map { zoneStates[index][$0] }
        let slot = withZone(at: index) {
            $0.put(record, marks: marks, at: position, replacing: existing, references: references)
        }
        if !queryRuns.isEmpty { tellQueries(of: slot, inZoneAt: index) }
        note(slot, from: old, to: zoneStates[index][slot], at: position, in: indexes, ofZoneAt: index)
        return slot
    }

    /// Deletes a record from a zone and from the zone's indexes.
    ///
    /// - Parameter references: The record's references to others, where they are known.
    func deleteRecord(
        _ slot: Int32, at position: ChangePosition, inZoneAt index: Int, references: RecordReferences? = nil
    ) {
        let old = zoneStates[index][slot]
        if old.marks.contains(.assets) { assetReleases.append(old.bytes, at: sequence + 1) }
        let limit = tombstoneLimit(ofZoneAt: index)
        withZone(at: index) {
            $0.delete(slot, at: position, tombstoneLimit: limit, references: references)
        }
        if !queryRuns.isEmpty { tellQueries(of: slot, inZoneAt: index) }
        guard !zoneIndexes.isEmpty, let indexes = zoneIndexes[zoneStates[index].incarnation] else { return }
        note(slot, from: old, to: nil, at: position, in: indexes, ofZoneAt: index)
    }

    private func note(
        _ slot: Int32, from old: RecordSlot?, to new: RecordSlot?, at position: ChangePosition, in indexes: ZoneIndexes,
        ofZoneAt index: Int
    ) {
        indexBacklog.begin(commit: position.sequence, units: indexLimits.promptUnits)
        indexes.noteChange(slot, from: old, to: new, &indexBacklog.unitsLeft)
        if indexes.hasPending { indexBacklog.add(zoneStates[index].incarnation) }
    }

    /// Returns the indexes of a zone that is large enough to have them, and starts building those that are missing or
    /// need a rebuild.
    func indexes(ofZoneAt index: Int) -> ZoneIndexes? {
        let zone = zoneStates[index]
        guard zone.liveCount >= indexedZoneMinimum else { return nil }
        if let known = zoneIndexes[zone.incarnation], !known.needsRebuild { return known }
        let indexes = ZoneIndexes(
            breaker: wordBreaker, scratch: indexScratch, limits: indexLimits, remains: indexRemains)
        zoneIndexes[zone.incarnation] = indexes
        return indexes
    }

    /// The indexes that a zone has, if it is still large enough for them.
    func madeIndexes(ofZoneAt index: Int) -> ZoneIndexes? {
        zoneStates[index].liveCount < indexedZoneMinimum ? nil : zoneIndexes[zoneStates[index].incarnation]
    }
}
