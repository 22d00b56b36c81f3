package import BrumeModel
internal import BrumeWire

extension Database {
    /// Records by id, in the order of the request: `unknownItem` for those that are missing, `zoneNotFound` for those of a
    /// missing zone.
    ///
    /// The answer stops growing at ``Limits/pageBytes``; what did not fit is `deferred`. At least one record always fits.
    package func fetchRecords(_ request: FetchRecordsRequest) -> [[RecordOutcome<[UInt8]>]] {
        assert(request.database == id.scope, "a request was routed to a database of another scope")
        var bytes = 0
        var isFull = false
        return request.zones.map { fetch in
            let index: Int
            switch zoneIndex(of: fetch.zone) {
            case .failure(let error): return fetch.names.map { _ in .failure(error) }
            case .success(let known): index = known
            }
            return fetch.names.map { name -> RecordOutcome<[UInt8]> in
                guard let slot = zoneStates[index].liveSlot(of: name) else {
                    return .failure(ServiceError(.unknownItem, "there is no such record; it may be deleted"))
                }
                if isFull { return .deferred }
                let record = Database.project(zoneStates[index][slot].bytes, request.desiredKeys)
                if bytes > 0, bytes + record.count > Limits.pageBytes {
                    isFull = true
                    return .deferred
                }
                bytes += record.count
                return .record(record)
            }
        }
    }

    static func project(_ record: [UInt8], _ desiredKeys: DesiredKeys?) -> [UInt8] {
        guard let desiredKeys else { return record }
        return StoredRecord.project(record, keys: desiredKeys)
    }
}
