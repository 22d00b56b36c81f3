internal import Synchronization

/// About how many bytes the databases of all shards take. Any thread.
package final class MemoryUse: Sendable {
    private let count = Atomic<Int>(0)

    package var bytes: Int { count.load(ordering: .relaxed) }

    func add(_ growth: Int) {
        if growth != 0 { count.wrappingAdd(growth, ordering: .relaxed) }
    }
}
