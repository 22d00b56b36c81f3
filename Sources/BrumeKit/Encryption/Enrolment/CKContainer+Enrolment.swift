internal import BrumeEncryption
internal import BrumeLock

extension CKContainer {
    /// Brume's addition: asks the account's other devices to let this one in, where it does not have the account's
    /// encryption keys.
    ///
    /// A person with both devices at hand then opens the request on one that has the keys
    /// (``CKContainer/enrolmentRequests()``), and types what each device shows into the other. The server only passes
    /// messages on, and gets no key by lying. The request ends after ten minutes; where the user leaves before, call
    /// ``Enrolment/cancel()``, since four can be open.
    ///
    /// - Throws: `invalidArguments` where this device has the keys already; `unknownItem` where the account has none
    ///   yet (``CKContainer/recoveryCode()`` makes them); `requestRateLimited` after three attempts within an hour that
    ///   came to nothing, by this device's count or the server's, and while four requests of the account are open;
    ///   `notAuthenticated` without an account.
    public func requestEnrolment() async throws(CKError) -> Enrolment {
        let account = core.account
        switch try await account.keys.run(.look, for: account).standing {
        case .available:
            throw CKError(
                .invalidArguments,
                message:
                    "this device has the account's encryption keys already; to let another one in, ask there, and "
                    + "answer here (CKContainer.enrolmentRequests())")
        case .notSetUp: throw AccountKeysFailure.notSetUp.error
        case .noKeys, .conflict: break
        }
        let (scope, attempts) = try await account.keys.enrolments(of: account)
        try attempts.check()
        let enrolment = Enrolment(scope: scope, attempts: attempts, account: account)
        try await enrolment.begin()
        return enrolment
    }

    /// Brume's addition: this device's request to be let in; see ``CKContainer/requestEnrolment()``.
    ///
    /// In this order: show ``id``, wait for ``code()`` and show it, and ``confirm(_:)`` what the other device shows
    /// then. It lives in memory: an app that ends meanwhile begins anew.
    public final class Enrolment: Identifiable, Sendable {
        private enum Stage {
            case waiting(NewDeviceStateMachine)
            case opened(NewDeviceStateMachine, opening: [UInt8], code: String)
            /// Both persons have confirmed.
            case confirmed(NewDeviceStateMachine, code: String)
            case done(code: String)
            case ended
        }

        private struct State {
            var stage: Stage
            /// What was counted as a guess, and may turn out to be none.
            var counted: UInt64?
        }

        private let requestID: [UInt8]
        private let device: KeyPairs
        private let attempts: EnrolmentAttempts
        private let relay: EnrolmentRelay
        private let turns = TransferTurns(limit: 1)
        private let state: Lock<State>

        init(scope: IdentityScope, attempts: EnrolmentAttempts, account: AccountBinding) {
            self.attempts = attempts
            requestID = EnrolmentRequest.newID()
            device = KeyPairs(seed: .random())
            relay = EnrolmentRelay(account: account)
            let machine = NewDeviceStateMachine(scope: scope, device: device, requestID: requestID)
            state = Lock(State(stage: .waiting(machine)))
        }

        /// Eight hexadecimal digits that tell the account's open requests apart: the other device lists it by them.
        public var id: String { EnrolmentRequest.text(requestID) }

        /// What a person types into the other device: six letters and digits, once that one has answered.
        ///
        /// Waits for the other device, asking the server once a second. Cancel the task to stop waiting; a call that
        /// failed for the network can be made again.
        ///
        /// - Throws: `unknownItem` where the request has ended; `serverRejectedRequest` for an answer that is none;
        ///   `incompatibleVersion` for one of a newer version.
        public func code() async throws(CKError) -> String {
            try await turns.run { () async throws(CKError) in
                if case .waiting(var machine) = stage {
                    let offer = try await offer()
                    let counted = try attempts.begin()
                    state.withLock { $0.counted = counted }
                    do throws(EncryptionRefusal) {
                        let (opening, code) = try machine.take(offer: offer)
                        stage = .opened(machine, opening: opening, code: code)
                    } catch {
                        throw await ended(by: EnrolmentRequest.error(error))
                    }
                }
                switch stage {
                case .opened(_, let opening, let code):
                    try await relay.post(.opening, opening, of: requestID)
                    return code
                case .confirmed(_, let code), .done(let code): return code
                case .waiting, .ended: throw EnrolmentRelay.ended
                }
            }
        }

