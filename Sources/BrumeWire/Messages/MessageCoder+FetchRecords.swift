package import BrumeModel
internal import CBrumeProto
internal import CProtobufC

/// `Records.Fetch`, both sides.
extension MessageCoder {
    /// Reads a request. Record names are still to be checked by ``Names``; a name may stand there twice.
    package func decodeFetchRecordsRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> FetchRecordsRequest
    {
        let message = try request(brume__v1__fetch_records_request__unpack, bytes)
        let database = try RequestChecks.scope(message.pointee.database)
        try RequestChecks.itemCount(message.pointee.n_zones, "zones")
        var items = 0
        for index in 0..<message.pointee.n_zones { items += message.pointee.zones[index]!.pointee.n_names }
        try RequestChecks.itemCount(items, "records to fetch")
        let zones = try values(message.pointee.zones, message.pointee.n_zones) { (zone) throws(ServiceError) in
            FetchRecordsRequest.ZoneFetch(
                zone: try RequestChecks.zone(zone.pointee.zone),
                names: lossyTexts(zone.pointee.names, zone.pointee.n_names))
        }
        try RequestChecks.distinctZones(zones.map(\.zone))
        return FetchRecordsRequest(
            database: database, zones: zones, desiredKeys: try RequestChecks.desiredKeys(message.pointee.desired_keys))
    }

    /// Writes the answer, one list of outcomes for each zone; records go into it as they are given.
    package func encodeFetchRecordsResponse(_ zones: [[RecordOutcome<[UInt8]>]]) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__server__v1__fetch_records_response_view__init)
            message.pointee.n_zones = zones.count
            message.pointee.zones = arena.messages(zones) { outcomes in
                let zone = arena.make(brume__server__v1__zone_fetch_result_view__init)
                zone.pointee.n_records = outcomes.count
                zone.pointee.records = arena.messages(outcomes, arena.recordResult)
                return zone
            }
            return message
        }
    }

    package func encodeFetchRecordsRequest(_ request: FetchRecordsRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_records_request__init)
            message.pointee.database = Brume__V1__DatabaseScope(UInt32(request.database.rawValue))
            message.pointee.n_zones = request.zones.count
            message.pointee.zones = arena.messages(request.zones) { fetch in
                let zone = arena.make(brume__v1__zone_fetch__init)
                zone.pointee.zone = arena.zoneID(fetch.zone)
                zone.pointee.n_names = fetch.names.count
                zone.pointee.names = arena.list(fetch.names)
                return zone
            }
            message.pointee.desired_keys = arena.desiredKeys(request.desiredKeys)
            return message
        }
    }

    package func decodeFetchRecordsResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> [[RecordOutcome<Record>]] {
        let message = try answer(brume__server__v1__fetch_records_response_view__unpack, bytes)
        return try values(message.pointee.zones, message.pointee.n_zones) { (zone) throws(ServiceError) in
            try values(zone.pointee.records, zone.pointee.n_records) { (result) throws(ServiceError) in
                switch result.pointee.outcome_case {
                case BRUME__SERVER__V1__RECORD_RESULT_VIEW__OUTCOME_RECORD:
                    return .record(
                        try StoredRecord.decode(result.pointee.record.rawBuffer, fieldArena: self.fieldArena))
                case BRUME__SERVER__V1__RECORD_RESULT_VIEW__OUTCOME_ERROR:
                    return .failure(ServiceError(result.pointee.error))
                case BRUME__SERVER__V1__RECORD_RESULT_VIEW__OUTCOME_DEFERRED:
                    return .deferred
                default:
                    throw Self.unreadableAnswer("the result of a fetch is neither a record nor an error")
                }
            }
        }
    }
}

extension MessageArena {
    fileprivate func recordResult(_ outcome: RecordOutcome<[UInt8]>) -> Pointer<Brume__Server__V1__RecordResultView> {
        let message = make(brume__server__v1__record_result_view__init)
        switch outcome {
        case .record(let record):
            message.pointee.outcome_case = BRUME__SERVER__V1__RECORD_RESULT_VIEW__OUTCOME_RECORD
            message.pointee.record = data(record)
        case .failure(let error):
            message.pointee.outcome_case = BRUME__SERVER__V1__RECORD_RESULT_VIEW__OUTCOME_ERROR
            message.pointee.error = itemErrorView(error)
        case .deferred:
            message.pointee.outcome_case = BRUME__SERVER__V1__RECORD_RESULT_VIEW__OUTCOME_DEFERRED
            message.pointee.deferred = 1
        }
        return message
    }
}
