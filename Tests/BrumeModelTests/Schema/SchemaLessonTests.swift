import BrumeModel
import Testing

/// Lessons that a schema has no room for are refused before they cost much.
@Suite("Too much for a schema to learn")
struct SchemaLessonTests {
    private static let text = SchemaFieldType(.string)

    private static func lesson(_ count: Int, in type: String = "Note", from first: Int = 0) -> SchemaLesson {
        var lesson = SchemaLesson()
        for number in first..<first + count { lesson.note(text, of: "f\(number)", in: type) }
        return lesson
    }

    @Test("what a request would teach is noted no further than the schema has room")
    func noting() throws {
        let schema = try Schema().learning(Self.lesson(5_000), isStrict: false)
        var checker = SaveChecker(schema, in: SchemaSavingTests.development)
        let keys = (0..<4_096).map { "k\($0)" }.sorted()
        for number in 0..<8 {
            _ = checker.check(type: "New\(number)") { visit in
                for key in keys where !key.withUTF8Bytes({ visit($0, .string) }) { return }
            }
        }
        let noted = checker.lesson.types.values.reduce(0) { $0 + $1.count }
        // Each record notes one at least.
        let room = Limits.fieldsPerSchema - schema.fieldCount
        #expect((room + 1...room + 8).contains(noted))
        #expect(throws: ServiceError.self) { try schema.learning(checker.lesson, isStrict: false) }
    }

    @Test("what a stage will refuse to learn it refuses before, with the same words")
    func refusals() throws {
        var stage = ContainerSchemas.Stage()
        let share = SchemaShare(types: 2, fields: 600)
        try stage.learn(Self.lesson(500), of: "a", share: share, isStrict: false)
        let cases: [(String, SchemaLesson, SchemaShare, Bool)] = [
            ("known fields cost nothing", Self.lesson(500), share, false),
            ("the share's last field", Self.lesson(600), share, false),
            ("beyond the share's fields", Self.lesson(101, from: 500), share, true),
            ("beyond the share's types", Self.lesson(1, in: "A"), SchemaShare(types: 1, fields: 600), true),
            ("beyond the schema's fields", Self.lesson(Limits.fieldsPerSchema), .whole, true),
        ]
        for (what, lesson, share, isRefused) in cases {
            let refusal = stage.refusal(of: lesson, of: "a", share: share)
            #expect((refusal?.code == .limitExceeded) == isRefused, "\(what): \(refusal as Any)")
            var learning = stage
            do throws(ServiceError) {
                try learning.learn(lesson, of: "a", share: share, isStrict: false)
                #expect(refusal == nil, "\(what)")
            } catch {
                #expect(error == refusal, "\(what)")
                #expect(learning == stage, "\(what)")
            }
        }
    }

    @Test("learned fields stand in the order of their names, among those that were there")
    func order() throws {
        var generator = SystemRandomNumberGenerator()
        var schema = Schema()
        var expected: Set<String> = []
        for _ in 0..<20 {
            var lesson = SchemaLesson()
            for _ in 0..<30 {
                let name = "f\(Int.random(in: 0..<400, using: &generator))"
                lesson.note(Self.text, of: name, in: "Note")
                expected.insert(name)
            }
            schema = try schema.learning(lesson, isStrict: false)
            #expect(schema.recordTypes["Note"]?.fields.map(\.name) == expected.sorted())
        }
        #expect(schema.fieldCount == Schema().fieldCount + expected.count)
    }
}
