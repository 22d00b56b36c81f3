package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// `Records.Query` and `Records.Explain`.
extension MessageCoder {
    /// Reads a request of either method.
    package func decodeQueryRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> QueryRequest {
        let message = try request(brume__v1__query_request__unpack, bytes)
        let database = try RequestChecks.scope(message.pointee.database)
        let zone = try message.pointee.zone.map { (zone) throws(ServiceError) in try ZoneCoder.checked(zone) }
        guard let query = message.pointee.query else {
            throw ServiceError(.invalidArguments, "a request names no query; set its record type and predicate")
        }
        let cursor = message.pointee.cursor
        guard cursor.len <= Limits.queryCursorBytes else {
            throw ServiceError(
                .invalidArguments,
                "a cursor has \(cursor.len) bytes, and none has more than \(Limits.queryCursorBytes); use one from an earlier answer"
            )
        }
        return QueryRequest(
            database: database, zone: zone, query: try Query(query), cursor: cursor.array,
            resultsLimit: Int(message.pointee.results_limit),
            desiredKeys: try RequestChecks.desiredKeys(message.pointee.desired_keys))
    }

    /// Writes the answer; the records' bytes are copied into it unchanged.
    ///
    /// It is written without protobuf-c, which would first copy each record into its message.
    package func encodeQueryResponse(_ page: QueryPage<SharedBytes>) -> [UInt8] {
        var zone: ZoneID?
        var zoneField: [UInt8] = []
        // A cursor seldom needs more than these.
        var capacity = page.cursor.count + 16
        for match in page.matches {
            if match.zone != zone {
                zone = match.zone
                zoneField = self.zoneField(match.zone)
            }
            capacity += zoneField.count + match.record.count + 24
        }
        zone = nil
        var bytes: [UInt8] = []
        bytes.reserveCapacity(capacity)
        for match in page.matches {
            if match.zone != zone {
                zone = match.zone
                zoneField = self.zoneField(match.zone)
            }
            let count = zoneField.count + WireSize.message(match.record.count)
            bytes.append(byteCount: WireSize.message(count)) { filler in
                filler.messageHeader(1, count: count)
                zoneField.withUnsafeBytes { filler.append($0) }
                filler.message(2, match.record)
            }
        }
        bytes.append(byteCount: WireSize.data(page.cursor.count)) { $0.data(2, page.cursor) }
        return bytes
    }

    /// Field 1 of a match.
    private func zoneField(_ zone: ZoneID) -> [UInt8] {
        let zone = encode { $0.zoneID(zone) }
        var field: [UInt8] = []
        field.append(byteCount: WireSize.message(zone.count)) { $0.message(1, zone) }
        return field
    }

    package func encodeExplainResponse(_ plan: QueryPlan) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__explain_response__init)
            message.pointee.n_steps = plan.steps.count
            message.pointee.steps = arena.list(plan.steps)
            message.pointee.entries_read = UInt64(plan.entriesRead)
            message.pointee.records_read = UInt64(plan.recordsRead)
            message.pointee.matches = UInt64(plan.matches)
            message.pointee.microseconds = UInt64(plan.microseconds)
            message.pointee.slices = UInt64(plan.slices)
            message.pointee.query = arena.data(plan.query)
            message.pointee.records_estimated = UInt64(plan.recordsEstimated)
            return message
        }
    }

    /// Writes a request of either method.
    package func encodeQueryRequest(_ request: QueryRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__query_request__init)
            message.pointee.database = Brume__V1__DatabaseScope(UInt32(request.database.rawValue))
            message.pointee.zone = request.zone.map(arena.zoneID)
            message.pointee.query = arena.query(request.query)
            message.pointee.cursor = arena.data(request.cursor)
            message.pointee.results_limit = UInt32(clamping: request.resultsLimit)
            message.pointee.desired_keys = arena.desiredKeys(request.desiredKeys)
            return message
        }
    }

    package func decodeQueryResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> QueryPage<Record> {
        let message = try answer(brume__server__v1__query_response_view__unpack, bytes)
        let matches = try values(message.pointee.matches, message.pointee.n_matches) { (match) throws(ServiceError) in
            fieldArena.reset()
            guard let zone = fieldArena.unpack(brume__v1__zone_id__unpack, match.pointee.zone.rawBuffer) else {
                throw Self.unreadableAnswer("a match's zone is damaged")
            }
            let id = ZoneCoder.lossy(zone)
            return QueryMatch(
                zone: id, record: try StoredRecord.decode(match.pointee.record.rawBuffer, fieldArena: fieldArena))
        }
        return QueryPage(matches: matches, cursor: message.pointee.cursor.array)
    }

    package func decodeExplainResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> QueryPlan {
        let message = try answer(brume__v1__explain_response__unpack, bytes)
        return QueryPlan(
            query: message.pointee.query.lossyText,
            steps: lossyTexts(message.pointee.steps, message.pointee.n_steps),
            recordsEstimated: Int(clamping: message.pointee.records_estimated),
            entriesRead: Int(clamping: message.pointee.entries_read),
            recordsRead: Int(clamping: message.pointee.records_read), matches: Int(clamping: message.pointee.matches),
            microseconds: Int(clamping: message.pointee.microseconds), slices: Int(clamping: message.pointee.slices))
    }
}

extension Query {
    /// The query of a message, checked.
    init(_ message: UnsafeMutablePointer<Brume__V1__Query>) throws(ServiceError) {
        let recordType = try text(message.pointee.record_type, "a record type")
        if !recordType.isEmpty, let problem = Names.problemWithRecordType(recordType) {
            throw ServiceError(.invalidArguments, problem)
        }
        guard message.pointee.n_sort <= Limits.querySortKeys else {
            throw ServiceError(
                .limitExceeded,
                "a query sorts by \(message.pointee.n_sort) keys; the limit is \(Limits.querySortKeys): name fewer")
        }
        var sortDescriptors: [QuerySort] = []
        for index in 0..<message.pointee.n_sort {
            let sort = try QuerySort(message.pointee.sort[index]!)
            // Sorting by the same key a second time changes nothing.
            let isRepeated = sortDescriptors.contains { $0.key == sort.key && $0.relativeTo == sort.relativeTo }
            if !isRepeated { sortDescriptors.append(sort) }
        }
        self.init(
            recordType: recordType, predicate: try Predicate(message.pointee.predicate),
            sortDescriptors: sortDescriptors)
        guard !recordType.isEmpty || self == .everything else {
            throw ServiceError(
                .invalidArguments,
                "a query names no record type; name one, or list all records with the constant true and no sort")
        }
    }
}

extension QuerySort {
    fileprivate init(_ message: UnsafeMutablePointer<Brume__V1__QuerySort>) throws(ServiceError) {
        let key = try QueryKey(message.pointee.key)
        var place: Place?
        if let location = message.pointee.relative_to?.pointee {
            if key.valueKind != nil {
                throw ServiceError(
                    .invalidArguments, "\"\(key.name)\" is no location; sort by the distance of a field with locations")
            }
            if let problem = Place.problem(latitude: location.latitude, longitude: location.longitude) {
                throw ServiceError(.invalidArguments, problem)
            }
            place = Place(latitude: location.latitude, longitude: location.longitude)
        }
        self.init(key: key, isAscending: message.pointee.descending == 0, relativeTo: place)
    }
}
