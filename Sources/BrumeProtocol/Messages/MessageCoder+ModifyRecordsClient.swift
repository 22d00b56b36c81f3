package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// `Records.Modify`, the client's side.
extension MessageCoder {
    /// Writes a request, fields in the order of their keys.
    package func encodeModifyRecordsRequest(_ request: ModifyRecordsRequest<DecodedFields>) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__modify_records_request__init)
            message.pointee.database = Brume__V1__DatabaseScope(UInt32(request.database.rawValue))
            message.pointee.save_policy = Brume__V1__SavePolicy(UInt32(request.savePolicy.rawValue))
            message.pointee.not_atomic = request.isAtomic ? 0 : 1
            message.pointee.operation_id = arena.data(request.operationID)
            message.pointee.n_zones = request.zones.count
            message.pointee.zones = arena.messages(request.zones) { modification in
                let zone = arena.make(brume__v1__zone_modification__init)
                zone.pointee.zone = arena.zoneID(modification.zone)
                zone.pointee.n_saves = modification.saves.count
                zone.pointee.saves = arena.messages(modification.saves) { save in
                    let message = arena.recordSave(save)
                    message.pointee.share = modification.shares[save.name].map(arena.shareChange)
                    return message
                }
                zone.pointee.n_deletions = modification.deletions.count
                zone.pointee.deletions = arena.list(modification.deletions)
                zone.pointee.ring_entry_hash = arena.data(modification.ringEntryHash)
                return zone
            }
            message.pointee.client_token = arena.data(request.clientToken)
            return message
        }
    }

    /// Reads the answer.
    package func decodeModifyRecordsResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> [ZoneModificationResult<Record>] {
        let message = try answer(brume__server__v1__modify_records_response_view__unpack, bytes)
        return try values(message.pointee.zones, message.pointee.n_zones) { (zone) throws(ServiceError) in
            ZoneModificationResult(
                saves: try values(zone.pointee.saves, zone.pointee.n_saves) { (save) throws(ServiceError) in
                    try self.saveResult(save)
                },
                deletions: try values(zone.pointee.deletions, zone.pointee.n_deletions) {
                    (deletion) throws(ServiceError) in deletion.pointee.error.map { ServiceError($0) }
                })
        }
    }

    private func saveResult(
        _ save: UnsafeMutablePointer<Brume__Server__V1__SaveResultView>
    ) throws(ServiceError) -> SaveResult<Record> {
        let outcome: RecordOutcome<Record>
        switch save.pointee.outcome_case {
        case BRUME__SERVER__V1__SAVE_RESULT_VIEW__OUTCOME_RECORD:
            outcome = .record(try StoredRecord.decode(save.pointee.record.rawBuffer, fieldArena: fieldArena))
        case BRUME__SERVER__V1__SAVE_RESULT_VIEW__OUTCOME_ERROR:
            outcome = .failure(ServiceError(save.pointee.error))
        default:
            outcome = .failure(Self.unreadableAnswer("the result of a save is neither a record nor an error"))
        }
        return SaveResult(outcome: outcome, fieldsOmitted: save.pointee.fields_omitted != 0)
    }
}

extension MessageArena {
    func desiredKeys(_ keys: DesiredKeys?) -> Pointer<Brume__V1__DesiredKeys>? {
        guard let keys else { return nil }
        let message = make(brume__v1__desired_keys__init)
        message.pointee.n_keys = keys.count
        message.pointee.keys = list(keys)
        return message
    }

    fileprivate func recordSave(_ save: RecordSave<DecodedFields>) -> Pointer<Brume__V1__RecordSave> {
        let message = make(brume__v1__record_save__init)
        message.pointee.name = data(save.name)
        message.pointee.type = data(save.type)
        message.pointee.change_tag = data(save.changeTag)
        switch save.parent {
        case .unchanged:
            break
        case .removed:
            message.pointee.parent_change_case = BRUME__V1__RECORD_SAVE__PARENT_CHANGE_REMOVES_PARENT
            message.pointee.removes_parent = 1
        case .set(let name):
            message.pointee.parent_change_case = BRUME__V1__RECORD_SAVE__PARENT_CHANGE_PARENT
            message.pointee.parent = data(name)
        }
        message.pointee.stamp = data(save.stamp)
        message.pointee.replaces_encrypted = save.replacesEncrypted ? 1 : 0
        message.pointee.n_fields = save.fields.count
        message.pointee.fields = messages(save.fields.sorted { $0.key < $1.key }) { field($0.key, $0.value) }
        return message
    }
}
