internal import BrumeModel

/// Collects items up to what one request may hold.
struct BatchFiller<Item> {
    /// Below the protocol's limit, since sizes are estimated.
    static var bytesLimit: Int { Limits.requestBytes * 3 / 4 }

    private var items: [Item] = []
    private var bytes = 0

    /// Adds an item. Returns the batch so far when the item doesn't fit into the same request.
    mutating func add(_ item: Item, bytes itemBytes: Int) -> [Item]? {
        let isFull = items.count == Limits.itemsPerRequest || (bytes + itemBytes > Self.bytesLimit && !items.isEmpty)
        let full = isFull ? take() : nil
        items.append(item)
        bytes += itemBytes
        return full
    }

    /// Removes and returns the collected items.
    mutating func take() -> [Item] {
        defer {
            items = []
            bytes = 0
        }
        return items
    }
}
