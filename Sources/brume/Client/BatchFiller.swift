internal import BrumeModel

/// Collects items up to what one request may hold.
struct BatchFiller<Item> {
    /// Below the protocol's limit, since sizes are estimated.
    static var bytesLimit: Int { Limits.requestBytes * 3 / 4 }

    private var items: [Item] = []
    private var bytes = 0

    /// Adds an item; gives the batch before it when both don't fit into one request.
    mutating func add(_ item: Item, bytes itemBytes: Int) -> [Item]? {
        let isFull = items.count == Limits.itemsPerRequest || (bytes + itemBytes > Self.bytesLimit && !items.isEmpty)
        let full = isFull ? take() : nil
        items.append(item)
        bytes += itemBytes
        return full
    }

    /// What is left.
    mutating func take() -> [Item] {
        defer {
            items = []
            bytes = 0
        }
        return items
    }
}
