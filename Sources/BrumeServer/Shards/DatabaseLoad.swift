internal import BrumeModel

/// A database that is loaded on another thread, and what waits for it. On the loop of the database's shard.
///
/// Each account's calls wait in the order in which they came, and those that come while the first are answered wait
/// behind them; the accounts take turns. How many may wait is the shard's to say. Sessions and users that arrive are no
/// calls: there is one of each at most for each that is connected, and they are served as soon as the database is
/// there. Nor are streams that are to listen, of which there are as many as are open: each is served, in turns with the
/// calls.
final class DatabaseLoad {
    typealias Outcome = Result<LoadedDatabase, ServiceError>

    private struct Call {
        let byteCount: Int
        let body: (Outcome) -> Void
    }

    /// What the loader is given, once for each account that waits for the load.
    ///
    /// `@unchecked Sendable`: the loader's thread alone takes it.
    final class Ticket: @unchecked Sendable {
        private var isTaken = false

        /// Whether the load is still to be done. The next one who asks is told that it is not.
        func take() -> Bool {
            defer { isTaken = true }
            return !isTaken
        }
    }

    let id: DatabaseID
    let ticket = Ticket()
    /// In whose lines the load is.
    private var accounts: Set<ClientShare.Key> = []
    /// Nil: the load goes on.
    private(set) var outcome: Outcome?
    private var calls = FairQueue<Call>()
    private var sessions: [ObjectIdentifier: Session] = [:]
    /// In the order in which they came, so that a run can be repeated.
    private var users: [String] = []
    private var knownUsers: Set<String> = []
    private var listeners: [ObjectIdentifier: (Outcome) -> Void] = [:]
    /// In the order in which they came; some may have left.
    private var listenerOrder: [FarListener] = []
    private var firstListener = 0

    init(id: DatabaseID) {
        self.id = id
    }

    /// Calls that wait.
    var callCount: Int { calls.count }

    /// Those of them that are an account's.
    func callCount(of account: ClientShare.Key) -> Int { calls.count(of: account) }

    /// Whether the load is not in the account's line yet. It is from now on.
    func isNew(to account: ClientShare.Key) -> Bool { accounts.insert(account).inserted }

    /// Adds a call behind those of its account that wait.
    func wait(of account: ClientShare.Key, byteCount: Int, _ body: @escaping (Outcome) -> Void) {
        calls.append(Call(byteCount: byteCount, body: body), of: account)
    }

    /// A session whose home the database is. `settle` is called at once if the database is there.
    func arrived(_ session: Session, settle: (LoadedDatabase) -> Void) {
        switch outcome {
        case nil: sessions[ObjectIdentifier(session)] = session
        case .success(let loaded): settle(loaded)
        case .failure: break
        }
    }

    /// The session has ended.
    func left(_ session: Session) { sessions[ObjectIdentifier(session)] = nil }

    /// A user whose record the database is to have. `make` is called at once if the database is there.
    func userArrived(_ user: String, make: (LoadedDatabase) -> Void) {
        switch outcome {
        case nil: if knownUsers.insert(user).inserted { users.append(user) }
        case .success(let loaded): make(loaded)
        case .failure: break
        }
    }

    /// A stream that is to listen to the database. `begin` is called when its turn has come, unless it leaves before.
    func listens(_ listener: FarListener, _ begin: @escaping (Outcome) -> Void) {
        listeners[ObjectIdentifier(listener)] = begin
        listenerOrder.append(listener)
    }

    /// The stream has ended.
    func left(_ listener: FarListener) {
        guard listeners.removeValue(forKey: ObjectIdentifier(listener)) != nil else { return }
        // Seldom, and then for as many as have left: those that come and go take no room.
        guard listenerOrder.count > 2 * listeners.count + 16 else { return }
        listenerOrder = listenerOrder[firstListener...].filter { listeners[ObjectIdentifier($0)] != nil }
        firstListener = 0
    }

    /// Whether calls or streams wait still.
    var isAwaited: Bool { callCount > 0 || !listeners.isEmpty }

    /// Whether a stream waits still, or a call of an account that `mayRun` admits.
    func mayGoOn(where mayRun: (ClientShare.Key) -> Bool) -> Bool {
        !listeners.isEmpty || calls.accounts.contains(where: mayRun)
    }

    /// Lets the stream that has waited longest listen; false when none waits. Only when the load has ended.
    func beginNextListener() -> Bool {
        guard let outcome else { preconditionFailure("a stream listens before its database is there") }
        while firstListener < listenerOrder.count {
            let listener = listenerOrder[firstListener]
            firstListener += 1
            guard let begin = listeners.removeValue(forKey: ObjectIdentifier(listener)) else { continue }
            begin(outcome)
            return true
        }
        (listenerOrder, firstListener) = ([], 0)
        return false
    }

    /// The database is there, or can't be loaded. Gives who arrived meanwhile.
    func ended(_ outcome: Outcome) -> (sessions: [Session], users: [String]) {
        precondition(self.outcome == nil, "a database is loaded twice")
        self.outcome = outcome
        defer { (sessions, users, knownUsers) = ([:], [], []) }
        return (Array(sessions.values), users)
    }

    /// Takes out the next call, of the next account that `mayRun` admits; nil when there is none. Only when the load
    /// has ended.
    func nextCall(
        where mayRun: (ClientShare.Key) -> Bool
    ) -> (account: ClientShare.Key, run: () -> Void, byteCount: Int)? {
        guard let outcome else { preconditionFailure("a call is run before its database is there") }
        guard let (account, call) = calls.popFirst(where: mayRun) else { return nil }
        return (account, { call.body(outcome) }, call.byteCount)
    }
}
