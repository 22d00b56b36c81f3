@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeStore
import BrumeTestKit
import Foundation

/// The server's own sessions, shards, journal and feeds, for the devices of a ``SyncEngineWorld``: each request is a
/// call on the device's connection, whose notification stream gives the pushes. It may die at any moment, before or
/// after what it was asked for is on its disk.
///
/// `@unchecked Sendable`: a world has one thread.
final class ShardServer: WorldServer, @unchecked Sendable {
    /// So little that tokens expire in the midst of it.
    private static let history = HistoryLimits(tombstonesPerZone: 2, deletedZones: 2, runs: 2)

    private let disk = SimulatedDisk()
    private var server: SteppedServer!
    private var runs: UInt32 = 0
    private var nowNanoseconds: UInt64 = 1_000_000_000
    /// The devices that have ever connected, whose ids are their places here.
    private var devices: [String] = []
    /// Their connections and notification streams.
    private var peers: [String: (connection: FramePeer, notifications: UInt32)] = [:]
    private let coder = MessageCoder()
    /// Makes the requests that the SDK makes; nothing is sent on it.
    private let database: CKDatabase
    private let folder: TestFolder
    /// What there was to withstand.
    struct Trials: Equatable {
        var pushes = 0
        var deaths = 0
        /// Of saves.
        var conflicts = 0
        var expiredTokens = 0
        /// The token's zone was another one.
        var zonesMadeAgain = 0
    }

    private(set) var trials = Trials()
    let mayDie = true
    var onPush: (_ device: String, SyncEngineStateMachine.Push) -> Void = { _, _ in }

    init() throws {
        let (container, folder) = try fakeContainer(FakeTransport())
        database = container.privateCloudDatabase
        self.folder = folder
        try start()
    }

    private func start() throws {
        runs += 1
        server = try SteppedServer(
            disk: disk, run: runs, nowNanoseconds: nowNanoseconds, turnNanoseconds: 100_000
        ) { $0.history = Self.history }
    }

    // MARK: Faults

    func die(seed: UInt64) {
        trials.deaths += 1
        peers = [:]
        nowNanoseconds = server.nowNanoseconds
        server = nil
        disk.crash(seed: seed)
        try! start()
    }

    func forgetHistory() {
        server.snapshot()
        die(seed: 1)
    }

    func disconnect(_ device: String) {
        peers.removeValue(forKey: device)?.connection.disconnect()
        server.settle()
    }

    // MARK: Devices

    /// The device's connection, which it has opened if there was none.
    private func peer(_ device: String) -> FramePeer {
        if let peer = peers[device], peer.connection.isOpen { return peer.connection }
        if !devices.contains(device) { devices.append(device) }
        let connection = try! server.connect(account: "a", device: UInt8(devices.firstIndex(of: device)! + 1))
        peers[device] = (connection, connection.openNotifications())
        return connection
    }

    /// The account's user record.
    private func user(_ device: String) -> String { peer(device).welcome!.userRecordName }

    /// Gives what came on the devices' streams.
    func deliverPushes() {
        server.settle()
        for (device, peer) in peers.sorted(by: { $0.key < $1.key }) {
            for event in try! peer.connection.takeEvents(peer.notifications) {
                trials.pushes += 1
                switch event.kind {
                case .ready: onPush(device, .opened)
                case .databaseChanged(.private), .fetchFromToken(.private): onPush(device, .databaseChanged)
                case .zoneChanged(let zone):
                    if let id = CKRecordZone.ID(zone, currentUser: peer.connection.welcome!.userRecordName) {
                        onPush(device, .zoneChanged(id))
                    }
                case .databaseChanged, .fetchFromToken, .recordChanged, .unknown: break
                }
            }
        }
        server.settle()
    }

