internal import BrumeModel
internal import BrumeStore

extension FuzzTarget {
    /// The schema language: what is read is printed and read again as the same.
    static let schemaText = FuzzTarget(
        name: "schema-text",
        run: { bytes in
            do throws(SchemaSyntaxError) {
                let schema = try SchemaParser.parse(Array(bytes))
                let text = SchemaPrinter.text(schema)
                let again = try SchemaParser.parse(text)
                precondition(again == schema, "a schema is another one after it was printed")
                precondition(schema.problems(following: schema).isEmpty, "a schema does not follow itself")
                precondition(SchemaDifference(from: schema, to: again).isEmpty, "a schema differs from itself")
            } catch {
                precondition(error.line > 0 && error.column > 0 && !error.problem.isEmpty, "an error without a place")
            }
        },
        seeds: { schemaTexts.map { Array($0.utf8) } })

    /// The schema file, and its body as if the checksum before it held.
    static let schemaFile = FuzzTarget(
        name: "schema-file",
        run: { bytes in
            do throws(StoreCodingError) {
                let schemas = try StoreCoder.decodeSchemas(bytes)
                var body: [UInt8] = []
                StoreCoder.encodeSchemas(schemas, into: &body)
                let again = try body.decoded { (body) throws(StoreCodingError) in try StoreCoder.decodeSchemas(body) }
                precondition(again == schemas, "schemas are others after another encoding")
            } catch {
                precondition(!error.message.isEmpty, "damage without a sentence")
            }
            do throws(StoreError) {
                _ = try SchemaFile.decode(Array(bytes), path: "schemas/x.schema")
            } catch {
                precondition("\(error)".contains("schemas/x.schema"), "damage without its file")
            }
        },
        seeds: {
            schemaTexts.flatMap { text -> [[UInt8]] in
                guard let schema = try? SchemaParser.parse(text) else { return [] }
                let schemas = ContainerSchemas(
                    container: "iCloud.app", development: .init(schema: schema, members: ["_u": ["Editor"]]))
                var body: [UInt8] = []
                StoreCoder.encodeSchemas(schemas, into: &body)
                return [body, SchemaFile.encode(schemas)]
            }
        })

    private static let schemaTexts = [
        "DEFINE SCHEMA",
        """
        DEFINE SCHEMA // comment
        CREATE ROLE Editor; /* another */
        RECORD TYPE Note (
            "___recordID" REFERENCE QUERYABLE, -- and another
            "grant" LIST<ENCRYPTED STRING>, price NUMBER PREFERRED AS DOUBLE, title STRING QUERYABLE SORTABLE SEARCHABLE,
            photo ASSET, place LOCATION, GRANT READ, CREATE TO Editor, GRANT WRITE TO "_creator"
        );
        """,
    ]
}
