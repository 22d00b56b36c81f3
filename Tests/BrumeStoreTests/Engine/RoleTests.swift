import BrumeModel
import BrumeRecord
import BrumeStore
import Testing

/// The public database under the grants of a schema: each role, each operation, each type.
@Suite("Security roles in the public database")
struct RoleTests {
    private static let author = "_" + String(repeating: "a", count: 32)
    private static let other = "_" + String(repeating: "b", count: 32)

    private static let schema = """
        DEFINE SCHEMA
        CREATE ROLE Editor;
        RECORD TYPE Usual (GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator");
        RECORD TYPE Own (GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator");
        RECORD TYPE Desk (GRANT READ, CREATE, WRITE TO Editor);
        RECORD TYPE Blind (GRANT CREATE, WRITE TO "_icloud");
        RECORD TYPE Wiki (GRANT READ TO "_world", GRANT CREATE, WRITE TO "_icloud");
        RECORD TYPE Closed ();
        """

    /// Who asks.
    enum Role: String, CaseIterable {
        case anonymous, other, creator, editor
    }

    /// What each may do: r read, c create, s save over, d delete.
    private static let rights: [(type: String, rights: [Role: String])] = [
        ("Usual", [.anonymous: "r", .other: "rc", .creator: "rcsd", .editor: "rc"]),
        ("Own", [.anonymous: "", .other: "c", .creator: "rcsd", .editor: "c"]),
        ("Desk", [.anonymous: "", .other: "", .creator: "", .editor: "rcsd"]),
        ("Blind", [.anonymous: "", .other: "csd", .creator: "csd", .editor: "csd"]),
        ("Wiki", [.anonymous: "r", .other: "rcsd", .creator: "rcsd", .editor: "rcsd"]),
        ("Closed", [.anonymous: "", .other: "", .creator: "", .editor: ""]),
        ("FromBefore", [.anonymous: "r", .other: "rc", .creator: "rcsd", .editor: "rc"]),
    ]

    private func caller(_ role: Role) throws -> Caller {
        let user =
            switch role {
            case .anonymous: ""
            case .creator: Self.author
            case .other, .editor: Self.other
            }
        let access = PublicAccess(
            schema: try SchemaParser.parse(Self.schema),
            place: SchemaPlace(container: "iCloud.app", environment: .production), user: user,
            roles: role == .editor ? ["Editor"] : [])
        return Caller(user: user, isOwner: false, access: access)
    }

    @Test("who may save no asset in production uploads none there; in development everybody may make a type")
    func uploads() throws {
        func refusal(
            _ grants: String, fields: String = "picture LIST<ASSET>, ", _ environment: Environment,
            roles: Set<String> = []
        ) throws -> ErrorCode? {
            let schema = "DEFINE SCHEMA\nCREATE ROLE Editor;\nRECORD TYPE Desk (\(fields)\(grants));"
            let access = PublicAccess(
                schema: try SchemaParser.parse(schema),
                place: SchemaPlace(container: "iCloud.app", environment: environment), user: Self.other, roles: roles)
            let id = DatabaseID(container: "iCloud.app", environment: environment, scope: .public, owner: "")
            return Database(id: id, epoch: 1).refusal(
                ofUploadTo: .defaultZone, by: Caller(user: Self.other, isOwner: false, access: access))?.code
        }
        let editors = "GRANT READ TO \"_world\", GRANT CREATE TO Editor"
        #expect(try refusal(editors, .production) == .permissionFailure)
        #expect(try refusal(editors, .production, roles: ["Editor"]) == nil)
        #expect(try refusal(editors, .development) == nil)
        #expect(try refusal("GRANT WRITE TO \"_creator\"", .production) == nil)
        #expect(try refusal("GRANT CREATE TO \"_icloud\"", .production) == nil)
        #expect(try refusal("GRANT CREATE TO \"_icloud\"", fields: "", .production) == .permissionFailure)
    }

