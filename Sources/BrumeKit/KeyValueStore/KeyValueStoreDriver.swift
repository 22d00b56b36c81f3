internal import BrumeLock
internal import BrumeModel
internal import Foundation

/// Does what a key-value store's machine says: calls the server for the account that the container has, listens for
/// pushes, keeps the file, and tells the app. Any thread.
final class KeyValueStoreDriver: Sendable {
    typealias Machine = KeyValueStoreStateMachine

    private struct State {
        var machine: Machine
        var account: AccountBinding
        var file: String?
        /// The user of the account is known, so that its file is.
        var isUserKnown: Bool
        var isAskingForUser = false
        var listener: Task<Void, Never>?
        var timer: Task<Void, Never>?
        var timerMilliseconds = UInt64.max
        /// The revision of the machine's contents that is in the file.
        var savedRevision: UInt64 = 0
        var isClosed = false
    }

    private let state: Lock<State>
    private let core: ContainerCore
    private let clock: any ClientClock
    private let folder: KeyValueStoreFolder?
    private let announce: @Sendable (Machine.Reason, [String]) -> Void
    /// What touches the disk, one after the other.
    private let files = DispatchQueue(label: "brume.key-value-store.files")

    init(core: ContainerCore, announce: @escaping @Sendable (Machine.Reason, [String]) -> Void) {
        self.core = core
        self.announce = announce
        let account = core.account
        clock = account.configuration.clock
        let folder = KeyValueStoreFolder(account.configuration)
        self.folder = folder
        let place = Self.place(account, folder)
        state = Lock(
            State(
                machine: Machine(
                    contents: place.file.flatMap { folder?.load($0) } ?? KeyValueStoreContents(),
                    syncs: place.isUserKnown, seed: .random(in: .min ... .max)),
                account: account, file: place.file, isUserKnown: place.isUserKnown))
        core.announcer.follow(ObjectIdentifier(self)) { [weak self] change in self?.accountChanged(change) }
        // The account may have changed between the two.
        if core.account !== account { accountSwitched(to: core.account) }
        start()
    }

    /// The store is gone: what is not on the disk goes there.
    func close() {
        core.announcer.unfollow(ObjectIdentifier(self))
        let tasks = state.withLock { state -> [Task<Void, Never>] in
            state.isClosed = true
            return [state.timer, state.listener].compactMap(\.self)
        }
        for task in tasks { task.cancel() }
        _ = synchronize()
    }

    private static func place(
        _ account: AccountBinding, _ folder: KeyValueStoreFolder?
    ) -> (file: String?, isUserKnown: Bool) {
        guard let token = account.configuration.token else { return (folder?.file(token: nil), false) }
        guard let user = folder?.user(ofToken: token) else { return (folder?.file(token: token), false) }
        return (folder?.file(user: user), true)
    }

    // MARK: The app

    func value(forKey key: String) -> [UInt8]? { state.withLock { $0.machine.contents[key] } }

    var values: [(key: String, value: [UInt8])] {
        let contents = state.withLock { $0.machine.contents }
        return contents.keys.compactMap { key in contents[key].map { (key, $0) } }
    }

    func set(_ value: [UInt8]?, forKey key: String) {
        handle { $0.valueSet(value, forKey: key, now: $1) }
    }

    /// Whether what the app set is on the disk.
    func synchronize() -> Bool {
        files.sync { save() }
    }

    // MARK: Events

    /// Gives the machine an event, and does what it says.
    private func handle(_ event: (inout Machine, UInt64) -> [Machine.Action]) {
        let now = clock.nowMilliseconds
        state.withLock { state in
            let actions = event(&state.machine, now)
            perform(actions, &state)
        }
    }

    /// Under the lock: nothing here waits, and what it starts runs elsewhere.
    private func perform(_ actions: [Machine.Action], _ state: inout State) {
        let run = state.machine.run
        for action in actions {
            switch action {
            case .prepare: start(state) { await $0.prepare(run) }
            case .fetch(let token): start(state) { await $0.fetch(token, run) }
            case .send(let changes): start(state) { await $0.send(changes, run) }
            case .announce(let reason, let keys): announce(reason, keys)
            case .persist: files.async { [weak self] in _ = self?.save() }
            }
        }
        armTimer(&state)
    }

    /// The server's side of one action, for the account of the state.
    private func start(_ state: State, _ body: @escaping @Sendable (KeyValueStoreRemote) async -> KeyValueStoreEvent) {
        guard !state.isClosed else { return }
        let remote = KeyValueStoreRemote(
            database: CKDatabase(core: ContainerCore(boundTo: state.account, of: core), scope: .private))
        Task { [weak self] in
            let event = await body(remote)
            self?.remoteAnswered(event)
        }
    }

    private func remoteAnswered(_ event: KeyValueStoreEvent) {
        handle { machine, now in event(&machine, now) }
        listen()
    }

    private func armTimer(_ state: inout State) {
        guard let deadline = state.machine.deadlineMilliseconds, !state.isClosed else { return }
        guard state.timer == nil || deadline < state.timerMilliseconds else { return }
        state.timer?.cancel()
        state.timerMilliseconds = deadline
        let clock = clock
        state.timer = Task { [weak self] in
            do throws(CancellationError) { try await clock.wait(untilMilliseconds: deadline) } catch { return }
            self?.timerFired()
        }
    }