        /// Takes what a person read on the other device, and the account's encryption keys: this device has them when
        /// it returns.
        ///
        /// A call that failed for the network can be made again.
        ///
        /// - Parameter code: As typed: small letters, spaces and hyphens don't matter, and the letters I, L and O count
        ///   as the digits that they look like.
        /// - Throws: `invalidArguments` for what can't be a code, which may be typed again, and for a wrong one, which
        ///   ends the request (``isCode(_:)`` tells the two apart): somebody may stand between the devices.
        ///   `unknownItem` where the request has ended. `accountTemporarilyUnavailable` where what the other device
        ///   says and what the server shows do not fit, and where this device knows of a removed device, or of another
        ///   recovery code, that the other's keys may lack: then only a new code of the other device lets it in.
        public func confirm(_ code: String) async throws(CKError) {
            try await turns.run { () async throws(CKError) in
                switch stage {
                case .waiting:
                    throw CKError(
                        .invalidArguments, message: "no code was asked for yet: call code() first, and show it")
                case .opened(var machine, _, let shown):
                    guard EnrolmentCode.isOne(code) else { throw EnrolmentRequest.isNoCode }
                    try relay.checkTime()
                    do throws(EncryptionRefusal) {
                        try machine.typed(code)
                        stage = .confirmed(machine, code: shown)
                        // Whatever follows, it was no guess.
                        if let counted = state.withLock({ $0.counted }) { attempts.succeeded(counted) }
                    } catch {
                        throw await ended(by: EnrolmentRequest.error(error))
                    }
                case .done: return
                case .confirmed, .ended: break
                }
                guard case .confirmed(let machine, let shown) = stage else { throw EnrolmentRelay.ended }
                let done = try await relay.message(.done, of: requestID)
                if case .ended = stage { throw EnrolmentRelay.ended }
                let account = relay.account
                let given = GivenKeys(dialogue: machine, done: done, device: device)
                _ = try await account.keys.run(.takeKeys(given), for: account)
                stage = .done(code: shown)
                await relay.end(requestID)
            }
        }

        /// Whether a text can be a code of this or the other device: six letters and digits, as ``confirm(_:)`` reads
        /// them. For an app that checks what a person types.
        public static func isCode(_ text: String) -> Bool { EnrolmentCode.isOne(text) }

        /// Ends the request. Does nothing where this device has the keys already; a ``confirm(_:)`` that is under way
        /// may have them yet.
        public func cancel() async {
            let isOver = state.withLock { state in
                if case .done = state.stage { return true }
                state.stage = .ended
                return false
            }
            if !isOver { await relay.end(requestID) }
        }

        // MARK: Steps

        func begin() async throws(CKError) {
            guard case .waiting(let machine) = stage, let commitment = machine.commitment else { return }
            try await relay.post(.commitment, commitment, of: requestID)
        }

        private var stage: Stage {
            get { state.withLock { $0.stage } }
            set {
                state.withLock { state in
                    // Whoever cancelled it meanwhile is right.
                    if case .ended = state.stage { return }
                    state.stage = newValue
                }
            }
        }

        private func offer() async throws(CKError) -> [UInt8] {
            do throws(CKError) {
                return try await relay.message(.offer, of: requestID)
            } catch {
                if error.code == .unknownItem { stage = .ended }
                throw error
            }
        }

        private func ended(by error: CKError) async -> CKError {
            stage = .ended
            await relay.end(requestID, forWrongCode: error.code == .invalidArguments)
            return error
        }
    }
}
