internal import BrumeSystem
internal import Glibc

/// The resident memory of this process: the server's, its clients', and what other tests hold at the time.
package enum ResidentMemory {
    package static var byteCount: Int { ProcessFigures.read(pid: getpid()).map { Int($0.residentBytes) } ?? 0 }

    /// Whether the process takes less memory than so much more while something is done: in one of three times, since
    /// what the server takes it takes each time, and what other tests take comes and goes.
    package static func growsByLess(
        than limit: Int, _ body: (_ round: Int) async throws -> Void
    ) async rethrows -> Bool {
        for round in 0..<3 {
            let before = byteCount
            try await body(round)
            if byteCount - before < limit { return true }
        }
        return false
    }
}
