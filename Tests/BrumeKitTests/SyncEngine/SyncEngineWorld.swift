import BrumeRandom
@testable import BrumeKit
import BrumeModel
import Foundation

/// Devices with sync engines' machines, and a server, under a seed: users edit, connections break before and after a
/// request had its effect, answers come late, processes die between any two steps, and tokens expire.
///
/// Every edit adds a word of its own to a note, and conflicts are merged as sets of words, so that an edit that is lost
/// shows.
final class SyncEngineWorld {
    struct Faults {
        var cuts = true
        var crashes = true
        var deletions = false
        var zoneDeletions = false
        var expiry = true
        /// Notes have pictures.
        var files = true
        /// Every other note is the child of the one before it. Nothing is deleted then.
        var parents = false
    }

    var generator: SeededGenerator
    let faults: Faults
    private(set) var now: UInt64 = 0
    private var events: [(time: UInt64, number: UInt64, run: () -> Void)] = []
    private var lastEvent: UInt64 = 0
    let server: any WorldServer
    private(set) var devices: [WorldDevice] = []
    /// The words of each note, and the notes whose words may be gone for good reason.
    var words: [CKRecord.ID: Set<String>] = [:]
    var deleted: Set<CKRecord.ID> = []
    var isCalm = false
    /// What happened, when a seed is looked at.
    var trace: [String]?

    func note(_ text: @autoclosure () -> String) { trace?.append("\(now) \(text())") }

    static let zones = [Sample.zone, Sample.zoneB]

    init(seed: UInt64, devices count: Int, faults: Faults) {
        generator = SeededGenerator(seed: seed)
        self.faults = faults
        let server = ModelServer()
        self.server = server
        devices = (0..<count).map { WorldDevice(name: "d\($0)", world: self) }
        server.onCommit = { [weak self] in self?.pushToAll() }
    }

    /// The same with the server's own shards and sessions.
    init(seed: UInt64, devices count: Int, faults: Faults, shards server: ShardServer) {
        generator = SeededGenerator(seed: seed)
        self.faults = faults
        self.server = server
        devices = (0..<count).map { WorldDevice(name: "d\($0)", world: self) }
        server.onPush = { [weak self] device, push in self?.deliver(push, to: device) }
    }

    private func deliver(_ push: SyncEngineStateMachine.Push, to name: String) {
        guard let device = devices.first(where: { $0.name == name }), isCalm || chance(80) else { return }
        after(UInt64.random(in: 1...30, using: &generator)) { device.push(push) }
    }

    func after(_ milliseconds: UInt64, _ run: @escaping () -> Void) {
        lastEvent += 1
        let event = (time: now + milliseconds, number: lastEvent, run: run)
        let index = events.firstIndex { ($0.time, $0.number) > (event.time, event.number) } ?? events.count
        events.insert(event, at: index)
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

    private func pushToAll() {
        for device in devices where isCalm || chance(80) {
            let zone = Self.zones.randomElement(using: &generator)!
            let isOfZone = chance(20)
            after(UInt64.random(in: 1...30, using: &generator)) {
                device.push(isOfZone ? .zoneChanged(zone) : .databaseChanged)
            }
        }
    }

    /// Lets users and faults work for a while, then everything come to rest. Says what is wrong at the end.
    func run(steps: Int) -> [String] {
        for device in devices { device.launch() }
        for _ in 0..<steps {
            let device = devices.randomElement(using: &generator)!
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<50: device.edit()
            case 50..<56 where faults.deletions: device.deleteNote()
            case 56..<58 where faults.zoneDeletions: device.deleteZone()
            case 58..<66 where faults.crashes: device.crash()
            case 66..<68 where faults.expiry: server.forgetHistory()
            case 68..<72: device.fetchOrSend(isFetch: chance(50))
            case 72..<74: device.cancelOperations()
            case 74..<78: device.push(.opened)
            default: break
            }
            pass(UInt64.random(in: 0...60, using: &generator))
        }
        isCalm = true
        for device in devices { device.push(.opened) }
        var turns = 0
        while let next = events.first, turns < 200_000, now < 100_000_000 {
            pass(next.time - min(now, next.time))
            turns += 1
            // A device that heard nothing of the last commits.
            if events.isEmpty, turns < 150_000, devices.contains(where: { !$0.isAtRest }) {
                for device in devices { device.push(.opened) }
            }
        }
        var problems = devices.flatMap(\.problems)
        let truth = server.words
        if turns >= 200_000 { problems.append("does not come to rest") }
        for device in devices {
            if !device.uploads.isEmpty { problems.append("\(device.name) still uploads") }
            if !device.machine.heldBatches.isEmpty { problems.append("\(device.name) still holds records") }
            if !device.machine.state.unsentRecordChanges.isEmpty || !device.machine.state.unsentZoneChanges.isEmpty {
                problems.append("\(device.name) still has \(device.machine.state.unsentRecordChanges) to send")
            }
            for id in Set(device.words.keys).union(truth.keys) where device.words[id] != truth[id] {
                problems.append(
                    "\(device.name) has \(id.recordName) in \(id.zoneID.zoneName) as \(device.words[id] ?? []), "
                        + "not \(truth[id] ?? [])")
            }
        }
        for (id, expected) in words where !deleted.contains(id) {
            let missing = expected.subtracting(truth[id] ?? [])
            if !missing.isEmpty {
                problems.append("\(id.recordName) in \(id.zoneID.zoneName) lost \(missing.sorted())")
            }
        }
        return problems
    }

