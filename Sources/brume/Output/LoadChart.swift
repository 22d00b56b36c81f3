internal import Foundation

/// A plot as SVG: lines over time, or bars. Colours are the page's, by class.
struct LoadChart {
    struct Line {
        let name: String
        /// The number of its colour in the page, 1 to 6.
        let colour: Int
        let points: [(x: Double, y: Double)]
    }

    private static let width = 760.0
    private static let height = 260.0
    private static let left = 64.0
    private static let right = 12.0
    private static let top = 10.0
    private static let bottom = 30.0

    let title: String
    /// The text under the title.
    let note: String
    private var body = ""
    private var legend = ""

    // MARK: Lines

    /// - Parameters:
    ///   - isLogarithmic: Whether the vertical axis is logarithmic; values of 0 are left out then.
    ///   - format: Formats a value with its unit.
    init(
        _ title: String, note: String = "", lines: [Line], seconds: Double, isLogarithmic: Bool = false,
        format: (Double) -> String
    ) {
        self.title = title
        self.note = note
        let values = lines.flatMap { $0.points.map(\.y) }.filter { !isLogarithmic || $0 > 0 }
        let ticks = isLogarithmic ? Self.logarithmicTicks(values) : Self.ticks(upTo: values.max() ?? 1)
        let (low, high) = (ticks.first ?? 0, ticks.last ?? 1)
        func y(_ value: Double) -> Double {
            let part =
                isLogarithmic
                ? log(max(value, low) / low) / max(log(high / low), 1e-9) : (value - low) / max(high - low, 1e-9)
            return Self.height - Self.bottom - part * (Self.height - Self.top - Self.bottom)
        }
        for tick in ticks { body += Self.horizontal(y(tick), format(tick)) }
        let span = max(seconds, 1e-9)
        func x(_ second: Double) -> Double { Self.left + second / span * (Self.width - Self.left - Self.right) }
        for tick in Self.ticks(upTo: seconds) where tick <= seconds {
            body += Self.label(x(tick), Self.short(tick) + " s")
        }
        for line in lines {
            let points = line.points.filter { !isLogarithmic || $0.y > 0 }
            let path = points.map { "\(Self.number(x($0.x))),\(Self.number(y($0.y)))" }.joined(separator: " ")
            body += "<polyline class=\"line c\(line.colour)\" points=\"\(path)\"/>\n"
            // A single point is not a line, and each dot shows its value when the pointer is on it.
            if points.count <= 400 {
                for point in points {
                    body +=
                        "<circle class=\"dot c\(line.colour)\" cx=\"\(Self.number(x(point.x)))\" cy=\"\(Self.number(y(point.y)))\" r=\"\(points.count < 60 ? 2.5 : 1.5)\">"
                        + "<title>\(Self.escaped(line.name)) \(format(point.y)) at \(Self.short(point.x)) s</title></circle>\n"
                }
            }
            legend += "<span class=\"key c\(line.colour)\">\(Self.escaped(line.name))</span>"
        }
    }

    // MARK: Bars

    /// Draws bars on a logarithmic horizontal axis, each from its `low` to its `high`.
    init(
        _ title: String, note: String = "", bars: [(low: Double, high: Double, count: Double)], colour: Int,
        format: (Double) -> String
    ) {
        self.title = title
        self.note = note
        let counts = Self.ticks(upTo: bars.map(\.count).max() ?? 1)
        let high = counts.last ?? 1
        func y(_ count: Double) -> Double {
            Self.height - Self.bottom - count / max(high, 1e-9) * (Self.height - Self.top - Self.bottom)
        }
        for tick in counts { body += Self.horizontal(y(tick), Self.short(tick)) }
        let (first, last) = (bars.first?.low ?? 1, bars.last?.high ?? 10)
        func x(_ value: Double) -> Double {
            Self.left + log(max(value, first) / first) / max(log(last / first), 1e-9)
                * (Self.width - Self.left - Self.right)
        }
        for tick in Self.decadeTicks(from: first, to: last) { body += Self.label(x(tick), format(tick)) }
        for bar in bars where bar.count > 0 {
            let (from, to) = (x(bar.low), x(bar.high))
            body +=
                "<rect class=\"bar c\(colour)\" x=\"\(Self.number(from))\" y=\"\(Self.number(y(bar.count)))\" width=\"\(Self.number(max(1, to - from - 1)))\" height=\"\(Self.number(Self.height - Self.bottom - y(bar.count)))\">"
                + "<title>\(format(bar.low)) to \(format(bar.high)): \(Self.short(bar.count))</title></rect>\n"
        }
    }

    var html: String {
        """
        <figure><figcaption><b>\(Self.escaped(title))</b> \(Self.escaped(note))<span class="legend">\(legend)</span></figcaption>
        <svg viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" role="img" aria-label="\(Self.escaped(title))">
        \(body)</svg></figure>

        """
    }

    // MARK: Parts

    private static func horizontal(_ y: Double, _ text: String) -> String {
        "<line class=\"grid\" x1=\"\(number(left))\" x2=\"\(number(width - right))\" y1=\"\(number(y))\" y2=\"\(number(y))\"/>"
            + "<text class=\"tick\" text-anchor=\"end\" x=\"\(number(left - 6))\" y=\"\(number(y + 4))\">\(text)</text>\n"
    }

    private static func label(_ x: Double, _ text: String) -> String {
        let anchor = x > width - 40 ? "end" : "middle"
        return
            "<text class=\"tick\" text-anchor=\"\(anchor)\" x=\"\(number(min(x, width - right)))\" y=\"\(number(height - 10))\">\(text)</text>\n"
    }

    /// Round numbers from 0 to at least `most`.
    static func ticks(upTo most: Double) -> [Double] {
        let most = max(most, 1e-9)
        let magnitude = pow(10, floor(log10(most / 4)))
        let step = [1, 2, 5, 10].map { $0 * magnitude }.first { most / $0 <= 5 } ?? magnitude * 10
        return (0...Int((most / step - 1e-9).rounded(.up))).map { Double($0) * step }
    }

    /// Powers of ten around the values.
    static func logarithmicTicks(_ values: [Double]) -> [Double] {
        guard let least = values.min(), let most = values.max() else { return [1, 10] }
        let from = floor(log10(least))
        let to = max(from + 1, log10(most).rounded(.up))
        return stride(from: from, through: to, by: 1).map { pow(10, $0) }
    }

    /// 1, 2 and 5 of each power of ten between the ends; only powers when there are many.
    static func decadeTicks(from low: Double, to high: Double) -> [Double] {
        guard low > 0, high > low else { return [] }
        let factors = log10(high / low) > 2.5 ? [1.0] : [1.0, 2, 5]
        return stride(from: floor(log10(low)), through: log10(high).rounded(.up), by: 1).flatMap { power in
            factors.map { $0 * pow(10, power) }
        }.filter { $0 >= low && $0 <= high }
    }

    /// A number without needless digits.
    static func short(_ value: Double) -> String {
        if value >= 1_000_000 { return String(format: "%gM", (value / 10_000).rounded() / 100) }
        if value >= 10_000 { return String(format: "%gk", (value / 100).rounded() / 10) }
        return String(format: "%g", (value * 1_000).rounded() / 1_000)
    }

    private static func number(_ value: Double) -> String { String(format: "%.1f", value) }

    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.append(character)
            }
        }
        return result
    }
}
