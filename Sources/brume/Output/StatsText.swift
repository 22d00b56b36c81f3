internal import BrumeModel
internal import Foundation

/// A server's figures for people and as JSON: since its start, or between two readings.
struct StatsText {
    private let now: ServerFigures
    /// What was counted since the last reading, or since the start.
    private let counted: ServerFigures
    /// The time over which it was counted.
    private let seconds: Double
    private let showsRates: Bool

    init(_ figures: ServerFigures, since earlier: ServerFigures?) {
        now = figures
        counted = earlier.map { figures.since($0) } ?? figures
        let uptime = figures.health.uptimeMilliseconds
        let before = earlier?.health.uptimeMilliseconds ?? 0
        seconds = max(0.001, Double(uptime >= before ? uptime - before : uptime) / 1_000)
        showsRates = earlier != nil
    }

    // MARK: Text

    var lines: [String] {
        var lines = [
            "\(state), \(now.loops) \(now.loops == 1 ? "loop" : "loops"), CPU \(decimal(cpuPercent, 0)) %"
                + "\(showsRates ? "" : " on average"), \(size(now.memory.residentBytes)) resident",
            "",
            row(
                "connections",
                "\(group(now.connections.open)) open, \(amount(counted.connections.accepted)) accepted, "
                    + "\(amount(counted.connections.refused)) refused, \(amount(turnedAway)) turned away, "
                    + "\(group(now.connections.limit)) at most; \(group(now.descriptors.open)) of "
                    + "\(group(now.descriptors.limit)) descriptors"),
            row(
                "databases",
                "\(group(now.databases.loaded)) in memory, \(group(now.databases.loading)) loading, "
                    + "\(amount(counted.databases.loads)) loads, \(amount(counted.databases.drops)) drops, "
                    + "\(group(now.databases.runningQueries)) queries running"),
            row(
                "commits",
                "\(amount(counted.commits)), of \(amount(counted.changes)) changes, "
                    + "\(amount(counted.itemFailures[.serverRecordChanged] ?? 0)) conflicts"),
            row(
                "journal",
                "\(amount(counted.journal.syncNanoseconds.count)) syncs, \(times(counted.journal.syncNanoseconds)), "
                    + "\(decimal(commitsPerSync, 1)) commits a sync, \(group(now.journal.segments)) "
                    + (now.journal.segments == 1 ? "file" : "files")),
            row(
                "pushes",
                "\(amount(counted.push.sent)) events to \(group(now.push.streams)) streams, "
                    + "\(times(counted.push.lagNanoseconds)) behind the commit, \(group(now.push.backlogEvents)) kept"),
            row(
                "assets",
                "\(amount(counted.assets.uploads)) uploads of \(size(Int(clamping: counted.assets.uploadedBytes))), "
                    + "\(amount(counted.assets.downloads)) downloads of "
                    + "\(size(Int(clamping: counted.assets.downloadedBytes))), "
                    + "\(group(now.assets.transfers)) under way; "
                    + "\(size(Int(clamping: now.assets.namedBytes))) named by records in memory, "
                    + "\(size(Int(clamping: now.assets.pendingBytes))) not yet, "
                    + "\(size(Int(clamping: now.assets.unneededBytes))) no more, "
                    + "\(amount(counted.assets.removedFiles)) files removed"),
            row(
                "memory",
                "databases \(size(now.memory.databaseBytes)), events \(size(now.memory.backlogBytes)), "
                    + "answers \(size(now.memory.heldAnswerBytes)), calls \(size(now.memory.waitingCallBytes)), "
                    + "commits under way \(size(now.memory.undurableBytes)), "
                    + "unread \(size(now.memory.unreadAnswerBytes)), "
                    + "unfinished \(size(now.memory.unfinishedRequestBytes))"),
            "",
            Self.columns([
                "method", showsRates ? "calls/s" : "calls", "failed", "cancelled", "p50 ms", "p95 ms", "p99 ms",
                "max ms",
            ]),
        ]
        for method in counted.methods {
            let latency = method.latencyNanoseconds
            let durations =
                latency.count == 0
                ? ["", "", "", ""]
                : [latency.percentile(0.5), latency.percentile(0.95), latency.percentile(0.99), latency.maximum].map(
                    milliseconds)
            lines.append(
                Self.columns(
                    [method.name, amount(method.ended), amount(method.failureCount), amount(method.cancelled)]
                        + durations))
            for (code, count) in method.failures.sorted(by: { $0.value > $1.value }).prefix(3) {
                lines.append("    \(amount(count)) × \(code.name)")
            }
        }
        if counted.refusedCalls > 0 { lines.append("\(amount(counted.refusedCalls)) calls refused before they began") }
        return lines.map { line in String(line.reversed().drop { $0 == " " }.reversed()) }
    }

