/// The answers to a database's latest operations, so that one that is sent again after a lost answer has one effect.
///
/// First in, first out: bounded in number and in bytes, and the newest is always kept, even when it alone is over the bound.
struct RememberedOperations: Sendable {
    let countLimit: Int
    let bytesLimit: Int

    private var order: [[UInt8]] = []
    /// Where `order` begins: entries before it are gone.
    private var first = 0
    private var answers: [[UInt8]: [UInt8]] = [:]
    private(set) var bytes = 0

    init(countLimit: Int, bytesLimit: Int) {
        self.countLimit = countLimit
        self.bytesLimit = bytesLimit
    }

    subscript(id: [UInt8]) -> [UInt8]? { answers[id] }

    /// Oldest first.
    var all: [(id: [UInt8], answer: [UInt8])] {
        order[first...].map { ($0, answers[$0] ?? []) }
    }

    /// Adds an answer; an id that is known keeps its first answer.
    mutating func add(id: [UInt8], answer: [UInt8]) {
        guard answers[id] == nil else { return }
        order.append(id)
        answers[id] = answer
        bytes += answer.count
        while order.count - first > 1, order.count - first > countLimit || bytes > bytesLimit {
            bytes -= answers.removeValue(forKey: order[first])?.count ?? 0
            first += 1
        }
        if first > order.count / 2, first > 32 {
            order.removeFirst(first)
            first = 0
        }
    }
}
