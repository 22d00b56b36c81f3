internal import BrumeLock
internal import CBrume
internal import Glibc
internal import Synchronization

/// One thread that waits for sockets, timers and tasks of other threads, and runs their handlers.
///
/// A turn: collect events (a quota), tasks from the mailbox, timers, the `turnEnded` hook, flush of the connections
/// that were written to (one run of encryption and one send each; ``FlushOrder`` says which may wait for the next
/// turn), sleep until the next deadline.
///
/// `@unchecked Sendable`: the thread that calls `run()` owns everything here. Any thread may use only `execute`,
/// `stop`, `start`, `join`, `isCurrent`, `processorNanoseconds` and `name`; what these touch is atomic or behind the
/// mailbox's lock. Before `run()` begins the thread that made the loop may set it up (hooks, timers, listeners).
///
/// `@exclusivity(unchecked)`: the turn's number and time are read several times for every request, and are set at its
/// beginning by code that calls nothing. Behind a getter, since other modules check stored properties all the same.
package final class EventLoop: @unchecked Sendable {
    /// For logs, and the thread's name (cut to 15 bytes).
    package let name: String

    /// Run once per turn after events, tasks and timers, before connections flush and before sleeping.
    package var turnEnded: (() -> Void)?

    /// Polls for more work before the loop sleeps, where that pays. By default it sleeps at once. To be set before
    /// ``run()``.
    ///
    /// Waking a sleeping core costs more than all else in a round trip (70 of 85 microseconds on a small virtual
    /// machine).
    package var spinner = Spinner()

    /// Whether the loop does not poll in its next wait. Set in each turn that moves a part of something large: the next
    /// part is long on its way, and polling would take a core from those who move it. Loop thread only.
    @exclusivity(unchecked) package var sleepsAtOnce = false

    /// Whether the thread uses less of the processors when others want them: for work that nobody waits for. To be set
    /// before ``run()``.
    package var yieldsToOthers = false

    /// The turn's number, and its time by both clocks.
    @exclusivity(unchecked) private var current = (
        number: UInt64(0), nanoseconds: UInt64(0), wallMilliseconds: Int64(0)
    )

    /// The number of the turn, for limits that apply to each turn. Loop thread only.
    package var turnNumber: UInt64 { current.number }

    /// Monotonic time, read once per turn.
    package var nowNanoseconds: UInt64 { current.nanoseconds }
    /// Monotonic time now, for work with a time limit; for a loop that is driven by hand, the turn's time. Loop thread
    /// only.
    package var currentNanoseconds: UInt64 {
        owner.load(ordering: .relaxed) == 0 ? nowNanoseconds : MonotonicClock.nowNanoseconds
    }

    /// Time since 1970 by the machine's clock, read once per turn. It may jump.
    package var wallClockMilliseconds: Int64 { current.wallMilliseconds }

    /// Working memory that all connections of this loop share.
    let buffers: TransferBuffers

    private let poller: Poller
    private let mailbox = Mailbox()
    private var timers = TimerQueue()
    private var isStopping = false

    private struct Slot {
        var generation: UInt32 = 0
        var handler: (any LoopHandler)?
    }
    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []
    private var unregistered: [ObjectIdentifier: any LoopHandler] = [:]
    private var continuing: [any LoopHandler] = []
    @exclusivity(unchecked) private var flushing = FlushQueue()
    /// Whether the loop ends, and no turn comes after this one.
    private var isFinishing = false
    private var tasks: [Mailbox.Task] = []
    @exclusivity(unchecked) private var clockIsFresh = false

    private let owner = Atomic<UInt>(0)
    /// The clock of the time that the thread of ``run()`` spends; 0 while there is none.
    private let threadClock = Atomic<clockid_t>(0)
    private let thread = Lock<SystemThread?>(nil)

    /// - Throws: When the process has no descriptors left for it.
    package init(name: String) throws(SystemError) {
        Limits.check()
        self.name = name
        poller = try Poller()
        buffers = TransferBuffers()
        (current.nanoseconds, current.wallMilliseconds) = (MonotonicClock.nowNanoseconds, SystemClock.nowMilliseconds)
    }

    // MARK: Any thread

    /// True on the thread that runs this loop.
    package var isCurrent: Bool { owner.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Processor time that the loop's thread has used, in nanoseconds, whatever else the machine does; 0 while the loop
    /// does not run. Any thread.
    package var processorNanoseconds: UInt64 {
        let clock = threadClock.load(ordering: .relaxed)
        var time = timespec()
        // The thread may have ended since, and its clock with it.
        guard clock != 0, clock_gettime(clock, &time) == 0 else { return 0 }
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Runs `task` on the loop's thread, after the tasks that were handed in before it. Any thread.
    ///
    /// Tasks are taken in batches, and a batch costs one wake-up at most. The mailbox has no limit of its own: senders
    /// bound the number of tasks. After the loop has ended, tasks are dropped without being run.
    package func execute(_ task: @escaping @Sendable () -> Void) {
        // The loop's own thread is awake, and looks for tasks before it sleeps.
        if mailbox.append(task), !isCurrent { poller.wake() }
    }

    /// Ends the loop after the turn in progress. Any thread.
    package func stop() {
        execute { [unowned self] in isStopping = true }
    }

    /// Runs the loop on a thread of its own, named after it.
    package func start() {
        let started = SystemThread(needed: "an event loop") { self.run() }
        thread.withLock { $0 = started }
    }

    /// Waits until the thread of `start()` has ended. Not from the loop itself.
    package func join() {
        precondition(!isCurrent, "a loop cannot wait for its own end")
        thread.withLock { $0.take() }?.join()
    }

    // MARK: The loop's thread

    /// Runs turns on the calling thread until `stop()`, then closes what is still registered.
    package func run() {
        owner.store(UInt(pthread_self()), ordering: .relaxed)
        var clock: clockid_t = 0
        if pthread_getcpuclockid(pthread_self(), &clock) == 0 { threadClock.store(clock, ordering: .relaxed) }
        name.withCString { setThreadName($0) }
        if yieldsToOthers { brume_thread_yield_to_others() }
        while !isStopping { turn() }
        finish()
        threadClock.store(0, ordering: .relaxed)
        owner.store(0, ordering: .relaxed)
    }

    /// Runs one turn at a time that the caller gives, without waiting and without polling sockets: for a loop that is
    /// driven by hand and never by `run()`. The caller's thread then counts as the loop's.
    package func step(nowNanoseconds: UInt64, wallClockMilliseconds: Int64) {
        (current.nanoseconds, current.wallMilliseconds) = (nowNanoseconds, wallClockMilliseconds)
        runTasks()
        let lastSequence = timers.lastSequence
        while let body = timers.popDue(now: nowNanoseconds, lastSequence: lastSequence) { body() }
        turnEnded?()
    }

    /// Ends a loop that was driven by hand, or never ran: waiting tasks are dropped, and registered handlers are
    /// closed.
    package func abandon() {
        precondition(owner.load(ordering: .relaxed) == 0, "a loop that runs is stopped, not abandoned")
        finish()
    }

    /// When the next timer is due. Loop thread only.
    package var nextDeadlineNanoseconds: UInt64? { timers.nextDeadline }

    /// Whether tasks wait for the next turn. Loop thread only.
    package var hasTasks: Bool { mailbox.hasTasks }

    /// Calls `body` once, on this loop, when the time is over. Loop thread only.
    package func schedule(afterMilliseconds: UInt64, _ body: @escaping () -> Void) -> TimerID {
        let (nanoseconds, overflow) = afterMilliseconds.multipliedReportingOverflow(by: 1_000_000)
        let (deadline, overflow2) = nowNanoseconds.addingReportingOverflow(nanoseconds)
        return timers.schedule(deadline: overflow || overflow2 ? .max : deadline, body)
    }

    /// Cancels a timer. Does nothing when it has fired. Loop thread only.
    package func cancel(_ timer: TimerID) {
        timers.cancel(timer)
    }

    private func turn() {
        current.number &+= 1
        let isBusy = !continuing.isEmpty || !flushing.isEmpty
        var timeout = isBusy ? 0 : timeoutMilliseconds()
        let waits = timeout != 0 && !mailbox.hasTasks
        // Polling takes time: afterwards a timer may be due, or nearer.
        if waits {
            let polls = !sleepsAtOnce
            sleepsAtOnce = false
            let isThere = spinner.look(until: timers.nextDeadline ?? .max, polls: polls, workIsThere)
            timeout = isThere ? 0 : timeoutMilliseconds()
        }
        let sleeps = mailbox.mayStartSleeping(timeout != 0)
        if !clockIsFresh { pollOnce(timeoutMilliseconds: sleeps ? timeout : 0) }
        if !clockIsFresh { readClocks() }
        // The clock of the first event is used: the time to handle it does not count as waiting.
        if waits { spinner.ended(nowNanoseconds: nowNanoseconds) }
        clockIsFresh = false

        if !continuing.isEmpty {
            let handlers = continuing
            continuing.removeAll(keepingCapacity: true)
            for handler in handlers { handler.turnContinuing() }
        }
        runTasks()
        let lastSequence = timers.lastSequence
        while let body = timers.popDue(now: nowNanoseconds, lastSequence: lastSequence) { body() }
        turnEnded?()
        flush()
    }

    private func pollOnce(timeoutMilliseconds: Int32) {
        poller.wait(timeoutMilliseconds: timeoutMilliseconds) { event in
            if !clockIsFresh { readClocks() }
            dispatch(event)
        }
    }

    /// Handles ready sockets, and returns whether there were any, or tasks wait.
    private func workIsThere() -> Bool {
        pollOnce(timeoutMilliseconds: 0)
        return clockIsFresh || mailbox.hasTasks
    }

    private func readClocks() {
        (current.nanoseconds, current.wallMilliseconds) = (MonotonicClock.nowNanoseconds, SystemClock.nowMilliseconds)
        clockIsFresh = true
    }

    private func dispatch(_ event: Poller.Event) {
        let slot = Int(truncatingIfNeeded: event.token & 0xffff_ffff)
        // An earlier event of this turn may have ended the registration, and a new one may have its place.
        guard slot < slots.count, slots[slot].generation == UInt32(event.token >> 32), let handler = slots[slot].handler
        else { return }
        handler.socketReady(readable: event.isReadable, writable: event.isWritable)
    }

    private func runTasks() {
        mailbox.takeAll(into: &tasks)
        if tasks.isEmpty { return }
        for index in tasks.indices { tasks[index]() }
        tasks.removeAll(keepingCapacity: tasks.count <= 1024)
    }

    private func flush() {
        guard !flushing.isEmpty else { return }
        for handler in flushing.takePrompt() { handler.turnEnding(.prompt) }
        flush(.large)
        flush(.news)
    }

    /// Sends for ``Limits/flushNanoseconds``, and the rest in the next turns, so that nobody waits for all of it.
    private func flush(_ order: FlushOrder) {
        // A handler that marks itself again (its quota of the turn is used up) goes on in the next turn.
        var count = flushing.count(order)
        if count == 0 { return }
        let began = currentNanoseconds
        repeat {
            flushing.takeFirst(order).turnEnding(order)
            count -= 1
        } while count > 0 && (isFinishing || currentNanoseconds - began < Limits.flushNanoseconds)
    }

    private func timeoutMilliseconds() -> Int32 {
        guard let deadline = timers.nextDeadline else { return -1 }
        let now = MonotonicClock.nowNanoseconds
        if deadline <= now { return 0 }
        // Rounded up, so that the loop does not spin in the last millisecond.
        return Int32(clamping: (deadline - now + 999_999) / 1_000_000)
    }

    private func finish() {
        isFinishing = true
        for slot in slots { slot.handler?.loopStopped() }
        for handler in Array(unregistered.values) { handler.loopStopped() }
        flush()
        timers.removeAll()
        continuing.removeAll()
        flushing.removeAll()
        mailbox.close()
        turnEnded = nil
    }

    // MARK: For connections and listeners

    /// Adds a descriptor for the loop to wait for. The loop keeps the handler until `unregister`.
    func register(_ fd: Int32, readable: Bool, writable: Bool, _ handler: any LoopHandler) throws(SystemError)
        -> Registration
    {
        let slot = freeSlots.popLast() ?? UInt32(slots.count)
        if slot == slots.count { slots.append(Slot()) }
        let registration = Registration(slot: slot, generation: slots[Int(slot)].generation)
        do throws(SystemError) {
            try poller.add(fd, token: registration.token, readable: readable, writable: writable)
        } catch {
            freeSlots.append(slot)
            throw error
        }
        slots[Int(slot)].handler = handler
        return registration
    }

    /// Changes what the loop waits for.
    func update(_ registration: Registration, _ fd: Int32, readable: Bool, writable: Bool) {
        do throws(SystemError) {
            try poller.modify(fd, token: registration.token, readable: readable, writable: writable)
        } catch {
            preconditionFailure("a registered descriptor cannot be changed: \(error)")
        }
    }

    /// - Parameter isClosing: Whether the descriptor is closed next, which removes it from the poller too: epoll(7). If
    ///   another process holds it for a moment, as between fork and exec, the generation identifies late events.
    func unregister(_ registration: Registration, _ fd: Int32, isClosing: Bool = false) {
        let slot = Int(registration.slot)
        precondition(slots[slot].generation == registration.generation, "a registration ends once")
        if !isClosing { poller.remove(fd) }
        slots[slot].handler = nil
        slots[slot].generation &+= 1
        freeSlots.append(registration.slot)
    }

    /// Keeps a handler that has no descriptor yet, so that it hears of the loop's end.
    func remember(_ handler: any LoopHandler) { unregistered[ObjectIdentifier(handler)] = handler }

    func forget(_ handler: any LoopHandler) {
        if !unregistered.isEmpty { unregistered[ObjectIdentifier(handler)] = nil }
    }

    /// Calls `handler.turnEnding(order)` at the end of this turn or, if the order lets others go first, of a later one.
    func flush(_ handler: any LoopHandler, _ order: FlushOrder) { flushing.append(handler, order) }

    /// Calls `handler.turnContinuing()` early in the next turn, which begins without sleep.
    func continueNextTurn(_ handler: any LoopHandler) { continuing.append(handler) }
}
