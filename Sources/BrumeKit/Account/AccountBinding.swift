internal import BrumeLock
internal import BrumeModel
internal import BrumeProtocol
internal import Foundation

/// A container's tie to one account, or to none: the configuration with the account's token, and the session that the
/// first call opens.
///
/// It ends when the container's account is signed out or switched. From then on it makes no call, and those under way
/// end, so that nothing that began for one account goes on for another.
final class AccountBinding: Sendable {
    let configuration: BrumeConfiguration
    private let transport: Result<any ClientTransport, TransportFailure>
    private let registry: SessionRegistry
    private let announcer: AccountAnnouncer
    /// Transfers of assets wait for these: what is fetched does not wait behind what is sent.
    let uploadTurns = TransferTurns(limit: ClientSessionLimits.transfersMax)
    let downloadTurns = TransferTurns(limit: ClientSessionLimits.transfersMax)
    /// The ids of uploads that are under way.
    let uploadsUnderWay = Lock<Set<UploadID>>([])
    /// The user whose keys are used, and whether the disk says so too.
    let keyUser = Lock<(user: String, isKept: Bool)?>(nil)
    /// Where the account's keys are kept on this device.
    let keyFolders = KeyFolderAccess()
    /// The account's keys, as far as this device has them.
    let keys: AccountKeys
    /// What encrypts and decrypts with them.
    let encryptedZones: EncryptedZones
    private let state = Lock(State())

    private struct State {
        var session: ClientSession?
        var isEnded = false
        /// The user of the session that there was.
        var formerUser: String?
        var standing = AccountStanding()
    }

    init(
        configuration: BrumeConfiguration, transport: Result<any ClientTransport, TransportFailure>,
        registry: SessionRegistry, announcer: AccountAnnouncer
    ) {
        self.configuration = configuration
        self.transport = transport
        self.registry = registry
        self.announcer = announcer
        keys = AccountKeys(folders: keyFolders)
        encryptedZones = EncryptedZones(folders: keyFolders)
    }

    deinit {
        state.withLock { $0.session }?.release(ObjectIdentifier(self))
    }

    /// The same place with another account.
    func successor(token: String?) -> AccountBinding {
        var configuration = configuration
        configuration.token = token
        return AccountBinding(
            configuration: configuration, transport: transport, registry: registry, announcer: announcer)
    }

    /// The account's keys have other devices, or another code.
    func announceDevices() { announcer.announceDevices() }

    /// Whether the container has another account now, or none.
    var isEnded: Bool { state.withLock { $0.isEnded } }

    /// The container is done with this account.
    func end() {
        keys.end()
        encryptedZones.end()
        let session = state.withLock { state in
            state.isEnded = true
            state.formerUser = state.session?.currentUser
            defer { state.session = nil }
            return state.session
        }
        guard let session else { return }
        removeCachedAssets(of: session.currentUser)
        // What was asked without an account belongs to nobody, and may be answered.
        if configuration.token != nil { session.release(ObjectIdentifier(self)) }
        registry.forget(session)
    }

    /// The device may be another user's from now on. Files that the app still has go as well.
    private func removeCachedAssets(of user: String?) {
        guard let user, let folder = try? configuration.resolvedStateFolder() else { return }
        Task.detached(priority: .background) {
            // What can't be removed is of use to the same account alone.
            try? AssetCache.shared(stateFolder: folder).removeAll(account: user)
        }
    }

    /// The session of the configuration, which reads the device's id at the first call.
    ///
    /// - Throws: `internalError` with a sentence that says what to set; `notAuthenticated` after the end.
    func openSession() throws(CKError) -> ClientSession {
        if let session = state.withLock({ $0.session }) { return session }
        if isEnded { throw CKError(ServiceError.accountChanged) }
        let made: ClientSession
        do throws(ConfigurationProblem) {
            let key = try configuration.sessionKey()
            switch transport {
            case .success(let transport): made = registry.session(key, transport: transport)
            case .failure(let failure):
                throw ConfigurationProblem(ServiceError(failure, server: key.endpoint.name).message)
            }
        } catch {
            throw CKError(.internalError, message: error.message)
        }
        let (session, isNew) = state.withLock { state in
            if state.isEnded { return (ClientSession?.none, false) }
            // Another call may have been first; the registry gave both the same.
            defer { state.session = state.session ?? made }
            return (state.session ?? made, state.session == nil)
        }
        guard let session else {
            registry.forget(made)
            throw CKError(ServiceError.accountChanged)
        }
        if isNew, configuration.token != nil {
            let receiver = AccountReceiver { [weak self] answer in self?.answered(answer) }
            session.addAccountReceiver(ObjectIdentifier(self), receiver)
        }
        return session
    }

