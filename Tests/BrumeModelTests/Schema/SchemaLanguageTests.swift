import BrumeRandom
import BrumeModel
import Testing

@Suite("The schema language") struct SchemaLanguageTests {
    @Test("a text in the exporter's form is printed as it was") func exporterForm() throws {
        #expect(SchemaPrinter.text(try SchemaParser.parse(SchemaSamples.exported)) == SchemaSamples.exported)
    }

    @Test("comments, quotes, grants among fields, lower case and empty types are read") func handWritten() throws {
        let schema = try SchemaParser.parse(SchemaSamples.handWritten)
        #expect(schema.roles == ["Moderator"])
        #expect(Set(schema.recordTypes.keys) == ["Feed", "Article", "CD_Empty", "Users"])
        let feed = try #require(schema.recordTypes["Feed"])
        #expect(feed.systemOptions == [.recordID: .queryable])
        #expect(feed.fields.map(\.name) == ["feedURL", "isActive", "title", "updateInterval"])
        #expect(feed.grants == ["_world": .read, "Moderator": .all])
        let article = try #require(schema.recordTypes["Article"])
        #expect(article.field("body")?.type == SchemaFieldType(.string, isEncrypted: true))
        #expect(article.field("words")?.type == SchemaFieldType(.string, isList: true))
        #expect(article.field("feed")?.options == .queryable)
        #expect(article.grants.isEmpty)
    }

    @Test("words of the language are names where they are quoted, and most of them anyway") func coreData() throws {
        let type = try #require(SchemaParser.parse(SchemaSamples.coreData).recordTypes["CD_Item"])
        #expect(type.fields.count == 11)
        #expect(type.field("queryable")?.type == SchemaFieldType(.int64))
        #expect(type.field("list")?.type == SchemaFieldType(.timestamp, isList: true))
        #expect(type.field("secrets")?.type == SchemaFieldType(.location, isList: true, isEncrypted: true))
        #expect(type.grants == DefaultRole.grants)
    }

