internal import BrumeModel
internal import BrumeProtocol

/// Streams that carry the contents of assets.
extension ClientSession {
    /// What a stream holds for the task that uses it. One task at a time reads from it, or writes to it.
    struct Transfer {
        let owner: ObjectIdentifier?
        /// Messages that came and were not taken: as many as the stream's credit allows.
        var inbox: ArraySlice<[UInt8]> = []
        /// How the stream ended: without an error when the server was done.
        var end: Result<Void, ServiceError>?
        /// The task that waits for a message, for credit, or for room on the connection.
        var waiter: CheckedContinuation<Void, Never>?
        /// When it was opened, or a message was last sent: who has sent none for longest is next.
        var turn: UInt64
        /// Whether it has a message that waits for room on the connection.
        var wantsRoom = false
    }

    /// Opens a stream on the session's connection, or on the next one where there is none.
    ///
    /// - Throws: Why there is no connection; `requestRateLimited` where it has no room for one more stream.
    func openTransfer(
        _ method: Method, opening: [UInt8], timeoutNanoseconds: UInt64,
        patience: ClientSessionStateMachine.Patience, owner: ObjectIdentifier?
    ) async throws(ServiceError) -> TransferStream {
        for _ in 0..<ClientSessionLimits.transferAttempts {
            _ = try await welcome(timeoutNanoseconds: timeoutNanoseconds, patience: patience, owner: owner)
            lastID += 1
            // Apart from the ids of calls, which count up from 1.
            let id = 1 << 62 | lastID
            let header = CallHeader(method: method)
            lastTransferTurn += 1
            transfers[id] = Transfer(owner: owner, turn: lastTransferTurn)
            if let actions = machine.transferStarted(
                id: id, header: header, opening: opening, now: transport.nowNanoseconds)
            {
                perform(actions)
                return TransferStream(self, id: id)
            }
            transfers[id] = nil
            // The connection was lost in between, or is full.
            await Task.yield()
        }
        throw ServiceError(
            .requestRateLimited, "the connection carries as many calls and transfers as it may; try again shortly",
            retryAfterMilliseconds: 200)
    }

    /// The next message; nil when the server is done.
    func nextMessage(transfer id: UInt64) async throws(ServiceError) -> [UInt8]? {
        while true {
            guard let transfer = transfers[id] else { throw .cancelled }
            if Task.isCancelled { throw .cancelled }
            if let message = transfer.inbox.first {
                transfers[id]!.inbox.removeFirst()
                perform(machine.transferTaken(id: id, byteCount: message.count, now: transport.nowNanoseconds))
                return message
            }
            if let end = transfer.end {
                try end.get()
                return nil
            }
            await wait(transfer: id) { !transfers[id]!.inbox.isEmpty }
        }
    }

    /// Sends a message as soon as there is credit for it, and so little else waits to leave that no call has to wait
    /// long behind it.
    ///
    /// - Returns: False when the server has ended the stream, or has said something that is to be read first.
    func send(_ payload: [UInt8], transfer id: UInt64) async throws(ServiceError) -> Bool {
        defer { wantsNoRoom(id) }
        while true {
            guard let transfer = transfers[id] else { throw .cancelled }
            if Task.isCancelled { throw .cancelled }
            if transfer.end != nil || !transfer.inbox.isEmpty { return false }
            if hasRoom(for: id),
                let actions = machine.transferSent(id: id, payload: payload, now: transport.nowNanoseconds)
            {
                lastTransferTurn += 1
                transfers[id]!.turn = lastTransferTurn
                perform(actions)
                return true
            }
            transfers[id]!.wantsRoom = true
            await wait(transfer: id) {
                !transfers[id]!.inbox.isEmpty || hasRoom(for: id) && machine.mayTransferSend(id: id)
            }
        }
    }

    /// Waits until something happens to a stream.
    ///
    /// - Parameter isOver: Whether what is waited for is there. Others may have had the session between the caller's
    ///   look and this one, so it is asked again.
    private func wait(transfer id: UInt64, unless isOver: () -> Bool) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard let transfer = transfers[id], transfer.end == nil, !isOver(), !Task.isCancelled else {
                    return continuation.resume()
                }
                precondition(transfers[id]!.waiter == nil, "a transfer is used by two tasks")
                transfers[id]!.waiter = continuation
            }
        } onCancel: {
            onExecutor { $0.wake(transfer: id) }
        }
    }

    private func wake(transfer id: UInt64) { transfers[id]?.waiter.take()?.resume() }

    /// Nobody uses the stream any more.
    func closeTransfer(_ id: UInt64) {
        guard let transfer = transfers.removeValue(forKey: id) else { return }
        transfer.waiter?.resume()
        if transfer.wantsRoom, !isOutputBusy { transfersMaySend() }
        perform(machine.transferCancelled(id: id, now: transport.nowNanoseconds))
    }

    /// Ends the streams of an owner.
    func cancelTransfers(of owner: ObjectIdentifier) {
        for (id, transfer) in transfers where transfer.owner == owner { transferEnded(id, .cancelled) }
    }

    // MARK: What the machine says

    func transferReceived(_ id: UInt64, _ payload: [UInt8]) {
        transfers[id]?.inbox.append(payload)
        wake(transfer: id)
    }

    func transferWritable(_ id: UInt64) { wake(transfer: id) }

    // MARK: Room on the connection

    /// Whether a transfer may send: there is room, and nobody who could use it has waited longer.
    private func hasRoom(for id: UInt64) -> Bool {
        if isOutputBusy { return false }
        let turn = transfers[id]!.turn
        return !transfers.contains { other, transfer in
            transfer.wantsRoom && transfer.turn < turn && transfer.end == nil && machine.mayTransferSend(id: other)
        }
    }

    /// There is room on the connection, or somebody else is next for it.
    func transfersMaySend() {
        for (id, transfer) in transfers where transfer.wantsRoom { wake(transfer: id) }
    }

    /// A message was sent, or will not be: the next one may.
    private func wantsNoRoom(_ id: UInt64) {
        guard transfers[id]?.wantsRoom == true else { return }
        transfers[id]!.wantsRoom = false
        if !isOutputBusy { transfersMaySend() }
    }

    func transferEnded(_ id: UInt64, _ error: ServiceError?) {
        guard transfers[id] != nil else { return }
        if transfers[id]!.end == nil { transfers[id]!.end = error.map { .failure($0) } ?? .success(()) }
        wake(transfer: id)
    }
}

/// A stream of a session, for the task that uses it. It ends when nobody refers to it.
final class TransferStream: Sendable {
    private let session: ClientSession
    private let id: UInt64

    init(_ session: ClientSession, id: UInt64) {
        self.session = session
        self.id = id
    }

    deinit {
        let (session, id) = (session, id)
        session.transport.execute { session.assumeIsolated { $0.closeTransfer(id) } }
    }

    /// The next message of the server; nil when it is done.
    func next() async throws(ServiceError) -> [UInt8]? { try await session.nextMessage(transfer: id) }

    /// Sends a message; false when the server has something to say first, or has ended the stream.
    func send(_ payload: [UInt8]) async throws(ServiceError) -> Bool {
        try await session.send(payload, transfer: id)
    }
}