    /// The account's user record name, which answers hold where apps see ``CKCurrentUserDefaultName``. Nil without an
    /// account, and before the first connection. Stays behind the end, for answers that came before it.
    var currentUser: String? {
        let (session, former) = state.withLock { ($0.session, $0.formerUser) }
        return session?.currentUser ?? former
    }

    /// What answers are read with that come now.
    var answerContext: AnswerContext {
        AnswerContext(currentUser: currentUser, origin: try? configuration.endpoint().origin)
    }

    // MARK: Calls

    /// Sends a request and decodes its answer, both on the calling thread.
    func call<Response>(
        _ method: Method, effect: UnaryCall.Effect = .none, options: CallOptions = CallOptions(),
        encode: (MessageCoder) -> [UInt8],
        decode: (MessageCoder, UnsafeRawBufferPointer) throws(ServiceError) -> Response
    ) async throws(CKError) -> Response {
        let session = try openSession()
        let requestID = UUID().uuidString
        let call = UnaryCall(
            method: method, payload: CoderPool.with { encode($0) }, effect: effect, requestID: requestID,
            operationGroup: options.operationGroup, traceParent: options.traceParent, priority: options.priority)
        let timeoutNanoseconds = try options.timeoutNanoseconds()
        do throws(ServiceError) {
            let payload = try await session.unary(
                call, timeoutNanoseconds: timeoutNanoseconds, patience: options.patience, owner: ObjectIdentifier(self))
            return try CoderPool.with { (coder) throws(ServiceError) in
                try payload.decoded { (bytes) throws(ServiceError) in try decode(coder, bytes) }
            }
        } catch {
            throw CKError(explained(error), requestID: requestID)
        }
    }

    /// What the server said when it took the connection in.
    ///
    /// - Parameter isPatient: Whether to wait for a server that can't be reached, within the timeout.
    func welcome(
        timeoutNanoseconds: UInt64 = ClientSession.defaultTimeoutNanoseconds, isPatient: Bool = true,
        patience: ClientSessionStateMachine.Patience = .untilDeadline
    ) async throws(CKError) -> SessionWelcome {
        let session = try openSession()
        do throws(ServiceError) {
            return try await session.welcome(
                timeoutNanoseconds: timeoutNanoseconds, isPatient: isPatient, patience: patience,
                owner: ObjectIdentifier(self))
        } catch {
            throw CKError(explained(error))
        }
    }

    /// A listener of the device's notification stream, whose iteration ends with this binding.
    func listen(isObserver: Bool) async throws(CKError) -> NotificationConsumer {
        let session = try openSession()
        let consumer = await NotificationConsumer(
            session: session, owner: ObjectIdentifier(self), isObserver: isObserver,
            appListened: configuration.appListens(now: !isObserver))
        // It may have ended before the consumer was there to be told.
        if isEnded { session.release(ObjectIdentifier(self)) }
        return consumer
    }

    /// A call that ended with the account was not cancelled by its task.
    func explained(_ error: ServiceError) -> ServiceError {
        error.code == .operationCancelled && isEnded && !Task.isCancelled ? .accountChanged : error
    }

    // MARK: What the server says of the account

    private func answered(_ answer: AccountAnswer) {
        let isNews = state.withLock { !$0.isEnded && $0.standing.answered(answer) }
        if isNews { announcer.announce(.standing) }
    }

    /// The app was told that the status could not be determined.
    func statusRemainedOpen() {
        state.withLock { $0.standing.remainedOpen() }
    }
}
