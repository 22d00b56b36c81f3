internal import BrumeModel

/// A database that is loaded on another thread, and what waits for it. On the loop of the database's shard.
///
/// Calls wait in the order in which they came, and those that come while the first are answered wait behind them. How
/// many may wait is the shard's to say. Sessions and users that arrive are no calls: there is one of each at most for
/// each that is connected, and they are served as soon as the database is there. Nor are streams that are to listen, of
/// which there are as many as are open: each is served, in turns with the calls.
final class DatabaseLoad {
    typealias Outcome = Result<LoadedDatabase, ServiceError>

    private struct Call {
        let byteCount: Int
        let body: (Outcome) -> Void
    }

    let id: DatabaseID
    /// Nil: the load goes on.
    private(set) var outcome: Outcome?
    private var calls: [Call] = []
    private var firstCall = 0
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
    var callCount: Int { calls.count - firstCall }

    /// Adds a call behind those that wait.
    func wait(byteCount: Int, _ body: @escaping (Outcome) -> Void) {
        calls.append(Call(byteCount: byteCount, body: body))
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

    /// Runs the call that has waited longest, and returns its bytes; nil when none waits. Only when the load has ended.
    func runNext() -> Int? {
        guard let outcome else { preconditionFailure("a call is run before its database is there") }
        guard firstCall < calls.count else { return nil }
        let call = calls[firstCall]
        calls[firstCall] = Call(byteCount: 0) { _ in }
        firstCall += 1
        if firstCall == calls.count { (calls, firstCall) = ([], 0) }
        call.body(outcome)
        return call.byteCount
    }
}