    private var state: String {
        var words = now.health.isServing ? "serving" : "about to stop"
        words += " for \(duration(now.health.uptimeMilliseconds / 1_000))"
        if now.health.isDiskFull { words += "; disk full" }
        if now.health.isDamageFound { words += "; damage found" }
        return words
    }

    /// Connections that were turned away, for whatever reason.
    private var turnedAway: UInt64 {
        let connections = counted.connections
        return connections.beyondLimit + connections.beyondAddress + connections.beyondAccount + connections.late
            + connections.shed
    }

    private var cpuPercent: Double { Double(counted.cpuNanoseconds) / seconds / 1e7 }

    private var commitsPerSync: Double {
        let batches = counted.journal.batchEntries
        return batches.count == 0 ? 0 : Double(batches.sum) / Double(batches.count)
    }

    private func row(_ name: String, _ text: String) -> String {
        name + String(repeating: " ", count: max(1, 13 - name.count)) + text
    }

    private static func columns(_ cells: [String]) -> String {
        let widths = [24, 11, 9, 11, 10, 10, 10, 10]
        return zip(cells, widths).enumerated().map { index, pair in
            let space = String(repeating: " ", count: max(1, pair.1 - pair.0.count))
            return index == 0 ? pair.0 + space : space + pair.0
        }.joined()
    }

    /// A count since the start, or a rate between two readings.
    private func amount(_ count: UInt64) -> String {
        guard showsRates else { return group(Int(clamping: count)) }
        let rate = Double(count) / seconds
        return (rate == 0 || rate >= 10 ? group(Int(rate.rounded())) : decimal(rate, 1)) + "/s"
    }

    private func times(_ histogram: Histogram) -> String {
        guard histogram.count > 0 else { return "p50 - ms" }
        return "p50 \(milliseconds(histogram.percentile(0.5))) ms, p99 \(milliseconds(histogram.percentile(0.99))) ms"
    }

    private func milliseconds(_ nanoseconds: UInt64) -> String { decimal(Double(nanoseconds) / 1e6, 3) }

