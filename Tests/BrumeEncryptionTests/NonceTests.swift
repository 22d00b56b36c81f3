import Foundation
import Testing

@testable import BrumeEncryption

@Suite("Nonces of seals")
struct NonceTests {
    /// Two values under one nonce would give away how they differ, and let others be forged.
    ///
    /// As many as fit into a moment; `BRUME_NONCES=10000000` makes so many. The first eight bytes of each are compared:
    /// of ten million that are random two are the same in one run of 370,000.
    @Test("are never the same twice, whatever is sealed, also where it is the same and at the same time")
    func repeats() async {
        let asked = ProcessInfo.processInfo.environment["BRUME_NONCES"].flatMap { Int($0) }
        let (taskCount, sealCount) = (4, (asked ?? 400_000) / 4)
        let key = SecretKey.random()
        var nonces: [UInt64] = []
        await withTaskGroup(of: [UInt64].self) { group in
            for _ in 0..<taskCount {
                group.addTask {
                    (0..<sealCount).map { _ in
                        let sealed = Seal.seal([], data: [], key: key)
                        return sealed.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
                    }
                }
            }
            for await part in group { nonces += part }
        }
        nonces.sort()
        #expect(nonces.count == taskCount * sealCount)
        #expect(zip(nonces, nonces.dropFirst()).allSatisfy { $0 < $1 }, "a nonce came twice")
    }

    @Test("of values and stamps of one record are others each time, and all of their bytes change")
    func values() throws {
        let place = try Place(
            container: "container", environment: "production", owner: "_ada", zone: "Diary",
            ringID: Place.newRingID())
        let tree = Tree(place: place, root: "page", kind: .isPrivate)
        let record = TreeCipher(tree: tree, ringKey: .random(), number: 1).record(named: "page", type: "Page")
        let nonces = 23..<47
        let seals = (0..<2_000).map { number in
            number % 2 == 0
                ? record.seal([1, 2, 3], field: "secret", valueType: "STRING") : record.stamp(parent: "shelf")
        }
        #expect(Set(seals.map { Array($0[nonces]) }).count == seals.count)
        for index in nonces { #expect(Set(seals.map { $0[index] }).count > 200, "byte \(index)") }
    }
}
