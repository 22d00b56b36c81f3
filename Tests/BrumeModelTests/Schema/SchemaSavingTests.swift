import BrumeModel
import Testing

@Suite("What a schema says of a save") struct SchemaSavingTests {
    static let development = SchemaPlace(container: "iCloud.app", environment: .development)
    static let production = SchemaPlace(container: "iCloud.app", environment: .production)

    /// Checks a save of fields that are named with their kinds.
    static func check(
        _ schema: Schema, _ type: String, _ fields: [String: FieldKind], in place: SchemaPlace = development,
        lesson: inout SchemaLesson
    ) -> SaveVerdict {
        var checker = SaveChecker(schema, in: place)
        defer { lesson = checker.lesson }
        return checker.check(type: type) { visit in
            for (key, kind) in fields.sorted(by: { $0.key < $1.key }) {
                if !key.withUTF8Bytes({ visit($0, kind) }) { return }
            }
        }
    }

    static func schema(_ text: String) throws -> Schema { try SchemaParser.parse("DEFINE SCHEMA \(text)") }

    @Test("development learns a type with its fields, all indexes that they can have, and the usual grants")
    func learning() throws {
        var lesson = SchemaLesson()
        let kinds: [String: FieldKind] = [
            "title": .string, "count": .int64, "ratio": .double, "blob": .bytes, "when": .date, "place": .location,
            "owner": .reference, "tags": .strings, "links": .references, "nothing": .emptyList,
        ]
        #expect(Self.check(Schema(), "Note", kinds, lesson: &lesson) == .teaches)
        let schema = try Schema().learning(lesson, isStrict: false)
        let note = try #require(schema.recordTypes["Note"])
        #expect(note.fields.count == 9, "an empty list has no type")
        #expect(note.field("title")?.options == .all)
        #expect(note.field("tags")?.options == [.queryable, .searchable])
        #expect(note.field("when")?.options == [.queryable, .sortable])
        #expect(note.field("owner")?.options == .queryable)
        #expect(note.field("blob")?.options == [])
        #expect(note.systemOptions[.recordID] == .queryable)
        #expect(note.grants == DefaultRole.grants)
        var nothingNew = SchemaLesson()
        #expect(Self.check(schema, "Note", kinds, lesson: &nothingNew) == .fits)
        #expect(nothingNew.isEmpty)
        let strict = try Schema().learning(lesson, isStrict: true)
        #expect(strict.recordTypes["Note"]?.systemOptions.isEmpty == true)
    }

    @Test("a value of another type is refused with the field, its type and the type sent", arguments: [true, false])
    func conflict(learns: Bool) throws {
        let schema = try Self.schema("RECORD TYPE Note (count INT64, any NUMBER, secret ENCRYPTED STRING);")
        let place = learns ? Self.development : Self.production
        var lesson = SchemaLesson()
        guard case .refused(let error) = Self.check(schema, "Note", ["count": .string], in: place, lesson: &lesson)
        else { return #expect(Bool(false), "a string went into a number") }
        #expect(error.code == .invalidArguments)
        for part in ["STRING", "'count'", "Note", "INT64"] { #expect(error.message.contains(part)) }
        for (field, kind) in [
            ("count", FieldKind.double), ("count", .int64s), ("any", .string), ("secret", .int64),
            ("secret", .string), ("secret", .bytes), ("secret", .encryptedInt64), ("count", .encryptedInt64),
            ("count", .emptyList),
        ] {
            guard case .refused = Self.check(schema, "Note", [field: kind], in: place, lesson: &lesson) else {
                #expect(Bool(false), "\(field) took \(kind)")
                continue
            }
        }
        for (field, kind) in [
            ("any", FieldKind.double), ("any", .int64), ("secret", .encryptedString), ("count", .int64),
        ] {
            #expect(Self.check(schema, "Note", [field: kind], in: place, lesson: &lesson) == .fits)
        }
        #expect(lesson.isEmpty)
    }

    @Test("production refuses a type and a field that are not deployed, and names the command") func production() throws
    {
        var lesson = SchemaLesson()
        let schema = try Self.schema("RECORD TYPE Note (title STRING);")
        for (type, field, name) in [("Task", "title", "Task"), ("Note", "body", "'body'")] {
            guard
                case .refused(let error) = Self.check(
                    schema, type, [field: .string], in: Self.production, lesson: &lesson)
            else {
                #expect(Bool(false), "\(type).\(field) was taken")
                continue
            }
            #expect(error.code == .invalidArguments)
            #expect(error.message.contains(name))
            #expect(error.message.contains("brume schema deploy --container iCloud.app"))
        }
        #expect(lesson.isEmpty)
        #expect(Self.check(schema, "Note", ["title": .string], in: Self.production, lesson: &lesson) == .fits)
    }

    @Test("what the records of a request would teach is counted as it is looked at, and has a limit")
    func muchToLearn() throws {
        var checker = SaveChecker(try Self.schema("RECORD TYPE Note (x STRING);"), in: Self.development)
        // The same fields in all records: the schema has room for them.
        let keys = (0..<2_000).map { "k\($0)" }.sorted()
        var verdicts: [SaveVerdict] = []
        for number in 0..<20 {
            // Of a new type, and new fields of one that is there.
            verdicts.append(
                checker.check(type: number % 2 == 0 ? "New" : "Note") { visit in
                    for key in keys where !key.withUTF8Bytes({ visit($0, .string) }) { return }
                })
        }
        #expect(verdicts.prefix(16).allSatisfy { $0 == .teaches })
        for verdict in verdicts.dropFirst(16) {
            guard case .refused(let error) = verdict else {
                Issue.record("\(verdict)")
                continue
            }
            #expect(error.code == .limitExceeded)
        }
    }

    @Test("saves of several types in one request are each checked by their own") func severalTypes() throws {
        var checker = SaveChecker(
            try Self.schema("RECORD TYPE Note (x STRING); RECORD TYPE Task (x INT64);"), in: Self.production)
        func verdict(_ type: String, _ kind: FieldKind) -> SaveVerdict {
            checker.check(type: type) { visit in _ = "x".withUTF8Bytes { visit($0, kind) } }
        }
        for (type, kind, other) in [("Note", FieldKind.string, FieldKind.int64), ("Task", .int64, .string)] {
            for _ in 0..<2 { #expect(verdict(type, kind) == .fits) }
            #expect(verdict(type, other) != .fits)
            #expect(verdict("Unknown", kind) != .fits)
            #expect(verdict(type, kind) == .fits)
        }
    }

    @Test("of two that teach one field different types the first is right") func race() throws {
        var first = SchemaLesson()
        first.note(SchemaFieldType(.string), of: "x", in: "Note")
        first.note(SchemaFieldType(.int64), of: "x", in: "Note")
        var second = SchemaLesson()
        second.note(SchemaFieldType(.double), of: "x", in: "Note")
        let schema = try Schema().learning(first, isStrict: false).learning(second, isStrict: false)
        #expect(schema.recordTypes["Note"]?.field("x")?.type == SchemaFieldType(.string))
    }

    @Test("what nobody needs so much of is refused, and nothing is learned") func limits() throws {
        var lesson = SchemaLesson()
        for number in 0..<Limits.fieldsPerSchema { lesson.note(SchemaFieldType(.string), of: "f\(number)", in: "Note") }
        let error = try #require(throws: ServiceError.self) { try Schema().learning(lesson, isStrict: false) }
        #expect(error.code == .limitExceeded)
        #expect(error.message.contains("brume schema reset"))
    }
}
