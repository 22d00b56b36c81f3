/// The kinds of operations that a load consists of.
package enum LoadOperation: String, CaseIterable, Sendable {
    /// Saves `batch` records in one request.
    case save
    /// Fetches `batch` records by name.
    case fetch
    /// Fetches the zone's changes since the connection's last token.
    case changes
}

/// How often each kind comes: weights, drawn by a generator of its own, so that a run can be repeated.
package struct LoadMix: Equatable, Sendable {
    package private(set) var weights: [LoadOperation: Int]
    private let total: Int

    /// What is wrong with a mix: a whole sentence.
    package struct Problem: Error, Equatable, Sendable {
        package let message: String
    }

    /// Reads `save=70,fetch=20,changes=10`.
    package init(_ text: String) throws(Problem) {
        var weights: [LoadOperation: Int] = [:]
        for part in text.split(separator: ",") {
            let pair = part.split(separator: "=", omittingEmptySubsequences: false)
            let names = LoadOperation.allCases.map(\.rawValue).joined(separator: ", ")
            guard pair.count == 2, let operation = LoadOperation(rawValue: String(pair[0])) else {
                throw Problem(message: "\"\(part)\" is no part of a mix; write KIND=WEIGHT with one of: \(names)")
            }
            guard let weight = Int(pair[1]), (0...1_000_000).contains(weight) else {
                throw Problem(message: "\"\(pair[1])\" is no weight; it is a whole number from 0 to 1000000")
            }
            guard weights.updateValue(weight, forKey: operation) == nil else {
                throw Problem(message: "\(operation.rawValue) stands twice in the mix")
            }
        }
        total = weights.values.reduce(0, +)
        guard total > 0 else {
            throw Problem(message: "the mix is empty; write for example save=70,fetch=20,changes=10")
        }
        self.weights = weights
    }

    /// The operation that `random` chooses; equally distributed numbers give operations by their weights.
    package func operation(for random: UInt64) -> LoadOperation {
        var rest = Int(random % UInt64(total))
        for operation in LoadOperation.allCases {
            rest -= weights[operation] ?? 0
            if rest < 0 { return operation }
        }
        preconditionFailure("the weights of a mix add up to its total")
    }
}

/// xorshift64*: fast, and the same numbers from the same seed everywhere.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        // Neighbouring seeds should give unrelated numbers, and zero would stay zero.
        state = (seed &+ 0x9E37_79B9_7F4A_7C15) &* 0xBF58_476D_1CE4_E5B9 | 1
    }

    package mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }
}
