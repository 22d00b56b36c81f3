internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// A stream that carries the content of an asset, up or down: what the two have in common. On the client's loop.
///
/// `@unchecked Sendable`: belongs to the loop of its client.
class Transfer: ServiceStream, @unchecked Sendable {
    let responder: Responder
    let shard: Shard
    let store: any BlobStore
    private(set) var isClosed = false
    private var lastProgressNanoseconds: UInt64
    /// Whether much is moved. Then the loop does not poll for the next part: see ``EventLoop/sleepsAtOnce``.
    var isLarge = false
    /// Bytes that have come since then.
    private var movedByteCount = 0
    private var timer: TimerID?
    /// What the store was asked for and has not answered.
    private var unansweredCount = 0

    init(to responder: Responder, on shard: Shard, in store: any BlobStore) {
        (self.responder, self.shard, self.store) = (responder, shard, store)
        lastProgressNanoseconds = shard.loop.nowNanoseconds
    }

    var client: Client { responder.client }
    var account: ClientShare.Key { client.share.key }

    /// Asks the database. Called once, when the stream is open.
    func begin() { watch() }

    // MARK: The end

    func close() {
        if isClosed { return }
        isClosed = true
        if let timer { shard.loop.cancel(timer) }
        timer = nil
        closed()
        endIfAnswered()
    }

    /// Gives the transfer's place to another one: not before the store has answered, or those that are cancelled at
    /// once would wait there without limit.
    private func endIfAnswered() {
        if isClosed, unansweredCount == 0 { shard.server.endTransfer(of: client.share) }
    }

    func abandon() {
        isClosed = true
        timer = nil
    }

    /// The transfer has ended, and gives back what it holds.
    func closed() {}

    /// Ends the stream and tells its client why.
    func fail(_ error: ServiceError) {
        if isClosed { return }
        // The door's reference may be the last one.
        withExtendedLifetime(self) { responder.refuse(error) }
    }

    /// Ends the stream because the store did not do what it was asked for.
    func fail(_ failure: BlobFailure, _ name: BlobName? = nil) {
        switch failure {
        case .full:
            fail(
                ServiceError(
                    .serviceUnavailable, "the server's disk has no room for assets; try again later",
                    retryAfterMilliseconds: ServiceLimits.fullDiskRetryMilliseconds))
        case .missing, .damaged, .failed:
            var text = "missing"
            if case .damaged(let problem) = failure { text = problem }
            if case .failed(let problem) = failure { text = problem }
            shard.server.log.error("an asset can't be read or stored", [("reason", text)])
            fail(name == nil ? Transfer.diskFailed : Database.assetIsGone)
        }
    }

    private static let diskFailed = ServiceError(
        .internalError, "the server's disk did not take the asset; the server's log says why",
        retryAfterMilliseconds: ServiceLimits.fullDiskRetryMilliseconds)

    // MARK: The client

    func received(_ message: StreamMessage, _ credit: StreamCredit) {
        fail(ServiceError(.invalidArguments, "a download takes no messages but the first"))
    }

    func clientEnded() {}

    func resume() {}

    // MARK: Going on

    /// A closure for the store, which calls it once on a thread of its own, that runs `body` on this loop.
    func onLoop<Value: Sendable>(_ body: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
        unansweredCount += 1
        let go = OnLoop<Value> { [self] value in
            unansweredCount -= 1
            body(value)
            endIfAnswered()
        }
        let loop = shard.loop
        return { value in loop.execute { go.body(value) } }
    }

    /// The transfer goes on. One of which too little has come or gone for long ends: it holds a place and room that
    /// others need.
    func noteProgress() {
        lastProgressNanoseconds = shard.loop.nowNanoseconds
        movedByteCount = 0
        if isLarge { shard.loop.sleepsAtOnce = true }
    }

    /// So many bytes of the content have come.
    func noteProgress(byteCount: Int) {
        movedByteCount += byteCount
        if movedByteCount >= ServiceLimits.transferBytesMin { noteProgress() }
    }

    private func watch() {
        timer = shard.loop.schedule(afterMilliseconds: ServiceLimits.transferIdleMilliseconds / 2) { [weak self] in
            guard let self, !isClosed else { return }
            let idle = shard.loop.nowNanoseconds - lastProgressNanoseconds
            if idle >= ServiceLimits.transferIdleMilliseconds * 1_000_000 {
                fail(
                    ServiceError(
                        .networkFailure,
                        "too little of the asset has come or gone for two minutes; begin again where it stopped"))
            } else {
                watch()
            }
        }
    }
}
