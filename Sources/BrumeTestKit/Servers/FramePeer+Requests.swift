package import BrumeModel
internal import BrumeProtocol

extension FramePeer {
    package func subscribe(_ subscription: Subscription, in database: DatabaseScope = .private) throws {
        let answer = try call(
            .subscriptionsModify,
            coder.encodeModifySubscriptionsRequest(
                ModifySubscriptionsRequest(database: database, saves: [subscription]))
        ).decoded(coder.decodeModifySubscriptionsResponse)
        _ = try answer.saves[0].get()
    }

    package func unsubscribe(_ id: String, in database: DatabaseScope = .private) throws {
        let request = ModifySubscriptionsRequest(database: database, deletions: [id])
        _ = try call(.subscriptionsModify, coder.encodeModifySubscriptionsRequest(request))
    }

    // MARK: Queries

    package func startQuery(_ request: QueryRequest, timeoutMilliseconds: UInt32 = 0) -> UInt32 {
        start(.recordsQuery, timeoutMilliseconds: timeoutMilliseconds, coder.encodeQueryRequest(request))
    }

    package func page(_ stream: UInt32) throws -> QueryPage<Record>? {
        try outcome(stream).map { try $0.get().decoded(coder.decodeQueryResponse) }
    }

    package func query(_ request: QueryRequest) throws -> QueryPage<Record> {
        try call(.recordsQuery, coder.encodeQueryRequest(request)).decoded(coder.decodeQueryResponse)
    }

    package func explain(_ request: QueryRequest) throws -> QueryPlan {
        try call(.recordsExplain, coder.encodeQueryRequest(request)).decoded(coder.decodeExplainResponse)
    }

    // MARK: Saves

    /// Sends a save, and waits for nothing.
    package func startSave(_ name: String, in zone: ZoneID = .defaultZone) {
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .private,
            zones: [ZoneModification(zone: zone, saves: [RecordSave(name: name, type: "Note", fields: [:])])])
        start(.recordsModify, coder.encodeModifyRecordsRequest(request))
    }

    /// Saves records, 400 at a time.
    package func save(
        _ names: some Sequence<String>, type: String = "Note", zone: ZoneID = .defaultZone,
        database: DatabaseScope = .private, policy: SavePolicy = .ifServerRecordUnchanged,
        fields: (String) -> [String: FieldValue] = { _ in [:] }
    ) throws {
        var rest = Array(names)[...]
        while !rest.isEmpty {
            let saves = rest.prefix(400).map {
                RecordSave(name: $0, type: type, fields: fields($0).mapValues { FieldValue?($0) })
            }
            rest = rest.dropFirst(400)
            let request = ModifyRecordsRequest<DecodedFields>(
                database: database, savePolicy: policy, zones: [ZoneModification(zone: zone, saves: saves)])
            let results = try call(.recordsModify, coder.encodeModifyRecordsRequest(request))
                .decoded(coder.decodeModifyRecordsResponse)
            for save in results[0].saves {
                if case .failure(let error) = save.outcome { throw error }
            }
        }
    }

    // MARK: Zones

    package func makeZone(_ name: String) throws { try modifyZones(saves: [ZoneID(name: name)]) }

    package func deleteZone(_ name: String) throws { try modifyZones(deletions: [ZoneID(name: name)]) }

    private func modifyZones(saves: [ZoneID] = [], deletions: [ZoneID] = []) throws {
        let request = ModifyZonesRequest(database: .private, saves: saves, deletions: deletions)
        _ = try call(.zonesModify, coder.encodeModifyZonesRequest(request))
    }
}
