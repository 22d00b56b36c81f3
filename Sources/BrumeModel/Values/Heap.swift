/// Elements of which the first one in an order is at hand; adding one and taking the first one cost the logarithm of
/// their number.
package struct Heap<Element> {
    private var elements: [Element] = []
    private let comesBefore: (Element, Element) -> Bool

    package init(_ comesBefore: @escaping (Element, Element) -> Bool) { self.comesBefore = comesBefore }

    package var first: Element? { elements.first }

    package mutating func push(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0, comesBefore(elements[child], elements[(child - 1) / 2]) {
            elements.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Takes the first element; there must be one.
    package mutating func pop() -> Element {
        elements.swapAt(0, elements.count - 1)
        let first = elements.removeLast()
        sink()
        return first
    }

    package mutating func removeAll() { elements = [] }

    /// Puts another element in the place of the first one.
    package mutating func replaceFirst(with element: Element) {
        elements[0] = element
        sink()
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in 2 * parent + 1...2 * parent + 2 where child < elements.count {
                if comesBefore(elements[child], elements[least]) { least = child }
            }
            if least == parent { return }
            elements.swapAt(parent, least)
            parent = least
        }
    }
}
