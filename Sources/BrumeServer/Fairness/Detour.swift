internal import BrumeModel

/// What a request holds while it waits away from its session's turn: for a lesson of the schema, or for a database.
///
/// It goes on through ``Shard/goOn(after:_:)``.
struct Detour: Sendable {
    let session: Session
    let share: ClientShare
    /// Counted as the session's output, since the reply will be output.
    private let heldByteCount: Int
    /// Counted as the account's input.
    private let inputByteCount: Int

    /// - Throws: When requests of the account hold as much as they may; nothing is held then.
    init(of session: Session, requestBytes: Int) throws(ServiceError) {
        if let refusal = session.share.inputRefusal { throw refusal }
        self.session = session
        share = session.share
        heldByteCount = requestBytes + ServerLimits.travellingBytes
        inputByteCount = share.input.hold(requestBytes)
        session.heldByteCount += heldByteCount
    }

    /// Gives back what is held. Call it once, on the session's loop, and ``Session/resumeIfPossible()`` after it.
    func end() {
        session.heldByteCount -= heldByteCount
        share.input.change(by: -inputByteCount)
    }
}
