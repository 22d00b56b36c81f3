internal import BrumeLock
public import Foundation

extension CKSyncEngine {
    /// Brume's addition: how far this device and the server are in step, for a zone or for the whole database.
    public struct SyncStatus: Hashable, Sendable {
        /// The zone; nil for the whole database.
        public let zoneID: CKRecordZone.ID?

        /// The changes to records that the server does not have for certain: those that wait, and those on their way.
        public let pendingRecordZoneChanges: [PendingRecordZoneChange]

        /// The changes to zones that the server does not have for certain.
        public let pendingDatabaseChanges: [PendingDatabaseChange]

        /// Up to here this device has the server's changes, and its delegate has handled them. Nil before the first.
        public let changeToken: CKServerChangeToken?

        /// Where the server's changes ended when it was asked last, at ``certificationDate``. Nil when it was not
        /// asked.
        public let serverChangeToken: CKServerChangeToken?

        /// Whether this device has all of the server's changes: as of ``certificationDate``, and as far as has been
        /// heard since.
        public let hasAllServerChanges: Bool

        /// When the server was asked last, by this device's clock. Nil when it was not.
        public let certificationDate: Date?

        /// Whether this device has all of the server's changes and the server all of this device's.
        public var isInSync: Bool {
            hasAllServerChanges && pendingRecordZoneChanges.isEmpty && pendingDatabaseChanges.isEmpty
        }

        /// What statuses are made of.
        struct Source {
            let state: SyncEngineState
            /// Whether all zones that have changes are known.
            let knowsAllZones: Bool
        }

        init(_ source: Source, zoneID: CKRecordZone.ID?, certified date: Date?) {
            let state = source.state
            self.zoneID = zoneID
            let token: CKServerChangeToken?
            let isBehind: Bool
            if let zoneID {
                pendingRecordZoneChanges = state.unsentRecordChanges.filter { $0.recordID.zoneID == zoneID }
                pendingDatabaseChanges = state.unsentZoneChanges.filter { $0.zoneID == zoneID }
                token = state.zoneTokens[zoneID]
                isBehind = state.unfetchedZones.contains(zoneID)
            } else {
                pendingRecordZoneChanges = state.unsentRecordChanges
                pendingDatabaseChanges = state.unsentZoneChanges
                token = state.databaseToken
                isBehind = !state.unfetchedZones.isEmpty
            }
            changeToken = token
            hasAllServerChanges = source.knowsAllZones && !isBehind
            serverChangeToken = hasAllServerChanges ? token : nil
            certificationDate = date
        }

        /// The status as the server's answer has it.
        init(_ local: SyncStatus, server: CKServerChangeToken, hasAll: Bool, date: Date) {
            zoneID = local.zoneID
            pendingRecordZoneChanges = local.pendingRecordZoneChanges
            pendingDatabaseChanges = local.pendingDatabaseChanges
            changeToken = local.changeToken
            serverChangeToken = server
            hasAllServerChanges = hasAll
            certificationDate = date
        }
    }

    /// Brume's addition: the status as this device knows it, without asking the server.
    public func syncStatus(for zoneID: CKRecordZone.ID? = nil) -> SyncStatus {
        driver.status(zoneID)
    }

    /// Brume's addition: the status, with the server asked for what there is beyond this device's token.
    ///
    /// Nothing is fetched by it but ids. One that says ``SyncStatus/isInSync`` is a promise: at that moment the
    /// server's database, or zone, and this device's held the same.
    ///
    /// - Throws: What fails the server's call. For a zone: `zoneNotFound`, and `invalidArguments` for the default zone,
    ///   which has no changes to fetch.
    public func certifiedSyncStatus(for zoneID: CKRecordZone.ID? = nil) async throws -> SyncStatus {
        let local = syncStatus(for: zoneID)
        let date = Date()
        var token = local.changeToken
        var isAnythingNew = local.changeToken == nil
        var moreComing = true
        while moreComing {
            do {
                if let zoneID {
                    let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token, desiredKeys: [])
                    isAnythingNew =
                        isAnythingNew || !page.modificationResultsByID.isEmpty || !page.deletions.isEmpty
                    (token, moreComing) = (page.changeToken, page.moreComing)
                } else {
                    let page = try await database.databaseChanges(since: token)
                    isAnythingNew = isAnythingNew || !page.modifications.isEmpty || !page.deletions.isEmpty
                    (token, moreComing) = (page.changeToken, page.moreComing)
                }
            } catch CKError.changeTokenExpired where token != nil {
                // What came since can't be told any more.
                (token, isAnythingNew) = (nil, true)
            }
        }
        let isBehind = driver.read { machine in
            zoneID.map(machine.state.unfetchedZones.contains) ?? !machine.state.unfetchedZones.isEmpty
        }
        return SyncStatus(local, server: token!, hasAll: !isAnythingNew && !isBehind, date: date)
    }

    /// Brume's addition: the status now, and each time it becomes another one, as this device knows it.
    ///
    /// A slow reader gets the newest value and none of those in between. The sequence ends with the engine.
    public func syncStatuses(for zoneID: CKRecordZone.ID? = nil) -> SyncStatuses {
        SyncStatuses(stream: driver.statuses.stream(zoneID, first: driver.status(zoneID)))
    }

    /// The statuses of a zone or a database; see ``CKSyncEngine/syncStatuses(for:)``.
    public struct SyncStatuses: AsyncSequence, Sendable {
        let stream: AsyncStream<SyncStatus>

        /// Gives statuses to one task.
        public func makeAsyncIterator() -> Iterator { Iterator(iterator: stream.makeAsyncIterator()) }

        /// An iterator over statuses.
        public struct Iterator: AsyncIteratorProtocol {
            var iterator: AsyncStream<SyncStatus>.Iterator

            /// The next status; nil when the engine is gone or the task cancelled.
            public mutating func next() async -> SyncStatus? { await iterator.next() }
        }
    }
}

/// Tells those who listen of each new status.
final class SyncStatusBroadcast: Sendable {
    private struct Listener: Sendable {
        let zoneID: CKRecordZone.ID?
        var last: CKSyncEngine.SyncStatus
        let continuation: AsyncStream<CKSyncEngine.SyncStatus>.Continuation
    }

    private struct Held: Sendable {
        var listeners: [UInt64: Listener] = [:]
        var lastID: UInt64 = 0
    }

    private let held = Lock(Held())

    func stream(
        _ zoneID: CKRecordZone.ID?, first: CKSyncEngine.SyncStatus
    ) -> AsyncStream<CKSyncEngine.SyncStatus> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: CKSyncEngine.SyncStatus.self, bufferingPolicy: .bufferingNewest(1))
        let id = held.withLock { held in
            held.lastID += 1
            held.listeners[held.lastID] = Listener(zoneID: zoneID, last: first, continuation: continuation)
            continuation.yield(first)
            return held.lastID
        }
        continuation.onTermination = { [weak self] _ in
            self?.held.withLock { _ = $0.listeners.removeValue(forKey: id) }
        }
        return stream
    }

    /// Something may be different. `status` is asked within the lock, so that no listener ends with an older one.
    func changed(_ status: (CKRecordZone.ID?) -> CKSyncEngine.SyncStatus) {
        held.withLock { held in
            for (id, listener) in held.listeners {
                let now = status(listener.zoneID)
                guard now != listener.last else { continue }
                held.listeners[id]!.last = now
                listener.continuation.yield(now)
            }
        }
    }

    func finish() {
        let listeners = held.withLock { held in
            defer { held.listeners = [:] }
            return held.listeners.values.map(\.continuation)
        }
        for continuation in listeners { continuation.finish() }
    }
}
