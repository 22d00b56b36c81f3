package import BrumeModel
internal import BrumeWire

extension Database {
    /// Records by id, in the order of the request: `unknownItem` for those that are missing, `zoneNotFound` for those of a
    /// missing zone.
    ///
    /// In the public database `permissionFailure` for a record that the caller may not read.
    ///
    /// The answer stops growing at ``Limits/pageBytes``; what did not fit is `deferred`. At least one record always fits.
    package func fetchRecords(
        _ request: FetchRecordsRequest, caller: Caller? = nil
    ) -> [[RecordOutcome<SharedBytes>]] {
        assert(request.database == id.scope, "a request was routed to a database of another scope")
        var bytes = 0
        var isFull = false
        return request.zones.map { fetch in
            let index: Int
            switch zoneIndex(of: fetch.zone) {
            case .failure(let error): return fetch.names.map { _ in .failure(error) }
            case .success(let known): index = known
            }
            return fetch.names.map { name -> RecordOutcome<SharedBytes> in
                guard let slot = liveSlot(of: name, inZoneAt: index) else {
                    return .failure(ServiceError(.unknownItem, "there is no such record; it may be deleted"))
                }
                if let caller, caller.access != nil,
                    let refusal = Database.readRefusal(of: zoneStates[index].slots[slot], for: caller)
                {
                    return .failure(refusal)
                }
                if isFull { return .deferred }
                let record = Database.project(zoneStates[index].slots.bytes(of: slot), request.desiredKeys)
                if bytes > 0, bytes + record.count > Limits.pageBytes {
                    isFull = true
                    return .deferred
                }
                bytes += record.count
                return .record(record)
            }
        }
    }

    /// Why the caller may not read the record, or nil.
    static func readRefusal(of record: RecordSlot, for caller: Caller) -> ServiceError? {
        guard let access = caller.access,
            !access.permissions(type: record.type, isCreator: false).contains(.read)
        else { return nil }
        let creator: String
        do throws(ServiceError) { creator = try StoredRecord.parts(of: record.bytes).system.creator } catch {
            return error
        }
        return access.refusal(.read, type: record.type, creator: creator)
    }

    static func project(_ record: SharedBytes, _ desiredKeys: DesiredKeys?) -> SharedBytes {
        guard let desiredKeys else { return record }
        return StoredRecord.project(record, keys: desiredKeys)
    }
}
