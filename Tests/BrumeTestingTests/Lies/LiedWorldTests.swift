import Foundation
import Testing

/// What is encrypted on a server that does what it likes, at random.
///
/// `BRUME_LIE_SEED` has a seed run again, and `BRUME_LIE_WORLDS` as many worlds as it says, one after another.
@Suite("Encrypted values on a server that lies at random")
struct LiedWorldTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = environment["BRUME_LIE_WORLDS"].flatMap { Int($0) } ?? 2

    @Test("are read where they were written by those alone who may, and by all of these once it does not")
    func worlds() async throws {
        var done: [String: Int] = [:]
        for _ in 0..<Self.count {
            let seed = Self.environment["BRUME_LIE_SEED"].flatMap { UInt64($0) } ?? .random(in: .min ... .max)
            print("a lying server: seed \(seed)")
            try await done.merge(LiedWorld.run(seed: seed, steps: 40).done, uniquingKeysWith: +)
        }
        print(done.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
    }
}
