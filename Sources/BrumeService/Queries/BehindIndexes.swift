/// The databases of a loop whose indexes have to take over what commits changed, each once: they take turns, with each
/// other and with queries.
struct BehindIndexes {
    private var queue: [LoadedDatabase] = []

    var isEmpty: Bool { queue.isEmpty }

    mutating func append(_ loaded: LoadedDatabase) {
        if loaded.isListedAsBehind { return }
        loaded.isListedAsBehind = true
        queue.append(loaded)
    }

    mutating func popFirst() -> LoadedDatabase? {
        if queue.isEmpty { return nil }
        let loaded = queue.removeFirst()
        loaded.isListedAsBehind = false
        return loaded
    }
}
