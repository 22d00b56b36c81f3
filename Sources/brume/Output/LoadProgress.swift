internal import BrumeLoad
internal import BrumeModel
internal import Foundation

/// The line on stderr that shows a load's progress: redrawn on a terminal, empty elsewhere.
struct LoadProgress {
    private let seconds: Double
    private let isTerminal: Bool
    private var figures = LoadFigures()

    init(seconds: Double, isTerminal: Bool) {
        self.seconds = seconds
        self.isTerminal = isTerminal
    }

    func begins(_ configuration: LoadConfiguration) -> String {
        guard isTerminal else { return "" }
        let count = configuration.connections
        return "\(configuration.scenario.rawValue): preparing \(count) \(count == 1 ? "connection" : "connections") …"
    }

    func prepared() -> String { isTerminal ? "\r\u{1B}[K" : "" }

    mutating func advanced(_ sample: LoadReport.Sample) -> String {
        figures.merge(sample.figures)
        guard isTerminal else { return "" }
        var latency = Histogram()
        for kind in sample.figures.kinds.values { latency.merge(kind.latency) }
        var line = String(
            format: "%.0f of %.0f s  %.0f/s  p50 %.2f  p99 %.2f ms", sample.second, seconds,
            Double(sample.figures.operations) / max(sample.seconds, 0.001), Double(latency.percentile(0.5)) / 1e6,
            Double(latency.percentile(0.99)) / 1e6)
        if figures.failures > 0 { line += "  \(figures.failures) errors" }
        if let percent = sample.serverCPUPercent { line += String(format: "  server CPU %.0f %%", percent) }
        if let bytes = sample.serverResidentBytes { line += String(format: ", %.0f MiB", Double(bytes) / 1_048_576) }
        return "\r\u{1B}[K" + line
    }

    func finished() -> String { isTerminal ? "\r\u{1B}[K" : "" }
}
