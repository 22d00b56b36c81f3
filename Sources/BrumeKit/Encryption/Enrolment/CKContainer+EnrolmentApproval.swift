internal import BrumeEncryption
internal import BrumeLock
internal import Foundation

extension CKContainer {
    /// Brume's addition: answers the request of a device that wants the account's encryption keys, and waits until it
    /// has answered in turn, so that it shows a code. No key is sent before a person has typed that code here.
    ///
    /// Call it for a person who holds the other device and has begun this here. Where the task is cancelled, or the
    /// network fails while it waits, the request has ended.
    ///
    /// - Throws: `unknownItem` where the request has ended; `serverRecordChanged` where another device answered it
    ///   first; `requestRateLimited` after three attempts within an hour that came to nothing; `serverRejectedRequest`
    ///   for a request that is none; `incompatibleVersion` for one of a newer version; as
    ///   ``removeEncryptionDevice(_:)`` where this device does not have the keys.
    public func answer(_ request: EnrolmentRequest) async throws(CKError) -> EnrolmentApproval {
        let account = core.account
        let report = try await account.keys.run(.look, for: account)
        guard case .available(let identity) = report.standing, let device = report.device else {
            throw AccountKeysStateMachine.failure(report.standing).error
        }
        let attempts = try await account.keys.enrolments(of: account).attempts
        let relay = EnrolmentRelay(account: account)
        var machine: EnrollingDeviceStateMachine
        do throws(EncryptionRefusal) {
            machine = try EnrollingDeviceStateMachine(
                identity: identity, device: device, requestID: request.requestID, commitment: request.commitment)
        } catch {
            await relay.end(request.requestID)
            throw EnrolmentRequest.error(error)
        }
        // Before the offer: whoever stands between the devices knows by it whether a guess was right, and goes on then
        // alone.
        let counted = try attempts.begin()
        let opening = try await Self.exchange(machine.offer ?? [], of: request, relay)
        do throws(EncryptionRefusal) {
            try machine.take(opening: opening)
        } catch {
            await relay.end(request.requestID)
            throw EnrolmentRequest.error(error)
        }
        return EnrolmentApproval(request: request, machine: machine, relay: relay) { attempts.succeeded(counted) }
    }

    /// Sends the offer, and waits for what the new device says to it.
    private static func exchange(
        _ offer: [UInt8], of request: EnrolmentRequest, _ relay: EnrolmentRelay
    ) async throws(CKError) -> [UInt8] {
        do throws(CKError) {
            try await relay.post(.offer, offer, of: request.requestID)
            return try await relay.message(.opening, of: request.requestID)
        } catch {
            // Nobody but this call could go on with its offer; another device's is not touched.
            if error.code == .serverRecordChanged { throw EnrolmentRelay.isAnswered }
            await relay.end(request.requestID)
            throw error
        }
    }

    /// Brume's addition: an answered request of a device that wants the account's encryption keys; see
    /// ``CKContainer/answer(_:)``.
    public final class EnrolmentApproval: Identifiable, Sendable {
        private enum Stage {
            case opened(EnrollingDeviceStateMachine)
            /// A person has typed what the new device shows.
            case confirmed(EnrollingDeviceStateMachine, code: String, PublicKeys)
            /// The new device is listed, and may have been told.
            case listed(done: [UInt8], code: String, wasSent: Bool)
            case ended
        }

        private let request: EnrolmentRequest
        private let relay: EnrolmentRelay
        /// Takes back that it was counted as a guess.
        private let succeeded: @Sendable () -> Void
        private let turns = TransferTurns(limit: 1)
        private let state: Lock<Stage>

        fileprivate init(
            request: EnrolmentRequest, machine: EnrollingDeviceStateMachine, relay: EnrolmentRelay,
            succeeded: @escaping @Sendable () -> Void
        ) {
            (self.request, self.relay, self.succeeded) = (request, relay, succeeded)
            state = Lock(.opened(machine))
        }

        /// The request's ``EnrolmentRequest/id``.
        public var id: String { request.id }

