internal import Synchronization

/// The servers that run in this process, counted, so that tests that forget to stop them fail with a sentence instead of
/// using up threads and descriptors.
enum ServerCount {
    private static let count = Mutex(0)

    static var current: Int { count.withLock { $0 } }

    static func enter() throws(TestServerError) {
        let isAllowed = count.withLock { count in
            guard count < TestLimits.serversMax else { return false }
            count += 1
            return true
        }
        guard isAllowed else {
            throw TestServerError(
                "\(TestLimits.serversMax) test servers run in this process, which is the limit: stop those whose tests are "
                    + "over, with TestServer.run or stop()")
        }
    }

    static func leave() { count.withLock { $0 -= 1 } }
}
