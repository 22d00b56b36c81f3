package import BrumeModel
internal import BrumeProtocol

/// What tests of the shared database have clients do.
extension FramePeer {
    package var user: String { welcome!.userRecordName }

    /// Makes a zone and shares it as a whole; returns the share's URL.
    @discardableResult
    package func shareZone(
        _ name: String, with users: [String] = [], permission: Share.Permission = .readWrite,
        publicPermission: Share.Permission? = nil
    ) throws -> String {
        try makeZone(name)
        var edit = ShareEdit.inviting(users, permission: permission)
        edit.publicPermission = publicPermission
        return try changeShare(of: name, edit)
    }

    /// Makes a record and shares it; returns the share's URL. The share's name is the record's behind "s-".
    @discardableResult
    package func shareRecord(
        _ root: String, in zone: String, with users: [String] = [], permission: Share.Permission = .readWrite
    ) throws -> String {
        let stream = startSharingRecord(root, in: zone, with: users, permission: permission)
        server.settle()
        return try url(ofShare: stream)
    }

    /// Sends the share of a record, which may be a new one, and waits for nothing.
    package func startSharingRecord(
        _ root: String, type: String = "List", in zone: String, with users: [String] = [],
        permission: Share.Permission = .readWrite
    ) -> UInt32 {
        startSharingRecords([root], type: type, in: zone, with: users, permission: permission)
    }

    /// The same of several records with one request.
    package func startSharingRecords(
        _ roots: [String], type: String = "List", in zone: String, with users: [String] = [],
        permission: Share.Permission = .readWrite
    ) -> UInt32 {
        var modification = ZoneModification<DecodedFields>(zone: ZoneID(name: zone))
        for root in roots {
            modification.saves += [
                RecordSave(name: "s-\(root)", type: Names.shareType, fields: [:]),
                RecordSave(name: root, type: type, fields: [:]),
            ]
            modification.shares["s-\(root)"] = ShareSave(root: root, edit: .inviting(users, permission: permission))
        }
        let request = ModifyRecordsRequest(database: .private, savePolicy: .changedKeys, zones: [modification])
        return start(.recordsModify, coder.encodeModifyRecordsRequest(request))
    }

    /// The URL of a share whose save was answered.
    package func url(ofShare stream: UInt32) throws -> String {
        guard let outcome = outcome(stream) else { throw TestFailure("a share's save has no outcome") }
        let result = try outcome.get().decoded(coder.decodeModifyRecordsResponse)[0]
        guard case .record(let record) = result.saves[0].outcome else {
            throw TestFailure("a share was not saved: \(result.saves)")
        }
        return record.shareDetails?.url ?? ""
    }

    /// Saves records below another one; returns why each was not saved.
    package func save(
        _ names: [String], below parent: String, in zone: ZoneID, of database: DatabaseScope, type: String = "Note"
    ) throws -> [ErrorCode?] {
        let saves = names.map {
            RecordSave<DecodedFields>(name: $0, type: type, changeTag: "", parent: .set(parent), fields: [:])
        }
        let request = ModifyRecordsRequest<DecodedFields>(
            database: database, savePolicy: .changedKeys, isAtomic: false,
            zones: [ZoneModification(zone: zone, saves: saves)])
        return try modify(request)[0].saves.codes
    }

    /// Changes the share of a whole zone; returns its URL.
    @discardableResult
    package func changeShare(of zone: String, _ edit: ShareEdit) throws -> String {
        let stream = startChangingShare(of: zone, edit, tag: try shareTag(of: zone))
        server.settle()
        guard let outcome = outcome(stream) else { throw TestFailure("a save has no outcome") }
        let result = try outcome.get().decoded(coder.decodeModifyRecordsResponse)[0]
        switch result.saves[0].outcome {
        case .record(let record): return record.shareDetails?.url ?? ""
        case .failure(let error): throw error
        case .deferred: throw TestFailure("a save was deferred")
        }
    }

    /// The change tag of the share of a whole zone; empty if there is none.
    package func shareTag(of zone: String) throws -> String {
        guard case .record(let share) = try fetch([Names.zoneShare], in: ZoneID(name: zone))[0] else { return "" }
        return share.system.changeTag
    }

    /// Sends a change of the share, and waits for nothing.
    @discardableResult
    package func startChangingShare(of zone: String, _ edit: ShareEdit, tag: String) -> UInt32 {
        var modification = ZoneModification<DecodedFields>(
            zone: ZoneID(name: zone),
            saves: [RecordSave(name: Names.zoneShare, type: Names.shareType, changeTag: tag, fields: [:])])
        modification.shares[Names.zoneShare] = ShareSave(root: "", edit: edit)
        let request = ModifyRecordsRequest<DecodedFields>(database: .private, zones: [modification])
        return start(.recordsModify, coder.encodeModifyRecordsRequest(request))
    }

    @discardableResult
    package func accept(_ url: String) throws -> AcceptedShare<Record> {
        try call(.sharesAccept, coder.encodeAcceptShareRequest(url: url)).decoded(coder.decodeAcceptShareResponse)
    }