    private func call<Answer>(
        _ device: String, _ method: BrumeProtocol.Method, _ request: [UInt8],
        _ decode: (UnsafeRawBufferPointer) throws(ServiceError) -> Answer
    ) -> Result<Answer, CKError> {
        let peer = peer(device)
        let stream = peer.start(method, request)
        server.settle()
        guard let outcome = peer.takeOutcome(stream) else { return .failure(CKError(.serverResponseLost)) }
        do throws(ServiceError) {
            return .success(try outcome.get().decoded(decode))
        } catch {
            if error.code == .changeTokenExpired { trials.expiredTokens += 1 }
            if error.detail == .zoneMadeAgain { trials.zonesMadeAgain += 1 }
            return .failure(CKError(error))
        }
    }

    func answer(
        _ request: SyncEngineRequest, of device: String, pageSize: Int, isLost: Bool, dies seed: UInt64?
    ) -> SyncEngineAnswer {
        if let seed {
            // The server took the request in; what it did of it may or may not be on the disk.
            switch request {
            case .modifyZones(let saves, let deletions):
                peer(device).start(.zonesModify, coder.encodeModifyZonesRequest(zoneRequest(saves, deletions)))
            case .modifyRecords(let batch):
                if let modification = try? modification(batch) {
                    peer(device).start(
                        .recordsModify, coder.encodeModifyRecordsRequest(modification.parts[0].wholeRequest))
                }
            default: break
            }
            server.turn()
            if seed % 2 == 0 { server.stepJournal() }
            die(seed: seed)
            deliverPushes()
            return WorldDevice.failure(CKError(.serverResponseLost), of: request)
        }
        defer { deliverPushes() }
        switch request {
        case .assetFiles: preconditionFailure("a server was asked for a device's files")
        case .account: return .account(.success(user(device)))
        case .subscription:
            let subscription = Subscription(id: "CKSyncEngine", kind: .database(recordType: ""))
            return .subscription(
                call(
                    device, .subscriptionsModify,
                    coder.encodeModifySubscriptionsRequest(
                        ModifySubscriptionsRequest(database: .private, saves: [subscription])),
                    coder.decodeModifySubscriptionsResponse
                ).map { _ in })
        case .databaseChanges(let token):
            return .databaseChanges(databaseChanges(device, since: token, pageSize: pageSize))
        case .zoneChanges(let id, let token):
            return .zoneChanges(zoneChanges(device, id, since: token, pageSize: pageSize))
        case .deletionReasons: return .deletionReasons(.success([:]))
        case .firstFetchTokens(let ids):
            return .firstFetchTokens(
                call(
                    device, .zonesFetch,
                    coder.encodeFetchZonesRequest(database: .private, zones: ids.map(\.modelID)),
                    coder.decodeFetchZonesResponse
                ).map { zones in
                    var tokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
                    for (id, zone) in zip(ids, zones) {
                        tokens[id] = (try? zone.get()).flatMap { CKRecordZone($0, currentUser: nil)?.firstFetchToken }
                    }
                    return tokens
                })
        case .modifyZones(let saves, let deletions):
            return .modifyZones(
                call(
                    device, .zonesModify, coder.encodeModifyZonesRequest(zoneRequest(saves, deletions)),
                    coder.decodeModifyZonesResponse
                ).map { result in
                    var results = SyncEngineAnswer.ZoneResults(saves: [:], deletions: [:])
                    for (zone, outcome) in zip(saves, result.saves) {
                        results.saves[zone.zoneID] = outcome.map { CKRecordZone($0, currentUser: nil)! }
                            .mapError { CKError($0) }
                    }
                    for (id, error) in zip(deletions, result.deletions) {
                        results.deletions[id] = error.map { .failure(CKError($0)) } ?? .success(())
                    }
                    return results
                })
        case .modifyRecords(let batch):
            do throws(CKError) {
                // One owner's records are one request.
                let modification = try modification(batch).parts[0]
                let answers = try call(
                    device, .recordsModify, coder.encodeModifyRecordsRequest(modification.wholeRequest),
                    coder.decodeModifyRecordsResponse
                ).get()
                // Records take over what was saved when the answer arrives.
                if isLost { return .modifyRecords(.failure(CKError(.serverResponseLost))) }
                let results = try modification.results(
                    answers, context: AnswerContext(currentUser: user(device)))
                for case .failure(CKError.serverRecordChanged) in results.saveResults.values { trials.conflicts += 1 }
                return .modifyRecords(
                    .success(
                        .init(
                            saves: results.saveResults.mapValues(\.typed),
                            deletions: results.deleteResults.mapValues(\.typed))))
            } catch {
                return .modifyRecords(.failure(error))
            }
        }
    }

