internal import BrumeKit
internal import BrumeLock

/// What a script does to notifications.
///
/// Only those that subscriptions cause count; what a device missed stays in the feeds of changes, as on a healthy
/// server.
extension ServerScript {
    /// Notifications are lost on their way.
    @discardableResult
    public func losePushes(_ pushes: PushPattern = .any, times: Int = 1) -> ScriptRule {
        add("push \(pushes) is lost", times: times, .push(pushes, .isLost))
    }

    /// Notifications come twice.
    @discardableResult
    public func doublePushes(_ pushes: PushPattern = .any, times: Int = 1) -> ScriptRule {
        add("push \(pushes) comes twice", times: times, .push(pushes, .leavesTwice))
    }

    /// Notifications wait until the test lets them go; those behind them overtake them.
    public func holdPushes(_ pushes: PushPattern = .any, times: Int = 1) -> ScriptHold {
        let rule = ScriptRule("push \(pushes) is held", times: times)
        let hold = ScriptHold(rule)
        add(Entry(rule: rule, action: .push(pushes, .isHeld(hold))))
        return hold
    }

    /// Returns once the device listens to its notifications: what is saved from then on is told to it.
    ///
    /// - Parameter timeout: Of real time.
    /// - Throws: ``TestServerError`` when the time is over; `CancellationError` when the task is cancelled, as a test's
    ///   time limit does; the `CKError` of a device that can't reach the server any more.
    public func waitUntilListening(_ device: TestDevice, timeout: Duration = .seconds(10)) async throws {
        let situation =
            "nothing on the device listens to notifications: make an automatic CKSyncEngine, or iterate the container's "
            + "notifications, and see that the device is online"
        try await wait(atMost: timeout, { situation }) { try await self.waitUntilHeard(device) }
    }

    private func waitUntilHeard(_ device: TestDevice) async throws {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let isListening = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome: Bool? = state.withLock { state in
                    if state.cancelledWaiters.remove(id) != nil { return false }
                    if state.listening[device.identity.id] ?? 0 > 0 { return true }
                    state.listeningWaiters[id] = (device.identity.id, continuation)
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.listeningWaiters.removeValue(forKey: id)
                if waiter == nil { state.cancelledWaiters.insert(id) }
                return waiter
            }
            waiter?.continuation.resume(returning: false)
        }
        state.withLock { _ = $0.cancelledWaiters.remove(id) }
        if !isListening { throw CancellationError() }
        // The word of it may be on its way still, and would be lost with the connection: an answer comes behind it.
        _ = try await device.container.ping()
    }
}
