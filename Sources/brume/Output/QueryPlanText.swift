internal import BrumeKit
internal import BrumeModel
internal import Foundation

/// How a query was run, as JSON and as text for people.
enum QueryPlanText {
    /// Characters of the query that are shown: a list may have thousands of values.
    private static let askedCharacters = 400

    /// The query as it was understood, with its values.
    static func asked(_ query: CKQuery) -> String {
        let text = "\(query.recordType) WHERE \(query.predicate.canonicalFormat)"
        return text.count <= askedCharacters
            ? text : text.prefix(askedCharacters) + "… (\(grouped(text.count)) characters)"
    }

    static func json(_ plan: QueryPlan, of asked: String) -> JSONValue {
        .object([
            ("query", .string(asked)),
            ("steps", .array(plan.steps.map { .string($0) })), ("entriesRead", .integer(Int64(plan.entriesRead))),
            ("recordsRead", .integer(Int64(plan.recordsRead))), ("matches", .integer(Int64(plan.matches))),
            ("microseconds", .integer(Int64(plan.microseconds))), ("slices", .integer(Int64(plan.slices))),
        ])
    }

    static func text(_ plan: QueryPlan, of asked: String, style: Style) -> String {
        var lines = [asked]
        for (depth, step) in plan.steps.enumerated() {
            lines.append(String(repeating: "  ", count: depth) + (depth > 0 ? "└ " : "") + style.bold(step))
        }
        lines.append(
            """
            read     \(count(plan.entriesRead, "index entry", "index entries")), \
            \(count(plan.recordsRead, "record", "records"))
            """)
        lines.append("page     \(count(plan.matches, "match", "matches"))")
        lines.append(
            "time     \(milliseconds(plan.microseconds)) of the server's loop, in \(count(plan.slices, "slice", "slices"))"
        )
        return lines.joined(separator: "\n")
    }

    private static func count(_ number: Int, _ one: String, _ many: String) -> String {
        "\(grouped(number)) \(number == 1 ? one : many)"
    }

    /// With commas between thousands.
    private static func grouped(_ number: Int) -> String {
        var text = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    private static func milliseconds(_ microseconds: Int) -> String {
        String(format: "%.3f ms", locale: Locale(identifier: "en_US_POSIX"), Double(microseconds) / 1_000)
    }
}
