package import BrumeModel

extension CKContainer {
    /// Brume's addition: what CloudKit hands to the app delegate, the notifications of the user's subscriptions, as
    /// they come.
    ///
    /// The first iterator opens the device's stream at its first element, and the stream closes with the last iterator.
    /// After a broken connection it resumes where it was. Every iterator gets every notification from then on.
    ///
    /// A notification is acknowledged once every iterator has asked for the next one, or ended; what was not
    /// acknowledged comes again when the app is started anew. So each comes at least once. What came before the first
    /// iterator, while a ``CKSyncEngine`` or an ``NSUbiquitousKeyValueStore`` listened alone, waits for it, and comes
    /// again after a new start as long as no iterator had it; only in an app that never had one on this device do
    /// engines and stores acknowledge alone. When notifications were dropped, because the device was away for long or
    /// an iterator left 256 of them waiting, one ``CKDatabaseNotification`` stands for them whose `isPruned` is true:
    /// fetch changes from your tokens.
    ///
    /// Connections that break don't end the iteration. An account that is missing or refused does, with that error, and
    /// one that is signed out or switched, with `notAuthenticated`; so does a missing configuration.
    public var notifications: Notifications { Notifications(core: core) }

    /// The events behind ``notifications``, with the server's time of each commit, and the one that says that the
    /// stream is open.
    package var notificationEvents: NotificationEvents { NotificationEvents(core: core) }

    /// The notifications of a container; see ``CKContainer/notifications``.
    public struct Notifications: AsyncSequence, Sendable {
        let core: ContainerCore

        /// Gives notifications to one task.
        public func makeAsyncIterator() -> Iterator {
            Iterator(core: core, events: NotificationEvents(core: core).makeAsyncIterator())
        }

        /// An iterator over notifications. One task uses it at a time.
        public struct Iterator: AsyncIteratorProtocol {
            let core: ContainerCore
            var events: NotificationEvents.Iterator

            /// The next notification; nil when the task is cancelled.
            public mutating func next() async throws -> CKNotification? {
                while let event = try await events.next() {
                    // Those of the key-value store are no business of the app's.
                    if event.subscriptionID == KeyValueStoreRecord.subscriptionID { continue }
                    // An event about the stream itself, or of a kind that this version does not know, is none.
                    let notification = CKNotification(
                        event, containerIdentifier: core.configuration.container, currentUser: events.currentUser)
                    if let notification { return notification }
                }
                return nil
            }
        }
    }

    /// The raw events of a container; see ``CKContainer/notificationEvents``.
    package struct NotificationEvents: AsyncSequence, Sendable {
        let core: ContainerCore
        /// Whether the SDK itself listens; see ``NotificationFanOut``.
        var isObserver = false

        package func makeAsyncIterator() -> Iterator { Iterator(core: core, isObserver: isObserver) }

        package struct Iterator: AsyncIteratorProtocol {
            let core: ContainerCore
            private let isObserver: Bool
            private var consumer: NotificationConsumer?

            /// Of the account that the events are for.
            var currentUser: String? { consumer?.session.currentUser }

            init(core: ContainerCore, isObserver: Bool) {
                self.core = core
                self.isObserver = isObserver
            }

            package mutating func next() async throws -> NotificationEvent? {
                let listening: NotificationConsumer
                if let consumer {
                    listening = consumer
                } else {
                    let account = core.account
                    guard account.configuration.token != nil else { throw account.configuration.missingAccount }
                    listening = try await account.listen(isObserver: isObserver)
                    consumer = listening
                }
                do throws(ServiceError) {
                    return try await listening.session.nextEvent(consumer: listening.id)
                } catch {
                    // As the sequences of the standard library do: a cancelled task's iteration is over.
                    if error.code == .operationCancelled, Task.isCancelled { return nil }
                    throw CKError(error)
                }
            }
        }
    }
}

/// One listener of a session, which ends with this object.
final class NotificationConsumer: Sendable {
    let session: ClientSession
    let id: UInt64

    init(session: ClientSession, owner: ObjectIdentifier, isObserver: Bool, appListened: Bool) async {
        self.session = session
        id = await session.consumerAdded(owner: owner, isObserver: isObserver, appListened: appListened)
    }

    deinit {
        session.consumerRemoved(id)
    }
}
