/// Elements of which the first one in an order is at hand; adding one and taking the first one cost the logarithm of
/// their number.
///
/// Inlinable, as what other modules order with it has to be known for that to be fast: the simulator's events took a
/// tenth of its time without. For that the type has to be usable from inlined code too, or the word does nothing.
@frozen @usableFromInline
package struct Heap<Element> {
    @usableFromInline var storage: [Element] = []
    @usableFromInline let comesBefore: (Element, Element) -> Bool

    @inlinable
    package init(_ comesBefore: @escaping (Element, Element) -> Bool) { self.comesBefore = comesBefore }

    @inlinable package var first: Element? { storage.first }
    @inlinable package var count: Int { storage.count }
    /// All of them, in no order but that the first one comes before all others.
    @inlinable package var elements: [Element] { storage }

    @inlinable
    package mutating func push(_ element: Element) {
        storage.append(element)
        var child = storage.count - 1
        while child > 0, comesBefore(storage[child], storage[(child - 1) / 2]) {
            storage.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Takes the first element; there must be one.
    @inlinable
    package mutating func pop() -> Element {
        storage.swapAt(0, storage.count - 1)
        let first = storage.removeLast()
        sink()
        return first
    }

    @inlinable
    package mutating func removeAll() { storage = [] }

    /// Puts another element in the place of the first one.
    @inlinable
    package mutating func replaceFirst(with element: Element) {
        storage[0] = element
        sink()
    }

    @inlinable
    mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in 2 * parent + 1...2 * parent + 2 where child < storage.count {
                if comesBefore(storage[child], storage[least]) { least = child }
            }
            if least == parent { return }
            storage.swapAt(parent, least)
            parent = least
        }
    }
}