    private func pass(_ milliseconds: UInt64) {
        let end = now + milliseconds
        while let next = events.first, next.time <= end {
            events.removeFirst()
            now = max(now, next.time)
            next.run()
        }
        now = end
    }
}

/// What the devices of a ``SyncEngineWorld`` talk to.
protocol WorldServer: AnyObject {
    /// What there is, as nobody's device sees it.
    var words: [CKRecord.ID: Set<String>] { get }
    /// Whether it may die in the midst of a request.
    var mayDie: Bool { get }

    /// Older tokens may have expired.
    func forgetHistory()
    /// The device's process has ended.
    func disconnect(_ device: String)
    /// - Parameters:
    ///   - isLost: The answer does not arrive.
    ///   - seed: Not nil: the server dies when it has the request, and is started again.
    func answer(
        _ request: SyncEngineRequest, of device: String, pageSize: Int, isLost: Bool, dies seed: UInt64?
    ) -> SyncEngineAnswer
}

/// A database as simple as can be, with the promises that the engine builds on.
final class ModelServer: WorldServer {
    private struct Zone {
        var incarnation: UInt64
        var records: [String: (words: String, tag: UInt64)] = [:]
        var deletions: [String: UInt64] = [:]
        var changed: UInt64
        /// Tokens from before that have expired.
        var horizon: UInt64 = 0
    }

    private var zones: [CKRecordZone.ID: Zone] = [:]
    private var deletedZones: [CKRecordZone.ID: UInt64] = [:]
    private var sequence: UInt64 = 0
    private var horizon: UInt64 = 0
    var onCommit: () -> Void = {}

    var words: [CKRecord.ID: Set<String>] {
        var words: [CKRecord.ID: Set<String>] = [:]
        for (zoneID, zone) in zones {
            for (name, record) in zone.records {
                words[CKRecord.ID(recordName: name, zoneID: zoneID)] = Set(
                    record.words.split(separator: " ").map(String.init))
            }
        }
        return words
    }

    /// Tokens from before now expire.
    func forgetHistory() {
        horizon = sequence
        for id in zones.keys {
            zones[id]!.horizon = sequence
            zones[id]!.deletions = [:]
        }
        deletedZones = [:]
    }

    let mayDie = false

    func disconnect(_ device: String) {}

    func answer(
        _ request: SyncEngineRequest, of device: String, pageSize: Int, isLost: Bool, dies seed: UInt64?
    ) -> SyncEngineAnswer {
        let answer = answer(request, pageSize: pageSize)
        return isLost ? WorldDevice.failure(CKError(.serverResponseLost), of: request) : answer
    }

