@testable import BrumeKit
import BrumeModel
import BrumeSystem
import Foundation

/// Runs a sync engine's machine against a scripted server and a scripted delegate, and writes down what happens.
final class EngineScript {
    var machine: SyncEngineStateMachine
    var now: UInt64 = 1_000
    /// Requests (`> …`), what the delegate is told and asked, and the ends of calls (`< …`).
    var log: [String] = []
    /// Gives an answer, or nil to leave the request open.
    var server: (SyncEngineRequest) -> SyncEngineAnswer? = EngineScript.friendlyServer
    var onEvent: (CKSyncEngine.Event) -> Void = { _ in }
    var onBatch: ((CKSyncEngine.SendChangesContext) -> CKSyncEngine.RecordZoneChangeBatch?)?
    var makeRecord: (CKRecord.ID) -> CKRecord = { CKRecord(recordType: "Note", recordID: $0) }
    var isAtomic = false
    var onOptions: (CKSyncEngine.FetchChangesContext) -> CKSyncEngine.FetchChangesOptions = { $0.options }
    var isDelegateThere = true
    /// Leaves questions to the delegate open.
    var holdsQuestions = false
    var openRequestID: UInt64?
    /// The batch whose save was left open last.
    private(set) var openBatch: CKSyncEngine.RecordZoneChangeBatch?
    /// The uploads under way, by the names of their files.
    private(set) var openUploads: [String: (id: UInt64, files: [AssetUpload])] = [:]
    /// How many of its files an upload was told to take at a time.
    private var placesOfUploads: [UInt64: Int] = [:]
    var openPlaces: Int { openUploads.values.reduce(0) { $0 + placesOfUploads[$1.id]! } }
    var openQuestion: SyncEngineQuestion?
    private var lastCall: UInt64 = 0
    private var todo: [SyncEngineStateMachine.Action] = []
    private var isPerforming = false

    init(_ state: SyncEngineState? = nil, isAutomatic: Bool = false) {
        machine = SyncEngineStateMachine(state: state, isAutomatic: isAutomatic, seed: 7)
    }

    /// A state with a user, as a launch before left it.
    static func signedIn(_ change: (inout SyncEngineState) -> Void = { _ in }) -> SyncEngineState {
        var state = SyncEngineState()
        state.account = .user("_ada")
        change(&state)
        return state
    }

    // MARK: Events

    func start() { perform(machine.started(now: now)) }

    func cancelOperations() { perform(machine.operationsCancelled(now: now)) }

    @discardableResult
    func fetch(_ scope: CKSyncEngine.FetchChangesOptions.Scope = .all) -> UInt64 {
        lastCall += 1
        perform(machine.called(lastCall, .fetch(.init(scope: scope)), now: now))
        return lastCall
    }

    @discardableResult
    func send(_ scope: CKSyncEngine.SendChangesOptions.Scope = .all) -> UInt64 {
        lastCall += 1
        perform(machine.called(lastCall, .send(.init(scope: scope)), now: now))
        return lastCall
    }

    func add(_ changes: CKSyncEngine.PendingRecordZoneChange...) {
        _ = machine.add(changes, now: now)
        perform(machine.timePassed(now: now))
    }

    func remove(_ changes: CKSyncEngine.PendingRecordZoneChange...) {
        _ = machine.remove(changes, now: now)
        perform(machine.timePassed(now: now))
    }

    func add(zones changes: CKSyncEngine.PendingDatabaseChange...) {
        _ = machine.add(changes, now: now)
        perform(machine.timePassed(now: now))
    }

    func push(_ push: SyncEngineStateMachine.Push) { perform(machine.pushed(push, now: now)) }

    /// Turns the clock to the machine's next deadline. Says how many milliseconds that took; nil when nothing waits for
    /// time.
    @discardableResult
    func turnClock() -> UInt64? {
        guard let deadline = machine.deadlineMilliseconds else { return nil }
        let passed = deadline - min(now, deadline)
        now += passed
        perform(machine.timePassed(now: now))
        return passed
    }

    /// Time passes, and the machine hears of it.
    func pass(_ milliseconds: UInt64) {
        now += milliseconds
        perform(machine.timePassed(now: now))
    }

    /// Answers the open request.
    func answer(_ answer: SyncEngineAnswer) {
        let id = openRequestID!
        openRequestID = nil
        perform(machine.answered(id, answer, now: now))
    }

    /// An upload ends.
    func endUpload(_ names: String, _ error: CKError? = nil) {
        guard let (id, files) = openUploads.removeValue(forKey: names) else { return log.append("no \(names)") }
        perform(machine.uploadEnded(id, error.map { .failure($0) } ?? .success(Self.assets(files)), now: now))
    }