    @Test("a printed schema is read as the same schema") func roundTrip() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("schemas by chance: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let schema = SchemaSamples.random(using: &generator)
            let text = SchemaPrinter.text(schema)
            let again = try SchemaParser.parse(text)
            #expect(again == schema, "\(text)")
            #expect(SchemaPrinter.text(again) == text)
        }
    }

    @Test(
        "an error says where it is and what should stand there",
        arguments: [
            ("", "line 1, column 1: expected DEFINE SCHEMA; found the end of the text"),
            ("DEFINE SCHEMA\n  CREATE TYPE x;", "line 2, column 10: expected ROLE; found \"TYPE\""),
            (
                "DEFINE SCHEMA\nRECORD TYPE A (",
                "line 2, column 16: expected a field's name, GRANT or \")\"; found the end"
            ),
            ("DEFINE SCHEMA\nRECORD TYPE A (\n x FOO\n);", "line 3, column 4: expected a type: ASSET, BYTES, DOUBLE"),
            ("DEFINE SCHEMA\nRECORD TYPE A ( x LIST<LIST<STRING>> );", "line 2, column 24: expected a type"),
            ("DEFINE SCHEMA\nRECORD TYPE A ( x ENCRYPTED ASSET );", "line 2, column 29: expected a type: BYTES"),
            ("DEFINE SCHEMA\nRECORD TYPE A ( x STRING, );", "line 2, column 27: expected a field or GRANT"),
            ("DEFINE SCHEMA\nRECORD TYPE A ( x STRING y STRING );", "line 2, column 26: expected \",\" or \")\""),
            ("DEFINE SCHEMA\nRECORD TYPE A ( x STRING )", "line 2, column 27: expected \";\"; found the end"),
            ("DEFINE SCHEMA\nRECORD TYPE A ( sortable STRING );", "line 2, column 17: sortable is a reserved word"),
            ("DEFINE SCHEMA\nRECORD TYPE A ( x BYTES QUERYABLE );", "\"x\" is a BYTES and can't be QUERYABLE"),
            (
                "DEFINE SCHEMA\nRECORD TYPE A ( x ENCRYPTED STRING SORTABLE );",
                "can't be SORTABLE; it can have no index"
            ),
            ("DEFINE SCHEMA\nRECORD TYPE A ( x LIST<STRING> SORTABLE );", "it can be QUERYABLE SEARCHABLE"),
            ("DEFINE SCHEMA\nRECORD TYPE A ( x STRING, x STRING );", "line 2, column 27: the field \"x\" stands twice"),
            ("DEFINE SCHEMA\nRECORD TYPE A ();RECORD TYPE A ();", "the record type \"A\" is defined twice"),
            ("DEFINE SCHEMA CREATE ROLE R; CREATE ROLE R;", "the role \"R\" is made twice"),
            ("DEFINE SCHEMA RECORD TYPE A ( GRANT READ TO Nobody );", "column 45: there is no role \"Nobody\""),
            ("DEFINE SCHEMA RECORD TYPE A ( GRANT DELETE TO R );", "expected READ, CREATE or WRITE; found \"DELETE\""),
            ("DEFINE SCHEMA RECORD TYPE A ( \"___etag\" INT64 );", "___etag is a STRING; it can't be another type"),
            (
                "DEFINE SCHEMA RECORD TYPE A ( \"___size\" INT64 );",
                "\"___size\" is no system field; those are ___createTime"
            ),
            ("DEFINE SCHEMA RECORD TYPE \"my type\" ();", "a record type holds something else than ASCII letters"),
            ("DEFINE SCHEMA RECORD TYPE A ( x NUMBER PREFERRED AS STRING );", "expected INT64 or DOUBLE"),
            ("DEFINE SCHEMA RECORD TYPE \"A\nB\" ();", "a name in quotes has no end on its line"),
            ("DEFINE SCHEMA\n/* \u{e4} */ /* open", "line 2, column 9: a comment has no end"),
            ("DEFINE SCHEMA ?", "line 1, column 15: this character has no meaning here"),
        ])
    func errors(text: String, expected: String) throws {
        let error = try #require(throws: SchemaSyntaxError.self) { try SchemaParser.parse(text) }
        #expect("\(error)".contains(expected), "\(error)")
    }

    @Test("a schema has limits, in text and in numbers") func limits() {
        let types = (0...Limits.recordTypesPerSchema).map { "RECORD TYPE T\($0) ();" }.joined()
        #expect(throws: SchemaSyntaxError.self) { try SchemaParser.parse("DEFINE SCHEMA " + types) }
        let fields = (0...Limits.fieldsPerSchema).map { "f\($0) STRING" }.joined(separator: ",")
        #expect(throws: SchemaSyntaxError.self) { try SchemaParser.parse("DEFINE SCHEMA RECORD TYPE A (\(fields));") }
        let long = [UInt8](repeating: UInt8(ascii: " "), count: Limits.schemaTextBytes + 1)
        #expect(throws: SchemaSyntaxError.self) { try SchemaParser.parse(long) }
    }

    @Test("the largest schema's text fits into a frame") func largest() throws {
        var schema = Schema()
        func name(_ prefix: String, _ number: Int) -> String {
            let text = "\(prefix)\(number)"
            return text + String(repeating: "x", count: Limits.nameCharacters - text.utf8.count)
        }
        let count = Limits.recordTypesPerSchema - 1
        for number in 0..<count {
            var type = RecordTypeSchema(name("T", number))
            for field in SystemField.allCases { type.set(field.applicableOptions, of: field) }
            let fields = (Limits.fieldsPerSchema - 1) / count
            type.put((0..<fields).map { .init(name("f", $0), SchemaFieldType(.string), .all) })
            for role in 0..<(Limits.grantsPerSchema - 2) / count { type.set(.all, of: name("R", role)) }
            schema.put(type)
        }
        for role in 0..<Limits.rolesPerSchema { schema.addRole(name("R", role)) }
        #expect(schema.limitProblem == nil)
        let text = SchemaPrinter.text(schema)
        #expect(text.utf8.count <= Limits.schemaTextBytes)
        #expect(try SchemaParser.parse(text) == schema)
    }
}