    private func answer(_ request: SyncEngineRequest, pageSize: Int) -> SyncEngineAnswer {
        switch request {
        case .assetFiles: preconditionFailure("a server was asked for a device's files")
        case .account: return .account(.success("_ada"))
        case .subscription: return .subscription(.success(()))
        case .databaseChanges(let token):
            let since = token.map { Self.numbers($0)[0] } ?? 0
            if token != nil, since < horizon { return .databaseChanges(.failure(CKError(.changeTokenExpired))) }
            let changed = zones.filter { $0.value.changed > since }.map(\.key)
            let deleted =
                token == nil ? [] : deletedZones.filter { $0.value > since && zones[$0.key] == nil }.map(\.key)
            return EngineScript.databasePage(
                changed.sorted { $0.zoneName < $1.zoneName }, deleted: deleted, token: "\(sequence)")
        case .zoneChanges(let id, let token):
            guard let zone = zones[id] else { return .zoneChanges(.failure(CKError(.zoneNotFound))) }
            var since: UInt64 = 0
            // A first fetch tells of no deletion from before it.
            var firstFetchHead: UInt64 = token == nil ? .max : 0
            if let token {
                let numbers = Self.numbers(token)
                guard numbers[0] == zone.incarnation else {
                    return .zoneChanges(
                        .failure(CKError(ServiceError(.changeTokenExpired, "made again", detail: .zoneMadeAgain))))
                }
                since = numbers[1]
                firstFetchHead = numbers.count > 2 ? numbers[2] : 0
                guard max(since, firstFetchHead) >= zone.horizon else {
                    return .zoneChanges(.failure(CKError(.changeTokenExpired)))
                }
            }
            let changes =
                zone.records.map { (name: $0.key, sequence: $0.value.tag, isDeletion: false) }
                + zone.deletions.filter { $0.value > firstFetchHead }
                .map { (name: $0.key, sequence: $0.value, isDeletion: true) }
            let later = changes.filter { $0.sequence > since }.sorted { $0.sequence < $1.sequence }
            let page = later.prefix(pageSize)
            let more = later.count > page.count
            let end = more ? page.last!.sequence : sequence
            return .zoneChanges(
                .success(
                    .init(
                        modifications: page.filter { !$0.isDeletion }.map {
                            .init(record: record(CKRecord.ID(recordName: $0.name, zoneID: id))!)
                        },
                        deletions: page.filter(\.isDeletion).map {
                            .init(recordID: CKRecord.ID(recordName: $0.name, zoneID: id), recordType: "Note")
                        },
                        token: EngineScript.token("\(zone.incarnation):\(end)"), moreComing: more)))
        case .deletionReasons: return .deletionReasons(.success([:]))
        case .firstFetchTokens(let ids):
            var tokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
            for id in ids { tokens[id] = firstFetchToken(of: id) }
            return .firstFetchTokens(.success(tokens))
        case .modifyZones(let saves, let deletions):
            var results = SyncEngineAnswer.ZoneResults(saves: [:], deletions: [:])
            for zone in saves {
                if zones[zone.zoneID] == nil {
                    sequence += 1
                    zones[zone.zoneID] = Zone(incarnation: sequence, changed: sequence, horizon: 0)
                }
                results.saves[zone.zoneID] = .success(
                    CKRecordZone(
                        zoneID: zone.zoneID, capabilities: [], firstFetchToken: firstFetchToken(of: zone.zoneID)))
            }
            for id in deletions {
                if zones.removeValue(forKey: id) != nil {
                    sequence += 1
                    deletedZones[id] = sequence
                }
                results.deletions[id] = .success(())
            }
            onCommit()
            return .modifyZones(.success(results))
        case .modifyRecords(let batch):
            var results = SyncEngineAnswer.RecordResults(saves: [:], deletions: [:])
            let before = zones
            let saves =
                batch.recordsToSave.filter { $0.parent == nil } + batch.recordsToSave.filter { $0.parent != nil }
            for record in saves { results.saves[record.recordID] = save(record) }
            for id in batch.recordIDsToDelete { results.deletions[id] = delete(id) }
            if batch.atomicByZone { results.failWholeZones { zone in zones[zone] = before[zone] } }
            onCommit()
            return .modifyRecords(.success(results))
        }
    }

