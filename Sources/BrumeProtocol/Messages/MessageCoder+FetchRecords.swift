package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// `Records.Fetch`, both sides.
extension MessageCoder {
    /// Reads a request. Record names are still to be checked by ``Names``; a name may occur twice.
    ///
    /// A valid request in the usual encoding is read in place.
    package func decodeFetchRecordsRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> FetchRecordsRequest
    {
        if bytes.count <= Limits.requestBytes, let request = FetchRecordsReader.read(bytes) { return request }
        return try decodeFetchRecordsMessage(bytes)
    }

    /// Reads any request by unpacking its message: the fallback when it can't be read in place.
    package func decodeFetchRecordsMessage(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> FetchRecordsRequest
    {
        let message = try request(brume__v1__fetch_records_request__unpack, bytes)
        let database = try RequestChecks.scope(message.pointee.database)
        try RequestChecks.itemCount(message.pointee.n_zones, "zones")
        var items = 0
        for index in 0..<message.pointee.n_zones { items += message.pointee.zones[index]!.pointee.n_names }
        try RequestChecks.itemCount(items, "records to fetch")
        let zones = try values(message.pointee.zones, message.pointee.n_zones) { (zone) throws(ServiceError) in
            FetchRecordsRequest.ZoneFetch(
                zone: try ZoneCoder.checked(zone.pointee.zone),
                names: lossyTexts(zone.pointee.names, zone.pointee.n_names))
        }
        try RequestChecks.distinctZones(zones, \.zone)
        return FetchRecordsRequest(
            database: database, zones: zones, desiredKeys: try RequestChecks.desiredKeys(message.pointee.desired_keys))
    }

    /// Writes the answer, one list of outcomes for each zone; records go into it as they are given.
    ///
    /// It is written in place, each record copied once; the bytes are those that protobuf-c makes of the message.
    package func encodeFetchRecordsResponse(_ zones: [[RecordOutcome<SharedBytes>]]) -> [UInt8] {
        var bytes: [UInt8] = []
        var errors = PackedMessages()
        for outcomes in zones {
            errors.removeAll()
            var count = 0
            for outcome in outcomes { count += WireSize.message(byteCount(of: outcome, &errors)) }
            bytes.append(byteCount: WireSize.message(count)) { filler in
                filler.messageHeader(1, count: count)
                for outcome in outcomes {
                    switch outcome {
                    case .record(let record):
                        filler.messageHeader(1, count: WireSize.message(record.count))
                        filler.message(1, record)
                    case .failure:
                        let error = errors.next()
                        filler.messageHeader(1, count: WireSize.message(error.count))
                        filler.message(2, error)
                    case .deferred:
                        filler.messageHeader(1, count: WireSize.integer(1))
                        filler.integer(3, 1)
                    }
                }
            }
        }
        return bytes
    }

    private func byteCount(of outcome: RecordOutcome<SharedBytes>, _ errors: inout PackedMessages) -> Int {
        switch outcome {
        case .record(let record): WireSize.message(record.count)
        case .failure(let error): WireSize.message(errors.append(encode { $0.itemErrorView(error) }))
        case .deferred: WireSize.integer(1)
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
                    return .failure(
                        Self.unreadableAnswer("the result of a fetch is neither a record nor an error"))
                }
            }
        }
    }
}
