/// Elements that wait: first in, first out for each account, and one account after the other, so that nobody waits for
/// all that somebody else has put there.
struct FairQueue<Element> {
    private struct Line {
        var elements: [Element?] = []
        var first = 0

        var count: Int { elements.count - first }

        mutating func popFirst() -> Element? {
            guard first < elements.count else { return nil }
            defer {
                elements[first] = nil
                first += 1
                if first * 2 > elements.count {
                    elements.removeFirst(first)
                    first = 0
                }
            }
            return elements[first]
        }
    }

    private var lines: [ClientShare.Key: Line] = [:]
    /// The accounts with elements, the one whose turn is next first.
    private(set) var accounts: [ClientShare.Key] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The number of an account's elements.
    func count(of account: ClientShare.Key) -> Int { lines[account]?.count ?? 0 }

    mutating func append(_ element: Element, of account: ClientShare.Key) {
        if lines[account] == nil {
            lines[account] = Line()
            accounts.append(account)
        }
        lines[account]!.elements.append(element)
        count += 1
    }

    /// Removes and returns the next element of the next account that `mayTake` admits; nil when there is none.
    mutating func popFirst(
        where mayTake: (ClientShare.Key) -> Bool = { _ in true }
    ) -> (account: ClientShare.Key, element: Element)? {
        guard let index = accounts.firstIndex(where: mayTake) else { return nil }
        let account = accounts.remove(at: index)
        let element = lines[account]!.popFirst()!
        count -= 1
        if lines[account]!.count == 0 { lines[account] = nil } else { accounts.append(account) }
        return (account, element)
    }
}