    static func assets(_ files: [AssetUpload]) -> [URL: UploadedFile] {
        let checksum = AssetChecksum([UInt8](repeating: 7, count: AssetChecksum.byteCount))!
        return Dictionary(
            uniqueKeysWithValues: files.map { file in
                let asset = Asset(checksum: checksum, byteCount: 1, generation: 1)
                return (file.url, UploadedFile(asset: asset, secret: nil))
            })
    }

    /// The files of a batch, which need not be there. Films are large.
    static func files(of batch: CKSyncEngine.RecordZoneChangeBatch) -> [CKRecord.ID: [AssetUpload]] {
        var files: [CKRecord.ID: [AssetUpload]] = [:]
        for record in batch.recordsToSave {
            let urls = record.outgoing().filesToUpload()?.map(\.url) ?? []
            if urls.isEmpty { continue }
            files[record.recordID] = urls.map { url in
                let byteCount = url.lastPathComponent.hasPrefix("film") ? 100 << 20 : 1
                let version = FileVersion(byteCount: byteCount, modifiedNanoseconds: 1, inode: 1, device: 1)
                return AssetUpload(url: url, version: version)
            }
        }
        return files
    }

    /// The delegate answers the open question.
    func reply() {
        let question = openQuestion!
        openQuestion = nil
        perform(machine.replied(reply(to: question), now: now))
    }

    var pending: [CKSyncEngine.PendingRecordZoneChange] { machine.state.recordChanges.changes }
    var pendingZones: [CKSyncEngine.PendingDatabaseChange] { machine.state.zoneChanges.changes }

    /// The log since it was taken last, without state updates.
    func taken() -> [String] {
        defer { log = [] }
        return log.filter { $0 != "stateUpdate" }
    }

    // MARK: Actions

    func perform(_ actions: [SyncEngineStateMachine.Action]) {
        todo += actions
        if isPerforming { return }
        isPerforming = true
        defer { isPerforming = false }
        while !todo.isEmpty { perform(todo.removeFirst()) }
    }

    private func perform(_ action: SyncEngineStateMachine.Action) {
        switch action {
        case .request(let id, let request):
            log.append("> \(Self.text(request))")
            if let answer = server(request) {
                todo += machine.answered(id, answer, now: now)
            } else {
                openRequestID = id
            }
        case .cancelRequest: log.append("> cancel")
        case .upload(let id, _, let files, let limit):
            let names = files.map(\.url.lastPathComponent).joined(separator: " ")
            log.append("> upload \(names)")
            openUploads[names] = (id, files)
            placesOfUploads[id] = limit
        case .cancelUpload(let id):
            guard let names = openUploads.first(where: { $0.value.id == id })?.key else { break }
            log.append("> cancel \(names)")
            openUploads[names] = nil
        case .ask(let question):
            switch question {
            case .event(let event): log.append("\(event)")
            case .batch: log.append("batch?")
            case .fetchOptions: log.append("options?")
            }
            if holdsQuestions {
                openQuestion = question
            } else {
                todo += machine.replied(reply(to: question), now: now)
            }
        case .listen: log.append("> listen")
        case .finish(let id, let result):
            switch result {
            case .success: log.append("< \(id)")
            case .failure(let error): log.append("< \(id) \(error.code)")
            }
        }
    }

    private func reply(to question: SyncEngineQuestion) -> SyncEngineReply {
        guard isDelegateThere else { return .gone }
        switch question {
        case .event(let event):
            onEvent(event)
            return .handled
        case .batch(let context): return .batch(onBatch.map { $0(context) } ?? allPending(context))
        case .fetchOptions(let context): return .fetchOptions(onOptions(context))
        }
    }

    private func allPending(_ context: CKSyncEngine.SendChangesContext) -> CKSyncEngine.RecordZoneChangeBatch? {
        var batch = CKSyncEngine.RecordZoneChangeBatch(atomicByZone: isAtomic)
        let changes = pending.filter { context.options.scope.contains($0) && !machine.holdsBack($0, now: now) }
        for change in changes.prefix(400) {
            switch change {
            case .saveRecord(let id): batch.recordsToSave.append(makeRecord(id))
            case .deleteRecord(let id): batch.recordIDsToDelete.append(id)
            }
        }
        return batch.itemCount == 0 ? nil : batch
    }

    // MARK: The server

    /// Has an account and no changes, and takes everything.
    static func friendlyServer(_ request: SyncEngineRequest) -> SyncEngineAnswer? {
        switch request {
        case .account: .account(.success("_ada"))
        case .subscription: .subscription(.success(()))
        case .databaseChanges: databasePage([], token: "d")
        case .zoneChanges: zonePage([], token: "z")
        case .deletionReasons: .deletionReasons(.success([:]))
        case .firstFetchTokens(let zones):
            .firstFetchTokens(
                .success(Dictionary(uniqueKeysWithValues: zones.map { ($0, withToken($0).firstFetchToken!) })))
        case .modifyZones(let saves, let deletions):
            .modifyZones(
                .success(
                    .init(
                        saves: Dictionary(
                            uniqueKeysWithValues: saves.map { ($0.zoneID, .success(withToken($0.zoneID))) }),
                        deletions: Dictionary(uniqueKeysWithValues: deletions.map { ($0, .success(())) }))))
        case .assetFiles(let batch): .assetFiles(files(of: batch))
        case .modifyRecords(let batch): saved(batch)
        }
    }

