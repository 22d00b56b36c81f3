internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRecord

/// What a server answers a call with.
enum ServerAnswer {
    case message([UInt8])
    case failure(ServiceError)
    /// Messages after which more may come.
    case parts([[UInt8]])
}

/// A call of a device whose answer is on its way.
struct AnsweredCall {
    let method: Method
    let request: [UInt8]
    /// What was seen of a content that comes in parts.
    let content = SeenContent()
}

/// A lie as it is told to one device.
struct ToldLie: Sendable {
    enum Part: Sendable {
        case field(FieldLie, of: CKRecord.ID)
        case recordType(String, of: CKRecord.ID)
        case parent(String, of: CKRecord.ID)
        case stamp(StampLie, of: CKRecord.ID)
        case invited(String, of: CKRecord.ID)
        case name(String, of: CKRecord.ID)
        case participant(String, as: String, of: CKRecord.ID)
        case account(String)
        case record([UInt8], insteadOf: CKRecord.ID)
        case file(FileLie, field: String, of: CKRecord.ID)
        case uploads(byteCount: UInt64, zone: ToldRing)
        case misplaced([CKRecord.ID])
        case keys(ToldKeys, of: ToldRing)
        case news(ToldNews, of: ToldRing)
        /// What a device asks for is refused.
        case joining(ToldRing)
        /// The statements of a user beside the rings of a zone.
        case userKeys(ToldKeys, user: String, zone: ToldRing)
        case accountKeys(ToldKeys)
        case enrolment(EnrolmentLie, number: Int)
        case zoneIsGone(ZoneID, ZoneDeletionReason)
    }

    /// The device's name, which it keeps when its app is started again.
    let device: String
    let parts: [Part]

    /// The answer with the lie in it; nil for one that the lie is not about.
    func told(_ answer: ServerAnswer, to call: AnsweredCall) -> ServerAnswer? {
        var (answer, isLie) = (answer, false)
        for part in parts {
            // What can't be read is no answer of a test server's.
            guard let next = try? Self.told(part, answer, to: call) else { continue }
            (answer, isLie) = (next, true)
        }
        return isLie ? answer : nil
    }

    private static func told(
        _ part: Part, _ answer: ServerAnswer, to call: AnsweredCall
    ) throws(ServiceError) -> ServerAnswer? {
        switch part {
        case .field(let lie, let id):
            try toldRecord(id, answer, to: call) { record, bytes in
                let fields = lie.told(record.fields)
                return fields.isEmpty ? nil : RecordLie.replacingFields(fields, of: bytes)
            }
        case .recordType(let type, let id):
            try toldRecord(id, answer, to: call) { _, bytes in RecordLie.replacingType(type, of: bytes) }
        case .parent(let parent, let id):
            try toldRecord(id, answer, to: call) { _, bytes in RecordLie.replacingParent(parent, of: bytes) }
        case .stamp(let lie, let id):
            try toldRecord(id, answer, to: call) { record, bytes in
                lie.told(record.system.stamp).map { RecordLie.replacingStamp($0, of: bytes) }
            }
        case .invited(let user, let id):
            try toldRecord(id, answer, to: call) { _, bytes in RecordLie.showingAsInvited(user, in: bytes) }
        case .name(let name, let id):
            try toldRecord(id, answer, to: call) { _, bytes in RecordLie.replacingName(name, of: bytes) }
        case .participant(let other, let user, let id):
            try toldRecord(id, answer, to: call) { _, bytes in
                RecordLie.showingOther(other, as: user, in: bytes)
            }
        case .account: nil
        case .file(let lie, let field, let id): try toldFile(lie, field, of: id, answer, to: call)
        case .uploads(let byteCount, let zone): try toldUpload(byteCount, to: zone, answer, to: call)
        case .record(let other, let id): try toldRecord(id, answer, to: call) { _, _ in other }
        case .misplaced(let ids): try toldMisplaced(ids, to: call)
        case .keys(let keys, let ring): try toldRing(keys, ring, answer, to: call)
        case .news(let news, let ring): try toldNews(news, ring, answer, to: call)
        case .joining(let ring): try toldJoining(ring, to: call)
        case .userKeys(let keys, let user, let zone): try toldStatements(keys, of: user, zone, answer, to: call)
        case .accountKeys(let keys): try toldStatements(keys, answer, to: call)
        case .enrolment(let lie, let number): try toldEnrolments(lie, number, answer, to: call)
        case .zoneIsGone(let zone, let reason): try toldDeletion(of: zone, reason, answer, to: call)
        }
    }

