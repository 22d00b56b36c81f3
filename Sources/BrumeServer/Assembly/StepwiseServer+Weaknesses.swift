package import BrumeService

extension StepwiseServer {
    /// Has the databases in memory look at less of what is done with rings, so that a test can prove that it is
    /// noticed.
    package func testOnly_weakenRings(_ weaknesses: RingWeaknesses) {
        for shard in core.shards { shard.databases.forEach { $0.testOnly_weakenRings(weaknesses) } }
    }
}