        /// Takes what a person read on the new device, and gives that device the account's keys.
        ///
        /// Show what it returns: the new device takes no key before a person has typed it there. A call that failed for
        /// the network can be made again. Where the new device is given up then, remove it from
        /// ``CKContainer/encryptionDevices()``.
        ///
        /// - Parameters:
        ///   - code: As typed: small letters, spaces and hyphens don't matter, and the letters I, L and O count as the
        ///     digits that they look like.
        ///   - deviceName: How the account's devices show the new one. Cut after 200 bytes; where there is nothing to
        ///     show, it is "device" and the request's digits.
        /// - Returns: Six letters and digits, for the person to type into the new device.
        /// - Throws: `invalidArguments` for what can't be a code, which may be typed again, and for a wrong one, which
        ///   ends the request (``CKContainer/Enrolment/isCode(_:)`` tells the two apart); `unknownItem` where it has
        ///   ended, and then the new device may be listed in vain, as the error says; `limitExceeded` where the account
        ///   has 64 devices; else as ``CKContainer/removeEncryptionDevice(_:)``.
        public func approve(_ code: String, deviceName: String) async throws(CKError) -> String {
            try await turns.run { () async throws(CKError) in
                if case .opened(var machine) = stage {
                    guard EnrolmentCode.isOne(code) else { throw EnrolmentRequest.isNoCode }
                    try relay.checkTime()
                    do throws(EncryptionRefusal) {
                        let (shown, keys) = try machine.typed(code)
                        stage = .confirmed(machine, code: shown, keys)
                        // Whatever follows, it was no guess.
                        succeeded()
                    } catch {
                        stage = .ended
                        await relay.end(request.requestID, forWrongCode: error == .wrongCode)
                        throw EnrolmentRequest.error(error)
                    }
                }
                if case .confirmed(let machine, let shown, let keys) = stage {
                    // A device that has given up would be listed for nothing.
                    guard try await relay.enrolments(id: request.requestID).first != nil else {
                        stage = .ended
                        throw EnrolmentRelay.ended
                    }
                    stage = .listed(done: try await list(keys, deviceName, machine), code: shown, wasSent: false)
                }
                guard case .listed(let done, let shown, let wasSent) = stage else { throw EnrolmentRelay.ended }
                stage = .listed(done: done, code: shown, wasSent: true)
                do throws(CKError) {
                    try await relay.post(.done, done, of: request.requestID)
                } catch {
                    guard error.code == .unknownItem else { throw error }
                    // The new device ends it once it has the keys, and the answer to the first attempt may be lost.
                    guard wasSent else {
                        stage = .ended
                        throw Self.isListedInVain
                    }
                }
                return shown
            }
        }

        /// Ends the request, for a person who does not want the device to be let in. Waits for an
        /// ``approve(_:deviceName:)`` that is under way; once that has returned the device may have the keys, and
        /// ``CKContainer/removeEncryptionDevice(_:)`` takes it out.
        public func reject() async {
            // A task that was cancelled does not wait.
            try? await turns.run { () async throws(CKError) in }
            stage = .ended
            await relay.end(request.requestID)
        }

        private static let isListedInVain = CKError(
            .unknownItem,
            message:
                "the enrolment has ended meanwhile, and the new device is listed without having the keys; remove it "
                + "(CKContainer.encryptionDevices()), and begin anew there")

        /// Lists the new device, and makes the message that says so.
        private func list(
            _ keys: PublicKeys, _ deviceName: String, _ machine: EnrollingDeviceStateMachine
        ) async throws(CKError) -> [UInt8] {
            let account = relay.account
            let shown = deviceName.filter { !$0.isNewline }.trimmingCharacters(in: .whitespacesAndNewlines)
            let name = shown.isEmpty ? "device \(request.id)" : shown
            let standing = try await account.keys.run(.addDevice(keys, name: name), for: account).standing
            guard case .available(let identity) = standing else {
                throw AccountKeysStateMachine.failure(standing).error
            }
            var machine = machine
            do throws(EncryptionRefusal) {
                return try machine.done(statement: identity.statement)
            } catch {
                // The account has other keys meanwhile, or another device has removed one of the two.
                stage = .ended
                await relay.end(request.requestID)
                throw Self.isListedInVain
            }
        }

        private var stage: Stage {
            get { state.withLock { $0 } }
            set {
                state.withLock { stage in
                    if case .ended = stage { return }
                    stage = newValue
                }
            }
        }
    }
}
