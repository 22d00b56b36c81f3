internal import Foundation

/// The output of the demo: one line per step for people, or all figures as JSON at the end.
final class DemoReport {
    private let isJSON: Bool
    private let style = Style.standardOutput(ProcessInfo.processInfo.environment)
    private var members: [(key: String, value: JSONValue)] = []
    private var step = 0

    init(isJSON: Bool) { self.isJSON = isJSON }

    func tell(_ who: String, _ what: String, _ figures: KeyValuePairs<String, Double> = [:]) {
        step += 1
        self.members(figures)
        if isJSON { return }
        let number = String(repeating: " ", count: step < 10 ? 1 : 0) + "\(step)"
        let name = who + String(repeating: " ", count: max(0, 9 - who.count))
        Terminal.print("\(style.dim(number)) \(style.bold(name)) \(what)")
    }

    /// Adds figures for the JSON only: milliseconds, counts and rates.
    func members(_ figures: KeyValuePairs<String, Double>) {
        for (key, value) in figures { members.append((key, .number((value * 1000).rounded() / 1000))) }
    }

    func finish(same: Bool, differences: [String]) {
        if isJSON {
            let all =
                [(key: "same", value: JSONValue.bool(same))] + members
                + [(key: "differences", value: .array(differences.map { .string($0) }))]
            Terminal.print(JSONValue.object(all).line)
        } else {
            for difference in differences { Terminal.print("   \(style.red(difference))") }
        }
    }

    func text(_ line: String) {
        if !isJSON { Terminal.print(line) }
    }

    func good(_ text: String) -> String { style.green(text) }
    func bad(_ text: String) -> String { style.red(text) }
}
