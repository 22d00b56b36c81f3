internal import CSodium

/// Random bytes that are the same each time, for the simulator: a run has to be the same whenever it is repeated.
///
/// They are those of one call, on its thread; all else in the process has the system's.
package enum SeededRandomness {
    /// `@unchecked Sendable`: the thread of one call uses it.
    private final class Stream: @unchecked Sendable {
        private let seed: UInt64
        private var fills: UInt64 = 0

        init(seed: UInt64) { self.seed = seed }

        func fill(_ bytes: UnsafeMutableRawPointer, _ count: Int) {
            fills += 1
            let numbers = [seed, fills, 0, 0]
            numbers.withUnsafeBytes { randombytes_buf_deterministic(bytes, count, $0.sodium) }
        }
    }

    @TaskLocal private static var stream: Stream?

    /// Calls `body` with keys, nonces and boxes that a seed decides. Never for what somebody relies on.
    package static func testOnly_use<Value>(seed: UInt64, _ body: () throws -> Value) rethrows -> Value {
        precondition(isInstalled, "libsodium does not take another source of random bytes")
        return try $stream.withValue(Stream(seed: seed), operation: body)
    }

    private static let isInstalled: Bool = {
        Sodium.start()
        let implementation = UnsafeMutablePointer<randombytes_implementation>.allocate(capacity: 1)
        implementation.initialize(
            to: randombytes_implementation(
                implementation_name: { nil },
                random: {
                    var number: UInt32 = 0
                    SeededRandomness.fill(&number, MemoryLayout<UInt32>.size)
                    return number
                }, stir: nil, uniform: nil, buf: { SeededRandomness.fill($0, $1) }, close: nil))
        return randombytes_set_implementation(implementation) == 0
    }()

    private static func fill(_ bytes: UnsafeMutableRawPointer?, _ count: Int) {
        guard let bytes else { return }
        if let stream { stream.fill(bytes, count) } else { brume_random_bytes_of_system(bytes, count) }
    }
}
