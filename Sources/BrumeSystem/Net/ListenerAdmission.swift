internal import Synchronization

/// How many connections of a listener live, on whatever loop they are by now. Any thread.
final class ListenerAdmission: Sendable {
    private let open = Atomic<Int>(0)

    var count: Int { open.load(ordering: .relaxed) }

    func connectionBegan() { open.add(1, ordering: .relaxed) }

    func connectionEnded() { open.subtract(1, ordering: .relaxed) }
}