    private static func withToken(_ zoneID: CKRecordZone.ID) -> CKRecordZone {
        CKRecordZone(zoneID: zoneID, capabilities: [], firstFetchToken: token("first"))
    }

    /// From now on the friendly server answers no save by itself.
    func leaveSavesOpen() {
        server = { [unowned self] request in
            guard case .modifyRecords(let batch) = request else { return Self.friendlyServer(request) }
            openBatch = batch
            return nil
        }
    }

    /// The friendly server, but that some records fail.
    static func server(
        failing errors: [CKRecord.ID: CKError]
    ) -> (SyncEngineRequest) -> SyncEngineAnswer? {
        { request in
            guard case .modifyRecords(let batch) = request else { return friendlyServer(request) }
            return saved(batch, failing: errors)
        }
    }

    static func saved(
        _ batch: CKSyncEngine.RecordZoneChangeBatch, failing errors: [CKRecord.ID: CKError] = [:]
    ) -> SyncEngineAnswer {
        var results = SyncEngineAnswer.RecordResults(saves: [:], deletions: [:])
        for record in batch.recordsToSave {
            results.saves[record.recordID] = errors[record.recordID].map { .failure($0) } ?? .success(record)
            if errors[record.recordID] != nil || record.snapshot.local.assets.isEmpty && record.parent == nil {
                continue
            }
            let sent = record.snapshot
            let version = CKRecordState.Version(
                changeTag: "1", creator: "_ada", creationDate: nil, modifier: "_ada", modificationDate: Date())
            record.updateState { $0.saved(as: version, parent: sent.parent, fields: nil, sent: sent) }
        }
        for id in batch.recordIDsToDelete {
            results.deletions[id] = errors[id].map { .failure($0) } ?? .success(())
        }
        return .modifyRecords(.success(results))
    }

    static func token(_ text: String) -> CKServerChangeToken { CKServerChangeToken(bytes: [UInt8](text.utf8)) }

    static func databasePage(
        _ zones: [CKRecordZone.ID], deleted: [CKRecordZone.ID] = [], token: String, moreComing: Bool = false
    ) -> SyncEngineAnswer {
        .databaseChanges(
            .success(
                .init(
                    modifications: zones.map { .init(zoneID: $0) },
                    deletions: deleted.map { .init(zoneID: $0, reason: .deleted) }, token: self.token(token),
                    moreComing: moreComing)))
    }

    static func zonePage(
        _ records: [CKRecord.ID], deleted: [CKRecord.ID] = [], token: String, moreComing: Bool = false
    ) -> SyncEngineAnswer {
        .zoneChanges(
            .success(
                .init(
                    modifications: records.map { .init(record: CKRecord(recordType: "Note", recordID: $0)) },
                    deletions: deleted.map { .init(recordID: $0, recordType: "Note") }, token: self.token(token),
                    moreComing: moreComing)))
    }

    private static func text(_ token: CKServerChangeToken?) -> String {
        token.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "nil"
    }

    private static func text(_ request: SyncEngineRequest) -> String {
        switch request {
        case .account: "account"
        case .subscription: "subscription"
        case .databaseChanges(let token): "databaseChanges(\(text(token)))"
        case .zoneChanges(let zone, let token): "zoneChanges(\(zone.zoneName), \(text(token)))"
        case .deletionReasons(let zones): "deletionReasons(\(zones.map(\.zoneName)))"
        case .firstFetchTokens(let zones): "firstFetchTokens(\(zones.map(\.zoneName)))"
        case .modifyZones(let saves, let deletions):
            "modifyZones(\(saves.map(\.zoneID.zoneName)), \(deletions.map(\.zoneName)))"
        case .assetFiles: "assetFiles"
        case .modifyRecords(let batch):
            "modifyRecords(\(batch.recordsToSave.map(\.recordID.recordName)), "
                + "\(batch.recordIDsToDelete.map(\.recordName)))"
        }
    }
}

/// Zones and records that the transcripts speak of.
enum Sample {
    static let zone = CKRecordZone.ID(zoneName: "A")
    static let zoneB = CKRecordZone.ID(zoneName: "B")

    static func id(_ name: String, _ zone: CKRecordZone.ID = zone) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: zone)
    }

    static func save(_ name: String, _ zone: CKRecordZone.ID = zone) -> CKSyncEngine.PendingRecordZoneChange {
        .saveRecord(id(name, zone))
    }

    static func delete(_ name: String, _ zone: CKRecordZone.ID = zone) -> CKSyncEngine.PendingRecordZoneChange {
        .deleteRecord(id(name, zone))
    }
}
