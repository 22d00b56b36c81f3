package import BrumeModel
package import BrumeSystem
internal import Synchronization

/// What one account uses of the server at a time, over all of its connections; or what one address uses, over its
/// connections without an account. Any thread.
package final class ClientShare: Sendable {
    package enum Key: Hashable, Sendable {
        case account(String)
        /// The operator's token.
        case `operator`
        case network(PeerNetwork)
    }

    package let key: Key
    /// What tells its account or address from others, whatever shares come and go; never 0.
    let writer: UInt
    /// Answers on their way between loops, held for the disk, and in the output of connections.
    package let output: ByteShare
    /// Incomplete frames, and requests on their way to their database.
    package let input: ByteShare
    private let callLimit: Int
    private let streamLimit: Int
    private let calls = Atomic<Int>(0)
    private let streams = Atomic<Int>(0)
    private let transfers = Atomic<Int>(0)
    /// Bytes of its commits that wait for the disk, on all loops.
    private let undurableBytes = Atomic<Int>(0)

    init(_ key: Key, callLimit: Int, streamLimit: Int, output: ByteShare, input: ByteShare) {
        self.key = key
        writer = UInt(bitPattern: key.hashValue) | 1
        self.output = output
        self.input = input
        self.callLimit = callLimit
        self.streamLimit = streamLimit
    }

    /// The word for it in the texts of refusals.
    var name: String {
        switch key {
        case .account, .operator: "account"
        case .network: "address"
        }
    }

    /// Whether nothing is counted here.
    var isUnused: Bool {
        calls.load(ordering: .relaxed) == 0 && streams.load(ordering: .relaxed) == 0
            && transfers.load(ordering: .relaxed) == 0 && output.bytes == 0
            && input.bytes == 0 && undurableBytes.load(ordering: .relaxed) == 0
    }

    // MARK: Bytes

    /// Why a call is refused before anything is done for it: too much of earlier answers has not been read. Nil if it
    /// isn't.
    package var outputRefusal: ServiceError? {
        output.shortage.map { shortage in
            switch shortage {
            case .share:
                ServiceError(
                    .requestRateLimited,
                    "answers to this \(name) hold \(output.bytes) bytes that were not read, which is the limit; "
                        + "read them",
                    retryAfterMilliseconds: ServiceLimits.bytesRetryMilliseconds)
            case .budget: Self.isBusy
            }
        }
    }

    /// Why a request may not wait for its database, or travel there.
    var inputRefusal: ServiceError? {
        input.shortage.map { shortage in
            switch shortage {
            case .share:
                ServiceError(
                    .requestRateLimited,
                    "requests of this \(name) under way hold \(input.bytes) bytes, which is the limit; "
                        + "wait for answers",
                    retryAfterMilliseconds: ServiceLimits.bytesRetryMilliseconds)
            case .budget: Self.isBusy
            }
        }
    }

    func undurableBytesChanged(by byteCount: Int) { undurableBytes.add(byteCount, ordering: .relaxed) }

    /// Why nothing more may be written now: too much that was written waits for the disk. An account with nothing
    /// waiting may write, however large the commit.
    var undurableRefusal: ServiceError? {
        let bytes = undurableBytes.load(ordering: .relaxed)
        guard bytes >= ServiceLimits.undurableAccountBytes else { return nil }
        return ServiceError(
            .requestRateLimited,
            "changes of this \(name) that wait for the disk hold \(bytes) bytes, which is the limit; "
                + "wait for their answers",
            retryAfterMilliseconds: ServiceLimits.undurableRetryMilliseconds)
    }

    private static var isBusy: ServiceError {
        ServiceError(
            .serviceUnavailable, "the server holds as many bytes for its clients as it may; try again shortly",
            retryAfterMilliseconds: ServiceLimits.bytesRetryMilliseconds)
    }

    // MARK: Calls

    /// Counts calls that began or ended, in one connection.
    package func changed(calls callChange: Int, streams streamChange: Int) {
        if callChange != 0 { calls.add(callChange, ordering: .relaxed) }
        if streamChange != 0 { streams.add(streamChange, ordering: .relaxed) }
    }

    /// Counts a transfer of an asset, or throws why it may not begin.
    ///
    /// - Parameter places: How many the server has left for all, this one included. Whoever has more under way than are
    ///   left for others waits, so that there are some for accounts that come later.
    func beginTransfer(places: Int) throws(ServiceError) {
        let limit = min(ServiceLimits.transfersPerAccount, max(places, 1))
        if transfers.add(1, ordering: .relaxed).newValue <= limit { return }
        transfers.subtract(1, ordering: .relaxed)
        throw ServiceError(
            .requestRateLimited, "\(limit) transfers of this \(name) are under way, which is the limit; wait for one",
            retryAfterMilliseconds: ServiceLimits.transferRetryMilliseconds)
    }

    func endTransfer() { transfers.subtract(1, ordering: .relaxed) }

    /// Why one more call may not begin.
    ///
    /// - Parameter uncounted: Calls of its connection that began and are not counted yet.
    package func refusal(ofStream isStream: Bool, uncounted: Int) -> ServiceError? {
        let (open, limit) =
            isStream
            ? (streams.load(ordering: .relaxed), streamLimit) : (calls.load(ordering: .relaxed), callLimit)
        guard open + uncounted > limit else { return nil }
        return ServiceError(
            .requestRateLimited,
            "\(limit) \(isStream ? "notification streams" : "calls") of this \(name) are open, which is the limit; "
                + (isStream ? "close one" : "wait for answers"),
            retryAfterMilliseconds: isStream
                ? ServiceLimits.streamRetryMilliseconds : ServiceLimits.callRetryMilliseconds
        )
    }
}

extension ClientShare: OutputCounter {
    package func outputChanged(by byteCount: Int) { output.change(by: byteCount) }
}
