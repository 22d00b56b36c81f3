/// When the output of a handler leaves, the most urgent first.
enum FlushOrder: Int, Comparable {
    /// At the end of the turn: the peer waits for it, and sending it takes microseconds.
    case prompt
    /// After that, for as long as the turn has time for it: the peer waits for it, and it is large.
    case large
    /// The same, with a time of its own: the peer has not asked for it. Thousands of devices may be told of one change.
    case news

    static func < (left: FlushOrder, right: FlushOrder) -> Bool { left.rawValue < right.rawValue }
}

/// The lines in which a handler stands: in each once.
struct FlushLines {
    private var bits: UInt8 = 0

    /// Returns whether it did not stand in the line.
    mutating func insert(_ order: FlushOrder) -> Bool {
        let bit: UInt8 = 1 << UInt8(order.rawValue)
        defer { bits |= bit }
        return bits & bit == 0
    }

    mutating func remove(_ order: FlushOrder) { bits &= ~(1 << UInt8(order.rawValue)) }
}

/// The handlers that were marked to send at the end of a turn, a line for each order.
///
/// A handler may stand in several: what it sends then may have become more urgent since it was marked. It knows itself
/// in which one it is to send.
struct FlushQueue {
    private var prompt: [any LoopHandler] = []
    private var large = Line()
    private var news = Line()

    var isEmpty: Bool { prompt.isEmpty && large.count == 0 && news.count == 0 }

    mutating func append(_ handler: any LoopHandler, _ order: FlushOrder) {
        switch order {
        case .prompt: prompt.append(handler)
        case .large: large.append(handler)
        case .news: news.append(handler)
        }
    }

    mutating func takePrompt() -> [any LoopHandler] { exchange(&prompt, with: []) }

    /// How many stand in a line; those of ``FlushOrder/prompt`` are taken together.
    func count(_ order: FlushOrder) -> Int { order == .large ? large.count : news.count }

    mutating func takeFirst(_ order: FlushOrder) -> any LoopHandler {
        order == .large ? large.takeFirst() : news.takeFirst()
    }

    mutating func removeAll() { self = FlushQueue() }

    /// Handlers in the order in which they came. Takes no time that grows with the number of those who wait.
    private struct Line {
        private var handlers: [any LoopHandler] = []
        private var first = 0

        var count: Int { handlers.count - first }

        mutating func append(_ handler: any LoopHandler) { handlers.append(handler) }

        mutating func takeFirst() -> any LoopHandler {
            let handler = handlers[first]
            first += 1
            if first * 2 >= handlers.count {
                handlers.removeFirst(first)
                first = 0
            }
            return handler
        }
    }
}