    /// A public database with a record of each type that the author made.
    private func database() throws -> Database {
        let database = Database(id: Desk.publicID, epoch: 1)
        let author = Caller(user: Self.author, isOwner: false)
        for (type, _) in Self.rights {
            let decision = database.modifyRecords(
                Self.save(type, of: type, secret: "theirs"), caller: author, nowMilliseconds: 1)
            try #require(decision.commit != nil)
        }
        return database
    }

    private static func save(
        _ name: String, of type: String, secret: String? = nil, policy: SavePolicy = .allKeys, tag: String = ""
    ) -> ModifyRecordsRequest<CheckedFields> {
        let puts =
            secret.map { [StoredRecord.encodeField(key: "secret", value: .string($0))] } ?? [
                StoredRecord.encodeField(key: "n", value: .int64(1))
            ]
        return ModifyRecordsRequest(
            database: .public, savePolicy: policy,
            zones: [
                ZoneModification(
                    zone: .defaultZone,
                    saves: [
                        RecordSave(
                            name: name, type: type, changeTag: tag, fields: CheckedFields(puts: EncodedFields(puts)))
                    ])
            ])
    }

    private static func failure(of outcome: RecordOutcome<SharedBytes>?) -> ServiceError? {
        if case .failure(let error)? = outcome { return error }
        return nil
    }

