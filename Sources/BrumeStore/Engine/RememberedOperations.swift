/// The answers to a database's latest operations, so that one that is sent again after a lost answer has one effect.
///
/// First in, first out: bounded in number and in bytes, and the newest is always kept, even when it alone is over the bound.
struct RememberedOperations: Sendable {
    struct Operation: Sendable {
        var id: [UInt8]
        var answer: [UInt8]
    }

    /// What is remembered at one moment. It shares its chunks with what goes on, which copies the one it touches: see
    /// ``RecordSlots``.
    struct Capture: Sendable {
        fileprivate let chunks: [[Operation]]
        fileprivate let first: Int

        /// Gives the operations, oldest first.
        func forEach<Failure: Error>(_ body: (Operation) throws(Failure) -> Void) throws(Failure) {
            var skipped = first
            for chunk in chunks {
                for operation in chunk.dropFirst(skipped) { try body(operation) }
                skipped = 0
            }
        }
    }

    private static let chunkOperations = 64

    let countLimit: Int
    let bytesLimit: Int

    /// Oldest first. All are full but the last.
    private var chunks: [[Operation]] = []
    /// The oldest one's place in the first chunk: those before it are gone.
    private var first = 0
    private var answers: [[UInt8]: [UInt8]] = [:]
    private(set) var bytes = 0

    init(countLimit: Int, bytesLimit: Int) {
        self.countLimit = countLimit
        self.bytesLimit = bytesLimit
    }

    subscript(id: [UInt8]) -> [UInt8]? { answers[id] }

    var count: Int { answers.count }

    var capture: Capture { Capture(chunks: chunks, first: first) }

    /// Adds an answer; an id that is known keeps its first answer.
    mutating func add(id: [UInt8], answer: [UInt8]) {
        if let first = answers.updateValue(answer, forKey: id) {
            answers[id] = first
            return
        }
        if chunks.isEmpty || chunks[chunks.count - 1].count == RememberedOperations.chunkOperations {
            chunks.append([])
            chunks[chunks.count - 1].reserveCapacity(RememberedOperations.chunkOperations)
        }
        chunks[chunks.count - 1].append(Operation(id: id, answer: answer))
        bytes += answer.count
        while answers.count > 1, answers.count > countLimit || bytes > bytesLimit { removeOldest() }
    }

    private mutating func removeOldest() {
        let oldest = chunks[0][first].id
        bytes -= answers.removeValue(forKey: oldest)?.count ?? 0
        chunks[0][first] = Operation(id: [], answer: [])
        first += 1
        if first == RememberedOperations.chunkOperations {
            chunks.removeFirst()
            first = 0
        }
    }
}
