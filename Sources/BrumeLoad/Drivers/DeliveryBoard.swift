internal import BrumeLock

/// Publishes of `fan-out` that have not reached all devices yet: devices of all threads sign here.
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

    /// A publish begins, to so many devices; returns what names it.
    func begin(devices: Int, intended: UInt64, thread: Int) -> Int64 {
        state.withLock { state in
            defer { state.nextSerial += 1 }
            state.publishes[state.nextSerial] = Publish(missing: devices, intended: intended, thread: thread)
            return state.nextSerial
        }
    }

    /// A device was told. Returns when the publish was to begin, and with the last device the thread that began it;
    /// nil: it is no longer waited for.
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

    /// Takes out what a thread began before `time`; returns when each was to begin.
    func takeLate(thread: Int, before time: UInt64) -> [UInt64] {
        state.withLock { state in
            let late = state.publishes.filter { $0.value.thread == thread && $0.value.intended < time }
            for serial in late.keys { state.publishes[serial] = nil }
            return late.values.map(\.intended)
        }
    }

    /// Publishes of a thread that have not reached all.
    func count(thread: Int) -> Int { state.withLock { $0.publishes.values.count { $0.thread == thread } } }
}
