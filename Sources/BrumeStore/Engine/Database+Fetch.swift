package import BrumeModel
internal import BrumeRecord

extension Database {
    /// Records by id, in the order of the request: `unknownItem` for those that are missing, `zoneNotFound` for those
    /// of a missing zone. In the public database a record that the caller may not read is as missing.
    ///
    /// The answer stops growing at ``Limits/pageBytes``, and at ``Limits/pageFieldsRead`` where records are shown in
    /// part; what did not fit is `deferred`. At least one record always fits.
    package func fetchRecords(
        _ request: FetchRecordsRequest, caller: Caller? = nil
    ) -> [[RecordOutcome<SharedBytes>]] {
        assert(answers(request.database), "a request was routed to a database of another scope")
        let caller = caller ?? ownCaller
        var bytes = 0
        var fieldsRead = 0
        var isFull = false
        return request.zones.map { fetch in
            let index: Int
            switch zoneIndex(of: fetch.zone, for: caller) {
            case .failure(let error): return fetch.names.map { _ in .failure(error) }
            case .success(let known): index = known
            }
            let member = isOwn(caller) ? nil : member(caller, ofZoneAt: index)
            return fetch.names.map { name -> RecordOutcome<SharedBytes> in
                guard let slot = liveSlot(of: name, inZoneAt: index) else { return .failure(Database.missingRecord) }
                if member != nil, !zoneStates[index].isVisible(slot, to: member) {
                    return .failure(Database.missingRecord)
                }
                if caller.access != nil, !Database.mayRead(zoneStates[index].slots[slot], caller) {
                    return .failure(Database.missingRecord)
                }
                if isFull { return .deferred }
                if fieldsRead > Limits.pageFieldsRead {
                    isFull = true
                    return .deferred
                }
                let slots = zoneStates[index].slots
                let shown = shown(
                    slot, of: slots, request.desiredKeys, zone: zoneStates[index].incarnation,
                    to: caller.user)
                if request.desiredKeys != nil { fieldsRead += Database.fieldsReadAtMost(inBytes: shown.readBytes) }
                if bytes > 0, bytes + shown.cost > Limits.pageBytes {
                    isFull = true
                    return .deferred
                }
                bytes += shown.cost
                return .record(shown.record)
            }
        }
    }

    /// All records of a zone, in no order; none when there is no such zone. Checks no permissions.
    package func allRecords(in zone: ZoneID) -> [SharedBytes] {
        guard case .success(let index) = zoneIndex(of: zone) else { return [] }
        let slots = zoneStates[index].slots
        return zoneStates[index].liveSlots.map {
            shown($0.slot, of: slots, nil, zone: zoneStates[index].incarnation, to: id.owner).record
        }
    }

    private static let missingRecord = ServiceError(.unknownItem, "there is no such record; it may be deleted")

    /// Whether the caller may read the record. One that they may not read appears missing to them, whatever they ask.
    static func mayRead(_ record: RecordSlot, _ caller: Caller) -> Bool {
        guard let access = caller.access else { return true }
        return record.withBytes { bytes in
            let type = String(decoding: StoredRecord.head(of: bytes).type, as: UTF8.self)
            // Looked up first without the creator, because usually everybody may read.
            if access.permissions(type: type, isCreator: false).contains(.read) { return true }
            let creator = String(decoding: StoredRecord.creator(of: bytes), as: UTF8.self)
            return access.may(.read, type: type, creator: creator)
        }
    }

    static func project(_ record: SharedBytes, _ desiredKeys: DesiredKeys?) -> SharedBytes {
        guard let desiredKeys else { return record }
        return StoredRecord.project(record, keys: desiredKeys)
    }
}
