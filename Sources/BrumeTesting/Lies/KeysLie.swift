internal import BrumeLock
internal import BrumeModel

/// What a server makes of a history of keys: entries of a zone's ring, or statements of an account, from number 1 on.
enum KeysLie: Sendable {
    /// There are no later ones.
    case upTo(UInt32)
    /// Behind this one there are those that the device added, and no others.
    case apart(after: UInt32)
    /// There are some, and one more, of which none comes.
    case withheld
    /// There is one, of the server's own making.
    case strangers
    /// There is one, of the server's own making, where there are none.
    case strangersForNone
    /// Behind the genuine ones there is one of the server's own making.
    case strangersDevice
    /// Behind the genuine ones up to this number there is one that somebody has made who may not.
    case addition(after: UInt32)
    /// There are these.
    case these([SharedBytes])
}

/// A history of keys as one device is shown it.
final class ToldKeys: Sendable {
    private let lie: KeysLie
    /// What the device added to a history of its own.
    private let added = Lock<[SharedBytes]>([])
    /// The server's own entry or statement of that number, beside the first of the genuine ones.
    private let forged: @Sendable (UInt32, SharedBytes?) -> SharedBytes

    init(_ lie: KeysLie, forged: @escaping @Sendable (UInt32, SharedBytes?) -> SharedBytes) {
        (self.lie, self.forged) = (lie, forged)
    }

    /// A page of those behind a number.
    func page(after number: UInt32, _ page: (items: [SharedBytes], last: UInt32)) -> ([SharedBytes], last: UInt32) {
        func genuine(upTo limit: UInt32) -> [SharedBytes] {
            Array(page.items.prefix(Int(limit > number ? limit - number : 0)))
        }
        switch lie {
        case .upTo(let limit): return (genuine(upTo: limit), min(page.last, limit))
        case .apart(let limit):
            let own = added.withLock { $0 }
            let limit = min(limit, page.last)
            let items = genuine(upTo: limit)
            let reached = max(number, UInt32(items.count) + number)
            let rest = reached < limit ? [] : own.dropFirst(Int(reached - limit))
            return (items + rest, limit + UInt32(own.count))
        case .withheld: return ([], page.last + 1)
        case .strangers: return (number == 0 ? [forged(1, page.items.first)] : [], 1)
        case .strangersForNone:
            if page.last > 0 { return page }
            return (number == 0 ? [forged(1, nil)] : [], 1)
        case .addition(let limit):
            let items = genuine(upTo: limit)
            let isEnd = number + UInt32(items.count) == limit
            return (items + (isEnd ? [forged(limit + 1, nil)] : []), limit + 1)
        case .these(let items): return (Array(items.dropFirst(Int(number))), UInt32(items.count))
        case .strangersDevice:
            let isEnd = number + UInt32(page.items.count) == page.last
            return (page.items + (isEnd ? [forged(page.last + 1, nil)] : []), page.last + 1)
        }
    }

    /// Whether the device is told that what it adds was taken.
    func takes(_ item: SharedBytes) -> Bool {
        guard case .apart = lie else { return false }
        added.withLock { $0.append(item) }
        return true
    }
}
