internal import BrumeModel
internal import BrumeProtocol

/// Zones of a database.
extension CKDatabase {
    /// All zones of the database, the default zone first. The shared database has none.
    public func allRecordZones() async throws -> [CKRecordZone] {
        try await allRecordZones(callOptions)
    }

    func allRecordZones(_ options: CallOptions) async throws(CKError) -> [CKRecordZone] {
        let scope = try requestScope()
        let account = core.account
        let zones = try await account.call(
            .zonesList, options: options, encode: { coder in coder.encodeListZonesRequest(scope) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeListZonesResponse(bytes) })
        let currentUser = account.currentUser
        return try zones.map { (zone) throws(CKError) in
            showingPolicies(try Self.recordZone(zone, currentUser: currentUser), account)
        }
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
        let scope = try requestScope()
        let ids = withoutRepetitions(ids)
        var results: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
        for id in ids { results[id] = refusal(of: id, to: "be fetched").map { .failure($0) } }
        let account = core.account
        let parts = partsByOwner(ids.filter { results[$0] == nil }) { $0 }
        let failures = try await sendEach(of: parts) { (part) throws(CKError) in
            let zones = try await account.call(
                .zonesFetch, options: options,
                encode: { coder in coder.encodeFetchZonesRequest(database: scope, zones: part.map(\.modelID)) },
                decode: { (coder, bytes) throws(ServiceError) in try coder.decodeFetchZonesResponse(bytes) })
            let fetched = try Self.results(zones, part, currentUser: account.currentUser)
            results.merge(fetched.mapValues { $0.map { showingPolicies($0, account) } }) { $1 }
        }
        for (part, error) in failures {
            for id in part { results[id] = .failure(error) }
        }
        return results
    }

    /// Makes a zone. For one that exists this succeeds and changes nothing.
    ///
    /// - Returns: The zone as the server has it.
    /// - Throws: `badDatabase` in the public database, which has no custom zones, and `permissionFailure` in the shared
    ///   one: zones are made by their owners.
    @discardableResult
    public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        guard let result = try await modifyRecordZones(saving: [zone], deleting: []).saveResults[zone.zoneID] else {
            throw CKError.malformedResponse("it holds no result for the zone")
        }
        return try result.get()
    }

    /// Deletes a zone and its records. For one that does not exist this succeeds.
    ///
    /// In the shared database the user leaves the zone's shares; the zone stays with its owner.
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

    /// Makes and deletes zones in one request (for each owner, in the shared database); what fails for one is in its
    /// result.
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
        let account = core.account
        for zone in recordZonesToSave {
            if let refusal = await policyRefusal(of: zone, account) { unsent[zone.zoneID] = .failure(refusal) }
        }
        var unsentDeletions: [CKRecordZone.ID: Result<Void, any Error>] = [:]
        for zone in recordZonesToSave {
            if let refusal = refusal(ofSaving: zone.zoneID) { unsent[zone.zoneID] = .failure(refusal) }
        }
        for id in recordZoneIDsToDelete {
            unsentDeletions[id] = refusal(of: id, to: "be deleted").map { .failure($0) }
        }
        let changes =
            recordZonesToSave.map(\.zoneID).filter { unsent[$0] == nil }.map { ZoneChange(id: $0, isSave: true) }
            + recordZoneIDsToDelete.filter { unsentDeletions[$0] == nil }.map { ZoneChange(id: $0, isSave: false) }
        var results: ZoneModificationResults = (unsent, unsentDeletions)
        let failures = try await sendEach(of: partsByOwner(changes, zone: \.id)) { (part) throws(CKError) in
            let saves = part.filter(\.isSave).map(\.id)
            let deletions = part.filter { !$0.isSave }.map(\.id)
            try await willDelete(deletions, account)
            let request = ModifyZonesRequest(
                database: scope, saves: saves.map(\.modelID), deletions: deletions.map(\.modelID),
                operationID: ContainerCore.newOperationID())
            let answer = try await account.call(
                .zonesModify, effect: .onceByOperationID, options: options,
                encode: { coder in coder.encodeModifyZonesRequest(request) },
                decode: { (coder, bytes) throws(ServiceError) in try coder.decodeModifyZonesResponse(bytes) })
            results.saveResults.merge(try Self.results(answer.saves, saves, currentUser: account.currentUser)) { $1 }
            let deleteResults = try answer.deletions.deleteResults(deletions)
            results.deleteResults.merge(deleteResults) { $1 }
            await zonesAreGone(
                deletions.filter { (try? deleteResults[$0]?.get()) != nil }, isOwnDoing: true, account)
        }
        for (part, error) in failures {
            for change in part {
                if change.isSave {
                    results.saveResults[change.id] = .failure(error)
                } else {
                    results.deleteResults[change.id] = .failure(error)
                }
            }
        }
        for zone in recordZonesToSave {
            guard case .success(let saved)? = results.saveResults[zone.zoneID] else { continue }
            do throws(CKError) {
                results.saveResults[zone.zoneID] = .success(try await withPolicies(saved, of: zone, account, options))
            } catch {
                results.saveResults[zone.zoneID] = .failure(error)
            }
        }
        return results
    }

    /// One item of a modification.
    private struct ZoneChange {
        let id: CKRecordZone.ID
        let isSave: Bool
    }

    /// The error of one zone of a request that the server would refuse whole. Names are what it looks at zone by zone.
    private func refusal(of id: CKRecordZone.ID, to what: String) -> CKError? {
        ownerProblem(of: id).map { CKError(.invalidArguments, message: "zone \(id) can't \(what): \($0)") }
    }

    private func refusal(ofSaving id: CKRecordZone.ID) -> CKError? {
        guard databaseScope == .shared else { return refusal(of: id, to: "be saved") }
        return CKError(
            .permissionFailure,
            message:
                "zone \(id) can't be saved: zones of the shared database are made by their owners; save yours in the "
                + "private database")
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
