/// Messages that are encoded while the bytes around them are counted, and written in the same order.
package struct PackedMessages {
    private var messages: [[UInt8]] = []
    private var taken = 0

    package init() {}

    /// Appends a message and returns its size.
    package mutating func append(_ message: [UInt8]) -> Int {
        messages.append(message)
        return message.count
    }

    /// The first one that was not taken.
    package mutating func next() -> [UInt8] {
        defer { taken += 1 }
        return messages[taken]
    }

    package mutating func removeAll() {
        if messages.isEmpty { return }
        messages.removeAll()
        taken = 0
    }
}
