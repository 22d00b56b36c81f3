internal import BrumeTestKit
internal import Glibc
internal import Synchronization

/// `brume-sim [SEEDS [FIRST [THREADS]]]` runs seeds and says which of them broke a promise, and how; exit code 1 then,
/// and 71 where this process has no descriptors left to run them. `brume-sim --seed SEED [PROMISE]` runs one, with a
/// promise broken on purpose if it is named. `brume-sim --tell SEED [PROMISE]` tells what happens in it as well.
func usage() -> Never {
    print(
        """
        usage: brume-sim [SEEDS [FIRST [THREADS]]]
               brume-sim --seed SEED [PROMISE]
               brume-sim --tell SEED [PROMISE]
        PROMISE, to be broken on purpose: \(BrokenPromise.allCases.map(\.rawValue).joined(separator: ", "))
        """)
    exit(64)
}

func number(_ text: String) -> UInt64 {
    guard let number = UInt64(text) else { usage() }
    return number
}

/// A run that this process could not make says nothing of promises: it ends as a fault of the machine (EX_OSERR).
func checkResources(_ report: SimulationReport) {
    guard let failure = report.resourceFailure else { return }
    print("seed \(report.seed) can't be run, and no promise was broken by it: \(failure)")
    exit(71)
}

func runOne(_ seed: UInt64, breaking promise: BrokenPromise?, isTold: Bool) {
    print(SimulationOptions(seed: seed, brokenPromise: promise))
    let report = Simulation.run(seed: seed, breaking: promise, narrate: isTold ? { print($0) } : nil)
    checkResources(report)
    print(report.figures)
    print("trace \(String(report.trace, radix: 16)): \(report.violation ?? "every promise was kept")")
    exit(report.violation == nil ? 0 : 1)
}

func runMany(_ seeds: Range<UInt64>, threads: Int) {
    print("seeds \(seeds.lowerBound) to \(seeds.upperBound - 1); each is replayed by brume-sim --seed SEED")
    CrashNote.install()
    let violations = Atomic<Int>(0)
    let total = SimulationSeries.run(seeds, threads: threads, began: CrashNote.note) { report, done in
        checkResources(report)
        if let violation = report.violation {
            violations.add(1, ordering: .relaxed)
            print("\(SimulationOptions(seed: report.seed))\n  \(violation)")
        }
        if done % 1_000 == 0 {
            print("\(done) runs so far, with a broken promise \(violations.load(ordering: .relaxed))")
        }
        // A long run is looked at while it goes on.
        fflush(nil)
    }
    let broken = violations.load(ordering: .relaxed)
    print("runs \(seeds.count), with a broken promise \(broken)\n\(total.figures)")
    // Another process has to come to the same.
    print("trace of all \(String(total.trace, radix: 16))")
    exit(broken == 0 ? 0 : 1)
}

/// Sets have another order in each process, and what happens in a seed may depend on one: where the children of a
/// record are looked at piece by piece, say. So that a seed is the same run in all of them, the process starts again,
/// with the hashes that all share.
func shareHashes() {
    let name = "SWIFT_DETERMINISTIC_HASHING"
    if getenv(name) != nil { return }
    setenv(name, "1", 1)
    execv("/proc/self/exe", CommandLine.unsafeArgv)
    print("without /proc, a seed may be another run in the next process")
}

shareHashes()
let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "--seed" || arguments.first == "--tell", 2...3 ~= arguments.count {
    var promise: BrokenPromise?
    if arguments.count == 3 {
        promise = BrokenPromise(rawValue: arguments[2])
        if promise == nil { usage() }
    }
    runOne(number(arguments[1]), breaking: promise, isTold: arguments[0] == "--tell")
} else if arguments.count <= 3 {
    let count = arguments.first.map(number) ?? 100
    let first = arguments.count > 1 ? number(arguments[1]) : 0
    let threads = arguments.count > 2 ? number(arguments[2]) : 1
    guard count > 0, !first.addingReportingOverflow(count).overflow,
        1...UInt64(SimulationSeries.threadsLimit) ~= threads
    else { usage() }
    runMany(first..<first + count, threads: Int(threads))
} else {
    usage()
}
