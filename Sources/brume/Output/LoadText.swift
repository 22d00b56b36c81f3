internal import BrumeLoad
internal import Foundation

/// What a load measured, for people and as JSON. Times in JSON are microseconds.
enum LoadText {
    static func json(_ report: LoadReport) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("seconds", .number(rounded(report.seconds, 3))), ("connections", .integer(Int64(report.connections))),
            ("operations", .integer(Int64(report.figures.operations))),
            ("operationsPerSecond", .number(rounded(report.operationsPerSecond, 1))),
            ("failures", .integer(Int64(report.figures.failures))),
        ]
        let kinds = LoadOperation.allCases.compactMap { operation in
            report.figures.kinds[operation].map { (key: operation.rawValue, value: json($0, seconds: report.seconds)) }
        }
        members.append(("kinds", .object(kinds)))
        if let server = report.server { members.append(("server", json(server, report))) }
        if let client = report.client { members.append(("client", json(client, report))) }
        return .object(members)
    }

    private static func json(_ kind: LoadFigures.Kind, seconds: Double) -> JSONValue {
        func microseconds(_ nanoseconds: UInt64) -> JSONValue { .number(rounded(Double(nanoseconds) / 1000, 1)) }
        let latency = kind.latency
        let errors = kind.errors.sorted { $0.key < $1.key }.map {
            (key: $0.key, value: JSONValue.integer(Int64($0.value)))
        }
        return .object([
            ("operations", .integer(Int64(latency.count))),
            ("operationsPerSecond", .number(rounded(Double(latency.count) / seconds, 1))),
            ("recordsPerSecond", .number(rounded(Double(kind.records) / seconds, 1))),
            ("meanMicroseconds", microseconds(latency.mean)),
            ("p50Microseconds", microseconds(latency.percentile(0.5))),
            ("p95Microseconds", microseconds(latency.percentile(0.95))),
            ("p99Microseconds", microseconds(latency.percentile(0.99))),
            ("maxMicroseconds", microseconds(latency.maximum)), ("errors", .object(errors)),
        ])
    }

    private static func json(_ usage: LoadReport.Usage, _ report: LoadReport) -> JSONValue {
        let operations = max(1, report.figures.operations)
        return .object([
            ("cpuSeconds", .number(rounded(Double(usage.cpuNanoseconds) / 1e9, 2))),
            ("cpuMicrosecondsPerOperation", .number(rounded(Double(usage.cpuNanoseconds / operations) / 1000, 2))),
            ("residentBytes", .integer(Int64(usage.residentBytes))),
        ])
    }

    static func text(_ report: LoadReport) -> String {
        let columns = ["", "ops/s", "records/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "errors"]
        var text = row(columns)
        for operation in LoadOperation.allCases {
            guard let kind = report.figures.kinds[operation] else { continue }
            func milliseconds(_ nanoseconds: UInt64) -> String { decimal(Double(nanoseconds) / 1e6, 3) }
            text += row([
                operation.rawValue, decimal(Double(kind.latency.count) / report.seconds, 0),
                decimal(Double(kind.records) / report.seconds, 0), milliseconds(kind.latency.percentile(0.5)),
                milliseconds(kind.latency.percentile(0.95)), milliseconds(kind.latency.percentile(0.99)),
                milliseconds(kind.latency.maximum), String(kind.errors.values.reduce(0, +)),
            ])
        }
        text += "all: \(decimal(report.operationsPerSecond, 0)) operations/s over \(decimal(report.seconds, 1)) s, "
        text += "\(report.connections) connections\n"
        for (name, usage) in [("server", report.server), ("client", report.client)] {
            guard let usage else { continue }
            let perOperation = Double(usage.cpuNanoseconds) / Double(max(1, report.figures.operations)) / 1000
            text += "\(name): \(decimal(perOperation, 1)) µs CPU an operation, "
            text += "\(decimal(Double(usage.residentBytes) / 1_048_576, 1)) MiB resident\n"
        }
        for (operation, kind) in report.figures.kinds.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            for (code, count) in kind.errors.sorted(by: { $0.value > $1.value }).prefix(5) {
                text += "\(operation.rawValue): \(count) × error \(code)\n"
            }
        }
        return text
    }

    private static func row(_ cells: [String]) -> String {
        let widths = [8, 9, 10, 9, 9, 9, 9, 7]
        return zip(cells, widths).map { cell, width in
            String(repeating: " ", count: max(1, width - cell.count)) + cell
        }.joined() + "\n"
    }

    private static func decimal(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

    private static func rounded(_ value: Double, _ digits: Int) -> Double {
        let scale = pow(10, Double(digits))
        return (value * scale).rounded() / scale
    }
}