    // MARK: Records

    private static func toldRecord(
        _ id: CKRecord.ID, _ answer: ServerAnswer, to call: AnsweredCall,
        _ change: (Record, UnsafeRawBufferPointer) -> [UInt8]?
    ) throws(ServiceError) -> ServerAnswer? {
        guard case .message(let bytes) = answer, let zones = try zones(bytes, call) else { return nil }
        let zone = ToldRing(id.zoneID)
        var (changed, isLie) = (bytes, false)
        for path in paths(call.method) {
            changed = changed.withUnsafeBytes { message in
                WireEdit.replacing(message, path: path) { places, content in
                    guard zones(places[0]).map(zone.isIn) == true, let record = try? StoredRecord.decode(content),
                        record.system.name == id.recordName, let other = change(record, content)
                    else { return .kept }
                    isLie = true
                    return .replaced(other)
                }
            }
        }
        return isLie ? .message(changed) : nil
    }

    /// Where the records of an answer are, as numbers of elements.
    private static func paths(_ method: Method) -> [[UInt64]] {
        switch method {
        case .recordsFetch: [[1, 1, 1]]
        // Saved ones, and those in the way of a save.
        case .recordsModify: [[1, 1, 1], [1, 1, 2, 4]]
        case .recordsChanges: [[1]]
        case .recordsQuery: [[1, 2]]
        default: []
        }
    }

    /// The zone of the records in the n-th part of an answer; nil for one without records of a custom zone.
    private static func zones(_ answer: [UInt8], _ call: AnsweredCall) throws(ServiceError) -> ((Int) -> ZoneID?)? {
        let coder = MessageCoder()
        let (scope, zones): (DatabaseScope, [ZoneID])
        switch call.method {
        case .recordsFetch:
            let request = try decode(call.request, coder.decodeFetchRecordsRequest)
            (scope, zones) = (request.database, request.zones.map(\.zone))
        case .recordsModify:
            let request = try decode(call.request, coder.decodeModifyRecordsRequest)
            (scope, zones) = (request.database, request.zones.map(\.zone))
        case .recordsChanges:
            let request = try decode(call.request, coder.decodeZoneChangesRequest)
            return request.database == .public ? nil : { _ in request.zone }
        case .recordsQuery:
            let request = try decode(call.request, coder.decodeQueryRequest)
            (scope, zones) = (request.database, try decode(answer, coder.decodeQueryResponse).matches.map(\.zone))
        default: return nil
        }
        return scope == .public ? nil : { zones.indices.contains($0) ? zones[$0] : nil }
    }

    static func decode<Value>(
        _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(ServiceError) -> Value
    ) throws(ServiceError) -> Value {
        let result: Result<Value, ServiceError> = bytes.withUnsafeBytes { bytes in
            Result { () throws(ServiceError) in try body(bytes) }
        }
        return try result.get()
    }

    // MARK: Zones

    private static func toldDeletion(
        of zone: ZoneID, _ reason: ZoneDeletionReason, _ answer: ServerAnswer, to call: AnsweredCall
    ) throws(ServiceError) -> ServerAnswer? {
        let coder = MessageCoder()
        switch (call.method, answer) {
        case (.databasesChanges, .message(let bytes)):
            guard try decode(call.request, coder.decodeDatabaseChangesRequest).database == .private else { return nil }
            let page = try decode(bytes, coder.decodeDatabaseChangesResponse)
            return .message(
                coder.encodeDatabaseChangesResponse(
                    DatabaseChangesPage(
                        changed: page.changed.filter { $0.name != zone.name },
                        deletions: page.deletions + [.init(zone: zone, reason: reason)], token: page.token,
                        moreComing: page.moreComing, earlierDeletions: page.earlierDeletions)))
        case (.ringsFetch, _):
            guard try decode(call.request, coder.decodeFetchRingRequest).zone.name == zone.name else { return nil }
        case (.ringsAppend, _):
            guard try decode(call.request, coder.decodeAppendRingEntryRequest).zone.name == zone.name else {
                return nil
            }
        default: return nil
        }
        return .failure(ServiceError(zoneIsGone: reason))
    }
}

extension ServiceError {
    /// What a server says of a zone that was deleted.
    init(zoneIsGone reason: ZoneDeletionReason) {
        let message = "the zone does not exist; save it first"
        switch reason {
        case .deleted: self.init(.zoneNotFound, message)
        case .purged: self.init(.userDeletedZone, message)
        case .encryptedDataReset: self.init(.zoneNotFound, message, detail: .encryptedDataReset)
        }
    }
}
