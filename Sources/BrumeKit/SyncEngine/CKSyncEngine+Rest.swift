/// What tests look at to know when an engine has done all that it does by itself.
extension CKSyncEngine {
    /// Returns once nothing is under way and nothing is due before a later time of ``scheduleClock``.
    package func waitUntilAtRest() async throws(CancellationError) {
        try await driver.waitUntilAtRest()
    }

    /// When the engine goes on by itself, by ``scheduleClock``; nil: not before something happens.
    package var nextDueMilliseconds: UInt64? { driver.read { $0.deadlineMilliseconds } }

    /// The time that the engine's schedules go by.
    package var scheduleClock: any ClientClock { driver.clock }
}
