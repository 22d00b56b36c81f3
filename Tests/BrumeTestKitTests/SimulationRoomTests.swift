import BrumeTestKit
import Foundation
import Testing

/// In a process of its own: other tests open and close descriptors at any time.
@Suite("What a run of the simulation leaves behind")
struct SimulationRoomTests {
    private static let seeds: UInt64 = 40
    /// What each seed left once was more than this for all of them.
    private static let growthBytesMax = 40 * 1024 * 1024

    private static var descriptorCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? .max
    }

    @Test("is no descriptor, and no memory to speak of")
    func nothing() async {
        await #expect(processExitsWith: .success) {
            func run(_ seeds: Range<UInt64>) {
                for seed in seeds where Simulation.run(seed: seed).violation != nil { exit(3) }
            }
            // What the first runs take serves the others.
            run(0..<5)
            let (descriptors, bytes) = (SimulationRoomTests.descriptorCount, ResidentMemory.byteCount)
            run(5..<5 + SimulationRoomTests.seeds)
            if SimulationRoomTests.descriptorCount > descriptors { exit(1) }
            if ResidentMemory.byteCount > bytes + SimulationRoomTests.growthBytesMax { exit(2) }
        }
    }
}
