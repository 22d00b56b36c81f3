import BrumeTestKit
import Foundation
import Testing

/// What the server asks of its allocator: a count that a change of the code moves, and a busy machine does not.
@Suite("Allocations", .timeLimit(.minutes(5)))
struct AllocationTests {
    /// Calls of malloc and its like for each operation, as Benchmarks/allocations.py prints them.
    struct Figures: Decodable, Equatable {
        /// Of one record of 1 KiB, in a zone that a subscription watches.
        var save: Double
        /// For each of 400 in one request.
        var recordOfBatch: Double
        /// Of one record, by its name.
        var read: Double
        /// 400 changes.
        var page: Double
        /// For each device that is told.
        var push: Double

        /// The most that each may be in a debug build: what was measured, and a little for what a round may bring by
        /// chance. Where a change brings a figure down, its limit follows. Two of a read's are of the look for the next
        /// one, which an optimised build makes without any. Where others take the cores a page has 129 to 131.4.
        static let limits = Figures(save: 82, recordOfBatch: 18, read: 29, page: 134, push: 10)
    }

    @Test("of a save, a saved record of a batch, a read, a page of changes and a push stay below their limits")
    func allocations() async throws {
        let folder = try TestFolder()
        let output = folder.file("output")
        let status = try await PythonClientTests.run(
            PythonClientTests.python,
            ["-B", PythonClientTests.package + "/Benchmarks/allocations.py"]
                + [CommandRun.executable], output: output)
        let text = PythonClientTests.text(output)
        try #require(status == 0, "\(text)")
        let figures = try JSONDecoder().decode(Figures.self, from: Data(text.utf8))
        for (name, path) in [
            ("save", \Figures.save), ("saved record of a batch", \.recordOfBatch), ("read", \.read),
            ("page of 400 changes", \.page), ("push", \.push),
        ] {
            let (measured, limit) = (figures[keyPath: path], Figures.limits[keyPath: path])
            #expect(measured <= limit, "a \(name) took \(measured) allocations, and may take \(limit)")
            // Less than none, or none at all, is a broken count.
            #expect(measured > 0.5, "a \(name) took \(measured) allocations")
        }
    }
}
