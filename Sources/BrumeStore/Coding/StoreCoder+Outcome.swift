package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// What operations did, as it is remembered for retries.
///
/// An outcome of records has the layout of a `brume.v1.ModifyRecordsResponse`, as a stored record has that of a
/// `brume.v1.Record`: a door of that protocol sends it as it is.
extension StoreCoder {
    package static func encodeOutcome(_ outcome: OperationOutcome) -> [UInt8] {
        var bytes: [UInt8] = []
        switch outcome {
        case .records(let zones):
            for zone in zones { append(zone, field: 1, to: &bytes) }
        case .zones(let result, let firstFetches):
            let saves = zip(result.saves, firstFetches).map { save, firstFetch in
                save.map { zone in packed { $0.savedZone(zone, firstFetch) } }
            }
            append(items(saves, result.deletions), field: 2, to: &bytes)
        case .subscriptions(let result):
            let saves = result.saves.map { save in save.map { kept in packed { $0.subscription(kept) } } }
            append(items(saves, result.deletions), field: 3, to: &bytes)
        }
        return bytes
    }

    private static func items(
        _ saves: [Result<[UInt8], ServiceError>], _ deletions: [ServiceError?]
    ) -> ZoneModificationResult<SharedBytes> {
        ZoneModificationResult(
            saves: saves.map { save in
                switch save {
                case .success(let bytes): SaveResult(outcome: .record(SharedBytes(bytes)))
                case .failure(let error): SaveResult(outcome: .failure(error))
                }
            }, deletions: deletions)
    }

    private static func packed<Message>(_ build: (MessageArena) -> UnsafeMutablePointer<Message>) -> [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes, build)
        return bytes
    }

    private static func append(
        _ items: ZoneModificationResult<SharedBytes>, field: UInt8, to bytes: inout [UInt8]
    ) {
        items.append(field: field, to: &bytes) { error in packed { $0.failure(error) } }
    }
}

// MARK: Reading

