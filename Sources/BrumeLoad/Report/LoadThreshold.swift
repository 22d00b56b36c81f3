internal import BrumeModel

/// A condition that fails a run: `p99>20ms`, `save.p99.9>50ms`, `errors>0`, `error-rate>0.1%`, `throughput<1000`.
package struct LoadThreshold: Sendable {
    private enum Metric: Equatable {
        case percentile(Double)
        case mean
        case maximum
        case errors
        case errorRate
        case throughput
    }

    private let text: String
    /// The kind of operation; nil checks the times of each kind separately, and throughput and errors of all together.
    private let operation: LoadOperation?
    private let metric: Metric
    private let isAbove: Bool
    /// The bound in nanoseconds, as a count, or as a part of 1.
    private let bound: Double

    /// What is wrong with a threshold: a whole sentence.
    package struct Problem: Error, Equatable, Sendable {
        package let message: String
    }

    package init(_ text: String) throws(Problem) {
        self.text = text
        guard let sign = text.firstIndex(where: { $0 == ">" || $0 == "<" }) else {
            throw Problem(
                message: "\"\(text)\" compares nothing; write for example p99>20ms, errors>0 or throughput<1000")
        }
        isAbove = text[sign] == ">"
        var name = text[..<sign].split(separator: " ").joined()
        let value = text[text.index(after: sign)...].split(separator: " ").joined()
        if let dot = name.firstIndex(of: "."), let operation = LoadOperation(rawValue: String(name[..<dot])) {
            self.operation = operation
            name = String(name[name.index(after: dot)...])
        } else {
            operation = nil
        }
        switch name {
        case "mean": metric = .mean
        case "max": metric = .maximum
        case "errors": metric = .errors
        case "error-rate": metric = .errorRate
        case "throughput": metric = .throughput
        default:
            guard name.hasPrefix("p"), let percent = Double(name.dropFirst()), percent > 0, percent <= 100 else {
                let kinds = LoadOperation.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem(
                    message:
                        "\"\(name)\" is nothing that is measured; there are p50, p99 and any other percentile, mean, max, errors, error-rate and throughput, of all or, with a kind and a point before it, of one of: \(kinds)"
                )
            }
            metric = .percentile(percent / 100)
        }
        bound = try Self.bound(value, metric, text)
    }

    private static func bound(_ value: String, _ metric: Metric, _ text: String) throws(Problem) -> Double {
        let units: [(suffix: String, scale: Double)] =
            switch metric {
            case .percentile, .mean, .maximum: [("ns", 1), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)]
            case .errorRate: [("%", 0.01), ("", 1)]
            case .errors, .throughput: [("", 1)]
            }
        for unit in units where value.hasSuffix(unit.suffix) {
            guard let number = Double(value.dropLast(unit.suffix.count)), number >= 0, number.isFinite else { continue }
            return number * unit.scale
        }
        let wanted =
            switch metric {
            case .percentile, .mean, .maximum: "a time with its unit (ns, us, ms or s)"
            case .errorRate: "a part such as 0.1%"
            case .errors, .throughput: "a number"
            }
        throw Problem(message: "\"\(value)\" in \"\(text)\" is not \(wanted)")
    }

    /// What the run did against it, as a sentence, or nil. A kind that did not come can't keep a bound from below.
    package func violation(in report: LoadReport) -> String? {
        let kinds = report.figures.kinds.filter { operation == nil || $0.key == operation }
        let all = kinds.map(\.value)
        let count = Double(all.reduce(0) { $0 + $1.latency.count })
        let failures = Double(all.reduce(0) { $0 + $1.failures })
        switch metric {
        case .errors: return violation(failures, "\(Int(failures)) errors")
        case .errorRate:
            let rate = failures / max(1, count + failures)
            return violation(rate, "\(rate * 100) % errors")
        case .throughput:
            let operations = operation == nil ? Double(report.figures.operations) : count
            let rate = operations / max(report.seconds, 1e-9)
            return violation(rate, "\(Int(rate)) a second")
        case .percentile, .mean, .maximum:
            if let operation, all.allSatisfy({ $0.latency.count == 0 }) {
                return "--fail-if \(text): no \(operation.rawValue) succeeded"
            }
            for operation in LoadOperation.allCases {
                guard let latency = kinds[operation]?.latency, latency.count > 0 else { continue }
                let value = Double(nanoseconds(latency))
                if let violation = violation(value, "\(operation.rawValue) took \(value / 1e6) ms") { return violation }
            }
            return nil
        }
    }

    private func nanoseconds(_ latency: Histogram) -> UInt64 {
        switch metric {
        case .percentile(let fraction): latency.percentile(fraction)
        case .mean: latency.mean
        default: latency.maximum
        }
    }

    private func violation(_ value: Double, _ said: String) -> String? {
        (isAbove ? value > bound : value < bound) ? "--fail-if \(text): \(said)" : nil
    }
}
