import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

/// What user records can't be used for, and what clients are told.
@Suite("User records")
struct UserRecordTests {
    @Test("a user record can't be a parent, which is said in words of its own; a reference may point to it")
    func parents() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let coder = MessageCoder()
        let user = server.userRecordName(ofAccount: 1)
        for database in [DatabaseScope.private, .public] {
            let request = ModifyRecordsRequest<DecodedFields>(
                database: database,
                zones: [
                    ZoneModification(
                        zone: .defaultZone,
                        saves: [
                            RecordSave(name: "child", type: "Note", parent: .set(user), fields: [:]),
                            RecordSave(
                                name: "friend", type: "Note",
                                fields: ["user": .reference(Reference(recordName: user, deletesSelf: false))]),
                        ])
                ])
            let answer = try peer.call(.recordsModify, coder.encodeModifyRecordsRequest(request))
            let results = try answer.withUnsafeBytes { try coder.decodeModifyRecordsResponse($0) }
            guard case .failure(let error) = results[0].saves[0].outcome else {
                Issue.record("a user record is a parent in \(database)")
                continue
            }
            #expect(error.code == .invalidArguments)
            #expect(error.message.contains("a user record can't be a parent"), "\(error.message)")
            guard case .record = results[0].saves[1].outcome else {
                Issue.record("a reference to a user was refused in \(database)")
                continue
            }
        }
    }

    @Test("querying user records and subscribing to them fail alike")
    func queriesAndSubscriptions() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        for database in [DatabaseScope.private, .public] {
            let query = Query(recordType: "Users", predicate: .constant(true))
            let queried = #expect(throws: ServiceError.self) {
                _ = try peer.query(QueryRequest(database: database, zone: nil, query: query))
            }
            let subscribed = #expect(throws: ServiceError.self) {
                try peer.subscribe(
                    Subscription(
                        id: "users",
                        kind: .query(
                            QuerySubscription(
                                recordType: "Users", predicate: .constant(true), options: .reasons))), in: database)
            }
            #expect(queried?.code == .invalidArguments)
            #expect(subscribed?.code == .invalidArguments)
            #expect(queried?.message == subscribed?.message)
        }
    }
}
