import CloudKit
import Testing

@Suite("A predicate's text that is wrong")
struct PredicateFormatErrorTests {
    struct Row: @unchecked Sendable, CustomTestStringConvertible {
        let text: String
        let arguments: [any Sendable]
        let character: Int
        let problem: String

        init(_ text: String, _ character: Int, _ problem: String) {
            self.init(text, [], character, problem)
        }

        init(_ text: String, _ arguments: [any Sendable], _ character: Int, _ problem: String) {
            self.text = text
            self.arguments = arguments
            self.character = character
            self.problem = problem
        }

        var testDescription: String { text }
    }

    private static func message(_ text: String, _ arguments: [any Sendable] = []) -> String {
        do {
            let predicate = try NSPredicate(validatingFormat: text, argumentArray: arguments)
            return "no error, but \(predicate.canonicalFormat)"
        } catch {
            return error.code == .invalidArguments ? error.localizedDescription : "the wrong code \(error.code)"
        }
    }

    @Test(
        "is refused with the place and what was expected",
        arguments: [
            Row("", 1, "expected a key, a value or a predicate, but found the end"),
            Row("name", 5, "expected an operator such as == behind the expression, but found the end"),
            Row("name ==", 8, "expected a key or a value behind the operator, but found the end"),
            Row("name = = 5", 8, "expected a key, a value or a predicate, but found \"==\""),
            Row("a == 'x", 6, "this string has no closing quotation mark"),
            Row("a == 1 b == 2", 8, "expected AND, OR or the end, but found \"b\""),
            Row("a == 1 AND", 11, "expected a key, a value or a predicate, but found the end"),
            Row("a AND b == 1", 3, "expected an operator such as == behind the expression, but found \"AND\""),
            Row("NOT a", 6, "expected an operator such as =="),
            Row("ANY a", 6, "expected an operator such as == behind ANY and a key, but found the end"),
            Row("ANY (a == 1) == 2", 5, "expected a key or a value, but found a predicate"),
            Row("a == (b == 1)", 6, "expected a key or a value, but found a predicate"),
            Row("a < 1 < 2", 7, "expected AND, OR or the end, but found \"<\""),
            Row("(a == 1", 8, "expected \")\" at the end of the parentheses, but found the end"),
            Row("a == 1)", 7, "expected AND, OR or the end, but found \")\""),
            Row("a IN (1, 2)", 8, "a list stands in braces: {1, 2}"),
            Row("a IN {1, 2", 11, "expected \"}\" at the end of the list, or a comma, but found the end"),
            Row("a IN {1,}", 9, "expected a key, a value or a predicate, but found \"}\""),
            Row("f(1", 4, "expected \")\" at the end of the arguments"),
            Row("a == 5 + 3", 8, "arithmetic is not supported"),
            Row("a == 5 %% 3", 8, "arithmetic is not supported"),
            Row("é == & 1", 6, "this character has no place in a predicate"),
            Row("a NOT IN {1}", 3, "but found \"NOT\""),
            Row("in == 1", 1, "(a key of that name is written #in)"),
            Row("a ==[x] 'b'", 6, "expected c, d, n or l"),
            Row("a ==[c 'b'", 8, "expected \"]\" behind the operator's options"),
            Row("a[0] == 1", 2, "elements of a list can't be reached by index"),
            Row("$ == 1", 2, "expected a variable's name"),
            Row("a. == 1", 3, "expected a key behind the dot"),
            Row("SUBQUERY(a, $x, $x.b == 1).@count > 0", 1, "SUBQUERY is not supported"),
            Row("FUNCTION(a, 'b') == 1", 1, "FUNCTION is not supported"),
            Row("a == CAST(1, 'UUID')", 6, "expected CAST(seconds, \"NSDate\")"),
            Row("a == CAST({'', 'Z', '_o'}, 'CKRecordID')", 6, "expected CAST"),
            Row("a == '\\u12'", 7, "expected four hexadecimal digits"),
            Row("a == '\\uD800'", 7, "\\u names no character"),
            Row("a == 99999999999999999999", 6, "this integer does not fit into 64 bits"),
            Row("a == 0xFFFFFFFFFFFFFFFF", 6, "this integer does not fit into 64 bits"),
            Row("a == 1e999", 6, "this number is too large"),
            Row("a == 12abc", 6, "this is no number"),
            Row("a == 1.5x", 6, "a key starts with a letter"),
            Row("a == %", 6, "expected a letter or @ behind %"),
            Row("a == %1$@", ["x"], 6, "placeholders have no position"),
            Row("a == %5d", [5], 6, "placeholders have no position"),
            Row("a == %s", ["x"], 6, "this placeholder is unknown"),
            Row("a == %l@", ["x"], 6, "this placeholder is unknown"),
            Row("a == %@", 6, "there is no argument for this placeholder: 0 given, this is number 1"),
            Row("a == %@ AND b == %@", ["x"], 18, "1 given, this is number 2"),
            Row("a == %@", ["x", "y"], 8, "there are 2 arguments, but the placeholders take 1 of them"),
            Row("a == '%@'", ["x"], 10, "a placeholder in quotation marks is plain text: remove the marks"),
            Row("a == %d", ["x"], 6, "argument 1 is String, but %d takes an integer"),
            Row("a == %d", [1.5], 6, "argument 1 is Double, but %d takes an integer"),
            Row("a == %lld", [NSNumber(value: 5)], 6, "but %lld takes an integer; use %@ for objects"),
            Row("a == %llu", [UInt64.max], 6, "argument 1 does not fit"),
            Row("a == %f", [5], 6, "argument 1 is Int, but %f takes a Double"),
            Row("%K == 1", [5], 1, "argument 1 is Int, but %K takes a key as a String"),
        ])
    func place(row: Row) {
        let message = Self.message(row.text, row.arguments)
        #expect(message.hasPrefix("the predicate's format is wrong at character \(row.character): "))
        #expect(message.contains(row.problem))
        let lines = message.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3 && lines.last?.count == 4 + row.character, "the caret stands under the place")
    }

    @Test("is refused when a predicate is its argument")
    func predicateArgument() {
        let error = #expect(throws: CKError.self) {
            try NSPredicate(validatingFormat: "a == %@", argumentArray: [NSPredicate(value: true)])
        }
        #expect(error?.localizedDescription.contains("join predicates with NSCompoundPredicate") == true)
    }

    @Test("is shown in part when it is long, on one line")
    func excerpt() {
        let text = String(repeating: "ä == 1 AND\n", count: 100) + "b == ==" + String(repeating: " é", count: 100)
        let lines = Self.message(text).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3)
        #expect(lines.last?.last == "^")
        let caret = lines.last?.count ?? 0
        #expect(lines[1].count < 150 && lines[1].prefix(caret + 1).hasSuffix("b == =="))
    }

    @Test("is refused in bounded time, however long or deep it is")
    func bounds() {
        func deep(_ count: Int, _ open: String, _ close: String) -> String {
            String(repeating: open, count: count) + "a == 1" + String(repeating: close, count: count)
        }
        for count in [1_000, 100_000] {
            #expect(Self.message(deep(count, "(", ")")).contains("at character 129: this is nested more than 128 deep"))
            #expect(Self.message(deep(count, "NOT ", "")).contains("nested more than 128 deep"))
            #expect(Self.message(deep(count, "!(", ")")).contains("nested more than 128 deep"))
            #expect(Self.message("a IN " + deep(count, "{", "}")).contains("nested more than 32 deep"))
            #expect(Self.message(deep(count, "f(", ")")).contains("nested more than 32 deep"))
            #expect(Self.message("a IN {" + deep(count, "(", ")") + "}").contains("nested more than"))
        }
        #expect(Self.message(deep(127, "(", ")")) == "no error, but a == 1")
        let long = String(repeating: "a == 1 OR ", count: 200_000) + "a == 1"
        #expect(Self.message(long).contains("the limit is 1048576"))

        var nested: [Any] = []
        for _ in 0..<10_000 { nested = [nested] }
        let predicate = NSPredicate(format: "a IN %@", nested)
        #expect(throws: CKError.self) { try predicate.translated() }
    }

    @Test("stops the program where the text is the program's own")
    func trap() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = NSPredicate(format: "name = = %@", "x")
        }
        let error = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(error.contains("NSPredicate(format:): the predicate's format is wrong at character 8"))
    }
}
