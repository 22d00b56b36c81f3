/// A listener's opening connections by network, each in the order in which they began.
struct OpeningConnections<Element: AnyObject> {
    struct Entry {
        let element: Element
        let sinceNanoseconds: UInt64
    }

    /// The connections of each network, at most as many as a network may have opening.
    private var networks: [PeerNetwork: [Entry]] = [:]
    private(set) var count = 0

    mutating func append(_ element: Element, of network: PeerNetwork, nowNanoseconds: UInt64) {
        networks[network, default: []].append(Entry(element: element, sinceNanoseconds: nowNanoseconds))
        count += 1
    }

    mutating func remove(_ element: Element, of network: PeerNetwork) {
        guard let index = networks[network]?.firstIndex(where: { $0.element === element }) else { return }
        networks[network]!.remove(at: index)
        if networks[network]!.isEmpty { networks[network] = nil }
        count -= 1
    }

    /// The connection of the network that has been opening for longest.
    func oldest(of network: PeerNetwork) -> Entry? { networks[network]?.first }

    /// The oldest connection of the network that has the most. Among networks with equally many, the one that began
    /// first.
    var oldestOfLargest: Entry? {
        networks.values.max { a, b in
            a.count == b.count ? a[0].sinceNanoseconds > b[0].sinceNanoseconds : a.count < b.count
        }?.first
    }
}
