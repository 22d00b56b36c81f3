package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Zones, the server's side.
extension MessageCoder {
    /// Reads a request. A zone's name is still to be checked by ``Names``: a bad one fails its item.
    package func decodeModifyZonesRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> ModifyZonesRequest {
        let message = try request(brume__v1__modify_zones_request__unpack, bytes)
        let database = try RequestChecks.scope(message.pointee.database)
        let operationID = try RequestChecks.operationID(message.pointee.operation_id)
        try RequestChecks.itemCount(message.pointee.n_saves + message.pointee.n_deletions, "saves and deletions")
        let saves = try values(message.pointee.saves, message.pointee.n_saves, ZoneCoder.item)
        let deletions = try values(message.pointee.deletions, message.pointee.n_deletions, ZoneCoder.item)
        try RequestChecks.distinctZones(saves, deletions)
        return ModifyZonesRequest(database: database, saves: saves, deletions: deletions, operationID: operationID)
    }

    package func encodeModifyZonesResponse(_ result: ModifyZonesResult) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__modify_zones_response__init)
            message.pointee.n_saves = result.saves.count
            message.pointee.saves = arena.messages(result.saves, arena.zoneResult)
            message.pointee.n_deletions = result.deletions.count
            message.pointee.deletions = arena.messages(result.deletions, arena.deletionResult)
            return message
        }
    }

    /// Reads a request. Names are still to be checked by ``Names``: a bad one fails its item.
    package func decodeFetchZonesRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> (database: DatabaseScope, zones: [ZoneID]) {
        let message = try request(brume__v1__fetch_zones_request__unpack, bytes)
        let database = try RequestChecks.scope(message.pointee.database)
        try RequestChecks.itemCount(message.pointee.n_zones, "zones to fetch")
        let zones = try values(message.pointee.zones, message.pointee.n_zones, ZoneCoder.item)
        try RequestChecks.distinctZones(zones)
        return (database, zones)
    }

    package func encodeFetchZonesResponse(_ zones: [Result<Zone, ServiceError>]) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_zones_response__init)
            message.pointee.n_zones = zones.count
            message.pointee.zones = arena.messages(zones, arena.zoneResult)
            return message
        }
    }

    package func decodeListZonesRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> DatabaseScope {
        try RequestChecks.scope(try request(brume__v1__list_zones_request__unpack, bytes).pointee.database)
    }

    package func encodeListZonesResponse(_ zones: [Zone]) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__list_zones_response__init)
            message.pointee.n_zones = zones.count
            message.pointee.zones = arena.messages(zones, arena.zone)
            return message
        }
    }
}

/// Zones, the client's side.
extension MessageCoder {
    package func encodeModifyZonesRequest(_ request: ModifyZonesRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__modify_zones_request__init)
            message.pointee.database = Brume__V1__DatabaseScope(UInt32(request.database.rawValue))
            message.pointee.n_saves = request.saves.count
            message.pointee.saves = arena.messages(request.saves, arena.zoneID)
            message.pointee.n_deletions = request.deletions.count
            message.pointee.deletions = arena.messages(request.deletions, arena.zoneID)
            message.pointee.operation_id = arena.data(request.operationID)
            return message
        }
    }

    package func decodeModifyZonesResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> ModifyZonesResult {
        let message = try answer(brume__v1__modify_zones_response__unpack, bytes)
        return ModifyZonesResult(
            saves: try values(message.pointee.saves, message.pointee.n_saves, Self.zoneResult),
            deletions: try values(message.pointee.deletions, message.pointee.n_deletions, Self.deletionResult))
    }

    package func encodeFetchZonesRequest(database: DatabaseScope, zones: [ZoneID]) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_zones_request__init)
            message.pointee.database = Brume__V1__DatabaseScope(UInt32(database.rawValue))
            message.pointee.n_zones = zones.count
            message.pointee.zones = arena.messages(zones, arena.zoneID)
            return message
        }
    }

    package func decodeFetchZonesResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> [Result<Zone, ServiceError>] {
        let message = try answer(brume__v1__fetch_zones_response__unpack, bytes)
        return try values(message.pointee.zones, message.pointee.n_zones, Self.zoneResult)
    }

    package func encodeListZonesRequest(_ database: DatabaseScope) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__list_zones_request__init)
            message.pointee.database = Brume__V1__DatabaseScope(UInt32(database.rawValue))
            return message
        }
    }

    package func decodeListZonesResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> [Zone] {
        let message = try answer(brume__v1__list_zones_response__unpack, bytes)
        return try values(message.pointee.zones, message.pointee.n_zones, Self.zone)
    }

    private static func zoneResult(
        _ result: UnsafeMutablePointer<Brume__V1__ZoneResult>
    ) throws(ServiceError) -> Result<Zone, ServiceError> {
        switch result.pointee.outcome_case {
        case BRUME__V1__ZONE_RESULT__OUTCOME_ZONE: return .success(try zone(result.pointee.zone))
        case BRUME__V1__ZONE_RESULT__OUTCOME_ERROR: return .failure(ServiceError(result.pointee.error))
        default: return .failure(unreadableAnswer("the result of a zone is neither a zone nor an error"))
        }
    }

    private static func zone(_ zone: UnsafeMutablePointer<Brume__V1__Zone>) throws(ServiceError) -> Zone {
        guard let id = zone.pointee.id else { throw unreadableAnswer("a zone has no name") }
        return Zone(
            id: ZoneCoder.lossy(id), capabilities: ZoneCapabilities(rawValue: zone.pointee.capabilities),
            changeToken: zone.pointee.change_token.array, isShared: zone.pointee.is_shared != 0)
    }

    /// The error of a deletion, or nil when it succeeded.
    static func deletionResult(
        _ result: UnsafeMutablePointer<Brume__V1__DeletionResult>
    ) throws(ServiceError) -> ServiceError? {
        result.pointee.error.map { ServiceError($0) }
    }
}

extension MessageArena {
    fileprivate func zoneResult(_ result: Result<Zone, ServiceError>) -> Pointer<Brume__V1__ZoneResult> {
        let message = make(brume__v1__zone_result__init)
        switch result {
        case .success(let zone):
            message.pointee.outcome_case = BRUME__V1__ZONE_RESULT__OUTCOME_ZONE
            message.pointee.zone = self.zone(zone)
        case .failure(let error):
            message.pointee.outcome_case = BRUME__V1__ZONE_RESULT__OUTCOME_ERROR
            message.pointee.error = itemError(error)
        }
        return message
    }

    fileprivate func zone(_ zone: Zone) -> Pointer<Brume__V1__Zone> {
        let message = make(brume__v1__zone__init)
        message.pointee.id = zoneID(zone.id)
        message.pointee.capabilities = zone.capabilities.rawValue
        message.pointee.change_token = data(zone.changeToken)
        message.pointee.is_shared = zone.isShared ? 1 : 0
        return message
    }
}
