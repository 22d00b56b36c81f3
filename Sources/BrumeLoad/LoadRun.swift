internal import BrumeSystem
internal import Glibc

/// Runs a load and measures it.
package struct LoadRun: Sendable {
    package let configuration: LoadConfiguration

    package init(_ configuration: LoadConfiguration) {
        precondition(
            configuration.connections > 0 && !configuration.tokens.isEmpty, "a load has connections and an account")
        self.configuration = configuration
    }

    /// Connects all, then works for the time that the configuration gives.
    ///
    /// - Throws: When a connection can't be made, or its zone; errors of operations are counted instead.
    package func run() async throws -> LoadReport {
        let workers = try (0..<configuration.connections).map { index in
            try LoadWorker(index: index, configuration: configuration)
        }
        try await withThrowingTaskGroup { group in
            for worker in workers { group.addTask { try await worker.prepare() } }
            try await group.waitForAll()
        }
        let serverBefore = configuration.serverPID.flatMap(ProcessFigures.read)
        let clientBefore = ProcessFigures.read(pid: getpid())
        let started = LoadWorker.monotonicNanoseconds()
        let deadline = started + UInt64(configuration.seconds * 1e9)
        let figures = await withTaskGroup { group in
            for worker in workers { group.addTask { await worker.run(untilNanoseconds: deadline) } }
            return await group.reduce(into: LoadFigures()) { $0.merge($1) }
        }
        let seconds = Double(LoadWorker.monotonicNanoseconds() - started) / 1e9
        return LoadReport(
            seconds: seconds, connections: configuration.connections, figures: figures,
            server: usage(serverBefore, configuration.serverPID.flatMap(ProcessFigures.read)),
            client: usage(clientBefore, ProcessFigures.read(pid: getpid())))
    }

    private func usage(_ before: ProcessFigures?, _ after: ProcessFigures?) -> LoadReport.Usage? {
        guard let before, let after, after.cpuNanoseconds >= before.cpuNanoseconds else { return nil }
        return LoadReport.Usage(
            cpuNanoseconds: after.cpuNanoseconds - before.cpuNanoseconds, residentBytes: after.residentBytes)
    }
}

/// What a load measured.
package struct LoadReport: Sendable {
    /// What a process used while the load ran.
    package struct Usage: Sendable {
        package let cpuNanoseconds: UInt64
        /// At the end.
        package let residentBytes: UInt64
    }

    package let seconds: Double
    package let connections: Int
    package let figures: LoadFigures
    /// Nil when the server is not on this machine.
    package let server: Usage?
    package let client: Usage?

    /// Operations that succeeded.
    package var operationsPerSecond: Double { seconds > 0 ? Double(figures.operations) / seconds : 0 }
}