    /// Begins to accept, and waits for nothing.
    package func startAccepting(_ url: String) -> UInt32 {
        start(.sharesAccept, coder.encodeAcceptShareRequest(url: url))
    }

    package func modify(
        _ request: ModifyRecordsRequest<DecodedFields>
    ) throws -> [ZoneModificationResult<Record>] {
        try call(.recordsModify, coder.encodeModifyRecordsRequest(request)).decoded(coder.decodeModifyRecordsResponse)
    }

    /// Sends a batch of new records in a zone of another user, and waits for nothing.
    package func startSaving(_ names: [String], in zone: ZoneID) -> UInt32 {
        let saves = names.map { RecordSave<DecodedFields>(name: $0, type: "Note", fields: [:]) }
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .shared, zones: [ZoneModification(zone: zone, saves: saves)])
        return start(.recordsModify, coder.encodeModifyRecordsRequest(request))
    }

    /// The codes of what failed of such a batch, which has been answered; nil for what was saved.
    package func saveCodes(_ stream: UInt32) throws -> [ErrorCode?] {
        guard let outcome = outcome(stream) else { throw TestFailure("a batch has no outcome") }
        return try outcome.get().decoded(coder.decodeModifyRecordsResponse)[0].saves.codes
    }

    package func fetch(
        _ names: [String], in zone: ZoneID, of database: DatabaseScope = .private
    ) throws -> [RecordOutcome<Record>] {
        let request = FetchRecordsRequest(database: database, zones: [.init(zone: zone, names: names)])
        return try call(.recordsFetch, coder.encodeFetchRecordsRequest(request))
            .decoded(coder.decodeFetchRecordsResponse)[0]
    }

    package func modify(
        _ zone: ZoneID, of database: DatabaseScope = .shared, saving names: [String] = [], deleting: [String] = [],
        operation: [UInt8] = []
    ) throws -> ZoneModificationResult<Record> {
        let saves = names.map { RecordSave<DecodedFields>(name: $0, type: "Note", fields: [:]) }
        let request = ModifyRecordsRequest<DecodedFields>(
            database: database, savePolicy: .allKeys, operationID: operation,
            zones: [ZoneModification(zone: zone, saves: saves, deletions: deleting)])
        return try call(.recordsModify, coder.encodeModifyRecordsRequest(request))
            .decoded(coder.decodeModifyRecordsResponse)[0]
    }

    package func changes(
        of zone: ZoneID, in database: DatabaseScope = .shared, since token: [UInt8] = [], limit: Int = 0
    ) throws -> ZoneChangesPage<Record, [UInt8]> {
        let request = ZoneChangesRequest(database: database, zone: zone, token: token, resultsLimit: limit)
        return try call(.recordsChanges, coder.encodeZoneChangesRequest(request))
            .decoded(coder.decodeZoneChangesResponse)
    }

    package func sharedChanges(since token: [UInt8] = [], limit: Int = 0) throws -> DatabaseChangesPage<[UInt8]> {
        let request = DatabaseChangesRequest(database: .shared, token: token, resultsLimit: limit)
        return try call(.databasesChanges, coder.encodeDatabaseChangesRequest(request))
            .decoded(coder.decodeDatabaseChangesResponse)
    }

    package func sharedZones() throws -> [ZoneID] {
        try call(.zonesList, coder.encodeListZonesRequest(.shared)).decoded(coder.decodeListZonesResponse).map(\.id)
    }

    package func fetchZones(_ zones: [ZoneID], of database: DatabaseScope) throws -> [Result<Zone, ServiceError>] {
        try call(.zonesFetch, coder.encodeFetchZonesRequest(database: database, zones: zones))
            .decoded(coder.decodeFetchZonesResponse)
    }

    /// Leaves zones of others.
    package func leave(_ zones: [ZoneID]) throws -> [ServiceError?] {
        let request = ModifyZonesRequest(database: .shared, deletions: zones)
        return try call(.zonesModify, coder.encodeModifyZonesRequest(request))
            .decoded(coder.decodeModifyZonesResponse).deletions
    }
}

extension ShareEdit {
    package static func inviting(_ users: [String], permission: Share.Permission = .readWrite) -> ShareEdit {
        var edit = ShareEdit()
        edit.puts = users.map { Put(id: "p\($0)", invitee: .user($0), permission: permission) }
        return edit
    }

    package static func publicPermission(_ permission: Share.Permission) -> ShareEdit {
        var edit = ShareEdit()
        edit.publicPermission = permission
        return edit
    }

    package static func removing(_ users: [String]) -> ShareEdit {
        var edit = ShareEdit()
        edit.removals = users.map { "p\($0)" }
        return edit
    }
}

extension [SaveResult<Record>] {
    /// The codes of what failed; nil for what was saved.
    package var codes: [ErrorCode?] { map { if case .failure(let error) = $0.outcome { error.code } else { nil } } }
}

extension [RecordOutcome<Record>] {
    /// The names of the records, or the codes of what failed.
    package var texts: [String] {
        map { outcome in
            switch outcome {
            case .record(let record): record.system.name
            case .failure(let error): error.code.name
            case .deferred: "deferred"
            }
        }
    }
}
