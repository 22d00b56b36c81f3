internal import BrumeEncryption
internal import BrumeLock

/// An account's keys on this device, for as long as the account is the container's.
///
/// What is in memory goes with the account; what is on the disk stays, since it is this device's, and is there when
/// the account comes back. One operation runs at a time.
final class AccountKeys: Sendable {
    typealias Machine = AccountKeysStateMachine

    private struct State {
        /// Nil before the first look, and when it has to look again.
        var identity: Identity?
        /// Counts the times that it has to look again: what an operation found that began before is out of date.
        var generation: UInt64 = 0
        var isEnded = false
        /// Counts the app's operations: what one of them was not able to do may be possible after it.
        var operations: UInt64 = 0
        /// The devices and the code that the newest statement listed at the last look; nil before the first.
        var listed: ListedDevices?
        /// The head of the file from which the identity was read.
        var statementsHead: [UInt8]?
        /// When something last looked, by the container's clock.
        var lookedMilliseconds: UInt64 = 0
    }

    /// How long what is in memory is used before something looks whether the account has other devices by now.
    static let lookAgainMilliseconds: UInt64 = 600_000

    private let driver: AccountKeysDriver
    private let state = Lock(State())
    private let turns = TransferTurns(limit: 1)

    init(folders: KeyFolderAccess) { driver = AccountKeysDriver(folders: folders) }

    // MARK: For what encrypts

    /// The account's identity, to encrypt with: from memory, else from the server's statements and this device's
    /// files. An account that has none gets one, with this device and a new recovery code.
    ///
    /// - Throws: `accountTemporarilyUnavailable` where this device does not have the account's keys; `notAuthenticated`
    ///   without an account; what calls to the server throw.
    func identity(for account: AccountBinding) async throws(CKError) -> Identity {
        guard let identity = try await identity(.identity, for: account) else {
            throw AccountKeysFailure.notSetUp.error
        }
        return identity
    }

    /// The account's identity, to decrypt with; nil where the account has none. Makes none.
    ///
    /// - Throws: The same as ``identity(for:)``.
    func identityIfAny(for account: AccountBinding) async throws(CKError) -> Identity? {
        try await identity(.look, for: account)
    }

    private func identity(_ goal: Machine.Goal, for account: AccountBinding) async throws(CKError) -> Identity? {
        if let identity = remembered {
            lookAgainIfDue(for: account)
            return identity
        }
        return try await turns.run { () async throws(CKError) in
            // Another operation may have found it meanwhile.
            if let identity = remembered { return identity }
            switch try await perform(goal, for: account, isForValues: true).standing {
            case .available(let identity): return identity
            case .notSetUp: return nil
            case .noKeys(let absence, _): throw AccountKeysFailure.noKeys(absence).error
            case .conflict: throw AccountKeysFailure.conflict.error
            }
        }
    }

    /// Looks behind what uses the identity, whose values don't wait for that.
    private func lookAgainIfDue(for account: AccountBinding) {
        let now = account.configuration.clock.nowMilliseconds
        let isDue = state.withLock { state in
            guard now >= state.lookedMilliseconds &+ Self.lookAgainMilliseconds else { return false }
            state.lookedMilliseconds = now
            return true
        }
        if !isDue { return }
        Task(priority: .background) {
            _ = try? await turns.run { () async throws(CKError) in
                try await perform(.look, for: account, isForValues: true)
            }
        }
    }

    /// Looks at the account's statements again at the next need: the server refused something as too old, or a key is
    /// missing here.
    func statementsMayHaveChanged() {
        state.withLock { state in
            state.identity = nil
            state.generation += 1
        }
    }

    /// Another process of this device may have removed a device: then nothing is encrypted with keys that it has.
    ///
    /// - Throws: `internalError` where the key folder can't be read; what keeps from asking whose keys these are.
    func forgetWhatOthersWrote(for account: AccountBinding) async throws(CKError) {
        let (hasIdentity, head) = state.withLock { ($0.identity != nil, $0.statementsHead) }
        if hasIdentity, try await driver.statementsHead(for: account) != head { statementsMayHaveChanged() }
    }

    /// The container has another account now. Nothing is remembered any more.
    func end() {
        state.withLock { state in
            state.identity = nil
            state.isEnded = true
        }
    }

    /// Changes with each operation of the app.
    var operations: UInt64 { state.withLock { $0.operations } }

    private var remembered: Identity? { state.withLock { $0.identity } }

    // MARK: For the app

    /// What an operation found and brought.
    struct Report: Sendable {
        let standing: Machine.Standing
        /// The keys under which the account's statements list this device.
        let listedAs: PublicKeys?
        /// The device's own keys, where they are those.
        let device: KeyPairs?
        /// A code to hand out, where the operation was for one.
        let code: RecoveryCode?
    }

    /// What an enrolment of this device is bound to, and the count of those that came to nothing.
    func enrolments(
        of account: AccountBinding
    ) async throws(CKError) -> (scope: IdentityScope, attempts: EnrolmentAttempts) {
        let folder = try await driver.folder(of: account)
        return (folder.place.scope, EnrolmentAttempts(keyFolder: folder.path, clock: account.configuration.clock))
    }

    /// Looks at the account's statements, and does what the operation is for.
    func run(_ goal: Machine.Goal, for account: AccountBinding) async throws(CKError) -> Report {
        defer { state.withLock { $0.operations += 1 } }
        return try await turns.run { () async throws(CKError) in try await perform(goal, for: account) }
    }

    /// - Parameter isForValues: Whether it is for what encrypts, and not for an operation of the app's.
    private func perform(
        _ goal: Machine.Goal, for account: AccountBinding, isForValues: Bool = false
    ) async throws(CKError) -> Report {
        let generation = state.withLock { $0.generation }
        let end = try await driver.run(goal, for: account)
        let now = account.configuration.clock.nowMilliseconds
        let isNews = state.withLock { state in
            guard !state.isEnded else { return false }
            let before = state.listed ?? end.listed.before
            (state.listed, state.lookedMilliseconds) = (end.listed.now, now)
            state.statementsHead = end.statementsHead
            // The first that is known of an account is no news.
            return before != nil && before != end.listed.now
        }
        if isNews { account.announceDevices() }
        state.withLock { state in
            guard !state.isEnded else { return }
            // What another operation found before may not hold any more, whatever this one came to.
            state.identity = nil
            if state.generation == generation, case .available(let identity) = end.standing {
                state.identity = identity
            }
        }
        switch end.outcome {
        case .failed(let failure): throw isForValues ? failure.errorOfValues : failure.error
        case .looked, .code:
            guard let standing = end.standing else { preconditionFailure("an operation ended before it looked") }
            let code: RecoveryCode? = if case .code(let code) = end.outcome { code } else { nil }
            return Report(standing: standing, listedAs: end.listedAs, device: end.device, code: code)
        }
    }
}