extension StoreCoder {
    package static func decodeOutcome(_ bytes: [UInt8]) throws(StoreCodingError) -> OperationOutcome {
        let result: Result<OperationOutcome, StoreCodingError> = bytes.withUnsafeBytes { bytes in
            do throws(StoreCodingError) {
                return .success(
                    try unpack(brume__store__v1__operation_outcome__unpack, bytes, "an operation's outcome", outcome))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private static func outcome(
        _ message: UnsafeMutablePointer<Brume__Store__V1__OperationOutcome>
    ) throws(StoreCodingError) -> OperationOutcome {
        if let zones = message.pointee.zones {
            let saves = try values(zones.pointee.saves, zones.pointee.n_saves) { (save) throws(StoreCodingError) in
                try self.save(save, savedZone)
            }
            return .zones(
                ModifyZonesResult(
                    saves: saves.map { $0.map(\.zone) },
                    deletions: try values(zones.pointee.deletions, zones.pointee.n_deletions, deletion)),
                firstFetches: saves.map { save in if case .success(let saved) = save { saved.firstFetch } else { nil } }
            )
        }
        if let items = message.pointee.subscriptions {
            return .subscriptions(
                ModifySubscriptionsResult(
                    saves: try values(items.pointee.saves, items.pointee.n_saves) { (save) throws(StoreCodingError) in
                        try self.save(save, subscription)
                    }, deletions: try values(items.pointee.deletions, items.pointee.n_deletions, deletion)))
        }
        return .records(
            try values(message.pointee.records, message.pointee.n_records) { (zone) throws(StoreCodingError) in
                ZoneModificationResult(
                    saves: try values(zone.pointee.saves, zone.pointee.n_saves, recordSave),
                    deletions: try values(zone.pointee.deletions, zone.pointee.n_deletions, deletion))
            })
    }

    private static func recordSave(
        _ save: UnsafeMutablePointer<Brume__Store__V1__SaveOutcome>
    ) throws(StoreCodingError) -> SaveResult<SharedBytes> {
        let outcome = try self.save(save) { (record) throws(StoreCodingError) in SharedBytes(record.array) }
        let omitted = save.pointee.fields_omitted != 0
        switch outcome {
        case .success(let record): return SaveResult(outcome: .record(record), fieldsOmitted: omitted)
        case .failure(let error): return SaveResult(outcome: .failure(error), fieldsOmitted: omitted)
        }
    }

    private static func save<Saved>(
        _ save: UnsafeMutablePointer<Brume__Store__V1__SaveOutcome>,
        _ saved: (ProtobufCBinaryData) throws(StoreCodingError) -> Saved
    ) throws(StoreCodingError) -> Result<Saved, ServiceError> {
        if let failure = save.pointee.failure { return .failure(try self.failure(failure)) }
        return .success(try saved(save.pointee.saved))
    }

    private static func savedZone(
        _ bytes: ProtobufCBinaryData
    ) throws(StoreCodingError) -> (zone: Zone, firstFetch: ChangeToken?) {
        try unpack(brume__store__v1__saved_zone__unpack, bytes.rawBuffer, "a saved zone") {
            (message) throws(StoreCodingError) in
            let zone = Zone(
                id: ZoneID(name: try text(message.pointee.name, "a zone name")),
                capabilities: ZoneCapabilities(rawValue: message.pointee.capabilities),
                isShared: message.pointee.is_shared != 0)
            return (
                zone,
                message.pointee.first_fetch.map { token in
                    ChangeToken(
                        kind: .zone, epoch: token.pointee.epoch, incarnation: token.pointee.incarnation,
                        position: ChangePosition(rawValue: token.pointee.position),
                        firstFetchHead: ChangePosition(rawValue: token.pointee.first_fetch_head),
                        pageHead: ChangePosition(rawValue: token.pointee.page_head))
                }
            )
        }
    }

    private static func deletion(
        _ deletion: UnsafeMutablePointer<Brume__Store__V1__DeletionOutcome>
    ) throws(StoreCodingError) -> ServiceError? {
        guard let failure = deletion.pointee.failure else { return nil }
        return try self.failure(failure)
    }

    private static func failure(
        _ failure: UnsafeMutablePointer<Brume__Store__V1__Failure>
    ) throws(StoreCodingError) -> ServiceError {
        guard let detail = UInt8(exactly: failure.pointee.detail).flatMap(ServiceError.Detail.init) else {
            throw StoreCodingError("an operation's outcome has a detail that this version doesn't know")
        }
        let record = failure.pointee.server_record.array
        return ServiceError(
            ErrorCode(rawValue: failure.pointee.code), try text(failure.pointee.message, "a failure's sentence"),
            retryAfterMilliseconds: failure.pointee.retry_after_milliseconds,
            serverRecord: record.isEmpty ? nil : record, detail: detail)
    }
}

extension MessageArena {
    fileprivate func savedZone(_ zone: Zone, _ firstFetch: ChangeToken?) -> Pointer<Brume__Store__V1__SavedZone> {
        let message = make(brume__store__v1__saved_zone__init)
        message.pointee.name = data(zone.id.name)
        message.pointee.capabilities = zone.capabilities.rawValue
        message.pointee.is_shared = zone.isShared ? 1 : 0
        if let firstFetch {
            let token = make(brume__store__v1__first_fetch__init)
            token.pointee.epoch = firstFetch.epoch
            token.pointee.incarnation = firstFetch.incarnation
            token.pointee.position = firstFetch.position.rawValue
            token.pointee.first_fetch_head = firstFetch.firstFetchHead.rawValue
            token.pointee.page_head = firstFetch.pageHead.rawValue
            message.pointee.first_fetch = token
        }
        return message
    }

    fileprivate func failure(_ error: ServiceError) -> Pointer<Brume__Store__V1__Failure> {
        let message = make(brume__store__v1__failure__init)
        message.pointee.code = error.code.rawValue
        message.pointee.message = data(error.message)
        message.pointee.retry_after_milliseconds = error.retryAfterMilliseconds
        message.pointee.detail = UInt32(error.detail.rawValue)
        if let record = error.serverRecord { message.pointee.server_record = data(record) }
        return message
    }
}
