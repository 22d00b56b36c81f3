/// What a load measured.
package struct LoadReport: Sendable {
    /// What a process used while the load ran.
    package struct Usage: Sendable {
        package let cpuNanoseconds: UInt64
        /// The resident memory at the end.
        package let residentBytes: UInt64

        package init(cpuNanoseconds: UInt64, residentBytes: UInt64) {
            self.cpuNanoseconds = cpuNanoseconds
            self.residentBytes = residentBytes
        }
    }

    /// One step of the plots.
    package struct Sample: Sendable {
        /// The time of the step's end since the measurement began.
        package let second: Double
        /// The length of the step.
        package let seconds: Double
        package let figures: LoadFigures
        /// CPU use in percent of one core; nil when the server is not on this machine.
        package let serverCPUPercent: Double?
        package let serverResidentBytes: UInt64?

        package init(
            second: Double, seconds: Double, figures: LoadFigures, serverCPUPercent: Double?,
            serverResidentBytes: UInt64?
        ) {
            self.second = second
            self.seconds = seconds
            self.figures = figures
            self.serverCPUPercent = serverCPUPercent
            self.serverResidentBytes = serverResidentBytes
        }
    }

    package let scenario: LoadScenario
    package let seconds: Double
    package let warmUpSeconds: Double
    package let connections: Int
    package let accounts: Int
    /// The requested operations a second; nil for a closed loop.
    package let rate: Double?
    package let figures: LoadFigures
    package let samples: [Sample]
    /// Operations that had not ended when the drain time was over.
    package let unfinished: Int
    /// The server's additional memory for each connection, if it was measured.
    package let bytesPerConnection: Double?
    /// What the server used; nil when it is not on this machine.
    package let server: Usage?
    package let client: Usage?

    package init(
        scenario: LoadScenario, seconds: Double, warmUpSeconds: Double, connections: Int, accounts: Int, rate: Double?,
        figures: LoadFigures, samples: [Sample], unfinished: Int, bytesPerConnection: Double?, server: Usage?,
        client: Usage?
    ) {
        self.scenario = scenario
        self.seconds = seconds
        self.warmUpSeconds = warmUpSeconds
        self.connections = connections
        self.accounts = accounts
        self.rate = rate
        self.figures = figures
        self.samples = samples
        self.unfinished = unfinished
        self.bytesPerConnection = bytesPerConnection
        self.server = server
        self.client = client
    }

    /// Successful operations a second.
    package var operationsPerSecond: Double { seconds > 0 ? Double(figures.operations) / seconds : 0 }
}
