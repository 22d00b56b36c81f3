internal import BrumeTestKit
internal import Glibc

/// `brume-sim [SEEDS [FIRST]]` runs seeds and says which of them broke a promise, and how; exit code 1 then.
/// `brume-sim --seed SEED [PROMISE]` runs one, with a promise broken on purpose if it is named.
func usage() -> Never {
    print(
        """
        usage: brume-sim [SEEDS [FIRST]]
               brume-sim --seed SEED [PROMISE]
        PROMISE, to be broken on purpose: \(BrokenPromise.allCases.map(\.rawValue).joined(separator: ", "))
        """)
    exit(64)
}

func number(_ text: String) -> UInt64 {
    guard let number = UInt64(text) else { usage() }
    return number
}

func runOne(_ seed: UInt64, breaking promise: BrokenPromise?) {
    print(SimulationOptions(seed: seed, brokenPromise: promise))
    let report = Simulation.run(seed: seed, breaking: promise)
    print(report.figures)
    print("trace \(String(report.trace, radix: 16)): \(report.violation ?? "every promise was kept")")
    exit(report.violation == nil ? 0 : 1)
}

func runMany(_ seeds: Range<UInt64>) {
    var total = SimulationReport(seed: seeds.lowerBound)
    var violations = 0
    print("seeds \(seeds.lowerBound) to \(seeds.upperBound - 1); each is replayed by brume-sim --seed SEED")
    for seed in seeds {
        let report = Simulation.run(seed: seed)
        total.add(report)
        guard let violation = report.violation else { continue }
        violations += 1
        print("\(SimulationOptions(seed: seed))\n  \(violation)")
    }
    print("runs \(seeds.count), with a broken promise \(violations)\n\(total.figures)")
    exit(violations == 0 ? 0 : 1)
}

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "--seed", 2...3 ~= arguments.count {
    var promise: BrokenPromise?
    if arguments.count == 3 {
        promise = BrokenPromise(rawValue: arguments[2])
        if promise == nil { usage() }
    }
    runOne(number(arguments[1]), breaking: promise)
} else if arguments.count <= 2 {
    let count = arguments.first.map(number) ?? 100
    let first = arguments.dropFirst().first.map(number) ?? 0
    if count == 0 || first.addingReportingOverflow(count).overflow { usage() }
    runMany(first..<first + count)
} else {
    usage()
}
