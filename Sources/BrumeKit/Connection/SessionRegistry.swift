internal import BrumeLock

/// The process's sessions: containers with one configuration share one.
///
/// Sessions end when nobody uses them, but for those used last: an app that makes a container for each call keeps its
/// connection.
package final class SessionRegistry: Sendable {
    package static let shared = SessionRegistry()

    private struct State {
        var sessions: [ClientSession.Key: WeakSession] = [:]
        /// The latest last.
        var recent: [ClientSession] = []
    }

    private struct WeakSession: Sendable {
        weak var session: ClientSession?
    }

    private let state = Lock(State())

    package init() {}

    /// Keeps a session no longer that somebody is done with. Those who use it have it.
    package func forget(_ session: ClientSession) {
        state.withLock { state in state.recent.removeAll { $0 === session } }
    }

    /// The session for a key, made when there is none.
    package func session(_ key: ClientSession.Key, transport: any ClientTransport) -> ClientSession {
        var dropped: ClientSession?
        let session = state.withLock { state in
            let session: ClientSession
            if let known = state.sessions[key]?.session {
                session = known
                state.recent.removeAll { $0 === known }
            } else {
                session = ClientSession(key: key, transport: transport)
                state.sessions = state.sessions.filter { $0.value.session != nil }
                state.sessions[key] = WeakSession(session: session)
            }
            state.recent.append(session)
            if state.recent.count > ClientSessionLimits.idleSessionsMax { dropped = state.recent.removeFirst() }
            return session
        }
        // It may end here, outside of the lock.
        withExtendedLifetime(dropped) {}
        return session
    }
}
