package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// `Records.Modify`, the server's side.
extension MessageCoder {
    /// Reads a request. Names of records to save are unique in their zone and valid unless the item's problem says
    /// otherwise; names of records to delete are unique and still to be checked by ``Names``.
    ///
    /// A valid request in the usual encoding is read in place.
    package func decodeModifyRecordsRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> ModifyRecordsRequest<CheckedFields> {
        if bytes.count <= Limits.requestBytes,
            let request = ModifyRecordsReader.read(bytes, fieldArena: fieldArena)
        {
            return request
        }
        return try decodeModifyRecordsMessage(bytes)
    }

    /// Reads any request by unpacking its message: the fallback when it can't be read in place.
    package func decodeModifyRecordsMessage(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> ModifyRecordsRequest<CheckedFields> {
        let message = try request(brume__v1__modify_records_request__unpack, bytes)
        let database = try RequestChecks.scope(message.pointee.database)
        guard let savePolicy = UInt8(exactly: message.pointee.save_policy.rawValue).flatMap(SavePolicy.init) else {
            throw ServiceError(
                .invalidArguments,
                "a request has the unknown save policy \(message.pointee.save_policy.rawValue); use 0, 1 or 2")
        }
        let operationID = try RequestChecks.operationID(message.pointee.operation_id)
        let clientToken = try RequestChecks.clientToken(message.pointee.client_token)
        try RequestChecks.itemCount(message.pointee.n_zones, "zones")
        var items = 0
        for index in 0..<message.pointee.n_zones {
            let zone = message.pointee.zones[index]!
            items += zone.pointee.n_saves + zone.pointee.n_deletions
        }
        try RequestChecks.itemCount(items, "saves and deletions")
        try Self.checkListMessages(message)
        try Self.checkShareChanges(message)
        let receipts = try Self.takeReceipts(message)
        let zones = try values(message.pointee.zones, message.pointee.n_zones) {
            (zone) throws(ServiceError) in try self.zoneModification(zone)
        }
        try RequestChecks.distinctZones(zones, \.zone)
        var request = ModifyRecordsRequest(
            database: database, savePolicy: savePolicy, isAtomic: message.pointee.not_atomic == 0,
            operationID: operationID, zones: zones, clientToken: clientToken)
        request.receipts = receipts
        return request
    }

    /// Takes the receipts out of the assets of a request.
    private static func takeReceipts(
        _ request: UnsafeMutablePointer<Brume__V1__ModifyRecordsRequest>
    ) throws(ServiceError) -> [[UInt8]] {
        var receipts: [[UInt8]] = []
        for zone in UnsafeBufferPointer(start: request.pointee.zones, count: request.pointee.n_zones) {
            for save in UnsafeBufferPointer(start: zone!.pointee.saves, count: zone!.pointee.n_saves) {
                for field in UnsafeBufferPointer(start: save!.pointee.fields, count: save!.pointee.n_fields) {
                    guard let value = field!.pointee.value else { continue }
                    FieldChecker.takeReceipts(of: value, into: &receipts)
                    guard receipts.count <= Limits.receiptsPerRequest else {
                        throw ServiceError(
                            .limitExceeded,
                            """
                            a request has more than \(Limits.receiptsPerRequest) receipts of assets, which is the \
                            limit: send fewer records at a time
                            """)
                    }
                }
            }
        }
        return receipts
    }

    /// Checks the number of assets, and of locations and references in lists, before any of them is looked at.
    private static func checkListMessages(
        _ request: UnsafeMutablePointer<Brume__V1__ModifyRecordsRequest>
    ) throws(ServiceError) {
        var count = 0
        for zone in UnsafeBufferPointer(start: request.pointee.zones, count: request.pointee.n_zones) {
            for save in UnsafeBufferPointer(start: zone!.pointee.saves, count: zone!.pointee.n_saves) {
                for field in UnsafeBufferPointer(start: save!.pointee.fields, count: save!.pointee.n_fields) {
                    guard let value = field!.pointee.value else { continue }
                    switch value.pointee.kind_case {
                    case BRUME__V1__VALUE__KIND_LOCATION_LIST: count += value.pointee.location_list.pointee.n_values
                    case BRUME__V1__VALUE__KIND_REFERENCE_LIST: count += value.pointee.reference_list.pointee.n_values
                    default: count += FieldChecker.assetCount(of: value)
                    }
                }
            }
        }
        guard count <= Limits.listMessagesPerRequest else {
            throw ServiceError(
                .limitExceeded,
                """
                a request holds \(count) assets, and places and references in lists; the limit is \
                \(Limits.listMessagesPerRequest): send fewer records at a time, and spread longer lists over \
                several records
                """)
        }
    }

    /// Checks how much the shares of a request change, before any of it is read.
    private static func checkShareChanges(
        _ request: UnsafeMutablePointer<Brume__V1__ModifyRecordsRequest>
    ) throws(ServiceError) {
        var count = 0
        for zone in UnsafeBufferPointer(start: request.pointee.zones, count: request.pointee.n_zones) {
            for save in UnsafeBufferPointer(start: zone!.pointee.saves, count: zone!.pointee.n_saves) {
                guard let change = save!.pointee.share?.pointee else { continue }
                count += change.n_removals + change.n_participants + change.n_denials
                count += change.n_blocks + change.n_unblocks
            }
        }
        guard count <= Limits.shareChangesPerRequest else {
            throw ServiceError(
                .limitExceeded,
                "the shares of a request change \(count) participants and requests; the limit is "
                    + "\(Limits.shareChangesPerRequest): send them in several requests")
        }
    }

    private func zoneModification(
        _ zone: UnsafeMutablePointer<Brume__V1__ZoneModification>
    ) throws(ServiceError) -> ZoneModification<CheckedFields> {
        let id = try ZoneCoder.checked(zone.pointee.zone)
        let saves = try values(zone.pointee.saves, zone.pointee.n_saves) {
            (save) throws(ServiceError) in self.recordSave(save)
        }
        let deletions = lossyTexts(zone.pointee.deletions, zone.pointee.n_deletions)
        try Self.distinctRecords(saves, deletions)
        var modification = ZoneModification(zone: id, saves: saves, deletions: deletions)
        modification.ringEntryHash = zone.pointee.ring_entry_hash.array
        guard [0, Limits.ringEntryHashBytes].contains(modification.ringEntryHash.count) else {
            throw ServiceError(
                .invalidArguments,
                "the hash of a ring's entry has \(modification.ringEntryHash.count) bytes; it has "
                    + "\(Limits.ringEntryHashBytes)")
        }
        for (index, save) in saves.enumerated() where save.type == Names.shareType && save.fields.problem == nil {
            do throws(ServiceError) {
                modification.shares[save.name] = try zone.pointee.saves[index]!.pointee.share.map(shareSave)
            } catch {
                modification.saves[index].fields = CheckedFields(problem: error)
            }
        }
        return modification
    }

    /// Fails when a record is named twice. A name that no record can have fails its own item, even when it is repeated.
    private static func distinctRecords(
        _ saves: [RecordSave<CheckedFields>], _ deletions: [String]
    ) throws(ServiceError) {
        guard saves.count + deletions.count > 1 else { return }
        var seen = Set<String>(minimumCapacity: saves.count + deletions.count)
        for save in saves where !seen.insert(save.name).inserted && isRecordName(save.name) {
            throw RequestChecks.twice(save.name, "record")
        }
        for name in deletions where !seen.insert(name).inserted && isRecordName(name) {
            throw RequestChecks.twice(name, "record")
        }
    }

    private static func isRecordName(_ name: String) -> Bool {
        Names.isUserRecordName(name) || Names.problemWithRecordName(name) == nil
    }

    private func recordSave(_ save: UnsafeMutablePointer<Brume__V1__RecordSave>) -> RecordSave<CheckedFields> {
        let name = save.pointee.name.lossyText
        let type = save.pointee.type.lossyText
        var parent = ParentChange.unchanged
        var problem = Self.problem(name: name, type: type)
        switch save.pointee.parent_change_case {
        case BRUME__V1__RECORD_SAVE__PARENT_CHANGE_PARENT:
            parent = .set(save.pointee.parent.lossyText)
            problem =
                problem ?? FieldChecker.problem(recordName: save.pointee.parent).map { "a record's parent: \($0)" }
        case BRUME__V1__RECORD_SAVE__PARENT_CHANGE_REMOVES_PARENT where save.pointee.removes_parent != 0:
            parent = .removed
        default:
            break
        }
        problem = problem ?? FieldChecker.problem(stamp: save.pointee.stamp.rawBuffer)
        if save.pointee.share != nil, type != Names.shareType {
            problem = problem ?? "a record that is no share changes a share; its type would be \"\(Names.shareType)\""
        }
        let changeTag = save.pointee.change_tag.lossyText
        let fields =
            problem.map { CheckedFields(problem: ServiceError(.invalidArguments, $0)) } ?? FieldChecker.check(save)
        return RecordSave(
            name: name, type: type, changeTag: changeTag, parent: parent, stamp: save.pointee.stamp.array,
            replacesEncrypted: save.pointee.replaces_encrypted != 0, fields: fields)
    }

    /// What is wrong with the names of a record to save, or nil. A user's record is let through: whether the caller may
    /// write it is decided where the caller's identity is known. A replacement character in a lossy name is not ASCII,
    /// so the name is refused.
    static func problem(name: String, type: String) -> String? {
        if Names.isUserRecordName(name), type == Names.userRecordType { return nil }
        return Names.problemWithRecordName(name) ?? Names.problemWithRecordType(type)
    }

    /// Writes the answer; the stored bytes of the records are copied into it unchanged.
    package func encodeModifyRecordsResponse(_ results: [ZoneModificationResult<SharedBytes>]) -> [UInt8] {
        var bytes: [UInt8] = []
        for result in results {
            result.append(field: 1, to: &bytes) { error in encode { $0.itemErrorView(error) } }
        }
        return bytes
    }
}
