package import BrumeModel

/// A client as the service sees it: who it is, what it uses, and what is under way for it.
///
/// Made by ``Shard/enter(_:through:)`` on the loop that serves the client, and given up with ``Shard/leave(_:)``. The
/// door and the client refer to each other until then.
///
/// `@unchecked Sendable`: everything but the constants belongs to that loop. For `@exclusivity(unchecked)` see
/// ``Shard``.
package final class Client: @unchecked Sendable {
    let identity: Identity
    /// What the client's account, or its address, uses of the server at a time.
    let share: ClientShare
    /// What the account may take of the loop's time.
    let timeShare: TimeShare
    /// Where answers go.
    let door: any ClientDoor
    /// Whether the client is still there.
    @exclusivity(unchecked) var isHere = true

    /// The user's private database, kept in memory while they are here.
    @exclusivity(unchecked) var home: LoadedDatabase?
    /// False in a container that was new when the client came, until it does something that leaves a trace there.
    @exclusivity(unchecked) var hasUserRecords: Bool
    /// The schema that holds for the client, and the version of the loop's schemas that it was taken from.
    @exclusivity(unchecked) var knownSchema: (version: UInt64, schema: Schema)?
    /// Answers that wait for the disk or another loop; the door counts them as output.
    @exclusivity(unchecked) package var heldByteCount = 0
    /// Tasks for the client's streams that are on their way to other loops: a client that opens and cancels as fast as
    /// it can waits for those.
    @exclusivity(unchecked) private(set) var farTaskCount = 0
    /// Queries that run for the client's calls, here or on another loop.
    @exclusivity(unchecked) private var queries: [UInt32: QueryTicket] = [:]

    init(_ identity: Identity, share: ClientShare, timeShare: TimeShare, door: any ClientDoor) {
        self.identity = identity
        self.share = share
        self.timeShare = timeShare
        self.door = door
        hasUserRecords = identity.newContainerOf == nil
    }

    /// Whether it has no account.
    var isAnonymous: Bool { identity.role == .anonymous }

    /// Whether so much is under way for the client that its door reads no more from it.
    package var isFull: Bool {
        heldByteCount > ServiceLimits.outputBytes || farTaskCount >= ServiceLimits.farTasksPerClient
    }

    // MARK: Held answers

    /// Counts an answer that waits for the disk. Pass the returned count to ``release(_:counted:)``.
    func hold(_ byteCount: Int) -> Int {
        heldByteCount += byteCount
        return share.output.hold(byteCount)
    }

    func release(_ byteCount: Int, counted: Int) {
        heldByteCount -= byteCount
        share.output.change(by: -counted)
    }

    // MARK: Streams

    /// A task for a stream goes to another loop: its opening or its end.
    func farTaskBegan() { farTaskCount += 1 }

    func farTaskEnded() {
        farTaskCount -= 1
        door.resumeIfPossible()
    }

    // MARK: Queries

    /// Begins a query for a call, or throws why it may not run. It ends when the call is given its outcome, also if it
    /// was cancelled.
    func beginQuery(_ call: UInt32) throws(ServiceError) -> QueryTicket {
        guard queries.count < ServiceLimits.queriesPerClient else {
            throw ServiceError(
                .requestRateLimited,
                "\(queries.count) queries run for this connection, which is the limit; wait for their answers",
                retryAfterMilliseconds: 100)
        }
        let ticket = QueryTicket(of: share.key)
        queries[call] = ticket
        return ticket
    }

    /// Nobody waits for the call's query any more, if it has one.
    package func cancelQuery(_ call: UInt32) { queries[call]?.cancel() }

    package func cancelQueries() {
        for ticket in queries.values { ticket.cancel() }
    }

    fileprivate func queryEnded(_ call: UInt32) {
        if !queries.isEmpty { queries[call] = nil }
    }
}

/// What the service asks of the door that a client came in by. On the client's loop.
///
/// The door gives each call of a client an id of its own, keeps its deadline (and cancels its query then, with
/// ``Client/cancelQuery(_:)``), closes the stream of a call that ends, and drops what comes for a call that has ended.
/// A request with an operation id has a digest: the same bytes and kind of request give the same one by whatever door.
package protocol ClientDoor: AnyObject {
    /// Ends a call with what came of it.
    func finish(_ call: UInt32, _ outcome: Outcome)
    /// Ends a call of which nothing came.
    func refuse(_ call: UInt32, _ error: ServiceError)
    /// Ends the client's connection, with a reason to tell it; nil when its account's tokens were revoked.
    func end(_ reason: ServiceError?)
    /// Something that kept the door from reading or sending may have gone.
    func resumeIfPossible()
    /// The turn has come that the door waited for with ``Shard/waitForTurn(_:)``.
    func turnCame()

    // MARK: Streams

    /// Whether a stream may send an event now: it has credit, and there is room. If not, the stream is resumed when it
    /// may.
    func maySend(_ call: UInt32) -> Bool
    /// Sends an event on a stream that ``maySend(_:)``.
    func send(_ call: UInt32, _ event: StreamEvent)
    /// Sends what an upload's client is told.
    func send(_ call: UInt32, _ event: UploadEvent)
    /// Sends a part of a download that ``maySend(_:)``.
    func send(_ call: UInt32, _ event: DownloadEvent)
    /// Whether a run of events may be sent that takes at least so much credit. Ask before the run is sealed: a stream
    /// that can't take it must not cost that.
    func maySendRun(_ call: UInt32, atLeast credit: StreamCredit) -> Bool
    /// Sends all events of a run; returns false, and sends none, where there is no credit or room for all of them.
    func send(_ call: UInt32, _ run: StreamRun) -> Bool
    /// Messages of the client have had their effect: it may send as much anew.
    func processed(_ call: UInt32, _ credit: StreamCredit)
    /// Ends a stream whose client sends no more.
    func succeed(_ call: UInt32)
}

/// Where the outcome of one call goes, once, and before it what a stream sends.
///
/// `@unchecked Sendable`: it may travel to other loops, which don't use it.
package struct Responder: @unchecked Sendable {
    let client: Client
    package let call: UInt32

    package init(client: Client, call: UInt32) {
        self.client = client
        self.call = call
    }

    /// Ends the call with what came of it.
    func finish(_ outcome: Outcome) {
        client.queryEnded(call)
        client.door.finish(call, outcome)
    }

    /// Ends the call, of which nothing came; or a stream, with the reason.
    func refuse(_ error: ServiceError) { client.door.refuse(call, error) }

    /// Ends a stream whose client sends no more.
    func succeed() { client.door.succeed(call) }

    /// Messages that the client sent on a stream have had their effect.
    func processed(_ credit: StreamCredit) { client.door.processed(call, credit) }
}
