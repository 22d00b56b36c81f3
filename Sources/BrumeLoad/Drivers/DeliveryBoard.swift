internal import BrumeLock

/// The publishes of `fan-out` that have not reached all devices yet. The devices of all threads report their deliveries
/// here.
final class DeliveryBoard: Sendable {
    private struct Publish {
        var missing: Int
        let intended: UInt64
        let thread: Int
    }

    private struct State {
        var publishes: [Int64: Publish] = [:]
        var nextSerial: Int64 = 1
    }

    private let state = Lock(State())

    /// Registers a publish to that many devices; returns its serial number.
    func begin(devices: Int, intended: UInt64, thread: Int) -> Int64 {
        state.withLock { state in
            defer { state.nextSerial += 1 }
            state.publishes[state.nextSerial] = Publish(missing: devices, intended: intended, thread: thread)
            return state.nextSerial
        }
    }

    /// Records the delivery to one device. Returns the publish's intended time and, for the last device, the thread
    /// that began it; nil when the publish is no longer waited for.
    func delivered(_ serial: Int64) -> (intended: UInt64, finishedThread: Int?)? {
        state.withLock { state in
            guard var publish = state.publishes[serial] else { return nil }
            publish.missing -= 1
            state.publishes[serial] = publish.missing == 0 ? nil : publish
            return (publish.intended, publish.missing == 0 ? publish.thread : nil)
        }
    }

    /// The publish could not be saved.
    func cancel(_ serial: Int64) { state.withLock { $0.publishes[serial] = nil } }

    /// Removes a thread's publishes that were due before `time`; returns the intended time of each.
    func takeLate(thread: Int, before time: UInt64) -> [UInt64] {
        state.withLock { state in
            let late = state.publishes.filter { $0.value.thread == thread && $0.value.intended < time }
            for serial in late.keys { state.publishes[serial] = nil }
            return late.values.map(\.intended)
        }
    }

    /// The number of a thread's publishes that have not reached all devices.
    func count(thread: Int) -> Int { state.withLock { $0.publishes.values.count { $0.thread == thread } } }
}
