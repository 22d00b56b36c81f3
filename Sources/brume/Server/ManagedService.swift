internal import BrumeLock
internal import BrumeServer
internal import BrumeSystem
internal import Foundation

/// What a server tells the service manager that started it, such as systemd with `Type=notify`; nothing where nobody
/// wants to hear of it.
struct ManagedService: Sendable {
    private let notifier: ServiceNotifier?
    private let watchdog: ServiceWatchdog?
    private let opening = Opening()

    /// The time before the server serves. What is said of it is not said afterwards.
    private final class Opening: Sendable {
        let isOver = Lock(false)
        let ended = Semaphore()
    }

    /// What the manager listens on for the server.
    let socket: InheritedSocket?

    /// Takes what the manager says out of the environment, so that no process which the server starts speaks for it. To
    /// be called before there are other threads.
    ///
    /// - Throws: What is wrong with a socket that the manager hands over.
    init() throws(CommandError) {
        func take(_ name: String) -> String? {
            defer { unsetenv(name) }
            return ProcessInfo.processInfo.environment[name]
        }
        notifier = ServiceNotifier(socket: take("NOTIFY_SOCKET"))
        let (microseconds, process) = (take("WATCHDOG_USEC"), take("WATCHDOG_PID"))
        watchdog = ServiceWatchdog(microseconds: microseconds, process: process)
        let (count, receiver) = (take("LISTEN_FDS"), take("LISTEN_PID"))
        unsetenv("LISTEN_FDNAMES")
        do throws(InheritedSocket.Problem) {
            socket = try InheritedSocket(count: count, process: receiver)
        } catch {
            throw CommandError(
                .failed, error.message, hint: "the .socket unit has one ListenStream=, with an address and a port")
        }
    }

    /// The data folder is being read: until ``serves(_:)``, or the end of the process.
    func opens() {
        guard let notifier else { return }
        notifier.send(.status("reading the data folder"))
        let opening = opening
        Thread.detachNewThread {
            func cpuNanoseconds() -> UInt64 { ProcessFigures.readOwn()?.cpuNanoseconds ?? 0 }
            var start = LongStart(nowNanoseconds: MonotonicClock.nowNanoseconds, cpuNanoseconds: cpuNanoseconds())
            while !opening.ended.wait(milliseconds: LongStart.pauseMilliseconds) {
                let states = start.look(
                    nowNanoseconds: MonotonicClock.nowNanoseconds, cpuNanoseconds: cpuNanoseconds())
                opening.isOver.withLock { if !$0 { notifier.send(states) } }
            }
        }
    }

    /// Clients can connect: from now on it is watched, where the manager wants that.
    func serves(_ server: Server) {
        opening.isOver.withLock { $0 = true }
        opening.ended.post()
        notifier?.send(.ready, .status("serving on \(server.address)"))
        guard let notifier, let watchdog else { return }
        // A loop that hangs is told of by silence.
        Thread.detachNewThread {
            while true {
                let began = MonotonicClock.nowNanoseconds
                if server.loopsTurn(withinMilliseconds: watchdog.intervalMilliseconds) { notifier.send(.watchdog) }
                let spent = Int((MonotonicClock.nowNanoseconds - began) / 1_000_000)
                usleep(UInt32(max(1, watchdog.intervalMilliseconds - spent)) * 1_000)
            }
        }
    }

    /// Reads again what can be read again.
    func reloads(_ server: Server, _ body: () -> Void) {
        notifier?.send(.reloading(nowMicroseconds: MonotonicClock.nowNanoseconds / 1_000))
        body()
        notifier?.send(.ready, .status("serving on \(server.address)"))
    }

    /// No new connections are taken.
    func stops() { notifier?.send(.stopping, .status("ending calls, and writing everything to the disk")) }
}
