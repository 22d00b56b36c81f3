internal import BrumeKit
internal import BrumeModel
internal import BrumeSystem
internal import Foundation

/// Device B of the demo: receives pushes, and fetches from its saved tokens. Knows nothing of device A.
actor DemoFollower {
    /// The shortest time between two writes of the store while changes come. The file's records and tokens have the
    /// same age, so nothing is lost.
    private static let writeNanoseconds: UInt64 = 5_000_000_000

    private let context: ClientContext
    private let storePath: String
    private var store: DemoStore
    private var wantedDigest: String?
    private var waiter: CheckedContinuation<Void, Never>?
    private var isSyncing = false
    private var isSyncWanted = false
    private var writtenNanoseconds: UInt64 = 0

    /// The figures since they were last taken.
    private(set) var pushes = 0
    private(set) var changes = 0
    private(set) var fetches = 0
    /// The time from the server's commit to the push's arrival here.
    private(set) var latencyMilliseconds: [Double] = []

    init(context: ClientContext, stateFolder: String) throws {
        self.context = context
        storePath = stateFolder + "/store.jsonl"
        store = try DemoStore(contentsOf: storePath)
    }

    var recordCount: Int { store.recordCount }

    /// Saves a zone subscription and a database subscription. The zone has to exist.
    func subscribe() async throws {
        let zoneID = CKRecordZone.ID(zoneName: TimeZones.zone)
        let subscriptions = [
            CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "demo-time-zones"),
            CKDatabaseSubscription(subscriptionID: "demo-database"),
        ]
        let results = try await context.database.modifySubscriptions(saving: subscriptions, deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
    }

    /// Listens until the process ends; calls `ready` when the stream is open. Not isolated to the actor, which may be
    /// busy: the time of receipt has to be that of the push.
    nonisolated func listen(ready: () -> Void) async throws {
        var isFirst = true
        for try await event in context.container.notificationEvents {
            let now = Date().timeIntervalSince1970 * 1000
            if case .ready = event.kind {
                if isFirst { ready() }
                isFirst = false
            } else {
                let committed = Double(event.committedMilliseconds)
                await pushed(latencyMilliseconds: committed > 0 ? max(0, now - committed) : nil)
            }
            // There may be something to fetch after a reconnect, too.
            await wantSync()
        }
    }

    private func pushed(latencyMilliseconds latency: Double?) {
        pushes += 1
        if let latency { latencyMilliseconds.append(latency) }
    }

    /// Waits until the records here have this digest.
    func waitUntil(_ digest: String) async {
        if store.digest == digest { return }
        wantedDigest = digest
        await withCheckedContinuation { waiter = $0 }
    }

    func takeFigures() -> (pushes: Int, changes: Int, fetches: Int, latencyMilliseconds: [Double]) {
        defer { (pushes, changes, fetches, latencyMilliseconds) = (0, 0, 0, []) }
        return (pushes, changes, fetches, latencyMilliseconds)
    }

    func writeStore() throws -> String {
        try store.write(to: storePath)
        return storePath
    }

    /// Syncs one at a time; pushes during a sync cause one more.
    private func wantSync() {
        isSyncWanted = true
        guard !isSyncing else { return }
        isSyncing = true
        Task {
            while isSyncWanted {
                isSyncWanted = false
                do {
                    try await sync()
                } catch {
                    Terminal.printError("device B: \(CommandError(describing: error).message)")
                    isSyncWanted = CommandError(describing: error).code == .unreachable
                }
            }
            isSyncing = false
        }
    }

    private func sync() async throws {
        var moreComing = true
        while moreComing {
            let token = store.tokens[""].map { CKServerChangeToken(bytes: $0) }
            let page = try await context.database.databaseChanges(since: token)
            fetches += 1
            for deletion in page.deletions {
                store.dropZone(deletion.zoneID.zoneName)
            }
            for modification in page.modifications { try await syncZone(modification.zoneID) }
            // Not earlier: if a zone's fetch had failed, the database's token would have to report the zone again.
            store.tokens[""] = page.changeToken.bytes
            moreComing = page.moreComing
        }
        let now = MonotonicClock.nowNanoseconds
        if now > writtenNanoseconds + Self.writeNanoseconds {
            writtenNanoseconds = now
            try store.write(to: storePath)
        }
        if let wantedDigest, store.digest == wantedDigest {
            self.wantedDigest = nil
            waiter?.resume()
            waiter = nil
        }
    }

    private func syncZone(_ zoneID: CKRecordZone.ID) async throws {
        let zone = zoneID.zoneName
        var moreComing = true
        while moreComing {
            let token = store.tokens[zone].map { CKServerChangeToken(bytes: $0) }
            do {
                let page = try await context.database.recordZoneChanges(inZoneWith: zoneID, since: token)
                fetches += 1
                changes += page.modificationResultsByID.count + page.deletions.count
                for result in page.modificationResultsByID.values { store.put(try result.get().record) }
                for deletion in page.deletions { store.set(zone, deletion.recordID.recordName, nil) }
                store.tokens[zone] = page.changeToken.bytes
                moreComing = page.moreComing
            } catch CKError.changeTokenExpired {
                // The zone was deleted and made again: drop the records of the old one.
                store.dropZone(zone)
            } catch CKError.zoneNotFound {
                return
            }
        }
    }
}
