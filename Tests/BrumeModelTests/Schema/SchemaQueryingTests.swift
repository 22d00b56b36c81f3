import BrumeModel
import Testing

@Suite("Which queries a schema lets through") struct SchemaQueryingTests {
    private static let text = """
        RECORD TYPE Note (
            "___createTime" TIMESTAMP QUERYABLE,
            equal STRING QUERYABLE, sorted STRING SORTABLE, number INT64 QUERYABLE SORTABLE, any NUMBER QUERYABLE,
            words STRING SEARCHABLE, tags LIST<STRING> QUERYABLE, plain STRING, secret ENCRYPTED STRING,
            place LOCATION QUERYABLE, blob BYTES, link REFERENCE QUERYABLE, when TIMESTAMP SORTABLE
        );
        RECORD TYPE Bare ( "___recordID" REFERENCE QUERYABLE, x STRING );
        """

    private static let passing: [(Predicate, String)] = [
        (.comparison(.field("equal"), .equal, .string("x")), "=="),
        (.isIn(.field("equal"), [.string("x"), .string("y")]), "IN"),
        (.comparison(.field("number"), .less, .double(2.5)), "a number with a number"),
        (.comparison(.field("any"), .equal, .int64(1)), "NUMBER"),
        (.between(.field("when"), .date(0), .date(1)), "BETWEEN"),
        (.comparison(.field("sorted"), .beginsWith, .string("a")), "BEGINSWITH with SORTABLE"),
        (.comparison(.field("equal"), .beginsWith, .string("a")), "BEGINSWITH with QUERYABLE"),
        (.anyElement(.field("tags"), .equal, .string("x")), "CONTAINS"),
        (.comparison(.field("tags"), .equal, .strings(["x"])), "a list with a list"),
        (.text("word", .anyWord), "full text"),
        (.distance(.field("place"), latitude: 0, longitude: 0, metres: 1, isInclusive: false), "distance"),
        (.comparison(.creationDate, .equal, .date(0)), "a system field with an index"),
        (.comparison(.parent, .equal, .reference(Reference(recordName: "p", deletesSelf: false))), "parent"),
        (.not(.comparison(.field("equal"), .notEqual, .string("x"))), "NOT"),
    ]

    private static let failing: [(Predicate, [String])] = [
        (.constant(true), ["'recordName' is not marked queryable", "\"___recordID\" QUERYABLE", "Note"]),
        (.comparison(.field("missing"), .equal, .int64(1)), ["Unknown field 'missing'", "Note"]),
        (.comparison(.field("numbr"), .equal, .int64(1)), ["Unknown field 'numbr'", "did you mean 'number'?"]),
        (.comparison(.field("creationdate"), .equal, .date(1)), ["did you mean 'creationDate'?"]),
        (
            .comparison(.field("plain"), .equal, .string("x")),
            ["'plain' is not marked queryable", "mark plain QUERYABLE"]
        ),
        (.comparison(.field("equal"), .less, .string("x")), ["'equal' is not marked sortable", "SORTABLE"]),
        (.comparison(.field("secret"), .equal, .string("x")), ["'secret'", "encrypted"]),
        (.comparison(.field("number"), .equal, .string("x")), ["'number' of record type Note is an INT64", "STRING"]),
        (.comparison(.field("tags"), .equal, .string("x")), ["'tags'", "LIST<STRING>", "CONTAINS"]),
        (.anyElement(.field("equal"), .equal, .string("x")), ["'equal'", "no list"]),
        (.anyElement(.field("tags"), .equal, .int64(1)), ["'tags'", "INT64"]),
        (.comparison(.field("blob"), .equal, .bytes([1])), ["'blob'", "a BYTES can't be QUERYABLE"]),
        (.comparison(.modificationDate, .less, .date(0)), ["modificationDate", "\"___modTime\" SORTABLE"]),
        (.distance(.field("number"), latitude: 0, longitude: 0, metres: 1, isInclusive: true), ["LOCATION"]),
        (
            .and([
                .comparison(.field("equal"), .equal, .string("x")), .constant(true), .not(.isIn(.field("plain"), [])),
            ]),
            ["'plain'"]
        ),
        (.or([.comparison(.field("link"), .equal, .string("x"))]), ["'link'", "REFERENCE"]),
    ]

    private static let places = [
        SchemaPlace(container: "iCloud.app", environment: .production),
        SchemaPlace(container: "iCloud.app", environment: .development, isStrict: true),
    ]

    @Test("what the indexes allow goes through", arguments: places) func allowed(place: SchemaPlace) throws {
        let schema = try SchemaSavingTests.schema(Self.text)
        for (predicate, what) in Self.passing {
            let problem = schema.problem(with: predicate, type: "Note", in: place)
            #expect(problem == nil, "\(what): \(problem?.message ?? "")")
        }
        #expect(schema.problem(with: .constant(true), type: "Bare", in: place) == nil)
    }

