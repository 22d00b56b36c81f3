@testable import BrumeKit
import BrumeModel
import Foundation

/// A device of a ``SyncEngineWorld``: an app, whose notes and engine state are on its disk, and the machine of its
/// running process.
final class WorldDevice {
    private struct Note {
        var words: Set<String>
        var record: CKRecord?
        /// The engine has begun the zone's fetch anew, and did not come across the note yet.
        var isUnconfirmed = false
        /// The picture that the user has given it, until the server has it.
        var picture: String?
    }

    let name: String
    private unowned let world: SyncEngineWorld
    private(set) var machine = SyncEngineStateMachine(state: nil, isAutomatic: true, seed: 0)
    private(set) var problems: [String] = []

    // What a crash leaves.
    private var notes: [CKRecord.ID: Note] = [:]
    private var savedState: Data?

    // What it does not.
    private var life = 0
    private var openRequest: UInt64?
    private var isAsked = false
    private var isFetching = false
    private var openZone: CKRecordZone.ID?
    private var isSending = false
    private var timer: UInt64?
    private var lastWord = 0
    private var lastCall: UInt64 = 0
    private var lastPicture = 0
    private var lastBatch = 0
    /// The numbers of the batches in which records were given last.
    private var batches: [CKRecord.ID: Int] = [:]
    /// Under way.
    private(set) var uploads: [UInt64: [AssetUpload]] = [:]

    init(name: String, world: SyncEngineWorld) {
        self.name = name
        self.world = world
    }

    var words: [CKRecord.ID: Set<String>] { notes.mapValues(\.words) }

    /// Nothing is under way or due.
    var isAtRest: Bool {
        machine.state.unsentRecordChanges.isEmpty && machine.state.unsentZoneChanges.isEmpty
            && machine.state.unfetchedZones.isEmpty && machine.isAtHead
    }

    // MARK: The process

