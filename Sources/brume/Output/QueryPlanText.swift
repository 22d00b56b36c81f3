internal import BrumeModel
internal import Foundation

/// How a query was run, as JSON and as text for people.
enum QueryPlanText {
    static func json(_ plan: QueryPlan) -> JSONValue {
        .object([
            ("query", .string(plan.query)),
            ("steps", .array(plan.steps.map { .string($0) })),
            ("recordsEstimated", .integer(Int64(plan.recordsEstimated))),
            ("entriesRead", .integer(Int64(plan.entriesRead))),
            ("recordsRead", .integer(Int64(plan.recordsRead))), ("matches", .integer(Int64(plan.matches))),
            ("microseconds", .integer(Int64(plan.microseconds))), ("slices", .integer(Int64(plan.slices))),
        ])
    }

    static func text(_ plan: QueryPlan, style: Style) -> String {
        var lines = plan.query.isEmpty ? [] : [plan.query]
        for (depth, step) in plan.steps.enumerated() {
            lines.append(String(repeating: "  ", count: depth) + (depth > 0 ? "└ " : "") + style.bold(step))
        }
        lines.append("expected about \(count(plan.recordsEstimated, "record", "records"))")
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
        "\(CountText.grouped(number)) \(number == 1 ? one : many)"
    }

    private static func milliseconds(_ microseconds: Int) -> String {
        String(format: "%.3f ms", locale: Locale(identifier: "en_US_POSIX"), Double(microseconds) / 1_000)
    }
}