    @Test("the rest is refused with the field, its type and the command that mends it", arguments: places)
    func refused(place: SchemaPlace) throws {
        let schema = try SchemaSavingTests.schema(Self.text)
        for (predicate, parts) in Self.failing {
            let problem = try #require(
                schema.problem(with: predicate, type: "Note", in: place), "\(predicate) went through")
            #expect(problem.code == .invalidArguments)
            for part in parts { #expect(problem.message.contains(part), "\(problem.message)") }
        }
        let problem = try #require(schema.problem(with: .text("x", .allWords), type: "Bare", in: place))
        #expect(problem.message.contains("SEARCHABLE"))
        let command = place.environment == .production ? "deploy --container" : "import --container"
        let missing = try #require(
            schema.problem(with: .comparison(.field("plain"), .equal, .string("")), type: "Note", in: place))
        #expect(missing.message.contains("brume schema \(command) iCloud.app"))
    }

    @Test("a type that the schema does not know is an unknown item") func unknownType() throws {
        let problem = try #require(
            Schema().problem(with: Query(recordType: "Note", predicate: .constant(true)), in: Self.places[0]))
        #expect(problem.code == .unknownItem)
        #expect(problem.message.hasPrefix("Did not find record type: Note"))
        #expect(problem.message.contains("brume schema deploy --container iCloud.app"))
        #expect(!problem.message.contains("did you mean"))
        let schema = try SchemaSavingTests.schema("RECORD TYPE Note (); RECORD TYPE Users ();")
        func message(_ type: String) -> String? {
            schema.problem(with: Query(recordType: type, predicate: .constant(true)), in: Self.places[0])?.message
        }
        #expect(message("Notes")?.contains("(did you mean 'Note'?)") == true)
        #expect(message("User")?.contains("did you mean") == false, "what can't be queried is no help")
        #expect(message(String(repeating: "Note", count: 60))?.contains("did you mean") == false)
    }

    @Test("in development system fields need no index, unless the server is strict") func mildRules() throws {
        let schema = try SchemaSavingTests.schema("RECORD TYPE Note ();")
        let query = Query(
            recordType: "Note", predicate: .comparison(.modificationDate, .greater, .date(0)),
            sortDescriptors: [QuerySort(key: .creationDate)])
        let all = Query(recordType: "Note", predicate: .constant(true))
        for query in [query, all] {
            #expect(schema.problem(with: query, in: SchemaSavingTests.development) == nil)
            for place in Self.places { #expect(schema.problem(with: query, in: place) != nil) }
        }
    }

    @Test("sorting needs SORTABLE, and by distance a place") func sorting() throws {
        let schema = try SchemaSavingTests.schema(Self.text)
        func problem(_ sort: QuerySort) -> ServiceError? {
            schema.problem(
                with: Query(
                    recordType: "Note", predicate: .comparison(.field("equal"), .equal, .string("x")),
                    sortDescriptors: [sort]), in: Self.places[0])
        }
        let place = QuerySort.Place(latitude: 0, longitude: 0)
        #expect(problem(QuerySort(key: .field("sorted"))) == nil)
        #expect(problem(QuerySort(key: .field("place"), relativeTo: place)) == nil)
        #expect(problem(QuerySort(key: .field("equal")))?.message.contains("'equal' is not marked sortable") == true)
        #expect(problem(QuerySort(key: .field("sorted"), relativeTo: place)) != nil)
        #expect(problem(QuerySort(key: .field("link")))?.message.contains("REFERENCE can't be SORTABLE") == true)
    }

    @Test("a query that reads only what its caller made is narrowed to that") func narrowing() throws {
        let schema = try SchemaSavingTests.schema(
            "RECORD TYPE Mine (GRANT READ TO \"_creator\"); RECORD TYPE Nobodys ();")
        let access = PublicAccess(schema: schema, place: Self.places[0], user: "_u")
        let narrowed = try access.readable(Query(recordType: "Mine", predicate: .constant(true)))
        #expect(
            narrowed.predicate
                == .and([
                    .comparison(
                        .creatorUserRecordID, .equal, .reference(Reference(recordName: "_u", deletesSelf: false))),
                    .constant(true),
                ]))
        let error = try #require(throws: ServiceError.self) {
            try access.readable(Query(recordType: "Nobodys", predicate: .constant(true)))
        }
        #expect(error.code == .permissionFailure)
        for part in ["READ", "Nobodys", "no role", "brume schema"] { #expect(error.message.contains(part)) }
    }
}
