internal import BrumeModel

/// What a request holds while it waits away from its client's turn: for a lesson of the schema, or for a database.
///
/// It goes on through ``Shard/goOn(after:refuse:_:)``.
struct Detour: Sendable {
    let client: Client
    /// Counted as the client's output, since the answer will be output.
    private let heldByteCount: Int
    /// Counted as the account's input.
    private let inputByteCount: Int

    /// - Throws: When requests of the account hold as much as they may; nothing is held then.
    init(of client: Client, requestBytes: Int) throws(ServiceError) {
        if let refusal = client.share.inputRefusal { throw refusal }
        self.client = client
        heldByteCount = requestBytes + ServiceLimits.travellingBytes
        inputByteCount = client.share.input.hold(requestBytes)
        client.heldByteCount += heldByteCount
    }

    /// Gives back what is held. Call it once, on the client's loop, and ``ClientDoor/resumeIfPossible()`` after it.
    func end() {
        client.heldByteCount -= heldByteCount
        client.share.input.change(by: -inputByteCount)
    }
}
