import BrumeAdmin
import BrumeKit
import BrumeModel
import BrumeServer
import BrumeStore
import BrumeTestKit
import Foundation
import Testing

/// Schemas over TLS: what an app meets, and what its operator does.
@Suite("An app and its schema", .timeLimit(.minutes(2)))
struct SchemaTests {
    let server: RunningServer
    let token: String
    let zone = CKRecordZone.ID(zoneName: "Notes")

    init() throws {
        server = try RunningServer()
        token = try server.addAccount("ada")
    }

    private func admin(_ environment: BrumeConfiguration.Environment = .development) throws -> ClientSession {
        try server.admin(environment)
    }

    private func device(
        _ environment: BrumeConfiguration.Environment = .development, token: String? = nil
    ) -> CKContainer {
        server.device(token: token ?? self.token) { $0.environment = environment }
    }

    private func schema(_ environment: BrumeConfiguration.Environment = .development) async throws -> Schema {
        try SchemaParser.parse(try await admin(environment).exportSchema().text)
    }

    private func note(_ name: String, _ fields: [String: any CKRecordValueProtocol]) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        for (key, value) in fields { record[key] = value }
        return record
    }

    private func failure(_ body: () async throws -> Void) async throws -> CKError {
        do {
            try await body()
        } catch let error as CKError {
            return error
        }
        throw CKError(.internalError)
    }

    @Test("development learns from saves, keeps it over a restart, and refuses another type with both types' names")
    func learning() async throws {
        let database = device().privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zone))
        try await database.save(note("a", ["title": "x", "count": 1]))
        let learned = try await schema()
        #expect(learned.recordTypes["Note"]?.field("title")?.options == .all)
        #expect(learned.recordTypes["Note"]?.field("count")?.type == SchemaFieldType(.int64))
        let error = try await failure { try await database.save(note("b", ["count": "many"])) }
        #expect(error.code == .invalidArguments)
        for part in ["'count'", "Note", "INT64", "STRING"] {
            #expect(error.localizedDescription.contains(part), "\(error.localizedDescription)")
        }
        server.stop()
        try server.start()
        #expect(try await schema() == learned)
        #expect(try await failure { try await database.save(note("c", ["title": 5])) }.code == .invalidArguments)
        try await database.save(note("d", ["title": "y", "more": Date()]))
        #expect(try await schema().recordTypes["Note"]?.fields.count == 3)
    }

    @Test("many devices that teach at once are all saved, and the schema has everything")
    func race() async throws {
        try await device().privateCloudDatabase.save(CKRecordZone(zoneID: zone))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<12 {
                let database = device().privateCloudDatabase
                let record = note("r\(index)", ["f\(index)": index, "shared": "s"])
                group.addTask { try await database.save(record) }
            }
            try await group.waitForAll()
        }
        #expect(try await schema().recordTypes["Note"]?.fields.count == 13)
    }

    @Test("production refuses what is not deployed, names what mends it, and takes it after the deployment")
    func production() async throws {
        let development = device().privateCloudDatabase
        try await development.save(CKRecordZone(zoneID: zone))
        try await development.save(note("a", ["title": "x"]))
        let production = device(.production).privateCloudDatabase
        try await production.save(CKRecordZone(zoneID: zone))
        let missing = try await failure { try await production.save(note("a", ["title": "x"])) }
        #expect(missing.code == .invalidArguments)
        for part in ["Note", "production", "brume schema deploy --container iCloud.test"] {
            #expect(missing.localizedDescription.contains(part), "\(missing.localizedDescription)")
        }
        let fingerprint = try await admin().exportSchema().fingerprint
        let refusal = await #expect(throws: ServiceError.self) {
            try await admin().deploySchema(fingerprint: fingerprint &+ 1)
        }
        #expect(refusal?.code == .serverRejectedRequest)
        try await admin().deploySchema(fingerprint: fingerprint)
        try await production.save(note("a", ["title": "x"]))
        let field = try await failure { try await production.save(note("b", ["title": "x", "body": "y"])) }
        #expect(field.code == .invalidArguments)
        for part in ["'body'", "Note", "brume schema deploy"] {
            #expect(field.localizedDescription.contains(part), "\(field.localizedDescription)")
        }
        #expect(try await schema(.production).recordTypes["Note"] == schema().recordTypes["Note"])
    }

    @Test("an import replaces development's schema unless production would lose something")
    func importing() async throws {
        let text = "DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE);"
        try await admin().importSchema(text: text, validatesOnly: true)
        #expect(try await schema().isEmpty)
        try await admin().importSchema(text: text, validatesOnly: false)
        #expect(try await schema() == SchemaParser.parse(text))
        try await admin().deploySchema(fingerprint: try await admin().exportSchema().fingerprint)
        for (text, part) in [
            ("DEFINE SCHEMA RECORD TYPE Other ();", "Note is in production and missing here"),
            ("DEFINE SCHEMA RECORD TYPE Note (", "line 1, column 33"),
        ] {
            let error = await #expect(throws: ServiceError.self) {
                try await admin().importSchema(text: text, validatesOnly: false)
            }
            #expect(
                error?.code == .invalidArguments && error?.message.contains(part) == true, "\(error?.message ?? "")")
        }
        let error = await #expect(throws: ServiceError.self) {
            try await admin(.production).importSchema(text: text, validatesOnly: false)
        }
        #expect(error?.message.contains("development") == true)
        #expect(try await schema() == SchemaParser.parse(text))
    }

    @Test("a schema's text may be as long as a request, and a longer one is refused and changes nothing")
    func importLimit() async throws {
        func text(_ bytes: Int) -> String {
            let schema = "DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE); // "
            return schema + String(repeating: "x", count: bytes - schema.utf8.count)
        }
        let session = try admin()
        try await session.importSchema(text: text(Limits.importedSchemaTextBytes), validatesOnly: false)
        let imported = try SchemaParser.parse("DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE);")
        #expect(try await schema() == imported)
        let error = await #expect(throws: ServiceError.self) {
            try await session.importSchema(
                text: text(Limits.requestBytes + 1).replacing("title", with: "other"), validatesOnly: false)
        }
        #expect(error?.code == .limitExceeded, "\(String(describing: error))")
        #expect(error?.message.contains("\(Limits.requestBytes)") == true, "\(error?.message ?? "")")
        // Neither the schema nor the connection has suffered.
        #expect(try SchemaParser.parse(try await session.exportSchema().text) == imported)
    }

    @Test("a role takes effect at once on open connections, and is taken away at once")
    func roles() async throws {
        let text = """
            DEFINE SCHEMA CREATE ROLE Editor;
            RECORD TYPE Note (title STRING, GRANT READ TO "_world", GRANT CREATE, WRITE TO Editor);
            """
        try await admin().importSchema(text: text, validatesOnly: false)
        let database = device().publicCloudDatabase
        func save(_ name: String) async throws {
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
            record["title"] = name
            try await database.save(record)
        }
        let refusal = try await failure { try await save("a") }
        #expect(refusal.code == .permissionFailure)
        for part in ["CREATE", "Note", "Editor", "brume schema role"] {
            #expect(refusal.localizedDescription.contains(part), "\(refusal.localizedDescription)")
        }
        try await admin().setRoleMember(role: "Editor", account: "ada", isMember: true)
        try await save("a")
        let members = try await admin().listRoleMembers()
        #expect(members.map(\.account) == ["ada"] && members.map(\.roles) == [["Editor"]])
        server.stop()
        try server.start()
        try await save("b")
        try await admin().setRoleMember(role: "Editor", account: "ada", isMember: false)
        #expect(try await failure { try await save("c") }.code == .permissionFailure)
        let anonymous = server.device(token: nil)
        let read = try await anonymous.publicCloudDatabase.record(for: CKRecord.ID(recordName: "b"))
        #expect(read["title"] == "b")
        for (role, account) in [("Nobody", "ada"), ("Editor", "nobody")] {
            let error = await #expect(throws: ServiceError.self) {
                try await admin().setRoleMember(role: role, account: account, isMember: true)
            }
            #expect(error?.code == .unknownItem)
        }
    }

    @Test("a record that its type keeps from a reader is as one that is not there")
    func reading() async throws {
        try await admin().importSchema(
            text: "DEFINE SCHEMA RECORD TYPE Note (GRANT CREATE TO \"_icloud\", GRANT READ TO \"_creator\");",
            validatesOnly: false)
        let id = CKRecord.ID(recordName: "mine")
        try await device().publicCloudDatabase.save(CKRecord(recordType: "Note", recordID: id))
        _ = try await device().publicCloudDatabase.record(for: id)
        let other = device(token: try server.addAccount("bob")).publicCloudDatabase
        let error = try await failure { _ = try await other.record(for: id) }
        #expect(error.code == .unknownItem)
    }

    @Test("a reset gives development production's schema and empties its databases, and production keeps everything")
    func reset() async throws {
        let production = device(.production).privateCloudDatabase
        try await admin().importSchema(
            text: "DEFINE SCHEMA RECORD TYPE Note (title STRING, GRANT CREATE TO \"_icloud\");", validatesOnly: false)
        try await admin().deploySchema(fingerprint: try await admin().exportSchema().fingerprint)
        try await production.save(CKRecordZone(zoneID: zone))
        try await production.save(note("kept", ["title": "x"]))
        var databases = [device().privateCloudDatabase]
        databases.append(device(token: try server.addAccount("bob")).privateCloudDatabase)
        for database in databases {
            try await database.save(CKRecordZone(zoneID: zone))
            for index in 0..<5 { try await database.save(note("n\(index)", ["title": "x", "extra": index])) }
            try await database.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "default")))
        }
        try await device().publicCloudDatabase.save(
            CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "p")))
        // Some are in memory when it comes, and some on disk alone.
        server.stop()
        try server.start()
        _ = try await databases[0].allRecordZones()
        let summary = try await admin().resetSchema()
        #expect(summary.records == 13 && summary.databases >= 3, "\(summary)")
        #expect(try await schema() == schema(.production))
        for database in databases {
            #expect(try await database.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone"])
            let error = try await failure { _ = try await database.record(for: CKRecord.ID(recordName: "default")) }
            #expect(error.code == .unknownItem)
        }
        #expect(try await production.record(for: note("kept", [:]).recordID)["title"] == "x")
        let user = try await device().userRecordID()
        _ = try await device().privateCloudDatabase.record(for: user)
    }

    // MARK: Queries

    private func query(
        _ database: CKDatabase, _ format: String, type: String = "Note"
    ) async throws -> [String] {
        let (results, _) = try await database.records(
            matching: CKQuery(recordType: type, predicate: NSPredicate(format: format, argumentArray: [])))
        return results.map { $0.0.recordName }.sorted()
    }

    @Test("a query runs as soon as a save has taught its type, and before it names the type that is unknown")
    func learnAndQuery() async throws {
        let database = device().privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zone))
        let unknown = try await failure { _ = try await query(database, "TRUEPREDICATE") }
        #expect(unknown.code == .unknownItem)
        #expect(unknown.localizedDescription.contains("Did not find record type: Note"))
        try await database.save(note("a", ["title": "x", "count": 1]))
        #expect(try await query(database, "TRUEPREDICATE") == ["a"])
        #expect(try await query(database, "title == 'x' AND count > 0") == ["a"])
        let field = try await failure { _ = try await query(database, "other == 1") }
        #expect(field.code == .invalidArguments && field.localizedDescription.contains("'other'"))
        let type = try await failure { _ = try await query(database, "title == 1") }
        #expect(type.localizedDescription.contains("STRING"), "\(type.localizedDescription)")
    }

    @Test("a query of a folder from before schemas were kept learns from its records")
    func olderFolder() async throws {
        let database = device().privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zone))
        try await database.save(note("a", ["title": "x"]))
        try await database.save(note("b", ["title": "y", "count": 1]))
        server.stop()
        // The file itself has to be there: its absence would be damage.
        try SchemaFile.write(
            ContainerSchemas(container: "iCloud.test"), to: RealDisk(folder: server.dataFolder))
        try server.start()
        #expect(try await schema().isEmpty)
        #expect(try await query(database, "title == 'y'") == ["b"])
        #expect(try await schema().recordTypes["Note"]?.fields.map(\.name) == ["count", "title"])
        let unknown = try await failure { _ = try await query(database, "TRUEPREDICATE", type: "Task") }
        #expect(unknown.code == .unknownItem)
        // A schema that knows the type and not the field learns the field.
        try await admin().importSchema(text: "DEFINE SCHEMA RECORD TYPE Note (title STRING);", validatesOnly: false)
        server.stop()
        try server.start()
        #expect(try await query(database, "count == 1") == ["b"])
    }

    @Test("in production a query needs the indexes that are deployed, and says which is missing and what adds it")
    func indexes() async throws {
        try await admin().importSchema(
            text: "DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE, body STRING, words STRING SEARCHABLE);",
            validatesOnly: false)
        try await admin().deploySchema(fingerprint: try await admin().exportSchema().fingerprint)
        let database = device(.production).privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zone))
        try await database.save(note("a", ["title": "x", "body": "secret", "words": "open"]))
        #expect(try await query(database, "title == 'x'") == ["a"])
        #expect(try await query(database, "self CONTAINS 'open'") == ["a"])
        #expect(try await query(database, "self CONTAINS 'secret'") == [])
        for (format, part) in [
            ("TRUEPREDICATE", "Field 'recordName' is not marked queryable"),
            ("body == 'y'", "Field 'body' is not marked queryable"),
            ("title > 'y'", "Field 'title' is not marked sortable"),
        ] {
            let error = try await failure { _ = try await query(database, format) }
            #expect(error.code == .invalidArguments)
            for part in [part, "Note", "brume schema deploy --container iCloud.test"] {
                #expect(error.localizedDescription.contains(part), "\(error.localizedDescription)")
            }
        }
        // Development lets the same query of all records through.
        let development = device().privateCloudDatabase
        try await development.save(CKRecordZone(zoneID: zone))
        #expect(try await query(development, "TRUEPREDICATE") == [])
    }

    @Test("a query of the public database shows what its caller may read")
    func readableMatches() async throws {
        try await admin().importSchema(
            text: """
                DEFINE SCHEMA
                RECORD TYPE Note (GRANT CREATE TO "_icloud", GRANT READ TO "_creator");
                RECORD TYPE Closed (GRANT CREATE TO "_icloud");
                """, validatesOnly: false)
        let mine = device().publicCloudDatabase
        let theirs = device(token: try server.addAccount("bob")).publicCloudDatabase
        for (database, name) in [(mine, "mine"), (theirs, "theirs")] {
            for type in ["Note", "Closed"] {
                try await database.save(CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name + type)))
            }
        }
        #expect(try await query(mine, "TRUEPREDICATE") == ["mineNote"])
        #expect(try await query(theirs, "TRUEPREDICATE") == ["theirsNote"])
        let error = try await failure { _ = try await query(mine, "TRUEPREDICATE", type: "Closed") }
        #expect(error.code == .permissionFailure && error.localizedDescription.contains("Closed"))
    }

    @Test("the operator's requests are the operator's alone")
    func notForUsers() async throws {
        let session = try ClientSession.unshared(server.clientConfiguration(token: nil), adminToken: token)
        await #expect(throws: ServiceError.self) { try await session.resetSchema() }
        await #expect(throws: ServiceError.self) { try await session.importSchema(text: "", validatesOnly: false) }
    }
}
