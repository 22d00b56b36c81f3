internal import BrumeKit
internal import BrumeLock
internal import BrumeServer

/// A call that waits until the clock is turned.
struct ScriptDelay: Sendable {
    let hold: ScriptHold
    let task: Task<Void, Never>
}

extension ServerScript {
    /// The step, so many milliseconds of the clock later.
    func delayed(_ step: CallPlan.Step, _ milliseconds: UInt64) -> CallPlan.Step {
        .waits { [self] resume in
            let hold = ScriptHold(ScriptRule("a call is delayed", times: 1))
            hold.hold { release in
                guard case .goesOn = release else { return resume(release) }
                step.decide(resume)
            }
            let deadline = clock.clock.nowMilliseconds + milliseconds
            state.withLock { state in
                state.lastWaiter += 1
                let id = state.lastWaiter
                // It removes itself, which waits for the lock.
                let task = Task { [self] in
                    guard (try? await clock.clock.wait(untilMilliseconds: deadline)) != nil else { return }
                    self.state.withLock { _ = $0.delays.removeValue(forKey: id) }
                    hold.release()
                }
                state.delays[id] = ScriptDelay(hold: hold, task: task)
            }
        }
    }

    /// All calls that wait for the clock go on now, with the step.
    func endDelays(_ step: CallPlan.Step) {
        let delays = state.withLock { state in
            defer { state.delays = [:] }
            return state.delays
        }
        for (_, delay) in delays.sorted(by: { $0.key < $1.key }) {
            delay.task.cancel()
            delay.hold.release(step)
        }
    }
}
