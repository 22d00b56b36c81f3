extension CKSyncEngine {
    /// How an engine works.
    public struct Configuration: Sendable {
        /// The database to keep in step with: a private or a shared one, each with an engine and a state of its own. A
        /// public one traps. In the shared one zones can't be saved; deleting one leaves its shares.
        public var database: CKDatabase

        /// The state that the last ``CKSyncEngine/Event/stateUpdate(_:)`` of the launch before gave; nil at the first.
        public var stateSerialization: State.Serialization?

        /// Who handles what happens. The engine holds it weakly.
        public var delegate: any CKSyncEngineDelegate

        /// Whether the engine fetches and sends by itself: at its start, when something changes on the server, and when
        /// there is something to send. Without it, it waits for calls.
        public var automaticallySync: Bool = true

        /// The subscription that tells of changes; made when it is not there. Nil: any database subscription that there
        /// is, or one of the engine's own.
        public var subscriptionID: CKSubscription.ID? = nil

        /// Brume's addition: keeps the state, in the place of ``CKSyncEngine/Event/stateUpdate(_:)``, which the
        /// delegate is not told then. Called before a call that adds or removes pending changes returns, and when the
        /// engine changed it.
        ///
        /// State updates come some 100 ms after a change, and a crash in between loses the changes that were added.
        /// Write the state to disk here, in the app's own transaction if it has one, and nothing is lost: it holds what
        /// waits and what is on its way, and tokens only of what the delegate has handled.
        ///
        /// Called on the thread of the change, one call at a time, each with a state that is no older than the one
        /// before. From within it the state can be read; adding or removing changes traps.
        public var persistState: (@Sendable (State.Serialization) -> Void)? = nil

        /// A configuration that syncs automatically.
        public init(
            database: CKDatabase, stateSerialization: State.Serialization?, delegate: any CKSyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
        }
    }
}
