import BrumeFuzz
import Foundation
import Testing

/// Every test run feeds the fuzzed functions what is known to be worth a look: well-formed input, damaged input, and
/// what once was a finding. `Fuzz/Corpus` has a folder for each target.
@Suite("Bytes from outside, as the fuzzer gives them")
struct CorpusTests {
    private static let folder =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../Fuzz/Corpus/"

    @Test("every target returns for every input of its corpus", arguments: FuzzTarget.all.map(\.name))
    func corpus(name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder + name)
        #expect(!names.isEmpty)
        for file in names {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: Self.folder + name + "/" + file))
            bytes.withUnsafeBytes { target.run($0) }
        }
    }

    @Test("every target returns for damaged seeds", arguments: FuzzTarget.all.map(\.name))
    func damage(name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let seed = UInt64.random(in: .min ... .max)
        print("damage to \(name): seed \(seed)")
        var state = seed
        func random(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(max(1, bound)))
        }
        for original in target.seeds() {
            original.withUnsafeBytes { target.run($0) }
            for _ in 0..<100 {
                var bytes = original
                for _ in 0...random(below: 4) where !bytes.isEmpty {
                    let place = random(below: bytes.count)
                    switch random(below: 4) {
                    case 0: bytes[place] ^= 1 << UInt8(random(below: 8))
                    case 1: bytes[place] = UInt8(random(below: 256))
                    case 2: bytes.remove(at: place)
                    default: bytes.insert(UInt8(random(below: 256)), at: place)
                    }
                }
                bytes.withUnsafeBytes { target.run($0) }
            }
        }
    }

    /// With BRUME_WRITE_CORPUS set the seeds become files, for a corpus to start with.
    @Test(
        "the seeds are written",
        .enabled(if: ProcessInfo.processInfo.environment["BRUME_WRITE_CORPUS"] != nil, "BRUME_WRITE_CORPUS is not set"))
    func write() throws {
        for target in FuzzTarget.all {
            try FileManager.default.createDirectory(
                atPath: Self.folder + target.name, withIntermediateDirectories: true)
            for (index, seed) in target.seeds().enumerated() {
                try Data(seed).write(to: URL(fileURLWithPath: Self.folder + target.name + "/seed-\(index)"))
            }
        }
    }
}
