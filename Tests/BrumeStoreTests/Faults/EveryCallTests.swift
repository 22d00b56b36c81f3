import BrumeStore
import BrumeTestKit
import Testing

/// One fault at the first call to the disk, at the second, at the third …, until the script runs through.
@Suite("A fault at every call to the disk")
struct EveryCallTests {
    enum Fault: String, CaseIterable, CustomTestStringConvertible {
        case failure = "the call fails, and the machine goes on"
        case failureAndPowerCut = "the call fails, and the power is cut"
        case fullDisk = "the disk is full for one call"
        case processEnd = "the process ends in the call"
        case powerCutLosingAll = "the power is cut, and nothing unsynced is left"
        case powerCutKeepingAll = "the power is cut, and all that was written is left"
        case powerCutTearing = "the power is cut, and what was written is torn"

        var testDescription: String { rawValue }

        func arm(_ disk: SimulatedDisk, call: Int) {
            switch self {
            case .failure, .failureAndPowerCut: disk.faults.failingCall = call
            case .fullDisk: disk.faults.fullCall = call
            case .processEnd, .powerCutLosingAll, .powerCutKeepingAll, .powerCutTearing:
                disk.faults.powerCutCall = call
            }
        }

        func strike(_ disk: SimulatedDisk, seed: UInt64) {
            switch self {
            case .failure, .fullDisk, .processEnd: disk.endProcess()
            case .failureAndPowerCut, .powerCutTearing: disk.crash(seed: seed)
            case .powerCutLosingAll: disk.crash(seed: seed, .nothing)
            case .powerCutKeepingAll: disk.crash(seed: seed, .everything)
            }
        }
    }

    @Test("whatever goes wrong in whichever call, what was acknowledged is there afterwards", arguments: Fault.allCases)
    func everyCall(fault: Fault) throws {
        var call = 0
        var checked = 0
        while true {
            var isThrough = false
            // What tears is chance: some of them for each call.
            for seed in 0..<(fault == .powerCutTearing || fault == .failureAndPowerCut ? 4 : 1) as Range<UInt64> {
                let script = FaultScript()
                fault.arm(script.disk, call: call)
                do throws(StoreError) {
                    try script.run()
                    isThrough = script.disk.calls <= call
                } catch {
                    guard case .disk = error else {
                        Issue.record("call \(call), seed \(seed): an error of the disk is called damage: \(error)")
                        return
                    }
                    #expect(fault != .fullDisk, "call \(call): a full disk is not the end, but \(error)")
                }
                fault.strike(script.disk, seed: seed &* 7919 &+ UInt64(call))
                if let problem = script.problem() { Issue.record("call \(call), seed \(seed): \(problem)") }
                checked += script.recordsChecked
                // And what was found then is there after another power cut: it may have been shown to someone.
                script.disk.crash(seed: seed, .nothing)
                if let problem = script.problem() {
                    Issue.record("call \(call), seed \(seed), after a second power cut: \(problem)")
                }
                #expect(try Verification(of: script.disk).isSound, "call \(call), seed \(seed)")
            }
            if isThrough { break }
            call += 1
        }
        #expect(call > 60, "the script makes \(call) calls")
        #expect(checked > 500)
    }

    @Test("what a restart found in the journal is still there after a power cut, though the sync never came")
    func whatWasReadIsDurable() throws {
        let folder = try Folder()
        try folder.makeZone()
        try folder.save("a")
        // The write reaches the system, the process ends before its sync.
        folder.disk.faults.powerCutCall = folder.disk.calls + 1
        #expect(throws: StoreError.self) { try folder.save("b") }
        folder.disk.endProcess()
        let shown = try Folder(on: folder.disk).names
        folder.disk.crash(seed: 1, .nothing)
        #expect(try Folder(on: folder.disk).names == shown, "a reader was shown what was not durable")
    }
}
