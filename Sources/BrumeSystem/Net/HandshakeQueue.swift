/// Connections whose handshakes wait: the networks that they come from take turns, each with its connections in the
/// order of arrival.
struct HandshakeQueue<Element: AnyObject> {
    private var networks: [PeerNetwork: [Element]] = [:]
    /// The networks that have connections here, in the order of their turns.
    private var turns: [PeerNetwork] = []

    var isEmpty: Bool { turns.isEmpty }

    mutating func append(_ element: Element, of network: PeerNetwork) {
        if networks[network] == nil { turns.append(network) }
        networks[network, default: []].append(element)
    }

    /// Takes the connection whose turn it is.
    mutating func next() -> Element? {
        guard !turns.isEmpty else { return nil }
        let network = turns.removeFirst()
        let element = networks[network]!.removeFirst()
        if networks[network]!.isEmpty { networks[network] = nil } else { turns.append(network) }
        return element
    }

    mutating func remove(_ element: Element, of network: PeerNetwork) {
        guard let index = networks[network]?.firstIndex(where: { $0 === element }) else { return }
        networks[network]!.remove(at: index)
        guard networks[network]!.isEmpty else { return }
        networks[network] = nil
        turns.removeAll { $0 == network }
    }
}
