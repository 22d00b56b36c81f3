import BrumeModel
import Testing

@Suite("How schemas change") struct SchemaEvolutionTests {
    private static let production = """
        RECORD TYPE Note (title STRING QUERYABLE, count INT64, GRANT READ TO "_world");
        RECORD TYPE Old (x STRING);
        """

    @Test("a deployment adds types, fields and roles, takes development's indexes and grants, and loses nothing")
    func deploying() throws {
        let production = try SchemaSavingTests.schema(Self.production)
        let development = try SchemaSavingTests.schema(
            """
            CREATE ROLE Editor;
            RECORD TYPE Note ("___recordID" REFERENCE QUERYABLE, title STRING SORTABLE, body STRING,
                GRANT WRITE TO Editor);
            RECORD TYPE New (y LIST<INT64>);
            """)
        let deployed = try production.deploying(development)
        #expect(deployed.roles == ["Editor"])
        #expect(Set(deployed.recordTypes.keys) == ["Note", "Old", "New", "Users"])
        let note = try #require(deployed.recordTypes["Note"])
        #expect(note.fields.map(\.name) == ["body", "count", "title"])
        #expect(note.field("title")?.options == .sortable)
        #expect(note.systemOptions == [.recordID: .queryable])
        #expect(note.grants == ["Editor": .write])
        #expect(deployed.recordTypes["Old"] == production.recordTypes["Old"])
        #expect(
            SchemaDifference(from: production, to: deployed).changes.map(\.line) == [
                "+ role Editor", "+ record type New", "+ New.y: LIST<INT64>",
                "~ Note.___recordID: none -> QUERYABLE", "+ Note.body: STRING",
                "~ Note.title: STRING QUERYABLE -> STRING SORTABLE",
                "~ Note grants to Editor: none -> WRITE", "~ Note grants to _world: READ -> none",
            ])
        #expect(SchemaDifference(from: deployed, to: try deployed.deploying(development)).isEmpty)
        #expect(
            SchemaDifference(from: deployed, to: production).changes.map(\.line).contains(
                "- record type New: with 1 field"))
    }

    @Test("a new type is told by its fields, what is indexed of its system fields, and its grants")
    func newType() throws {
        let schema = try SchemaSavingTests.schema(
            """
            RECORD TYPE New ("___recordID" REFERENCE QUERYABLE, "___createTime" TIMESTAMP QUERYABLE SORTABLE, z STRING,
                a INT64 SORTABLE, GRANT READ TO "_world", GRANT CREATE TO "_icloud");
            """)
        #expect(
            SchemaDifference(from: Schema(), to: schema).changes.map(\.line) == [
                "+ record type New", "+ New.a: INT64 SORTABLE", "+ New.z: STRING",
                "+ New indexes: ___createTime QUERYABLE SORTABLE, ___recordID QUERYABLE",
                "+ New grants: CREATE to _icloud, READ to _world",
            ])
    }

    @Test("a field that is another type in production can't be deployed") func conflict() throws {
        let production = try SchemaSavingTests.schema(Self.production)
        let error = try #require(throws: ServiceError.self) {
            try production.deploying(try SchemaSavingTests.schema("RECORD TYPE Note (count DOUBLE);"))
        }
        #expect(error.code == .invalidArguments)
        #expect(error.message.contains("Note.count is INT64 in production and DOUBLE in development"))
    }

    @Test("an import that would lose what production has is refused, and every loss is named") func importing() throws {
        let production = try SchemaSavingTests.schema("CREATE ROLE Editor;" + Self.production)
        #expect(production.problems(following: production) == [])
        let candidate = try SchemaSavingTests.schema("RECORD TYPE Note (title LIST<STRING>); RECORD TYPE More ();")
        #expect(
            candidate.problems(following: production) == [
                "role Editor is in production and missing here",
                "Note.count is in production and missing here",
                "Note.title is STRING in production and LIST<STRING> here",
                "record type Old is in production and missing here",
            ])
    }

    @Test("a role may do what is granted to it, and nobody what is not") func access() throws {
        let schema = try SchemaSavingTests.schema(
            """
            CREATE ROLE Editor;
            RECORD TYPE Note (GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator",
                GRANT CREATE, WRITE TO Editor);
            RECORD TYPE Closed ();
            """)
        let place = SchemaPlace(container: "iCloud.app", environment: .production)
        func permissions(_ user: String, _ roles: Set<String> = [], isCreator: Bool, _ type: String = "Note")
            -> Permissions
        {
            PublicAccess(schema: schema, place: place, user: user, roles: roles)
                .permissions(type: type, isCreator: isCreator)
        }
        #expect(permissions("", isCreator: false) == .read)
        #expect(permissions("_u", isCreator: false) == [.read, .create])
        #expect(permissions("_u", isCreator: true) == .all)
        #expect(permissions("_u", ["Editor"], isCreator: false) == .all)
        #expect(permissions("_u", ["Other"], isCreator: false) == [.read, .create])
        #expect(permissions("_u", ["Editor"], isCreator: true, "Closed") == [])
        #expect(permissions("_u", isCreator: true, "FromBefore") == .all)
        let refusal = try #require(
            PublicAccess(schema: schema, place: place, user: "_u").refusal(.write, type: "Note", creator: "_v"))
        #expect(refusal.code == .permissionFailure)
        for part in ["WRITE", "Note", "Editor, _creator", "brume schema deploy"] {
            #expect(refusal.message.contains(part))
        }
    }
}
