/// The handlers that have something to send at the end of a turn, in the order in which they were marked.
///
/// What peers wait for is sent in the turn in which it was made. The rest, news and large outputs, is sent for
/// ``Limits/flushNanoseconds`` a turn: thousands of devices may be told of one change, and a send takes microseconds.
/// What is left comes first in the next turn; until then more may be added to it, which leaves with the same send.
struct FlushQueue {
    private var handlers: [any LoopHandler] = []

    var isEmpty: Bool { handlers.isEmpty }

    /// Adds a handler. It must not be in the queue.
    mutating func append(_ handler: any LoopHandler) { handlers.append(handler) }

    mutating func removeAll() { handlers.removeAll() }

    /// Takes all handlers, those that go first in front, with how many they are.
    mutating func takeAll() -> (handlers: [any LoopHandler], prompt: Int) {
        var taken = handlers
        handlers.removeAll(keepingCapacity: true)
        let first = taken.firstIndex { !$0.sendsPromptly } ?? taken.count
        if first == taken.count { return (taken, first) }
        let rest = taken[first...]
        taken.removeSubrange(first...)
        taken += rest.lazy.filter(\.sendsPromptly)
        let prompt = taken.count
        taken += rest.lazy.filter { !$0.sendsPromptly }
        return (taken, prompt)
    }

    /// Puts back what was not sent, before what was marked meanwhile.
    mutating func putBack(_ rest: ArraySlice<any LoopHandler>) { handlers.insert(contentsOf: rest, at: 0) }
}