    func launch() {
        life += 1
        world.note("\(name) launches")
        world.server.disconnect(name)
        openRequest = nil
        isAsked = false
        isFetching = false
        isSending = false
        openZone = nil
        timer = nil
        uploads = [:]
        batches = [:]
        let state = savedState.map { try! JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: $0).state }
        machine = SyncEngineStateMachine(
            state: state, isAutomatic: true, seed: UInt64.random(in: .min ... .max, using: &world.generator))
        perform(machine.started(now: world.now))
        if state == nil {
            change { $0.add(SyncEngineWorld.zones.map { .saveZone(CKRecordZone(zoneID: $0)) }, now: $1) }
        }
    }

    func crash() {
        launch()
    }

    /// A change by the app, on disk when it returns.
    private func change(_ body: (inout SyncEngineStateMachine, UInt64) -> Bool) {
        if body(&machine, world.now) { persist() }
        perform(machine.timePassed(now: world.now))
    }

    private func persist() {
        savedState = try! JSONEncoder().encode(CKSyncEngine.State.Serialization(machine.state))
    }

    // MARK: The user

    private func anyID() -> CKRecord.ID {
        CKRecord.ID(
            recordName: "n\(Int.random(in: 0..<4, using: &world.generator))",
            zoneID: SyncEngineWorld.zones.randomElement(using: &world.generator)!)
    }

    func edit() {
        let id = anyID()
        if let parent = parent(of: id), notes[parent] == nil { edit(parent) }
        edit(id)
    }

    private func edit(_ id: CKRecord.ID) {
        lastWord += 1
        let word = "\(name).\(lastWord)"
        notes[id, default: Note(words: [])].words.insert(word)
        world.words[id, default: []].insert(word)
        world.note("\(name) edits \(id.recordName) in \(id.zoneID.zoneName): \(word)")
        if world.faults.files, world.chance(30) {
            lastPicture += 1
            notes[id]!.picture = world.chance(80) ? "\(name).\(lastPicture)" : nil
        }
        change { $0.add([.saveRecord(id)], now: $1) }
    }

    private func parent(of id: CKRecord.ID) -> CKRecord.ID? {
        guard world.faults.parents, let number = Int(id.recordName.dropFirst()), number % 2 == 1 else { return nil }
        return CKRecord.ID(recordName: "n\(number - 1)", zoneID: id.zoneID)
    }

    func deleteNote() {
        let id = anyID()
        world.deleted.insert(id)
        notes[id] = nil
        change { $0.add([.deleteRecord(id)], now: $1) }
    }

    func deleteZone() {
        let zone = SyncEngineWorld.zones.randomElement(using: &world.generator)!
        for index in 0..<4 { world.deleted.insert(CKRecord.ID(recordName: "n\(index)", zoneID: zone)) }
        notes = notes.filter { $0.key.zoneID != zone }
        change { $0.add([.deleteZone(zone)], now: $1) }
    }

    func fetchOrSend(isFetch: Bool) {
        lastCall += 1
        perform(machine.called(lastCall, isFetch ? .fetch(.init()) : .send(.init()), now: world.now))
    }

    func cancelOperations() { perform(machine.operationsCancelled(now: world.now)) }

    func push(_ push: SyncEngineStateMachine.Push) { perform(machine.pushed(push, now: world.now)) }

    // MARK: What the machine says

    func perform(_ actions: [SyncEngineStateMachine.Action]) {
        for action in actions {
            switch action {
            case .request(let id, let request): begin(id, request)
            case .ask(let question): ask(question)
            case .upload(let id, _, let files, _): upload(id, files)
            case .cancelUpload(let id): uploads[id] = nil
            case .cancelRequest, .listen, .finish: break
            }
        }
        guard let deadline = machine.deadlineMilliseconds, timer.map({ deadline < $0 }) ?? true else { return }
        timer = deadline
        let life = life
        world.after(deadline - min(deadline, world.now)) {
            guard self.life == life, self.timer == deadline else { return }
            self.timer = nil
            self.perform(self.machine.timePassed(now: self.world.now))
        }
    }

    private func begin(_ id: UInt64, _ request: SyncEngineRequest) {
        if openRequest != nil || isAsked { problems.append("\(name) does two things at a time") }
        openRequest = id
        let life = life
        if case .assetFiles(let batch) = request {
            return world.after(UInt64.random(in: 0...3, using: &world.generator)) {
                guard self.life == life else { return }
                self.openRequest = nil
                let answer = SyncEngineAnswer.assetFiles(EngineScript.files(of: batch))
                self.perform(self.machine.answered(id, answer, now: self.world.now))
            }
        }
        if case .modifyRecords(let batch) = request { checkFiles(of: batch) }
        let fault = world.faults.cuts && !world.isCalm ? Int.random(in: 0..<100, using: &world.generator) : 100
        let there = UInt64.random(in: 1...20, using: &world.generator)
        let back = UInt64.random(in: 1...20, using: &world.generator)
        // The server works on it also when the process dies meanwhile.
        world.after(there) {
            let answer: SyncEngineAnswer
            switch fault {
            case 0..<8: answer = Self.failure(CKError(.networkFailure), of: request)
            case 8..<12:
                answer = Self.failure(CKError(.requestRateLimited, message: "", retryAfterSeconds: 0.3), of: request)
            default:
                let seed = UInt64.random(in: 0...UInt64(Int64.max), using: &self.world.generator)
                answer = self.world.server.answer(
                    request, of: self.name, pageSize: Int.random(in: 1...4, using: &self.world.generator),
                    isLost: fault < 20, dies: self.world.server.mayDie && (20..<23).contains(fault) ? seed : nil)
            }
            self.world.note(
                "\(self.name) \(self.life == life ? "" : "(dead)") \(Self.text(request)): \(Self.text(answer))")
            self.world.after(back) {
                guard self.life == life else { return }
                self.openRequest = nil
                self.perform(self.machine.answered(id, answer, now: self.world.now))
            }
        }
    }

    /// Takes a while, and may fail, or have come to its end when it is cancelled.
    private func upload(_ id: UInt64, _ files: [AssetUpload]) {
        world.note("\(name) uploads \(files.map(\.url.lastPathComponent))")
        uploads[id] = files
        if uploads.count > 4 { problems.append("\(name) uploads \(uploads.count) at a time") }
        let life = life
        var result = Result<[URL: UploadedFile], CKError>.success(EngineScript.assets(files))
        if world.faults.cuts, !world.isCalm {
            switch Int.random(in: 0..<100, using: &world.generator) {
            case 0..<6: result = .failure(CKError(.networkFailure))
            case 6..<12: result = .failure(CKError(.zoneBusy, message: "", retryAfterSeconds: 0.2))
            case 12..<16: result = .failure(CKError(.quotaExceeded))
            default: break
            }
        }
        world.after(UInt64.random(in: 1...(world.chance(20) ? 3_000 : 60), using: &world.generator)) {
            guard self.life == life, self.uploads.removeValue(forKey: id) != nil || self.world.chance(30) else {
                return
            }
            self.world.note("\(self.name) has uploaded \(files.map(\.url.lastPathComponent)): \(result)")
            self.perform(self.machine.uploadEnded(id, result, now: self.world.now))
        }
    }

    /// No record is sent before its files are with the server, or while its new parent waits for files that was given
    /// with it or before.
    private func checkFiles(of batch: CKSyncEngine.RecordZoneChangeBatch) {
        for record in batch.recordsToSave {
            let needed = record.outgoing().filesToUpload()?.map(\.url) ?? []
            let given = batch.uploads[record.recordID] ?? [:]
            if needed.contains(where: { given[$0] == nil }) {
                problems.append("\(name) sends \(record.recordID.recordName) without its files")
            }
            let held = machine.heldBatches.flatMap(\.batch.recordsToSave)
            if held.contains(where: { parent in
                parent.recordID == record.parent?.recordID && parent.recordChangeTag == nil
                    && batches[parent.recordID, default: 0] <= batches[record.recordID, default: 0]
            }) {
                problems.append("\(name) sends \(record.recordID.recordName) before its parent")
            }
        }
    }

    private static func text(_ request: SyncEngineRequest) -> String {
        switch request {
        case .modifyRecords(let batch):
            "saves "
                + batch.recordsToSave.map {
                    "\($0.recordID.recordName) \($0.recordID.zoneID.zoneName) \($0.recordChangeTag ?? "-") \($0["words"] ?? "")"
                }.joined(separator: ", ") + " deletes \(batch.recordIDsToDelete)"
        default: "\(request)"
        }
    }

    private static func text(_ answer: SyncEngineAnswer) -> String {
        switch answer {
        case .modifyRecords(.success(let results)):
            results.saves.map { id, result in
                switch result {
                case .success(let record): "\(id.recordName) -> \(record.recordChangeTag ?? "-")"
                case .failure(let error): "\(id.recordName) \(error.code)"
                }
            }.joined(separator: ", ")
        case .zoneChanges(.success(let page)):
            page.modifications.map { "\($0.record.recordID.recordName) \($0.record.recordChangeTag ?? "-")" }
                .joined(separator: ", ") + " more \(page.moreComing)"
        default: "\(answer)".prefix(160).description
        }
    }

    static func failure(_ error: CKError, of request: SyncEngineRequest) -> SyncEngineAnswer {
        switch request {
        case .account: .account(.failure(error))
        case .subscription: .subscription(.failure(error))
        case .databaseChanges: .databaseChanges(.failure(error))
        case .zoneChanges: .zoneChanges(.failure(error))
        case .deletionReasons: .deletionReasons(.failure(error))
        case .firstFetchTokens: .firstFetchTokens(.failure(error))
        case .modifyZones: .modifyZones(.failure(error))
        case .assetFiles: .assetFiles([:])
        case .modifyRecords: .modifyRecords(.failure(error))
        }
    }

    // MARK: The delegate

    private func ask(_ question: SyncEngineQuestion) {
        if openRequest != nil || isAsked { problems.append("\(name) does two things at a time") }
        isAsked = true
        let life = life
        // The batch is made now, and given later: what is edited in between is not in it.
        var reply = SyncEngineReply.handled
        switch question {
        case .batch(let context): reply = .batch(batch(context))
        case .fetchOptions(let context): reply = .fetchOptions(context.options)
        case .event: break
        }
        world.after(UInt64.random(in: 0...5, using: &world.generator)) {
            guard self.life == life else { return }
            if case .event(let event) = question {
                self.world.note("\(self.name) handles \(event)")
                self.handle(event)
            }
            // The process may die here: the data are on disk, and the machine does not know.
            if self.world.faults.crashes, !self.world.isCalm, self.world.chance(1) { return self.crash() }
            self.isAsked = false
            self.perform(self.machine.replied(reply, now: self.world.now))
        }
    }

    private func batch(_ context: CKSyncEngine.SendChangesContext) -> CKSyncEngine.RecordZoneChangeBatch? {
        var batch = CKSyncEngine.RecordZoneChangeBatch(atomicByZone: world.chance(20))
        // As the SDK's own batches do; others give what waits for its files once more.
        let isOwn = world.chance(20)
        let now = world.now
        for change in machine.state.recordChanges.changes where batch.itemCount < 3 {
            if !isOwn, machine.waitsForFiles(change) { continue }
            switch change {
            case .saveRecord(let id):
                guard let note = notes[id] else {
                    _ = machine.remove([change], now: world.now)
                    continue
                }
                let record =
                    note.record.flatMap { $0.copy() as? CKRecord } ?? CKRecord(recordType: "Note", recordID: id)
                record["words"] = note.words.sorted().joined(separator: " ")
                record.parent = parent(of: id).map { CKRecord.Reference(recordID: $0, action: .none) }
                if let picture = note.picture {
                    // Some apps write a file of a new name each time.
                    let name = world.chance(20) ? "\(picture).\(now)" : picture
                    record["picture"] = CKAsset(fileURL: URL(fileURLWithPath: "/pictures/\(name)"))
                }
                batch.recordsToSave.append(record)
            case .deleteRecord(let id): batch.recordIDsToDelete.append(id)
            }
        }
        lastBatch += 1
        for id in batch.itemIDs { batches[id] = lastBatch }
        return batch.itemCount == 0 ? nil : batch
    }

    private func handle(_ event: CKSyncEngine.Event) {
        checkPairs(event)
        switch event {
        // As the driver does with persistState: the newest state, and not the one of the moment at which this was said.
        case .stateUpdate: persist()
        case .fetchedDatabaseChanges(let changes): for deletion in changes.deletions { zoneIsGone(deletion.zoneID) }
        case .sentDatabaseChanges(let sent): for id in sent.deletedZoneIDs { zoneIsGone(id) }
        case .willFetchRecordZoneChanges(let event) where event.startsOver:
            for id in notes.keys where id.zoneID == event.zoneID { notes[id]!.isUnconfirmed = true }
        case .didFetchRecordZoneChanges(let event) where event.error == nil:
            let pending = Set(machine.state.recordChanges.changes)
            notes = notes.filter {
                $0.key.zoneID != event.zoneID || !$0.value.isUnconfirmed || pending.contains(.saveRecord($0.key))
            }
        case .fetchedRecordZoneChanges(let changes):
            let pending = Set(machine.state.recordChanges.changes)
            for record in changes.modifications.map(\.record) {
                let id = record.recordID
                // A save without a note is one that a crash kept the machine from dropping.
                notes[id]?.isUnconfirmed = false
                if notes[id] != nil, pending.contains(.saveRecord(id)) { continue }
                if pending.contains(.deleteRecord(id)) { continue }
                notes[id] = Note(words: Self.words(record), record: record)
            }
            for deletion in changes.deletions where !pending.contains(.saveRecord(deletion.recordID)) {
                notes[deletion.recordID] = nil
            }
        case .sentRecordZoneChanges(let sent):
            for record in sent.savedRecords {
                notes[record.recordID]?.record = record
                notes[record.recordID]?.isUnconfirmed = false
                if world.chance(50) { notes[record.recordID]?.picture = nil }
            }
            for (id, error) in sent.failedRecordDeletes where error.code == .batchRequestFailed {
                if notes[id] == nil { change { $0.add([.deleteRecord(id)], now: $1) } }
            }
            for failure in sent.failedRecordSaves { mend(failure.record, failure.error) }
        default: break
        }
    }

    /// What was added for the zone that comes next stays.
    private func zoneIsGone(_ zoneID: CKRecordZone.ID) {
        let pending = Set(machine.state.recordChanges.changes)
        notes = notes.filter { $0.key.zoneID != zoneID || pending.contains(.saveRecord($0.key)) }
        for id in notes.keys where id.zoneID == zoneID { notes[id]!.record = nil }
    }

    private func mend(_ record: CKRecord, _ error: CKError) {
        let id = record.recordID
        switch error.code {
        case .serverRecordChanged:
            guard notes[id] != nil, let server = error.serverRecord else { return }
            notes[id]!.record = server
            notes[id]!.words.formUnion(Self.words(server))
            change { $0.add([.saveRecord(id)], now: $1) }
        case .zoneNotFound:
            notes[id]?.record = nil
            change { $0.add([.saveZone(CKRecordZone(zoneID: id.zoneID))], now: $1) }
            change { $0.add([.saveRecord(id)], now: $1) }
        case .unknownItem:
            notes[id]?.record = nil
            change { $0.add([.saveRecord(id)], now: $1) }
        case .quotaExceeded, .batchRequestFailed:
            guard notes[id] != nil else { return }
            if error.code == .quotaExceeded { notes[id]!.picture = nil }
            change { $0.add([.saveRecord(id)], now: $1) }
        // The parent failed for a reason of its own, and was added again behind it.
        case .referenceViolation: change { $0.add([.saveRecord(id)], now: $1) }
        default: break
        }
    }

    private static func words(_ record: CKRecord) -> Set<String> {
        let text: String = record["words"] ?? ""
        return Set(text.split(separator: " ").map(String.init))
    }

    /// What begins ends, and nothing comes in between that has no place there.
    private func checkPairs(_ event: CKSyncEngine.Event) {
        func check(_ isFine: Bool) {
            if !isFine { problems.append("\(name) was told \(event) out of order") }
        }
        switch event {
        case .willFetchChanges:
            check(!isFetching && !isSending)
            isFetching = true
        case .willFetchRecordZoneChanges(let event):
            check(isFetching && openZone == nil)
            openZone = event.zoneID
        case .fetchedDatabaseChanges: check(isFetching && openZone == nil)
        case .fetchedRecordZoneChanges: check(openZone != nil)
        case .didFetchRecordZoneChanges(let event):
            check(openZone == event.zoneID)
            openZone = nil
        case .didFetchChanges:
            check(isFetching && openZone == nil)
            isFetching = false
        case .willSendChanges:
            check(!isFetching && !isSending)
            isSending = true
        case .sentDatabaseChanges, .sentRecordZoneChanges: check(isSending)
        case .didSendChanges:
            check(isSending)
            isSending = false
        case .stateUpdate, .accountChange: break
        }
    }
}