    private func firstFetchToken(of id: CKRecordZone.ID) -> CKServerChangeToken? {
        zones[id].map { EngineScript.token("\($0.incarnation):0:\(sequence)") }
    }

    private func save(_ record: CKRecord) -> Result<CKRecord, CKError> {
        let id = record.recordID
        guard zones[id.zoneID] != nil else { return .failure(CKError(.zoneNotFound)) }
        if let parent = record.parent?.recordID.recordName, zones[id.zoneID]!.records[parent] == nil {
            return .failure(CKError(.referenceViolation))
        }
        let tag = zones[id.zoneID]!.records[id.recordName]?.tag
        if tag == nil, record.recordChangeTag != nil { return .failure(CKError(.unknownItem)) }
        guard tag.map(String.init) == record.recordChangeTag else {
            let outgoing = record.outgoing()
            var info: [String: Any] = [
                CKRecordChangedErrorServerRecordKey: self.record(id)!,
                CKRecordChangedErrorClientRecordKey: outgoing.clientRecord(),
            ]
            info[CKRecordChangedErrorAncestorRecordKey] = outgoing.ancestorRecord()
            return .failure(CKError(.serverRecordChanged, userInfo: info))
        }
        sequence += 1
        zones[id.zoneID]!.records[id.recordName] = (record["words"] ?? "", sequence)
        zones[id.zoneID]!.deletions[id.recordName] = nil
        zones[id.zoneID]!.changed = sequence
        let saved = self.record(id)!
        let (sent, state) = (record.snapshot, saved.snapshot)
        record.updateState { $0.saved(as: state.version!, parent: nil, fields: state.fields, sent: sent) }
        return .success(saved)
    }

    private func delete(_ id: CKRecord.ID) -> Result<Void, CKError> {
        guard zones[id.zoneID] != nil else { return .failure(CKError(.zoneNotFound)) }
        if zones[id.zoneID]!.records.removeValue(forKey: id.recordName) != nil {
            sequence += 1
            zones[id.zoneID]!.deletions[id.recordName] = sequence
            zones[id.zoneID]!.changed = sequence
        }
        return .success(())
    }

    private func record(_ id: CKRecord.ID) -> CKRecord? {
        guard let record = zones[id.zoneID]?.records[id.recordName] else { return nil }
        let version = CKRecordState.Version(
            changeTag: String(record.tag), creator: "_ada", creationDate: Date(timeIntervalSince1970: 0),
            modifier: "_ada",
            modificationDate: Date(timeIntervalSince1970: Double(record.tag)))
        return CKRecord(
            recordType: "Note", recordID: id,
            state: CKRecordState(version: version, parent: nil, fields: ["words": .string(record.words)]))
    }

    private static func numbers(_ token: CKServerChangeToken) -> [UInt64] {
        String(decoding: token.bytes, as: UTF8.self).split(separator: ":").map { UInt64($0)! }
    }
}

extension SyncEngineAnswer.RecordResults {
    /// Fails all of a zone in which something failed.
    fileprivate mutating func failWholeZones(undo: (CKRecordZone.ID) -> Void) {
        var failed: Set<CKRecordZone.ID> = []
        for (id, result) in saves { if case .failure = result { failed.insert(id.zoneID) } }
        for (id, result) in deletions { if case .failure = result { failed.insert(id.zoneID) } }
        for zone in failed { undo(zone) }
        for (id, result) in saves where failed.contains(id.zoneID) {
            if case .success = result { saves[id] = .failure(CKError(.batchRequestFailed)) }
        }
        for (id, result) in deletions where failed.contains(id.zoneID) {
            if case .success = result { deletions[id] = .failure(CKError(.batchRequestFailed)) }
        }
    }
}
