internal import BrumeService

/// The streams of a session, which take turns: one that uses up the connection's room is the last to go on when there
/// is room again. So a long transfer does not keep the others waiting.
struct OpenStreams {
    private var entries: [(id: UInt32, stream: any ServiceStream)] = []
    /// The number of the entry whose turn is next.
    private var next = 0

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    subscript(id: UInt32) -> (any ServiceStream)? { entries.first { $0.id == id }?.stream }

    mutating func append(_ stream: any ServiceStream, id: UInt32) { entries.append((id, stream)) }

    mutating func remove(_ id: UInt32) -> (any ServiceStream)? {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
        if index < next { next -= 1 }
        return entries.remove(at: index).stream
    }

    mutating func removeAll() -> [any ServiceStream] {
        defer { (entries, next) = ([], 0) }
        return entries.map(\.stream)
    }

    /// All streams, the one whose turn is next first.
    var inTurn: [(id: UInt32, stream: any ServiceStream)] {
        next < entries.count ? Array(entries[next...] + entries[..<next]) : entries
    }

    /// The stream has used up the room: the turn is that of the one after it.
    mutating func hadTurn(_ id: UInt32) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        next = index + 1 < entries.count ? index + 1 : 0
    }
}
