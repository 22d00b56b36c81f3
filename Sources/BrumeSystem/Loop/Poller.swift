internal import CBrume
internal import Glibc

/// Waits for descriptors to be ready. This is the only file that knows epoll.
///
/// Level-triggered: what was not read this turn is reported again next turn. Each registration carries a token that the
/// caller chooses; the generation in it lets the caller recognise the token of a registration that has ended. Owned by
/// one loop's thread, except for `wake()`, which any thread may call.
struct Poller: ~Copyable {
    /// What happened on a descriptor.
    struct Event {
        var token: UInt64
        var isReadable: Bool
        var isWritable: Bool
    }

    private let epollFd: Int32
    private let wakeFd: Int32
    private let events: UnsafeMutablePointer<epoll_event>
    /// The token of the wake-up descriptor, never given to a caller.
    private static let wakeToken = UInt64.max

    init() throws(SystemError) {
        (epollFd, wakeFd) = try Poller.open()
        events = .allocate(capacity: Limits.eventsPerTurn)
    }

    private static func open() throws(SystemError) -> (epollFd: Int32, wakeFd: Int32) {
        let epollFd = try SystemCall.run("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
        var wakeFd: Int32 = -1
        do throws(SystemError) {
            wakeFd = try SystemCall.run("eventfd") { eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC)) }
            var event = epoll_event()
            event.events = EPOLLIN.rawValue
            event.data.u64 = Poller.wakeToken
            try SystemCall.run("epoll_ctl") { epoll_ctl(epollFd, EPOLL_CTL_ADD, wakeFd, &event) }
        } catch {
            if wakeFd >= 0 { SystemCall.close(wakeFd) }
            SystemCall.close(epollFd)
            throw error
        }
        return (epollFd, wakeFd)
    }

    deinit {
        events.deallocate()
        SystemCall.close(wakeFd)
        SystemCall.close(epollFd)
    }

    func add(_ fd: Int32, token: UInt64, readable: Bool, writable: Bool) throws(SystemError) {
        try control(EPOLL_CTL_ADD, fd, token, readable, writable)
    }

    func modify(_ fd: Int32, token: UInt64, readable: Bool, writable: Bool) throws(SystemError) {
        try control(EPOLL_CTL_MOD, fd, token, readable, writable)
    }

    func remove(_ fd: Int32) {
        _ = epoll_ctl(epollFd, EPOLL_CTL_DEL, fd, nil)
    }

    private func control(
        _ operation: Int32, _ fd: Int32, _ token: UInt64, _ readable: Bool, _ writable: Bool
    ) throws(SystemError) {
        var event = epoll_event()
        event.events = (readable ? EPOLLIN.rawValue : 0) | (writable ? EPOLLOUT.rawValue : 0)
        event.data.u64 = token
        let epollFd = epollFd
        try SystemCall.run("epoll_ctl") { epoll_ctl(epollFd, operation, fd, &event) }
    }

    /// Sleeps until something happens or the time is over, and calls `body` for each event but wake-ups.
    /// - Parameter timeoutMilliseconds: -1 sleeps without end, 0 not at all.
    func wait(timeoutMilliseconds: Int32, _ body: (Event) -> Void) {
        let count = epoll_wait(epollFd, events, Int32(Limits.eventsPerTurn), timeoutMilliseconds)
        guard count > 0 else {
            // A signal ends the sleep early, which is harmless. Anything else can only be our own bug.
            precondition(count == 0 || errno == EINTR, "epoll_wait failed with errno \(errno)")
            return
        }
        for index in 0..<Int(count) {
            let event = events[index]
            if event.data.u64 == Poller.wakeToken {
                var value: UInt64 = 0
                _ = read(wakeFd, &value, 8)
                continue
            }
            // An error or a hang-up shows in the next read or write, so it is reported as both.
            let isBroken = event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
            body(
                Event(
                    token: event.data.u64, isReadable: isBroken || event.events & EPOLLIN.rawValue != 0,
                    isWritable: isBroken || event.events & EPOLLOUT.rawValue != 0))
        }
    }

    /// Ends the current or next sleep. Any thread.
    func wake() {
        var one: UInt64 = 1
        _ = write(wakeFd, &one, 8)
    }
}
