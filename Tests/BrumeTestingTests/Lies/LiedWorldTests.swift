import Testing

/// What is encrypted on a server that does what it likes, at random.
///
/// Two worlds from seeds that stay; `BRUME_LIE_WORLDS` has as many run as it says, from others, one after another, and
/// `BRUME_LIE_SEED` one of these again. What devices do in the background takes its own time: a seed that failed may
/// have to be run more than once.
@Suite("Encrypted values on a server that lies at random")
struct LiedWorldTests {
    private static let seeds = WorldSeeds.seeds(count: "BRUME_LIE_WORLDS", one: "BRUME_LIE_SEED")

    @Test("are read by those alone who may, and by all of these once it does as it should")
    func worlds() async throws {
        var done: [String: Int] = [:]
        for seed in Self.seeds {
            print("a lying server: seed \(seed)")
            try await done.merge(LiedWorld.run(seed: seed, steps: 40).done, uniquingKeysWith: +)
        }
        for action in ["make", "edit", "move", "edit by guest", "lie"] {
            #expect(done[action, default: 0] > 0, "no device comes to anything: \(action)")
        }
        print(done.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
    }
}
