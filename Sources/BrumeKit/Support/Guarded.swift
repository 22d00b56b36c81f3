internal import Foundation

/// A value behind a lock, for objects whose properties any thread may set and read: each access is one step of its own.
///
/// `@unchecked Sendable`: the value is touched under the lock alone. It may hold closures of apps that are not
/// `Sendable`: CloudKit takes such, and calls them one after the other.
@dynamicMemberLookup
final class Guarded<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    /// A copy of the value as it is now.
    var current: Value { withLock { $0 } }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }

    subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Member {
        get { withLock { $0[keyPath: path] } }
        set { withLock { $0[keyPath: path] = newValue } }
    }
}
