import Foundation

/// The seeds of worlds that run one after another: some that stay, as many others as a variable says, or that of
/// another variable alone.
enum WorldSeeds {
    static func seeds(_ fixed: [UInt64] = [1, 2], count: String, one: String) -> [UInt64] {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment[one].flatMap({ UInt64($0) }) { return [seed] }
        guard let count = environment[count].flatMap({ Int($0) }) else { return fixed }
        return (0..<count).map { _ in .random(in: .min ... .max) }
    }
}
