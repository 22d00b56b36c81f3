internal import BrumeModel
internal import BrumeProtocol

/// Zones of a database.
extension CKDatabase {
    /// All zones of the database, the default zone first.
    public func allRecordZones() async throws -> [CKRecordZone] {
        try await allRecordZones(callOptions)
    }

    func allRecordZones(_ options: CallOptions) async throws(CKError) -> [CKRecordZone] {
        guard let scope = try readScope() else { return [] }
        let account = core.account
        let zones = try await account.call(
            .zonesList, options: options, encode: { coder in coder.encodeListZonesRequest(scope) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeListZonesResponse(bytes) })
        let currentUser = account.currentUser
        return try zones.map { (zone) throws(CKError) in try Self.recordZone(zone, currentUser: currentUser) }
    }

    /// A zone as the server has it.
    ///
    /// - Throws: `zoneNotFound` when there is none.
    public func recordZone(for recordZoneID: CKRecordZone.ID) async throws -> CKRecordZone {
        guard let result = try await recordZones(for: [recordZoneID])[recordZoneID] else {
            throw CKError.malformedResponse("it holds no result for the zone")
        }
        return try result.get()
    }

    /// Zones as the server has them; what fails for one is in its result.
    public func recordZones(
        for ids: [CKRecordZone.ID]
    ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        try await recordZones(for: ids, callOptions)
    }

    func recordZones(
        for ids: [CKRecordZone.ID], _ options: CallOptions
    ) async throws(CKError) -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        let scope = try readScope()
        let ids = withoutRepetitions(ids)
        if ids.isEmpty { return [:] }
        guard let scope else {
            return Dictionary(uniqueKeysWithValues: ids.map { ($0, .failure(CKError.noSharedZone)) })
        }
        let sent = ids.filter { $0.ownerProblem == nil }
        var unsent: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
        for id in ids { unsent[id] = id.refusal("be fetched").map { .failure($0) } }
        if sent.isEmpty { return unsent }
        let account = core.account
        let zones = try await account.call(
            .zonesFetch, options: options,
            encode: { coder in coder.encodeFetchZonesRequest(database: scope, zones: sent.map(\.modelID)) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeFetchZonesResponse(bytes) })
        return try Self.results(zones, sent, currentUser: account.currentUser).merging(unsent) { _, failure in failure }
    }

    /// Makes a zone. For one that exists this succeeds and changes nothing.
    ///
    /// - Returns: The zone as the server has it.
    /// - Throws: `badDatabase` for a database without custom zones, which is any but a private one.
    @discardableResult
    public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        guard let result = try await modifyRecordZones(saving: [zone], deleting: []).saveResults[zone.zoneID] else {
            throw CKError.malformedResponse("it holds no result for the zone")
        }
        return try result.get()
    }

    /// Deletes a zone and its records. For one that does not exist this succeeds.
    ///
    /// - Throws: `invalidArguments` for the default zone.
    @discardableResult
    public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        guard let result = try await modifyRecordZones(saving: [], deleting: [zoneID]).deleteResults[zoneID] else {
            throw CKError.malformedResponse("it holds no result for the deletion")
        }
        try result.get()
        return zoneID
    }

    /// Makes and deletes zones in one request; what fails for one is in its result.
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID]
    ) async throws -> (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    ) {
        try await modifyRecordZones(saving: recordZonesToSave, deleting: recordZoneIDsToDelete, callOptions)
    }

    /// What a modification of zones comes to.
    typealias ZoneModificationResults = (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    )

    func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID],
        _ options: CallOptions
    ) async throws(CKError) -> ZoneModificationResults {
        let scope = try requestScope()
        var unsent: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
        for zone in recordZonesToSave where zone.encryptionScope != .perRecord {
            unsent[zone.zoneID] = .failure(
                CKError(
                    .serverRejectedRequest,
                    message:
                        "zone \(zone.zoneID.zoneName) has the encryption scope perZone, and this server has no encrypted "
                        + "values; leave it perRecord"))
        }
        var unsentDeletions: [CKRecordZone.ID: Result<Void, any Error>] = [:]
        for zone in recordZonesToSave {
            if let refusal = zone.zoneID.refusal("be saved") { unsent[zone.zoneID] = .failure(refusal) }
        }
        for id in recordZoneIDsToDelete { unsentDeletions[id] = id.refusal("be deleted").map { .failure($0) } }
        let ids = recordZonesToSave.map(\.zoneID).filter { unsent[$0] == nil }
        let deletions = recordZoneIDsToDelete.filter { unsentDeletions[$0] == nil }
        if ids.isEmpty, deletions.isEmpty { return (unsent, unsentDeletions) }
        let request = ModifyZonesRequest(
            database: scope, saves: ids.map(\.modelID), deletions: deletions.map(\.modelID),
            operationID: ContainerCore.newOperationID())
        let account = core.account
        let answer = try await account.call(
            .zonesModify, effect: .onceByOperationID, options: options,
            encode: { coder in coder.encodeModifyZonesRequest(request) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeModifyZonesResponse(bytes) })
        return (
            try Self.results(answer.saves, ids, currentUser: account.currentUser).merging(unsent) { _, failure in
                failure
            },
            try answer.deletions.deleteResults(deletions).merging(unsentDeletions) { _, failure in failure }
        )
    }

    private static func recordZone(_ zone: Zone, currentUser: String?) throws(CKError) -> CKRecordZone {
        guard let recordZone = CKRecordZone(zone, currentUser: currentUser) else {
            throw .malformedResponse("a zone has a name that none can have")
        }
        return recordZone
    }

    private static func results(
        _ zones: [Result<Zone, ServiceError>], _ ids: [CKRecordZone.ID], currentUser: String?
    ) throws(CKError) -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        guard zones.count == ids.count else {
            throw .malformedResponse("it holds \(zones.count) results for \(ids.count) zones")
        }
        var results: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
        for (id, zone) in zip(ids, zones) {
            switch zone {
            case .success(let zone): results[id] = .success(try recordZone(zone, currentUser: currentUser))
            case .failure(let error): results[id] = .failure(CKError(error))
            }
        }
        return results
    }
}

extension CKRecordZone.ID {
    /// The error of one zone of a request that the server would refuse whole. Names are what it looks at zone by zone.
    fileprivate func refusal(_ what: String) -> CKError? {
        ownerProblem.map { CKError(.invalidArguments, message: "zone \(self) can't \(what): \($0)") }
    }
}
