/// What a run came to.
package struct SimulationReport: Sendable {
    package var seed: UInt64
    /// What was wrong; nil: every promise was kept.
    package var violation: String?
    package var trace: UInt64 = 0
    package var operations = 0
    package var answers = 0
    package var commits = 0
    package var crashes = 0
    package var cutConnections = 0
    /// Commits that a client knew of when a restart was checked.
    package var acknowledgedChecked = 0
    /// Pages of changes that were checked against the commits, change by change.
    package var pagesChecked = 0
    package var oldTokensTried = 0
    package var pushesReceived = 0
    package var fetchHints = 0
    package var repeatedOperations = 0
    package var snapshots = 0
    package var events = 0

    /// The figures of several runs together.
    package mutating func add(_ other: SimulationReport) {
        operations += other.operations
        answers += other.answers
        commits += other.commits
        crashes += other.crashes
        cutConnections += other.cutConnections
        acknowledgedChecked += other.acknowledgedChecked
        pagesChecked += other.pagesChecked
        oldTokensTried += other.oldTokensTried
        pushesReceived += other.pushesReceived
        fetchHints += other.fetchHints
        repeatedOperations += other.repeatedOperations
        snapshots += other.snapshots
        events += other.events
    }

    package init(seed: UInt64) {
        self.seed = seed
    }

    package var figures: String {
        "operations \(operations), answers \(answers), commits \(commits), crashes \(crashes), "
            + "connections cut \(cutConnections), acknowledged commits checked after crashes \(acknowledgedChecked), "
            + "pages checked \(pagesChecked), old tokens \(oldTokensTried), pushes \(pushesReceived), "
            + "fetch hints \(fetchHints), operations sent again \(repeatedOperations), snapshots \(snapshots), "
            + "events \(events)"
    }
}
