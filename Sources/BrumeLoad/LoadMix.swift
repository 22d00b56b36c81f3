/// How often each kind of operation occurs: weights, with a random generator of its own, so that a run can be repeated.
package struct LoadMix: Equatable, Sendable {
    package private(set) var weights: [LoadOperation: Int]
    private let total: Int

    /// What is wrong with a mix: a whole sentence.
    package struct Problem: Error, Equatable, Sendable {
        package let message: String
    }

    /// Saves alone.
    package static let saves: LoadMix = {
        do throws(Problem) { return try LoadMix("save=1") } catch { preconditionFailure(error.message) }
    }()

    /// Reads `save=70,fetch=20,changes=10`.
    package init(_ text: String) throws(Problem) {
        var weights: [LoadOperation: Int] = [:]
        for part in text.split(separator: ",") {
            let pair = part.split(separator: "=", omittingEmptySubsequences: false)
            let names = LoadOperation.mixed.map(\.rawValue).joined(separator: ", ")
            guard pair.count == 2, let operation = LoadOperation(rawValue: String(pair[0])),
                LoadOperation.mixed.contains(operation)
            else {
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

    /// The operation that `random` selects. Uniformly distributed numbers select operations in proportion to their
    /// weights.
    package func operation(for random: UInt64) -> LoadOperation {
        var rest = Int(random % UInt64(total))
        for operation in LoadOperation.mixed {
            rest -= weights[operation] ?? 0
            if rest < 0 { return operation }
        }
        preconditionFailure("the weights of a mix add up to its total")
    }
}
