internal import BrumeLoad
internal import BrumeModel
internal import Foundation

/// The report of a load as one HTML page with plots, without scripts and external resources.
struct LoadPage {
    private let report: LoadReport

    init(_ report: LoadReport) {
        self.report = report
    }

    private var kinds: [LoadOperation] {
        LoadOperation.allCases.filter { (report.figures.kinds[$0]?.latency.count ?? 0) > 0 }
    }

    var html: String {
        let title = "brume load: \(report.scenario.rawValue)"
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(LoadChart.escaped(title))</title>
            <style>
            \(Self.style)
            </style></head><body><main>
            <h1>\(LoadChart.escaped(title))</h1>
            <p class="summary">\(LoadChart.escaped(LoadText.summary(report)).replacingOccurrences(of: "\n", with: "<br>"))</p>
            \(table)\(errors)\(charts.map(\.html).joined())
            <script type="application/json" id="report">\(LoadText.json(report).line.replacingOccurrences(of: "<", with: "\\u003C"))</script>
            </main></body></html>

            """
    }

    // MARK: Tables

    private var table: String {
        var rows = ""
        for operation in LoadOperation.allCases {
            guard let kind = report.figures.kinds[operation] else { continue }
            let latency = kind.latency
            let rates = [Double(latency.count), Double(kind.records)].map {
                LoadText.decimal($0 / max(report.seconds, 1e-9), 0)
            }
            let times = [0.5, 0.9, 0.95, 0.99, 0.999].map { latency.percentile($0) } + [latency.maximum]
            let cells = rates + times.map { LoadText.decimal(Double($0) / 1e6, 3) } + [String(kind.failures)]
            rows += "<tr><th scope=\"row\">\(operation.rawValue)</th>"
            rows += cells.map { "<td>\($0)</td>" }.joined() + "</tr>\n"
        }
        let columns = ["ops/s", "records/s", "p50", "p90", "p95", "p99", "p99.9", "max", "errors"]
        return """
            <div class="wide"><table><thead><tr><th>ms</th>\(columns.map { "<th scope=\"col\">\($0)</th>" }.joined())</tr></thead>
            <tbody>
            \(rows)</tbody></table></div>

            """
    }

    private var errors: String {
        var items = ""
        for operation in LoadOperation.allCases {
            for (error, count) in (report.figures.kinds[operation]?.errors ?? [:]).sorted(by: { $0.value > $1.value }) {
                items += "<li>\(operation.rawValue): \(count) × \(LoadChart.escaped(error))</li>\n"
            }
        }
        return items.isEmpty ? "" : "<h2>Errors</h2><ul>\n\(items)</ul>\n"
    }

    // MARK: Plots

    private var charts: [LoadChart] {
        var charts: [LoadChart] = []
        let seconds = report.samples.last?.second ?? 0
        if seconds > 0, !kinds.isEmpty {
            charts.append(throughput(seconds))
            charts += kinds.map { latencies(of: $0, seconds) }
        }
        charts += kinds.map(histogram)
        charts += server(seconds)
        return charts
    }

    private func throughput(_ seconds: Double) -> LoadChart {
        var lines = kinds.prefix(5).enumerated().map { index, operation in
            LoadChart.Line(
                name: operation.rawValue, colour: index + 1,
                points: report.samples.map {
                    ($0.second, Double($0.figures.kinds[operation]?.latency.count ?? 0) / max($0.seconds, 1e-9))
                })
        }
        if report.figures.failures > 0 {
            lines.append(
                LoadChart.Line(
                    name: "errors", colour: 6,
                    points: report.samples.map { ($0.second, Double($0.figures.failures) / max($0.seconds, 1e-9)) }))
        }
        return LoadChart("Throughput", note: "operations a second", lines: lines, seconds: seconds) {
            LoadChart.short($0)
        }
    }

    private func latencies(of operation: LoadOperation, _ seconds: Double) -> LoadChart {
        let percentiles: [(name: String, fraction: Double)] = [
            ("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1),
        ]
        let lines = percentiles.enumerated().map { index, percentile in
            LoadChart.Line(
                name: percentile.name, colour: index + 1,
                points: report.samples.compactMap { sample in
                    guard let latency = sample.figures.kinds[operation]?.latency, latency.count > 0 else { return nil }
                    return (sample.second, Double(latency.percentile(percentile.fraction)))
                })
        }
        return LoadChart(
            "Latency of \(operation.rawValue)", note: "over time", lines: lines, seconds: seconds, isLogarithmic: true,
            format: Self.time)
    }

    /// All measured latencies in some 60 bars between the smallest and the largest.
    private func histogram(of operation: LoadOperation) -> LoadChart {
        let latency = report.figures.kinds[operation]?.latency ?? Histogram()
        let buckets = latency.buckets
        let low = max(1, Double(buckets.first.map { Histogram.lowerBound(ofBucket: $0.index) } ?? 1))
        let high = max(low * 1.5, Double(buckets.last.map { Histogram.upperBound(ofBucket: $0.index) } ?? 10) + 1)
        let count = 60
        let ratio = pow(high / low, 1 / Double(count))
        var counts = Array(repeating: 0.0, count: count)
        for bucket in buckets {
            let middle =
                (Double(Histogram.lowerBound(ofBucket: bucket.index))
                    + Double(Histogram.upperBound(ofBucket: bucket.index))) / 2
            let place = Int(log(max(middle, low) / low) / log(ratio))
            counts[min(max(place, 0), count - 1)] += Double(bucket.count)
        }
        let bars = counts.enumerated().map { index, value in
            (low: low * pow(ratio, Double(index)), high: low * pow(ratio, Double(index + 1)), count: value)
        }
        return LoadChart(
            "Distribution of \(operation.rawValue)", note: "operations by their latency", bars: bars, colour: 1,
            format: Self.time)
    }

    private func server(_ seconds: Double) -> [LoadChart] {
        let cpu = report.samples.compactMap { sample in sample.serverCPUPercent.map { (x: sample.second, y: $0) } }
        let memory = report.samples.compactMap { sample in
            sample.serverResidentBytes.map { (x: sample.second, y: Double($0) / 1_048_576) }
        }
        guard seconds > 0, !cpu.isEmpty, !memory.isEmpty else { return [] }
        return [
            LoadChart(
                "Server CPU", note: "percent of one core", lines: [.init(name: "CPU", colour: 1, points: cpu)],
                seconds: seconds
            ) { LoadChart.short($0) + " %" },
            LoadChart(
                "Server memory", note: "resident", lines: [.init(name: "memory", colour: 2, points: memory)],
                seconds: seconds
            ) { LoadChart.short(($0 * 10).rounded() / 10) + " MiB" },
        ]
    }

    private static func time(_ nanoseconds: Double) -> String {
        switch nanoseconds {
        case ..<1e3: LoadChart.short(nanoseconds.rounded()) + " ns"
        case ..<1e6: LoadChart.short((nanoseconds / 10).rounded() / 100) + " µs"
        case ..<1e9: LoadChart.short((nanoseconds / 1e4).rounded() / 100) + " ms"
        default: LoadChart.short((nanoseconds / 1e7).rounded() / 100) + " s"
        }
    }

    private static let style = """
        :root { color-scheme: light dark; --paper: #fff; --ink: #1c2430; --soft: #6b7686; --grid: #e3e7ec;
          --c1: #2563a8; --c2: #1f8a5b; --c3: #c77a0a; --c4: #b23a48; --c5: #6d4bb3; --c6: #d11f1f; }
        @media (prefers-color-scheme: dark) { :root { --paper: #14181f; --ink: #e4e8ee; --soft: #97a2b2; --grid: #2b323d;
          --c1: #6aa5e8; --c2: #5cc596; --c3: #e5a84b; --c4: #e58390; --c5: #b197ec; --c6: #ff6b6b; } }
        body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
        main { max-width: 820px; margin: 0 auto; padding: 24px 20px 60px; }
        h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 17px; margin: 28px 0 4px; }
        .summary { color: var(--soft); margin: 0 0 16px; }
        .wide { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
        th, td { text-align: right; padding: 4px 8px; border-bottom: 1px solid var(--grid); white-space: nowrap; }
        th:first-child { text-align: left; } thead th { color: var(--soft); font-weight: 500; }
        figure { margin: 28px 0 0; } figcaption { color: var(--soft); margin-bottom: 4px; } figcaption b { color: var(--ink); }
        .legend { float: right; } .key { margin-left: 14px; color: var(--soft); }
        .key::before { content: ""; display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px;
          background: var(--k); }
        svg { width: 100%; height: auto; display: block; }
        .grid { stroke: var(--grid); } .tick { fill: var(--soft); font-size: 11px; }
        .line { fill: none; stroke: var(--k); stroke-width: 1.8; stroke-linejoin: round; } .dot, .bar { fill: var(--k); }
        .c1 { --k: var(--c1); } .c2 { --k: var(--c2); } .c3 { --k: var(--c3); } .c4 { --k: var(--c4); }
        .c5 { --k: var(--c5); } .c6 { --k: var(--c6); }
        """
}
