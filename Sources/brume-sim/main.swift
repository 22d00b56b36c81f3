internal import BrumeTestKit
internal import Glibc

/// `brume-sim [SEEDS [FIRST]]` runs seeds and says which of them broke a promise, and how; exit code 1 then, and 71
/// where this process has no descriptors left to run them. `brume-sim --seed SEED [PROMISE]` runs one, with a promise
/// broken on purpose if it is named. `brume-sim --tell SEED [PROMISE]` tells what happens in it as well.
func usage() -> Never {
    print(
        """
        usage: brume-sim [SEEDS [FIRST]]
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

func runMany(_ seeds: Range<UInt64>) {
    var total = SimulationReport(seed: seeds.lowerBound)
    var violations = 0
    print("seeds \(seeds.lowerBound) to \(seeds.upperBound - 1); each is replayed by brume-sim --seed SEED")
    CrashNote.install()
    for seed in seeds {
        CrashNote.note(seed)
        let report = Simulation.run(seed: seed)
        checkResources(report)
        total.add(report)
        let done = seed - seeds.lowerBound + 1
        if done % 10_000 == 0 { print("\(done) runs so far, with a broken promise \(violations)") }
        if let violation = report.violation {
            violations += 1
            print("\(SimulationOptions(seed: seed))\n  \(violation)")
        }
        // A long run is looked at while it goes on.
        fflush(nil)
    }
    print("runs \(seeds.count), with a broken promise \(violations)\n\(total.figures)")
    exit(violations == 0 ? 0 : 1)
}

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "--seed" || arguments.first == "--tell", 2...3 ~= arguments.count {
    var promise: BrokenPromise?
    if arguments.count == 3 {
        promise = BrokenPromise(rawValue: arguments[2])
        if promise == nil { usage() }
    }
    runOne(number(arguments[1]), breaking: promise, isTold: arguments[0] == "--tell")
} else if arguments.count <= 2 {
    let count = arguments.first.map(number) ?? 100
    let first = arguments.dropFirst().first.map(number) ?? 0
    if count == 0 || first.addingReportingOverflow(count).overflow { usage() }
    runMany(first..<first + count)
} else {
    usage()
}
