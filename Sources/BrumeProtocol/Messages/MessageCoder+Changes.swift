package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// `Records.Changes`: one page of a zone's changes.
extension MessageCoder {
    package func decodeZoneChangesRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> ZoneChangesRequest {
        let message = try request(brume__v1__zone_changes_request__unpack, bytes)
        return ZoneChangesRequest(
            database: try RequestChecks.scope(message.pointee.database),
            zone: try ZoneCoder.checked(message.pointee.zone),
            token: message.pointee.token.array, resultsLimit: Int(message.pointee.results_limit),
            desiredKeys: try RequestChecks.desiredKeys(message.pointee.desired_keys))
    }

    /// Writes the answer; the records' bytes are copied into it unchanged.
    package func encodeZoneChangesResponse(_ page: ZoneChangesPage<SharedBytes, [UInt8]>) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__server__v1__zone_changes_response_view__init)
            message.pointee.n_records = page.records.count
            message.pointee.records = arena.list(page.records)
            message.pointee.n_deletions = page.deletions.count
            message.pointee.deletions = arena.messages(page.deletions) { deleted in
                let deletion = arena.make(brume__server__v1__deleted_record_view__init)
                deletion.pointee.name = arena.data(deleted.name)
                deletion.pointee.type = arena.data(deleted.type)
                return deletion
            }
            message.pointee.token = arena.data(page.token)
            message.pointee.more_coming = page.moreComing ? 1 : 0
            message.pointee.client_token = arena.data(page.clientToken)
            return message
        }
    }

    package func encodeZoneChangesRequest(_ request: ZoneChangesRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__zone_changes_request__init)
            message.pointee.database = Brume__V1__DatabaseScope(UInt32(request.database.rawValue))
            message.pointee.zone = arena.zoneID(request.zone)
            message.pointee.token = arena.data(request.token)
            message.pointee.results_limit = UInt32(clamping: request.resultsLimit)
            message.pointee.desired_keys = arena.desiredKeys(request.desiredKeys)
            return message
        }
    }

    package func decodeZoneChangesResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> ZoneChangesPage<Record, [UInt8]> {
        let message = try answer(brume__server__v1__zone_changes_response_view__unpack, bytes)
        var records: [Record] = []
        records.reserveCapacity(message.pointee.n_records)
        for index in 0..<message.pointee.n_records {
            records.append(
                try StoredRecord.decode(message.pointee.records[index].rawBuffer, fieldArena: fieldArena))
        }
        return ZoneChangesPage(
            records: records,
            deletions: try values(message.pointee.deletions, message.pointee.n_deletions) {
                (deletion) throws(ServiceError) in
                DeletedRecord(name: deletion.pointee.name.lossyText, type: deletion.pointee.type.lossyText)
            },
            token: message.pointee.token.array, moreComing: message.pointee.more_coming != 0,
            clientToken: message.pointee.client_token.array)
    }
}

/// `Databases.Changes`: one page of a database's changed zones.
extension MessageCoder {
    package func decodeDatabaseChangesRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> DatabaseChangesRequest {
        let message = try request(brume__v1__database_changes_request__unpack, bytes)
        return DatabaseChangesRequest(
            database: try RequestChecks.scope(message.pointee.database), token: message.pointee.token.array,
            resultsLimit: Int(message.pointee.results_limit))
    }

    package func encodeDatabaseChangesResponse(_ page: DatabaseChangesPage<[UInt8]>) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__database_changes_response__init)
            message.pointee.n_changed = page.changed.count
            message.pointee.changed = arena.messages(page.changed, arena.zoneID)
            message.pointee.n_deletions = page.deletions.count
            message.pointee.deletions = arena.deletedZones(page.deletions)
            message.pointee.token = arena.data(page.token)
            message.pointee.more_coming = page.moreComing ? 1 : 0
            message.pointee.n_earlier_deletions = page.earlierDeletions.count
            message.pointee.earlier_deletions = arena.deletedZones(page.earlierDeletions)
            return message
        }
    }

    package func encodeDatabaseChangesRequest(_ request: DatabaseChangesRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__database_changes_request__init)
            message.pointee.database = Brume__V1__DatabaseScope(UInt32(request.database.rawValue))
            message.pointee.token = arena.data(request.token)
            message.pointee.results_limit = UInt32(clamping: request.resultsLimit)
            return message
        }
    }

    /// Reads the answer. A reason that a newer server gives reads as `.deleted`: the zone is gone either way.
    package func decodeDatabaseChangesResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> DatabaseChangesPage<[UInt8]> {
        let message = try answer(brume__v1__database_changes_response__unpack, bytes)
        return DatabaseChangesPage(
            changed: try values(message.pointee.changed, message.pointee.n_changed) { (zone) throws(ServiceError) in
                ZoneCoder.lossy(zone)
            },
            deletions: try values(message.pointee.deletions, message.pointee.n_deletions, Self.deletedZone),
            token: message.pointee.token.array, moreComing: message.pointee.more_coming != 0,
            earlierDeletions: try values(
                message.pointee.earlier_deletions, message.pointee.n_earlier_deletions, Self.deletedZone))
    }

    private static func deletedZone(
        _ deletion: UnsafeMutablePointer<Brume__V1__DeletedZone>
    ) throws(ServiceError) -> DatabaseChangesPage<[UInt8]>.Deletion {
        guard let zone = deletion.pointee.id else { throw unreadableAnswer("a deleted zone has no name") }
        let reason = UInt8(exactly: deletion.pointee.reason.rawValue).flatMap(ZoneDeletionReason.init)
        return .init(zone: ZoneCoder.lossy(zone), reason: reason ?? .deleted)
    }
}

extension MessageArena {
    fileprivate func deletedZones(
        _ zones: [DatabaseChangesPage<[UInt8]>.Deletion]
    ) -> UnsafeMutablePointer<Pointer<Brume__V1__DeletedZone>?>? {
        messages(zones) { deleted in
            let deletion = make(brume__v1__deleted_zone__init)
            deletion.pointee.id = zoneID(deleted.zone)
            deletion.pointee.reason = Brume__V1__ZoneDeletionReason(UInt32(deleted.reason.rawValue))
            return deletion
        }
    }
}
