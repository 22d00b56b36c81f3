import CloudKit
import Testing

private struct Note: CKQueryableFields {
    struct Author {
        var name: String
    }

    var title: String
    var subtitle: String?
    var pages: Int
    var rating: Double
    var done: Bool
    var due: Date
    var tags: [String]
    var labels: Set<String>
    var author: Author
    var local: Int

    static func fieldKey(for keyPath: PartialKeyPath<Note>) -> CKRecord.FieldKey? {
        switch keyPath {
        case \.title: "title"
        case \.subtitle: "subtitle"
        case \.pages: "pages"
        case \.rating: "rating"
        case \.done: "done"
        case \.due: "modificationDate"
        case \.tags: "tags"
        case \.labels: "labels"
        case \.author: "author"
        default: nil
        }
    }
}

@Suite("A Swift predicate")
struct SwiftPredicateTests {
    private func format(_ predicate: Predicate<Note>) throws -> String {
        let predicate = try NSPredicate(predicate)
        _ = try predicate.translated()
        return predicate.canonicalFormat
    }

    @Test("is the predicate of the fields that its properties stand for")
    func supported() throws {
        let names = ["a", "b"]
        let moment = Date(timeIntervalSinceReferenceDate: 1)
        let (closed, open) = (1...5, 1..<5)
        let some: String? = "x"
        #expect(try format(#Predicate { $0.title == "x" }) == "title == \"x\"")
        #expect(try format(#Predicate { $0.title != "x" && $0.pages > 3 }) == "title != \"x\" AND pages > 3")
        #expect(
            try format(#Predicate { ($0.pages < 1 || $0.pages >= 2) && $0.rating <= 4.5 })
                == "(pages < 1 OR pages >= 2) AND rating <= 4.5")
        #expect(
            try format(#Predicate { $0.pages == 1 && $0.pages == 2 && $0.pages == 3 })
                == "pages == 1 AND pages == 2 AND pages == 3")
        #expect(try format(#Predicate { 5 < $0.pages }) == "5 < pages")
        #expect(try format(#Predicate { $0.rating > -1.5 }) == "rating > -1.5")
        #expect(try format(#Predicate { $0.done && !$0.done }) == "done == 1 AND NOT done == 1")
        #expect(try format(#Predicate { $0.done == false }) == "done == 0")
        #expect(try format(#Predicate { $0.due < moment }) == "modificationDate < CAST(1.0, \"NSDate\")")
        #expect(try format(#Predicate { names.contains($0.title) }) == "title IN {\"a\", \"b\"}")
        #expect(try format(#Predicate { names.contains($0.title) == false }) == "NOT title IN {\"a\", \"b\"}")
        #expect(try format(#Predicate { $0.tags.contains("x") }) == "tags CONTAINS \"x\"")
        #expect(try format(#Predicate { $0.labels.contains("x") }) == "labels CONTAINS \"x\"")
        #expect(try format(#Predicate { $0.tags.contains { $0 > "x" } }) == "ANY tags > \"x\"")
        #expect(try format(#Predicate { $0.tags.contains { $0.starts(with: "x") } }) == "ANY tags BEGINSWITH \"x\"")
        #expect(try format(#Predicate { $0.tags.contains { names.contains($0) } }) == "ANY tags IN {\"a\", \"b\"}")
        #expect(try format(#Predicate { $0.title.starts(with: "x") }) == "title BEGINSWITH \"x\"")
        #expect(try format(#Predicate { (1...5).contains($0.pages) }) == "pages BETWEEN {1, 5}")
        #expect(try format(#Predicate { closed.contains($0.pages) }) == "pages BETWEEN {1, 5}")
        #expect(try format(#Predicate { open.contains($0.pages) }) == "pages >= 1 AND pages < 5")
        #expect(try format(#Predicate { (1..<5).contains($0.pages) }) == "pages >= 1 AND pages < 5")
        #expect(try format(#Predicate { $0.subtitle == "x" }) == "subtitle == \"x\"")
        #expect(try format(#Predicate { $0.subtitle == some }) == "subtitle == \"x\"")
        #expect(try format(#Predicate { $0.subtitle! == "x" }) == "subtitle == \"x\"")
        #expect(try format(#Predicate { _ in true }) == "TRUEPREDICATE")
        #expect(
            NSSortDescriptor(keyPath: \Note.pages, ascending: true).key == "pages")
    }

    @Test("is refused by the name of what a server can't do")
    func refused() {
        func problem(_ predicate: Predicate<Note>) -> String {
            do {
                return "no error, but \(try format(predicate))"
            } catch {
                let error = error as? CKError
                return error?.code == .invalidArguments ? error?.localizedDescription ?? "" : "the wrong code"
            }
        }
        #expect(problem(#Predicate { $0.title.contains("x") }).contains("CollectionContainsCollection"))
        #expect(problem(#Predicate { ($0.subtitle ?? "") == "x" }).contains("NilCoalesce"))
        #expect(problem(#Predicate { $0.pages + 1 > 5 }).contains("Arithmetic"))
        #expect(problem(#Predicate { $0.tags.allSatisfy { $0 == "x" } }).contains("SequenceAllSatisfy"))
        #expect(problem(#Predicate { $0.author.name == "x" }).contains("only the record's own fields"))
        #expect(problem(#Predicate { $0.tags.count > 1 }).contains("only the record's own fields"))
        #expect(problem(#Predicate { $0.local == 1 }).contains("stands for no field"))
        #expect(problem(#Predicate { $0.subtitle == nil }).contains("compared with nil"))
        #expect(problem(#Predicate { $0.tags.contains { $0 == "x" || $0 == "y" } }).contains("takes one comparison"))
    }
}