    @Test(
        "a role may do what is granted to it, and what it may not names type, permission and command",
        arguments: Role.allCases)
    func matrix(role: Role) throws {
        let caller = try caller(role)
        for (type, rights) in Self.rights {
            let allowed = try #require(rights[role])
            func expect(_ operation: Character, _ permission: String, _ error: ServiceError?) {
                let what = "\(role.rawValue) \(operation) \(type)"
                // What may be neither read nor changed is as if it were not there.
                let isAbsent = !allowed.contains { "rsd".contains($0) }
                if allowed.contains(operation) || isAbsent && operation == "d" && role != .anonymous {
                    #expect(error == nil, "\(what): \(error?.message ?? "")")
                } else if operation == "r" {
                    #expect(error?.code == .unknownItem, "\(what)")
                } else if isAbsent, operation == "s", role != .anonymous {
                    #expect(error?.code == .permissionFailure && error?.serverRecord == nil, "\(what)")
                    #expect(error?.message.contains(type) == false, "\(what): \(error?.message ?? "")")
                } else {
                    let isWrite = operation != "r"
                    #expect(
                        error?.code == (isWrite && role == .anonymous ? .notAuthenticated : .permissionFailure),
                        "\(what)")
                    guard let error, error.code == .permissionFailure else { return }
                    for part in [type, permission, "brume schema"] {
                        #expect(error.message.contains(part), "\(what): \(error.message)")
                    }
                }
            }
            let fetched = try database().fetchRecords(
                FetchRecordsRequest(database: .public, zones: [.init(zone: .defaultZone, names: [type])]),
                caller: caller)
            expect("r", "READ", Self.failure(of: fetched[0][0]))
            let made = try database().modifyRecords(
                Self.save("new", of: type), caller: caller, nowMilliseconds: 2)
            expect("c", "CREATE", Self.failure(of: made.answer[0].saves[0].outcome))
            let saved = try database().modifyRecords(Self.save(type, of: type), caller: caller, nowMilliseconds: 2)
            expect("s", "WRITE", Self.failure(of: saved.answer[0].saves[0].outcome))
            let deletion = ModifyRecordsRequest<CheckedFields>(
                database: .public, zones: [ZoneModification(zone: .defaultZone, deletions: [type])])
            let deleted = try database().modifyRecords(deletion, caller: caller, nowMilliseconds: 2)
            expect("d", "WRITE", deleted.answer[0].deletions[0])
            let isGone = allowed.contains("d")
            #expect((deleted.commit != nil) == isGone, "\(role.rawValue) deletes \(type)")
        }
    }

    @Test("what a caller may not read is told as what is not there, in the same words, and a parent too")
    func absence() throws {
        let caller = try caller(.other)
        let desk = Desk(try database(), caller: caller)
        func answers(_ name: String) -> [ServiceError?] {
            let fetched = desk.database.fetchRecords(
                FetchRecordsRequest(database: .public, zones: [.init(zone: .defaultZone, names: [name])]),
                caller: caller)
            let deleted = desk.modify(.defaultZone, deletions: [name])
            #expect(deleted.commit == nil)
            let child = desk.modify(.defaultZone, saves: [.of("child", type: "Usual", parent: .set(name))])
            #expect(child.commit == nil)
            return [Self.failure(of: fetched[0][0]), deleted.result.deletions[0], child.result.saves[0].error]
        }
        let missing = answers("nobody's")
        #expect(missing.map { $0?.code } == [.unknownItem, nil, .referenceViolation])
        for hidden in ["Own", "Desk", "Closed"] { #expect(answers(hidden) == missing, "\(hidden)") }
    }

    @Test("how a query is run is told to those who may read all records of its type")
    func explaining() throws {
        for (role, type, mayAsk) in [
            (Role.other, "Usual", true), (Role.other, "Own", false), (Role.creator, "Own", false),
            (Role.editor, "Desk", true),
        ] {
            let query = Query(recordType: type, predicate: .constant(true))
            let refusal = try #require(try caller(role).access).refusalToExplain(query)
            #expect(refusal?.code == (mayAsk ? nil : .permissionFailure), "\(role.rawValue) \(type)")
        }
    }

    @Test("who may write and not read is shown nothing, neither by a save nor by a conflict")
    func blindWrite() throws {
        let caller = try caller(.other)
        let secret = Array("theirs".utf8)
        for policy in [SavePolicy.allKeys, .changedKeys, .ifServerRecordUnchanged] {
            let decision = try database().modifyRecords(
                Self.save("Blind", of: "Blind", policy: policy), caller: caller, nowMilliseconds: 2)
            switch decision.answer[0].saves[0].outcome {
            case .record(let bytes):
                #expect(
                    Record(stored: bytes)
                        == Record(
                            system: SystemFields(
                                name: "Blind", type: "Blind", changeTag: Record(stored: bytes).system.changeTag,
                                modifier: Self.other, modifiedMilliseconds: 2)))
            case .failure(let error):
                #expect(error.code == .serverRecordChanged && error.serverRecord == nil)
            case .deferred: #expect(Bool(false), "a save was deferred")
            }
            // What everybody reads comes with both.
            let open = try database().modifyRecords(
                Self.save("Wiki", of: "Wiki", policy: policy), caller: caller, nowMilliseconds: 2)
            switch open.answer[0].saves[0].outcome {
            case .record(let bytes): #expect(policy == .allKeys || bytes.array.contains(secret))
            case .failure(let error): #expect(error.serverRecord?.contains(secret) == true)
            case .deferred: #expect(Bool(false), "a save was deferred")
            }
        }
    }

    @Test("who may write and not read can't tell by a save whether the record holds what they guess")
    func guesses() throws {
        for (type, isHidden) in [("Blind", true), ("Wiki", false)] {
            let database = try database()
            var tags: [String] = []
            for guess in ["theirs", "something else"] {
                let decision = database.modifyRecords(
                    Self.save(type, of: type, secret: guess, policy: .changedKeys), caller: try caller(.other),
                    nowMilliseconds: 2)
                guard case .record(let bytes) = decision.answer[0].saves[0].outcome else {
                    throw Self.failure(of: decision.answer[0].saves[0].outcome)!
                }
                tags.append(Record(stored: bytes).system.changeTag)
                #expect((decision.commit == nil) == (guess == "theirs" && !isHidden))
            }
        }
    }

    @Test("a record's own user changes a user record, whatever is granted")
    func userRecords() throws {
        let database = try database()
        _ = database.ensureUserRecord(named: Self.author, nowMilliseconds: 1)
        for role in Role.allCases where role != .anonymous {
            let decision = database.modifyRecords(
                Self.save(Self.author, of: Names.userRecordType), caller: try caller(role), nowMilliseconds: 2)
            let error = Self.failure(of: decision.answer[0].saves[0].outcome)
            #expect((error == nil) == (role == .creator))
        }
    }
}
