/// Objects in the order in which they came.
///
/// Whoever goes through them does so in the same order each time that the same happens. The order of a dictionary or a
/// set depends on where its objects lie in memory.
package struct Arrivals<Element: AnyObject> {
    /// Nil where one has gone.
    private var elements: [Element?] = []
    private var places: [ObjectIdentifier: Int] = [:]

    package init() {}

    package var count: Int { places.count }

    /// All of them, as they are now.
    package var all: [Element] { elements.compactMap { $0 } }

    /// What they come to together, without an array of them.
    package func sum(_ value: (Element) -> Int) -> Int {
        var sum = 0
        for case let element? in elements { sum += value(element) }
        return sum
    }

    /// Adds an object, unless it is there.
    package mutating func insert(_ element: Element) {
        let id = ObjectIdentifier(element)
        if places[id] != nil { return }
        places[id] = elements.count
        elements.append(element)
    }

    /// Removes an object, if it is there: a step, and now and then one for each.
    package mutating func remove(_ element: Element) {
        guard let place = places.removeValue(forKey: ObjectIdentifier(element)) else { return }
        elements[place] = nil
        if elements.count < 64 || places.count * 2 > elements.count { return }
        elements.removeAll { $0 == nil }
        for (place, element) in elements.enumerated() { places[ObjectIdentifier(element!)] = place }
    }

    package mutating func removeAll() { self = Arrivals() }
}
