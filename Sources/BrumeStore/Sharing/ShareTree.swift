internal import BrumeModel

/// Whether records of a zone may become roots of shares: a record is in one share at most, so none of them may be a
/// root, stand below one, or have one below it (Documentation/CloudKit.md, Sharing).
///
/// Parents are followed upward from the new roots and from those that there are, each record once: no tree is searched,
/// whatever its size. Names of records that don't exist have no parent, and cycles end a walk.
struct ShareTree {
    /// Records whose parents may be followed for one request, each with a few look-ups by name: a thousand shares whose
    /// roots stand ten records deep.
    static let stepLimit = 10_000

    /// The roots that the zone's shares have.
    private let roots: Set<String>
    /// The name of a record's parent after the batch, or nil.
    private let parent: (String) -> String?
    /// What is left of the steps; below 0 when they were too many.
    private(set) var stepsLeft: Int
    /// The first root above each record that a walk has passed; nil where there is none.
    private var known: [String: String?] = [:]

    init(roots: Set<String>, steps: Int = stepLimit, parent: @escaping (String) -> String?) {
        self.roots = roots
        self.parent = parent
        stepsLeft = steps
    }

    /// The new roots that can't be, each with why. If the walks would take too long, none can.
    mutating func refusals(of newRoots: Set<String>) -> [String: ServiceError] {
        if newRoots.isEmpty { return [:] }
        known = [:]
        var refusals: [String: ServiceError] = [:]
        for root in newRoots where roots.contains(root) { refusals[root] = Self.isRoot }
        // In an order that is the same each time.
        for root in newRoots.sorted() {
            guard let above = rootAbove(root, newRoots) else { continue }
            if refusals[root] == nil { refusals[root] = Self.isBelowRoot }
            // Both would be roots with this batch: neither can be, or chance would choose.
            if newRoots.contains(above), refusals[above] == nil { refusals[above] = Self.isAboveRoot }
        }
        // Another root on the way up is where its own walk begins.
        for root in roots.sorted() where !newRoots.contains(root) {
            guard let above = rootAbove(root, newRoots), newRoots.contains(above) else { continue }
            if refusals[above] == nil { refusals[above] = Self.isAboveRoot }
        }
        if stepsLeft < 0 { return Dictionary(uniqueKeysWithValues: newRoots.map { ($0, Self.isTooDeep) }) }
        return refusals
    }

    /// The first root above a record, one that there is or a new one; nil when there is none.
    private mutating func rootAbove(_ record: String, _ newRoots: Set<String>) -> String? {
        var path: [String] = []
        var current = record
        var found: String?
        while stepsLeft >= 0, let next = parent(current) {
            stepsLeft -= 1
            if roots.contains(next) || newRoots.contains(next) {
                found = next
                break
            }
            if let known = known[next] {
                found = known
                break
            }
            // Until it is known: a cycle that comes here again ends.
            known[next] = .some(nil)
            path.append(next)
            current = next
        }
        for passed in path { known[passed] = .some(found) }
        // A cycle of parents may lead a root to itself.
        return found == record ? nil : found
    }

    private static let isRoot = ServiceError(
        .alreadyShared, "the record is the root of a share already; change that share, or delete it first")
    private static let isBelowRoot = ServiceError(
        .alreadyShared, "a parent of the record is shared, and the record with it; share that one, or give it no parent"
    )
    private static let isAboveRoot = ServiceError(
        .alreadyShared, "a record below this one is shared by itself, or would be with this request; share one of them")
    static let isTooDeep = ServiceError(
        .limitExceeded,
        "more than \(stepLimit) records stand above the shared ones and those of the request; use fewer levels"
    )
}
