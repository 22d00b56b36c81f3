import BrumeModel

/// Texts as apps check them in, and schemas by chance.
enum SchemaSamples {
    /// As the exporter prints it.
    static let exported = """
        DEFINE SCHEMA

            CREATE ROLE Editor;

            RECORD TYPE Note (
                "___createTime" TIMESTAMP QUERYABLE SORTABLE,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE QUERYABLE,
                "grant"         LIST<ENCRYPTED STRING>,
                photo           ASSET,
                place           LOCATION QUERYABLE,
                price           NUMBER PREFERRED AS DOUBLE,
                tags            LIST<STRING> QUERYABLE SEARCHABLE,
                title           STRING QUERYABLE SEARCHABLE SORTABLE,
                GRANT READ, CREATE TO Editor,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );

            RECORD TYPE Users (
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE,
                roles           LIST<INT64>,
                GRANT WRITE TO "_creator",
                GRANT READ TO "_world"
            );

        """

    /// Written by hand: comments of all kinds, short lines, other cases, no user records.
    static let handWritten = """
        // A feed reader's schema. -- Keep in step with Feed.swift.
        DEFINE SCHEMA

        CREATE ROLE "Moderator"; -- may hide articles
        RECORD TYPE Feed (
            "___recordID" REFERENCE QUERYABLE,  // for queries of all feeds
            feedURL     STRING QUERYABLE SORTABLE,
            title       STRING SEARCHABLE,
            isActive    INT64 QUERYABLE, /* a Bool;
                                            0 or 1 */
            updateInterval DOUBLE,
            GRANT READ TO "_world", GRANT READ, CREATE, WRITE TO "Moderator"
        );
        record type Article (feed reference queryable, body encrypted string, image asset, words list<string>);
        RECORD TYPE CD_Empty ( );
        """

    /// As Core Data makes them, with the words that need quotes.
    static let coreData = """
        DEFINE SCHEMA
            RECORD TYPE CD_Item (
                "___recordID" REFERENCE QUERYABLE,
                CD_entityName STRING QUERYABLE SEARCHABLE SORTABLE,
                CD_timestamp TIMESTAMP QUERYABLE SORTABLE,
                CD_payload_ckAsset ASSET,
                CD_moveReceipt BYTES,
                "queryable" INT64, "preferred" DOUBLE, list LIST<TIMESTAMP>, to STRING, type STRING, record STRING,
                secrets LIST<ENCRYPTED LOCATION>,
                GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world"
            );
        """

    /// A schema by chance, within the rules of the language.
    static func random(using generator: inout some RandomNumberGenerator) -> Schema {
        var schema = Schema()
        let roles = (0..<Int.random(in: 0...3, using: &generator)).map { "Role\($0)" }
        for role in roles { schema.addRole(role) }
        for number in 0..<Int.random(in: 0...6, using: &generator) {
            var type = RecordTypeSchema("Type_\(number)")
            for field in 0..<Int.random(in: 0...12, using: &generator) {
                let fieldType = randomType(using: &generator)
                let name = ["grant", "Sortable", "PREFERRED", "plain"].randomElement(using: &generator)! + "\(field)"
                let chosen = IndexOptions(rawValue: UInt8.random(in: 0...7, using: &generator))
                type.put([
                    .init(
                        Bool.random(using: &generator) ? name : ["grant", "queryable", "list", "as"][field % 4],
                        fieldType,
                        chosen.intersection(fieldType.applicableOptions))
                ])
            }
            for field in SystemField.allCases {
                let chosen = IndexOptions(rawValue: UInt8.random(in: 0...7, using: &generator))
                type.set(chosen.intersection(field.applicableOptions), of: field)
            }
            for role in roles + DefaultRole.all.sorted() {
                type.set(Permissions(rawValue: UInt8.random(in: 0...7, using: &generator)), of: role)
            }
            schema.put(type)
        }
        return schema
    }

    private static func randomType(using generator: inout some RandomNumberGenerator) -> SchemaFieldType {
        let element = SchemaFieldType.Element.allCases.randomElement(using: &generator)!
        let isList = Bool.random(using: &generator)
        return SchemaFieldType(
            element, isList: isList, isEncrypted: element.mayBeEncrypted && Bool.random(using: &generator),
            preference: element == .number && !isList ? [.int64, .double, nil].randomElement(using: &generator)! : nil)
    }
}