    private func decimal(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

    /// Digits in groups of three.
    private func group(_ number: Int) -> String { CountText.grouped(number) }

    private func size(_ bytes: Int) -> String {
        switch bytes {
        case ..<1_024: "\(bytes) B"
        case ..<1_048_576: decimal(Double(bytes) / 1_024, 1) + " KiB"
        case ..<1_073_741_824: decimal(Double(bytes) / 1_048_576, 1) + " MiB"
        default: decimal(Double(bytes) / 1_073_741_824, 2) + " GiB"
        }
    }

    private func duration(_ seconds: UInt64) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3_600: "\(seconds / 60) min \(seconds % 60) s"
        case ..<86_400: "\(seconds / 3_600) h \(seconds / 60 % 60) min"
        default: "\(seconds / 86_400) d \(seconds / 3_600 % 24) h"
        }
    }

    // MARK: JSON

    var json: JSONValue {
        .object([
            ("serving", .bool(now.health.isServing)), ("diskFull", .bool(now.health.isDiskFull)),
            ("damageFound", .bool(now.health.isDamageFound)),
            ("uptimeMilliseconds", integer(now.health.uptimeMilliseconds)), ("seconds", .number(seconds)),
            ("loops", integer(now.loops)), ("cpuSeconds", .number(Double(counted.cpuNanoseconds / 1_000) / 1e6)),
            (
                "connections",
                .object([
                    ("open", integer(now.connections.open)), ("accepted", integer(counted.connections.accepted)),
                    ("welcomed", integer(counted.connections.welcomed)),
                    ("refused", integer(counted.connections.refused)), ("limit", integer(now.connections.limit)),
                    ("beyondLimit", integer(counted.connections.beyondLimit)),
                    ("beyondAddress", integer(counted.connections.beyondAddress)),
                    ("beyondAccount", integer(counted.connections.beyondAccount)),
                    ("late", integer(counted.connections.late)), ("shed", integer(counted.connections.shed)),
                ])
            ),
            (
                "descriptors",
                .object([("open", integer(now.descriptors.open)), ("limit", integer(now.descriptors.limit))])
            ),
            (
                "calls",
                .object([
                    ("open", integer(now.openCalls)), ("refused", integer(counted.refusedCalls)),
                    ("methods", .object(counted.methods.map { ($0.name, json($0)) })),
                    ("itemFailures", json(counted.itemFailures)),
                ])
            ),
            ("commits", integer(counted.commits)), ("changes", integer(counted.changes)),
            (
                "journal",
                .object([
                    ("syncMicroseconds", json(microseconds: counted.journal.syncNanoseconds)),
                    ("batchCommits", json(counted.journal.batchEntries)),
                    ("batchBytes", json(counted.journal.batchBytes)), ("files", integer(now.journal.segments)),
                ])
            ),
            (
                "pushes",
                .object([
                    ("streams", integer(now.push.streams)), ("published", integer(counted.push.published)),
                    ("sent", integer(counted.push.sent)), ("missed", integer(counted.push.missed)),
                    ("lagMicroseconds", json(microseconds: counted.push.lagNanoseconds)),
                    ("backlogEvents", integer(now.push.backlogEvents)),
                ])
            ),
            (
                "databases",
                .object([
                    ("loaded", integer(now.databases.loaded)), ("loading", integer(now.databases.loading)),
                    ("loads", integer(counted.databases.loads)), ("drops", integer(counted.databases.drops)),
                    ("runningQueries", integer(now.databases.runningQueries)),
                    ("snapshots", integer(counted.databases.snapshots)),
                    ("snapshotBytes", integer(counted.databases.snapshotBytes)),
                ])
            ),
            (
                "assets",
                .object([
                    ("transfers", integer(now.assets.transfers)), ("uploads", integer(counted.assets.uploads)),
                    ("uploadedBytes", integer(counted.assets.uploadedBytes)),
                    ("downloads", integer(counted.assets.downloads)),
                    ("downloadedBytes", integer(counted.assets.downloadedBytes)),
                    ("removedFiles", integer(counted.assets.removedFiles)),
                    ("namedBytes", integer(now.assets.namedBytes)),
                    ("pendingBytes", integer(now.assets.pendingBytes)),
                    ("unneededBytes", integer(now.assets.unneededBytes)),
                ])
            ),
            (
                "memory",
                .object([
                    ("residentBytes", integer(now.memory.residentBytes)),
                    ("databaseBytes", integer(now.memory.databaseBytes)),
                    ("backlogBytes", integer(now.memory.backlogBytes)),
                    ("heldAnswerBytes", integer(now.memory.heldAnswerBytes)),
                    ("waitingCallBytes", integer(now.memory.waitingCallBytes)),
                    ("undurableBytes", integer(now.memory.undurableBytes)),
                    ("unreadAnswerBytes", integer(now.memory.unreadAnswerBytes)),
                    ("unfinishedRequestBytes", integer(now.memory.unfinishedRequestBytes)),
                ])
            ),
        ])
    }

    private func json(_ method: MethodFigures) -> JSONValue {
        .object([
            ("ended", integer(method.ended)), ("cancelled", integer(method.cancelled)),
            ("failures", json(method.failures)),
            ("latencyMicroseconds", json(microseconds: method.latencyNanoseconds)),
        ])
    }

    private func json(_ counts: [ErrorCode: UInt64]) -> JSONValue {
        .object(counts.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key.name, integer($0.value)) })
    }

    private func json(_ histogram: Histogram) -> JSONValue { json(histogram) { integer($0) } }

    private func json(microseconds histogram: Histogram) -> JSONValue {
        json(histogram) { .number((Double($0) / 100).rounded() / 10) }
    }

    private func json(_ histogram: Histogram, _ value: (UInt64) -> JSONValue) -> JSONValue {
        .object([
            ("count", integer(histogram.count)), ("mean", value(histogram.mean)),
            ("p50", value(histogram.percentile(0.5))), ("p95", value(histogram.percentile(0.95))),
            ("p99", value(histogram.percentile(0.99))), ("max", value(histogram.maximum)),
        ])
    }

    private func integer(_ value: some BinaryInteger) -> JSONValue { .integer(Int64(clamping: value)) }
}
