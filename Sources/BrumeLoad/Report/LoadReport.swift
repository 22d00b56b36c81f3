/// What a load measured.
package struct LoadReport: Sendable {
    /// What a process used while the load ran.
    package struct Usage: Sendable {
        package let cpuNanoseconds: UInt64
        /// At the end.
        package let residentBytes: UInt64

        package init(cpuNanoseconds: UInt64, residentBytes: UInt64) {
            self.cpuNanoseconds = cpuNanoseconds
            self.residentBytes = residentBytes
        }
    }

    /// One step of the plots.
    package struct Sample: Sendable {
        /// Since the measurement's begin, at the step's end.
        package let second: Double
        /// How long it was.
        package let seconds: Double
        package let figures: LoadFigures
        /// Of one core, in percent; nil when the server is not on this machine.
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
    /// Operations a second that were asked for; nil: a closed loop.
    package let rate: Double?
    package let figures: LoadFigures
    package let samples: [Sample]
    /// Operations that had not ended when the time for it was over.
    package let unfinished: Int
    /// What the server took more in memory for each connection; where it was measured.
    package let bytesPerConnection: Double?
    /// Nil when the server is not on this machine.
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

    /// Operations that succeeded.
    package var operationsPerSecond: Double { seconds > 0 ? Double(figures.operations) / seconds : 0 }
}