    private func modification(
        _ batch: CKSyncEngine.RecordZoneChangeBatch
    ) throws(CKError) -> CKDatabase.RecordModification {
        try database.modification(
            saving: batch.recordsToSave, deleting: batch.recordIDsToDelete, savePolicy: .ifServerRecordUnchanged,
            atomically: batch.atomicByZone)
    }

    private func zoneRequest(_ saves: [CKRecordZone], _ deletions: [CKRecordZone.ID]) -> ModifyZonesRequest {
        ModifyZonesRequest(
            database: .private, saves: saves.map(\.zoneID.modelID), deletions: deletions.map(\.modelID),
            operationID: ContainerCore.newOperationID())
    }

    private func databaseChanges(
        _ device: String, since token: CKServerChangeToken?, pageSize: Int
    ) -> Result<SyncEngineAnswer.DatabasePage, CKError> {
        let request = DatabaseChangesRequest(database: .private, token: token?.bytes ?? [], resultsLimit: pageSize)
        return call(
            device, .databasesChanges, coder.encodeDatabaseChangesRequest(request), coder.decodeDatabaseChangesResponse
        ).map { page in
            SyncEngineAnswer.DatabasePage(
                earlierDeletions: page.earlierDeletions.map {
                    .init(zoneID: CKRecordZone.ID($0.zone, currentUser: nil)!, reason: .deleted)
                },
                modifications: page.changed.map { .init(zoneID: CKRecordZone.ID($0, currentUser: nil)!) },
                deletions: page.deletions.map {
                    .init(zoneID: CKRecordZone.ID($0.zone, currentUser: nil)!, reason: .deleted)
                },
                token: CKServerChangeToken(bytes: page.token), moreComing: page.moreComing)
        }
    }

    private func zoneChanges(
        _ device: String, _ id: CKRecordZone.ID, since token: CKServerChangeToken?, pageSize: Int
    ) -> Result<SyncEngineAnswer.ZonePage, CKError> {
        let context = AnswerContext(currentUser: user(device))
        let request = ZoneChangesRequest(
            database: .private, zone: id.modelID, token: token?.bytes ?? [], resultsLimit: pageSize)
        return call(
            device, .recordsChanges, coder.encodeZoneChangesRequest(request), coder.decodeZoneChangesResponse
        ).map { page in
            SyncEngineAnswer.ZonePage(
                modifications: page.records.map { .init(record: CKRecord.make($0, zoneID: id, context: context)!) },
                deletions: page.deletions.map {
                    .init(recordID: CKRecord.ID(recordName: $0.name, zoneID: id), recordType: $0.type)
                },
                token: CKServerChangeToken(bytes: page.token), moreComing: page.moreComing)
        }
    }

    /// What a device that knows nothing fetches.
    var words: [CKRecord.ID: Set<String>] {
        var words: [CKRecord.ID: Set<String>] = [:]
        for zone in SyncEngineWorld.zones {
            guard let page = try? zoneChanges("reader", zone, since: nil, pageSize: 0).get() else { continue }
            precondition(!page.moreComing, "a world's zone fits into a page")
            for modification in page.modifications {
                let text: String = modification.record["words"] ?? ""
                words[modification.record.recordID] = Set(text.split(separator: " ").map(String.init))
            }
        }
        return words
    }
}
