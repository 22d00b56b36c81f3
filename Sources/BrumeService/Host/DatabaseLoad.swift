package import BrumeModel

/// A database that the log opens for a while, and what waits for it. On the loop of the database's shard.
///
/// Each account's calls wait in order of arrival, also those that arrive while earlier ones are being answered; the
/// accounts take turns. The shard limits how many calls may wait. Clients and users that arrive don't count as calls:
/// there is at most one of each per connection, and they are served as soon as the database is loaded. Streams that
/// want to listen don't count either: there are as many as are open, and they are served in turns with the calls.
package final class DatabaseLoad {
    package typealias Outcome = Result<LoadedDatabase, ServiceError>

    private struct Call {
        let byteCount: Int
        let body: (Outcome) -> Void
    }

    /// What the loader is given, once for each account that waits for the load.
    ///
    /// `@unchecked Sendable`: the loader's thread alone takes it.
    final class Ticket: @unchecked Sendable {
        private var isTaken = false

        /// Claims the load. Returns true to the first caller only.
        func take() -> Bool {
            defer { isTaken = true }
            return !isTaken
        }
    }

    let id: DatabaseID
    let ticket = Ticket()
    /// What the loader has to do for it.
    let work: @Sendable () -> Void
    /// The accounts in whose lines the load waits.
    private var accounts: Set<ClientShare.Key> = []
    /// How the load ended; nil while it goes on.
    private(set) var outcome: Outcome?
    private var calls = FairQueue<Call>()
    private var clients = Arrivals<Client>()
    /// In the order in which they came, so that a run can be repeated.
    private var users: [Identity] = []
    /// The tokens of ``users``, each of whom is there once for each token.
    private var knownTokens: Set<[UInt8]> = []
    private var listeners: [ObjectIdentifier: (Outcome) -> Void] = [:]
    /// In the order in which they came; some may have left.
    private var listenerOrder: [FarListener] = []
    private var firstListener = 0

    init(id: DatabaseID, _ work: @escaping @Sendable () -> Void) {
        self.id = id
        self.work = work
    }

    /// The number of calls that wait.
    var callCount: Int { calls.count }

    /// The number of waiting calls that belong to an account.
    func callCount(of account: ClientShare.Key) -> Int { calls.count(of: account) }

    /// Notes that the load is in the account's line. Returns whether it was not in it before.
    func isNew(to account: ClientShare.Key) -> Bool { accounts.insert(account).inserted }

    /// Adds a call after those of its account that wait already.
    func wait(of account: ClientShare.Key, byteCount: Int, _ body: @escaping (Outcome) -> Void) {
        calls.append(Call(byteCount: byteCount, body: body), of: account)
    }

    /// Adds a client whose home database this is. `settle` is called at once if the database is loaded.
    func arrived(_ client: Client, settle: (LoadedDatabase) -> Void) {
        switch outcome {
        case nil: clients.insert(client)
        case .success(let loaded): settle(loaded)
        case .failure: break
        }
    }

    /// Forgets a client that has gone.
    func left(_ client: Client) { clients.remove(client) }

    /// Adds a user whose record the database should have. `make` is called at once if the database is loaded.
    func userArrived(_ user: Identity, make: (LoadedDatabase) -> Void) {
        switch outcome {
        case nil: if knownTokens.insert(user.tokenHash).inserted { users.append(user) }
        case .success(let loaded): make(loaded)
        case .failure: break
        }
    }

    /// Adds a stream that wants to listen to the database. `begin` is called when its turn comes, unless it leaves
    /// first.
    func listens(_ listener: FarListener, _ begin: @escaping (Outcome) -> Void) {
        listeners[ObjectIdentifier(listener)] = begin
        listenerOrder.append(listener)
    }

    /// Forgets a stream that has ended.
    func left(_ listener: FarListener) {
        guard listeners.removeValue(forKey: ObjectIdentifier(listener)) != nil else { return }
        // Compacts seldom, when many have left, so that streams that come and go don't fill the memory.
        guard listenerOrder.count > 2 * listeners.count + 16 else { return }
        listenerOrder = listenerOrder[firstListener...].filter { listeners[ObjectIdentifier($0)] != nil }
        firstListener = 0
    }

    /// Whether calls or streams still wait.
    var isAwaited: Bool { callCount > 0 || !listeners.isEmpty }

    /// Whether a stream still waits, or a call of an account that `mayRun` admits.
    func mayGoOn(where mayRun: (ClientShare.Key) -> Bool) -> Bool {
        !listeners.isEmpty || calls.accounts.contains(where: mayRun)
    }

    /// Lets the stream that has waited longest listen; returns false when none waits. Call it only after the load has
    /// ended.
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

    /// Ends the load, with the database or an error. Returns the clients and users that arrived meanwhile.
    func ended(_ outcome: Outcome) -> (clients: [Client], users: [Identity]) {
        precondition(self.outcome == nil, "a database is loaded twice")
        self.outcome = outcome
        defer { (clients, users, knownTokens) = (Arrivals(), [], []) }
        return (clients.all, users)
    }

    /// The database was lost while calls still waited for it: they get the error.
    func lost(_ error: ServiceError) { outcome = .failure(error) }

    /// Removes and returns the next call, of the next account that `mayRun` admits; nil when there is none. Call it
    /// only after the load has ended.
    func nextCall(
        where mayRun: (ClientShare.Key) -> Bool
    ) -> (account: ClientShare.Key, run: () -> Void, byteCount: Int)? {
        guard let outcome else { preconditionFailure("a call is run before its database is there") }
        guard let (account, call) = calls.popFirst(where: mayRun) else { return nil }
        return (account, { call.body(outcome) }, call.byteCount)
    }
}