    private func timerFired() {
        state.withLock { state in
            state.timer = nil
            state.timerMilliseconds = .max
        }
        handle { $0.timePassed(now: $1) }
    }

    /// On the queue of files.
    private func save() -> Bool {
        let (file, revision, isSaved, contents) = state.withLock { state in
            let revision = state.machine.revision
            return (state.file, revision, state.savedRevision == revision, state.machine.contents)
        }
        guard let file, let folder else { return false }
        if isSaved { return true }
        guard folder.save(contents, to: file) else { return false }
        state.withLock { state in
            guard state.machine.revision == revision else { return }
            state.savedRevision = revision
            state.machine.persisted()
        }
        return true
    }

    // MARK: The account

    private func accountChanged(_ change: AccountAnnouncer.Change) {
        switch change {
        case .switched(let account): accountSwitched(to: account)
        case .standing:
            handle { $0.circumstancesChanged(now: $1) }
            start()
        }
    }

    private func accountSwitched(to account: AccountBinding) {
        files.sync {
            _ = save()
            let place = Self.place(account, folder)
            var contents = place.file.flatMap { folder?.load($0) } ?? KeyValueStoreContents()
            state.withLock { state in
                guard state.account !== account, !account.isEnded else { return }
                // What was set without an account becomes the first account's that comes.
                if state.account.configuration.token == nil, let file = state.file {
                    contents.adopt(state.machine.contents)
                    folder?.remove(file)
                }
                state.listener?.cancel()
                (state.listener, state.isAskingForUser) = (nil, false)
                replaceContents(contents, account, file: place.file, isUserKnown: place.isUserKnown, &state)
            }
        }
        start()
    }

    private func replaceContents(
        _ contents: KeyValueStoreContents, _ account: AccountBinding, file: String?, isUserKnown: Bool,
        _ state: inout State
    ) {
        (state.account, state.file, state.isUserKnown) = (account, file, isUserKnown)
        let now = clock.nowMilliseconds
        perform(state.machine.accountChanged(to: contents, syncs: isUserKnown, now: now), &state)
    }

    /// Begins what the account needs: to learn its user, or to sync.
    private func start() {
        let account = state.withLock { state -> AccountBinding? in
            guard !state.isClosed, state.account.configuration.token != nil, !state.isUserKnown, !state.isAskingForUser
            else { return nil }
            state.isAskingForUser = true
            return state.account
        }
        guard let account else { return handle { $0.timePassed(now: $1) } }
        let clock = clock
        Task { [weak self] in
            var pause = RetryPause(
                seed: .random(in: .min ... .max), nanosecondsMin: KeyValueStoreLimits.retryNanosecondsMin,
                nanosecondsMax: KeyValueStoreLimits.retryNanosecondsMax)
            while self?.isCurrent(account) == true {
                do throws(CKError) {
                    let user = try await account.welcome().userRecordName
                    self?.userBecameKnown(user, account)
                    return
                } catch {
                    // One that is refused is asked again when the account's standing changes.
                    if case .account = KeyValueStoreRemote.failure(error) { break }
                }
                let until = clock.nowMilliseconds + pause.next() / 1_000_000
                do throws(CancellationError) { try await clock.wait(untilMilliseconds: until) } catch { break }
            }
            self?.stoppedAsking(account)
        }
    }

    private func isCurrent(_ account: AccountBinding) -> Bool {
        state.withLock { !$0.isClosed && $0.account === account }
    }

    private func stoppedAsking(_ account: AccountBinding) {
        state.withLock { if $0.account === account { $0.isAskingForUser = false } }
    }

    private func userBecameKnown(_ user: String?, _ account: AccountBinding) {
        guard let user, let token = account.configuration.token else { return stoppedAsking(account) }
        files.sync {
            folder?.keep(user: user, ofToken: token)
            let file = folder?.file(user: user)
            var contents = file.flatMap { folder?.load($0) } ?? KeyValueStoreContents()
            state.withLock { state in
                guard state.account === account, !state.isUserKnown else { return }
                state.isAskingForUser = false
                contents.adopt(state.machine.contents)
                if let before = state.file { folder?.remove(before) }
                replaceContents(contents, account, file: file, isUserKnown: true, &state)
            }
            _ = save()
        }
    }

    // MARK: Pushes

    /// Listens, unless it does already, once there is something to listen to.
    private func listen() {
        state.withLock { state in
            guard !state.isClosed, state.isUserKnown, state.listener == nil else { return }
            let (account, run) = (state.account, state.machine.run)
            let events = CKContainer.NotificationEvents(
                core: ContainerCore(boundTo: account, of: core), isObserver: true)
            state.listener = Task { [weak self] in
                do {
                    for try await event in events { self?.heard(event, run) }
                } catch {
                    // The account is refused or gone. The next answer of the server opens the stream again.
                }
                self?.stoppedListening(account)
            }
        }
    }

    private func stoppedListening(_ account: AccountBinding) {
        state.withLock { if $0.account === account { $0.listener = nil } }
    }

    private func heard(_ event: NotificationEvent, _ run: UInt64) {
        switch event.kind {
        case .ready, .databaseChanged(.private), .fetchFromToken(.private): break
        case .zoneChanged(let zone) where zone.name == KeyValueStoreRecord.zoneID.zoneName: break
        default: return
        }
        handle { $0.pushed(run: run, now: $1) }
    }
}
