internal import BrumeModel
package import BrumeProtocol

/// Streams that carry the contents of assets. Each belongs to one connection, and ends with it: who carries the content
/// begins another where it stopped.
extension ClientSessionStateMachine {
    /// Opens a stream, if there is a connection that takes one more; nil if not. The id is new.
    package mutating func transferStarted(
        id: UInt64, header: CallHeader, opening: [UInt8], now: UInt64
    ) -> [Action]? {
        // A place stays free for the notification stream, and one for a call.
        guard case .connected(_?) = link, connection?.state == .open, connection!.mayStartCall,
            connection!.openUnaryCalls + transfers.count + 2 < connection!.limits.concurrentCalls
        else { return nil }
        transfers.insert(id)
        return perform(connection!.streamStarted(id: id, header: header, payload: opening), now: now)
    }

    /// Sends a message on a stream; nil where the stream has no credit for one: ``Action/transferWritable(id:)`` says
    /// when it has.
    package mutating func transferSent(id: UInt64, payload: [UInt8], now: UInt64) -> [Action]? {
        guard mayTransferSend(id: id) else { return nil }
        return perform(connection!.streamMessageSent(id: id, payload: payload), now: now)
    }

    /// Whether a stream has credit for a message.
    func mayTransferSend(id: UInt64) -> Bool {
        transfers.contains(id) && connection?.sendCredit(ofStream: id).allowsMessage == true
    }

    /// A message has had its effect: the server may send as much again.
    package mutating func transferTaken(id: UInt64, byteCount: Int, now: UInt64) -> [Action] {
        guard transfers.contains(id), connection != nil else { return [] }
        let taken = StreamCredit(messages: 1, bytes: byteCount)
        return perform(connection!.streamMessagesTaken(id: id, taken), now: now)
    }

    /// Nobody wants the stream any more. Does nothing for one that has ended.
    package mutating func transferCancelled(id: UInt64, now: UInt64) -> [Action] {
        guard transfers.remove(id) != nil, connection != nil else { return [] }
        return perform(connection!.callCancelled(id: id), now: now) + advance(now: now)
    }

    /// The connection has gone, and the streams with it.
    mutating func endTransfers(_ reason: ServiceError) -> [Action] {
        defer { transfers = [] }
        return transfers.sorted().map { .transferEnded(id: $0, reason) }
    }
}
