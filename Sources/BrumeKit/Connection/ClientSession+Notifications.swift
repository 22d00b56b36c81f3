internal import BrumeModel
internal import BrumeProtocol
internal import Foundation

/// The device's notification stream and those who listen to it.
extension ClientSession {
    /// Iterators that listen.
    var consumerCount: Int { fanOut.consumerIDs.count }

    /// Someone begins to listen; the stream opens with the first one.
    ///
    /// - Parameters:
    ///   - owner: For whom; see ``release(_:)``.
    ///   - isObserver: See ``NotificationFanOut``.
    ///   - appListened: Whether the app itself listened in an earlier run.
    func consumerAdded(
        owner: ObjectIdentifier? = nil, isObserver: Bool = false, appListened: Bool = false
    ) -> UInt64 {
        lastID += 1
        fanOut.consumerAdded(lastID, isObserver: isObserver, appListened: appListened)
        consumerOwners[lastID] = owner
        perform(machine.streamWanted(opening: streamOpening(), now: transport.nowNanoseconds))
        return lastID
    }

    /// The next event for a consumer, once it has handled the one before. Throws when the account is refused.
    func nextEvent(consumer id: UInt64) async throws(ServiceError) -> NotificationEvent {
        let result: Result<NotificationEvent, ServiceError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                precondition(listeners[id] == nil, "an iterator of notifications is used by one task at a time")
                let event = fanOut.next(id)
                acknowledge()
                if let event {
                    continuation.resume(returning: .success(event))
                } else if let error = failedConsumers[id] {
                    continuation.resume(returning: .failure(error))
                } else {
                    listeners[id] = continuation
                }
            }
        } onCancel: {
            onExecutor { session in session.listeners.removeValue(forKey: id)?.resume(returning: .failure(.cancelled)) }
        }
        return try result.get()
    }

    /// A consumer ended; the stream closes with the last one.
    nonisolated func consumerRemoved(_ id: UInt64) {
        // Holds the session until then: what the consumer had handled is acknowledged even if nobody else uses the
        // session. Where the stream is not open just now it comes again.
        transport.execute { [self] in
            assumeIsolated { session in
                session.stopListening(id)
                session.failedConsumers[id] = nil
            }
        }
    }

    /// A consumer hears nothing any more, and learns why when it asks.
    func consumerEnded(_ id: UInt64, _ error: ServiceError) {
        failedConsumers[id] = error
        stopListening(id)
        listeners.removeValue(forKey: id)?.resume(returning: .failure(error))
    }

    private func stopListening(_ id: UInt64) {
        consumerOwners[id] = nil
        fanOut.consumerRemoved(id)
        acknowledge()
        if fanOut.isEmpty { perform(machine.streamUnwanted(now: transport.nowNanoseconds)) }
    }

    func streamReceived(_ payload: [UInt8]) {
        let event: NotificationEvent
        do throws(ServiceError) {
            event = try payload.decoded { (bytes) throws(ServiceError) in try coder.decodeNotificationEvent(bytes) }
        } catch {
            return perform(machine.violated(error.message, now: transport.nowNanoseconds))
        }
        fanOut.eventReceived(event)
        machine.streamAdvanced(opening: streamOpening())
        for (id, listener) in listeners {
            guard let event = fanOut.next(id) else { continue }
            listeners[id] = nil
            listener.resume(returning: .success(event))
        }
        acknowledge()
    }

    func streamPositionRefused() {
        fanOut.positionsRefused()
        machine.streamAdvanced(opening: streamOpening())
    }

    func streamFailed(_ error: ServiceError) {
        for id in fanOut.consumerIDs { failedConsumers[id] = error }
        let waiting = listeners
        listeners = [:]
        for listener in waiting.values { listener.resume(returning: .failure(error)) }
    }

    /// Says once, on the standard error output, what keeps the notifications away.
    func sayDisplaced() {
        if isDisplacementSaid { return }
        isDisplacementSaid = true
        let sentence =
            "Brume: another process with the same state folder listens for notifications as this device, so that each of the two "
            + "misses some; give each process a folder of its own (BRUME_STATE, or BrumeConfiguration.stateFolder)\n"
        FileHandle.standardError.write(Data(sentence.utf8))
    }

    private func acknowledge() {
        guard let position = fanOut.takeAcknowledgement() else { return }
        let message = coder.encodeNotificationsRequest(position: position)
        perform(machine.streamAcknowledged(message, now: transport.nowNanoseconds))
    }

    private func streamOpening() -> [UInt8] {
        coder.encodeNotificationsRequest(position: fanOut.resumePosition)
    }
}
