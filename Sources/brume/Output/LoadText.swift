internal import BrumeLoad
internal import BrumeModel
internal import Foundation

/// The report of a load, for people and as JSON. Times in JSON are microseconds.
enum LoadText {
    static func json(_ report: LoadReport) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("scenario", .string(report.scenario.rawValue)), ("seconds", .number(rounded(report.seconds, 3))),
            ("connections", .integer(Int64(report.connections))), ("accounts", .integer(Int64(report.accounts))),
            ("rate", report.rate.map { .number($0) } ?? .null),
            ("operations", .integer(Int64(report.figures.operations))),
            ("operationsPerSecond", .number(rounded(report.operationsPerSecond, 1))),
            ("failures", .integer(Int64(report.figures.failures))), ("unfinished", .integer(Int64(report.unfinished))),
        ]
        let kinds = LoadOperation.allCases.compactMap { operation in
            report.figures.kinds[operation].map { (key: operation.rawValue, value: json($0, seconds: report.seconds)) }
        }
        members.append(("kinds", .object(kinds)))
        members.append(("samples", .array(report.samples.map(json))))
        if let bytes = report.bytesPerConnection {
            members.append(("serverBytesPerConnection", .number(rounded(bytes, 0))))
        }
        if let server = report.server { members.append(("server", json(server, report))) }
        if let client = report.client { members.append(("client", json(client, report))) }
        return .object(members)
    }

    private static func json(_ kind: LoadFigures.Kind, seconds: Double) -> JSONValue {
        let latency = kind.latency
        let errors = errorsByCode(kind.errors).sorted { $0.code < $1.code }.map {
            (key: $0.code, value: JSONValue.integer(Int64(clamping: $0.count)))
        }
        return .object([
            ("operations", .integer(Int64(latency.count))),
            ("operationsPerSecond", .number(rounded(Double(latency.count) / seconds, 1))),
            ("recordsPerSecond", .number(rounded(Double(kind.records) / seconds, 1))),
            ("meanMicroseconds", microseconds(latency.mean)),
            ("p50Microseconds", microseconds(latency.percentile(0.5))),
            ("p90Microseconds", microseconds(latency.percentile(0.9))),
            ("p95Microseconds", microseconds(latency.percentile(0.95))),
            ("p99Microseconds", microseconds(latency.percentile(0.99))),
            ("p999Microseconds", microseconds(latency.percentile(0.999))),
            ("maxMicroseconds", microseconds(latency.maximum)), ("errors", .object(errors)),
        ])
    }

    private static func json(_ sample: LoadReport.Sample) -> JSONValue {
        let kinds = LoadOperation.allCases.compactMap { operation -> (key: String, value: JSONValue)? in
            guard let kind = sample.figures.kinds[operation] else { return nil }
            return (
                operation.rawValue,
                .object([
                    ("operations", .integer(Int64(kind.latency.count))), ("errors", .integer(Int64(kind.failures))),
                    ("p50Microseconds", microseconds(kind.latency.percentile(0.5))),
                    ("p99Microseconds", microseconds(kind.latency.percentile(0.99))),
                    ("maxMicroseconds", microseconds(kind.latency.maximum)),
                ])
            )
        }
        var members: [(key: String, value: JSONValue)] = [
            ("second", .number(rounded(sample.second, 2))), ("kinds", .object(kinds)),
        ]
        if let percent = sample.serverCPUPercent { members.append(("serverCPUPercent", .number(rounded(percent, 1)))) }
        if let bytes = sample.serverResidentBytes { members.append(("serverResidentBytes", .integer(Int64(bytes)))) }
        return .object(members)
    }

    private static func json(_ usage: LoadReport.Usage, _ report: LoadReport) -> JSONValue {
        let operations = max(1, report.figures.operations)
        return .object([
            ("cpuSeconds", .number(rounded(Double(usage.cpuNanoseconds) / 1e9, 2))),
            ("cpuMicrosecondsPerOperation", .number(rounded(Double(usage.cpuNanoseconds / operations) / 1000, 2))),
            ("residentBytes", .integer(Int64(usage.residentBytes))),
        ])
    }

    /// Groups errors, whose texts are a code and a sentence, by their code, the most frequent first, each with its most
    /// frequent sentence. The sentences hold figures, so that each may be another one.
    static func errorsByCode(_ errors: [String: UInt64]) -> [(code: String, count: UInt64, example: String)] {
        var found: [String: (count: UInt64, example: String)] = [:]
        for (text, count) in errors.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            let parts = text.split(separator: ": ", maxSplits: 1)
            let example = parts.count == 2 ? String(parts[1]) : ""
            let former = found[String(parts[0])]
            let isFirst = former?.example.isEmpty ?? true
            found[String(parts[0])] = ((former?.count ?? 0) + count, isFirst ? example : former?.example ?? "")
        }
        return found.map { ($0.key, $0.value.count, $0.value.example) }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    }

    static func text(_ report: LoadReport) -> String {
        let columns = [
            "", "ops/s", "records/s", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms", "errors",
        ]
        var text = row(columns)
        for operation in LoadOperation.allCases {
            guard let kind = report.figures.kinds[operation] else { continue }
            let latency = kind.latency
            let times = [0.5, 0.9, 0.99, 0.999].map { latency.percentile($0) } + [latency.maximum]
            text += row(
                [
                    operation.rawValue, decimal(Double(latency.count) / report.seconds, 0),
                    decimal(Double(kind.records) / report.seconds, 0),
                ] + times.map { decimal(Double($0) / 1e6, 3) } + [String(kind.failures)])
        }
        text += summary(report)
        for operation in LoadOperation.allCases {
            for error in errorsByCode(report.figures.kinds[operation]?.errors ?? [:]) {
                text += "\(operation.rawValue): \(error.count) × \(error.code)"
                text += error.example.isEmpty ? "\n" : ", such as: \(error.example)\n"
            }
        }
        return text
    }

    /// The kind of run, and the resources that it used.
    static func summary(_ report: LoadReport) -> String {
        var text =
            "\(report.scenario.rawValue): \(decimal(report.operationsPerSecond, 0)) operations/s over \(decimal(report.seconds, 1)) s, "
        text += "\(CountText.text(report.connections, "connection")), \(CountText.text(report.accounts, "account"))"
        text += report.rate.map { ", rate \(decimal($0, 0))/s" } ?? ""
        text += report.warmUpSeconds > 0 ? ", after \(decimal(report.warmUpSeconds, 0)) s of warm-up\n" : "\n"
        if report.unfinished > 0 { text += "\(CountText.text(report.unfinished, "operation")) had no end in time\n" }
        for (name, usage) in [("server", report.server), ("client", report.client)] {
            guard let usage else { continue }
            let perOperation = Double(usage.cpuNanoseconds) / Double(max(1, report.figures.operations)) / 1000
            let percent = Double(usage.cpuNanoseconds) / max(report.seconds, 1e-9) / 1e7
            text += "\(name): CPU \(decimal(percent, 0)) %, "
            if report.figures.operations > 0, report.scenario != .idle {
                text += "\(decimal(perOperation, 1)) µs an operation, "
            }
            text += "\(decimal(Double(usage.residentBytes) / 1_048_576, 1)) MiB resident\n"
        }
        if let bytes = report.bytesPerConnection {
            text += "server memory: \(decimal(bytes / 1_024, 1)) KiB a connection\n"
        }
        return text
    }

    private static func row(_ cells: [String]) -> String {
        let widths = [12, 9, 10, 9, 9, 9, 10, 10, 7]
        return zip(cells, widths).map { cell, width in
            String(repeating: " ", count: max(1, width - cell.count)) + cell
        }.joined() + "\n"
    }

    private static func microseconds(_ nanoseconds: UInt64) -> JSONValue {
        .number(rounded(Double(nanoseconds) / 1000, 1))
    }

    static func decimal(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

    private static func rounded(_ value: Double, _ digits: Int) -> Double {
        let scale = pow(10, Double(digits))
        return (value * scale).rounded() / scale
    }
}
