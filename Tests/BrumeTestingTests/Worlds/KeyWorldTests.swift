import Testing

/// What is encrypted on a server that does as it should, while devices, guests and apps come and go.
///
/// Two worlds from seeds that stay; `BRUME_KEY_WORLDS` has as many run as it says, from others, one after another, and
/// `BRUME_KEY_WORLD_SEED` one of these again. What devices do at once takes its own time: a seed that failed may have
/// to be run more than once.
@Suite("Encrypted values of devices and guests that come and go")
struct KeyWorldTests {
    private static let seeds = WorldSeeds.seeds(count: "BRUME_KEY_WORLDS", one: "BRUME_KEY_WORLD_SEED")

    @Test("are read by whoever has the keys at the time, and by nobody else, whatever ends in the midst of what")
    func worlds() async throws {
        var done: [String: Int] = [:]
        for seed in Self.seeds {
            print("a world of keys: seed \(seed)")
            try await done.merge(KeyWorld.run(seed: seed, steps: 40), uniquingKeysWith: +)
        }
        for action in ["make", "edit", "interrupted"] {
            #expect(done[action, default: 0] > 0, "no device comes to anything: \(action)")
        }
        print(done.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
    }
}
