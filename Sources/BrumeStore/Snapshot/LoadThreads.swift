/// Threads that a load may use besides the one that it is called on. The store makes none itself.
package struct LoadThreads: Sendable {
    /// Calls the closure once for each number below the first argument, at the same time where it can, and returns when
    /// all calls have.
    package typealias ForEach = @Sendable (_ count: Int, _ body: @Sendable (Int) -> Void) -> Void

    /// The most calls at a time.
    package let count: Int
    private let run: ForEach
    /// Called with memory that is about to be written whole: taking many pages from the system at once is cheaper than
    /// one at a time.
    let willFill: @Sendable (UnsafeMutableRawBufferPointer) -> Void

    package init(
        count: Int, willFill: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void = { _ in },
        forEach: @escaping ForEach
    ) {
        self.count = max(1, count)
        self.willFill = willFill
        run = forEach
    }

    /// Makes all calls on the calling thread.
    package static let one = LoadThreads(count: 1) { count, body in
        for index in 0..<count { body(index) }
    }

    package func forEach(_ count: Int, _ body: @Sendable (Int) -> Void) { run(count, body) }
}
