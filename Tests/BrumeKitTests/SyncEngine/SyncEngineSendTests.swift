@testable import BrumeKit
import Testing

@Suite("A sync engine's sends")
struct SyncEngineSendTests {
    private let zone = Sample.zone
    private let zoneB = Sample.zoneB

    private func sent(saved: String = "[]", failed: String = "[]") -> String {
        "sentRecordZoneChanges(saved: \(saved), failedSaves: \(failed), deleted: [], failedDeletes: [])"
    }

    @Test("begin with all changes to zones, and ask for batches until there are no more")
    func order() {
        let script = EngineScript(EngineScript.signedIn())
        script.add(zones: .saveZone(CKRecordZone(zoneID: zone)), .deleteZone(zoneB))
        script.add(Sample.save("a"), Sample.delete("b"))
        script.send()
        #expect(
            script.taken() == [
                "> account", "willSendChanges(manual)", "> modifyZones([\"A\"], [\"B\"])",
                "sentDatabaseChanges(saved: [\"A\"], failedSaves: [], deleted: [\"B\"], failedDeletes: [])", "batch?",
                "> modifyRecords([\"a\"], [\"b\"])",
                "sentRecordZoneChanges(saved: [\"a\"], failedSaves: [], deleted: [\"b\"], failedDeletes: [])", "batch?",
                "didSendChanges(manual)", "< 1",
            ])
        #expect(script.pending.isEmpty && script.pendingZones.isEmpty)
        script.send()
        #expect(script.taken() == ["willSendChanges(manual)", "batch?", "didSendChanges(manual)", "< 2"])
    }

    @Test("tell the state 100 ms after the first of the changes that came together, once")
    func stateUpdates() {
        let script = EngineScript(EngineScript.signedIn())
        script.add(Sample.save("a"))
        script.now += 60
        script.add(Sample.save("b"))
        script.add(Sample.save("b"))
        #expect(script.log.isEmpty)
        #expect(script.turnClock() == 40)
        #expect(script.log == ["stateUpdate"])
        script.add(Sample.save("b"))
        #expect(script.turnClock() == nil)
    }

    @Test("are over when the delegate has handled all events, state updates included")
    func handledFirst() {
        let script = EngineScript(EngineScript.signedIn())
        script.add(Sample.save("a"))
        script.holdsQuestions = true
        script.send()
        var asked: [String] = []
        while script.openQuestion != nil {
            #expect(!script.log.contains("< 1"))
            asked.append(script.log.last!)
            script.reply()
        }
        #expect(script.log.last == "< 1")
        #expect(asked.suffix(2) == ["didSendChanges(manual)", "stateUpdate"])
    }

    @Test("take a change out of the pending ones while it is on its way, and keep one that is added again meanwhile")
    func inFlight() {
        let script = EngineScript(EngineScript.signedIn())
        script.server = { if case .modifyRecords = $0 { nil } else { EngineScript.friendlyServer($0) } }
        script.add(Sample.save("a"), Sample.save("b"), Sample.delete("c"), Sample.save("d"))
        script.send()
        #expect(script.pending.isEmpty)
        #expect(script.machine.state.unsentRecordChanges.count == 4)
        script.add(Sample.save("a"), Sample.delete("b"))
        script.remove(Sample.save("d"))
        #expect(script.machine.state.unsentRecordChanges == [Sample.delete("c"), Sample.save("a"), Sample.delete("b")])
        script.answer(.modifyRecords(.failure(CKError(.networkFailure))))
        // What failed goes back to the front, but for what the app has replaced or removed.
        #expect(script.pending == [Sample.delete("c"), Sample.save("a"), Sample.delete("b")])
    }

    @Test("keep what is on its way in the state until the delegate has handled the outcome")
    func crashWindow() {
        let script = EngineScript(EngineScript.signedIn())
        script.add(Sample.save("a"))
        var inState: [Bool] = []
        script.onEvent = { event in
            if case .sentRecordZoneChanges = event {
                inState.append(script.machine.state.unsentRecordChanges == [Sample.save("a")])
            }
        }
        script.send()
        #expect(inState == [true])
        #expect(script.machine.state.unsentRecordChanges.isEmpty)
        // A process that ended before that sends it again.
        var state = EngineScript.signedIn()
        state.sentRecordChanges = [Sample.save("x")]
        state.sentZoneChanges = [.deleteZone(zoneB)]
        let next = EngineScript(state)
        #expect(next.pending == [Sample.save("x")])
        #expect(next.pendingZones == [.deleteZone(zoneB)])
    }

    @Test("keep a change that is added while the delegate makes the batch, which may hold the record from before")
    func addedInBatch() {
        let script = EngineScript(EngineScript.signedIn())
        script.add(Sample.save("a"))
        script.onBatch = { _ in
            if !script.pending.isEmpty, script.log.filter({ $0 == "batch?" }).count == 1 {
                script.add(Sample.save("a"))
                return .init(
                    recordsToSave: [CKRecord(recordType: "Note", recordID: Sample.id("a"))], recordIDsToDelete: [])
            }
            return nil
        }
        script.send()
        #expect(script.log.contains(sent(saved: "[\"a\"]")))
        #expect(script.pending == [Sample.save("a")])
    }

    @Test("keep a record whose instance was edited on its way")
    func editedInstance() {
        let script = EngineScript(EngineScript.signedIn())
        script.add(Sample.save("a"))
        let record = CKRecord(recordType: "Note", recordID: Sample.id("a"))
        script.onBatch = { _ in
            script.log.filter { $0 == "batch?" }.count == 1
                ? .init(recordsToSave: [record], recordIDsToDelete: []) : nil
        }
        script.server = { request in
            if case .modifyRecords = request { record["text"] = "edited meanwhile" }
            return EngineScript.friendlyServer(request)
        }
        script.send()
        #expect(script.pending == [Sample.save("a")])
    }

    @Test("keep a share whose participants were changed on its way", arguments: [false, true])
    func changedShare(isChanged: Bool) {
        let script = EngineScript(EngineScript.signedIn())
        let share = CKShare(recordZoneID: Sample.id("a").zoneID)
        let change = Sample.save(share.recordID.recordName)
        script.add(change)
        script.onBatch = { _ in
            script.log.filter { $0 == "batch?" }.count == 1
                ? .init(recordsToSave: [share], recordIDsToDelete: []) : nil
        }
        script.server = { request in
            if case .modifyRecords = request, isChanged { share.addParticipant(.oneTimeURLParticipant()) }
            return EngineScript.friendlyServer(request)
        }
        script.send()
        #expect(script.pending == (isChanged ? [change] : []))
    }

    @Test(
        "try again by themselves what passes, in the failed list all the same, and drop all else",
        arguments: (1...37).compactMap(CKError.Code.init))
    func retryableErrors(code: CKError.Code) {
        let passing: Set<CKError.Code> = [
            .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .requestRateLimited, .serviceUnavailable, .zoneBusy, .operationCancelled, .serverResponseLost,
        ]
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        script.start()
        script.log = []
        let error = CKError(code, message: "no", retryAfterSeconds: passing.contains(code) ? 3 : nil)
        script.server = EngineScript.server(failing: [Sample.id("a"): error])
        script.add(Sample.save("a"), Sample.save("b"))
        script.pass(1_000)
        #expect(script.taken().contains(sent(saved: "[\"b\"]", failed: "[\"a: \(code)\"]")))
        #expect(script.pending == (passing.contains(code) ? [Sample.save("a")] : []))
        script.server = EngineScript.friendlyServer
        let start = script.now
        while !script.log.contains(sent(saved: "[\"a\"]")), script.turnClock() != nil {}
        #expect(script.log.contains(sent(saved: "[\"a\"]")) == passing.contains(code))
        if passing.contains(code) { #expect(script.now - start >= 3_000 && script.now - start < 5_000) }
    }

    @Test("end with the first failures, throw them, and leave what the delegate mended for the next one")
    func failingPass() {
        let script = EngineScript(EngineScript.signedIn())
        script.server = EngineScript.server(failing: [Sample.id("a"): CKError(.serverRecordChanged)])
        script.add(Sample.save("a"), Sample.save("b"))
        script.onEvent = { event in
            if case .sentRecordZoneChanges(let sent) = event, !sent.failedRecordSaves.isEmpty {
                script.add(Sample.save("a"))
            }
        }
        script.send()
        #expect(script.taken().suffix(2) == ["didSendChanges(manual)", "< 1 partialFailure"])
        #expect(script.pending == [Sample.save("a")])
        script.server = EngineScript.friendlyServer
        script.send()
        #expect(script.taken().last == "< 2")
    }

    @Test("that a delegate always mends wrongly are tried with growing pauses")
    func stubbornDelegate() {
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        script.server = EngineScript.server(failing: [Sample.id("a"): CKError(.invalidArguments)])
        script.onEvent = { event in
            if case .sentRecordZoneChanges = event { script.add(Sample.save("a")) }
        }
        script.start()
        script.add(Sample.save("a"))
        var tries = 0
        while script.now < 600_000, script.turnClock() != nil {
            tries += script.taken().filter { $0.hasPrefix("> modifyRecords") }.count
        }
        #expect(tries > 10 && tries < 80)
    }

    @Test("ask a delegate that gives nothing for what is pending again, with growing pauses that an addition ends")
    func reluctantDelegate() {
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        script.onBatch = { _ in nil }
        script.start()
        func pauses(_ count: Int) -> [UInt64] {
            var times: [UInt64] = [script.now]
            while times.count <= count, script.turnClock() != nil {
                if script.taken().contains("batch?") { times.append(script.now) }
            }
            return zip(times.dropFirst(), times).map { $0 - $1 }
        }
        script.add(Sample.save("a"))
        #expect(pauses(9) == [1_000, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
        script.add(Sample.save("b"))
        #expect(pauses(3) == [1_000, 1_000, 2_000])
        // What the app wrote meanwhile is sent without a word of its own.
        script.onBatch = nil
        while script.turnClock() != nil {}
        #expect(script.pending.isEmpty)
        #expect(script.taken().contains("> modifyRecords([\"a\", \"b\"], [])"))
    }

    @Test(
        "repeat a change to a zone that its opposite has undone, before the records of the zone, and do not go on so for ever"
    )
    func zoneSavedAgain() {
        let script = EngineScript(EngineScript.signedIn())
        var wishes: [CKSyncEngine.PendingDatabaseChange] = [.deleteZone(zone), .saveZone(CKRecordZone(zoneID: zone))]
        script.onEvent = { event in
            guard case .sentDatabaseChanges = event, !wishes.isEmpty else { return }
            script.add(zones: wishes.removeFirst())
            if wishes.isEmpty { script.add(Sample.save("a")) }
        }
        script.add(zones: .saveZone(CKRecordZone(zoneID: zone)))
        script.send()
        #expect(
            script.taken().filter { $0.hasPrefix("> modify") } == [
                "> modifyZones([\"A\"], [])", "> modifyZones([], [\"A\"])", "> modifyZones([\"A\"], [])",
                "> modifyRecords([\"a\"], [])",
            ])
        #expect(script.pending.isEmpty && script.pendingZones.isEmpty)
        // A delegate that never has enough waits for the next send.
        script.onEvent = { event in
            guard case .sentDatabaseChanges(let sent) = event else { return }
            script.add(zones: sent.savedZones.isEmpty ? .saveZone(CKRecordZone(zoneID: zone)) : .deleteZone(zone))
        }
        script.add(zones: .saveZone(CKRecordZone(zoneID: zone)))
        script.send()
        #expect(script.taken().filter { $0.hasPrefix("> modifyZones") }.count < 20)
        #expect(script.log.isEmpty && script.pendingZones.count == 1)
    }

    @Test("begin a second after the last change is added, with all that was added until then, and are of everything")
    func scheduled() {
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        script.start()
        script.log = []
        var scopes: [CKSyncEngine.SendChangesOptions.Scope] = []
        script.onEvent = { if case .willSendChanges(let event) = $0 { scopes.append(event.context.options.scope) } }
        script.add(Sample.save("a"))
        script.pass(900)
        script.add(Sample.save("b"))
        script.pass(999)
        #expect(script.taken().isEmpty)
        script.pass(1)
        #expect(script.log.contains("> modifyRecords([\"a\", \"b\"], [])"))
        #expect(scopes == [.all])
    }

    @Test("are put off for five seconds at most by changes that are added without a pause")
    func unendingAdditions() {
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        script.start()
        script.log = []
        let start = script.now
        while script.now < start + 5_000 {
            #expect(script.taken().isEmpty)
            script.add(Sample.save("a"))
            script.pass(100)
        }
        #expect(script.taken().contains("> modifyRecords([\"a\"], [])"))
    }

    @Test("leave out of their batches what was added within the last second, and have it next time")
    func heldBack() {
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        script.start()
        script.log = []
        script.onBatch = { _ in
            let records = script.pending.filter { !script.machine.holdsBack($0, now: script.now) }
                .map { CKRecord(recordType: "Note", recordID: $0.recordID) }
            return records.isEmpty ? nil : .init(recordsToSave: records, recordIDsToDelete: [])
        }
        var isFirst = true
        script.onEvent = { event in
            guard case .willSendChanges = event, isFirst else { return }
            isFirst = false
            script.pass(10)
            script.add(Sample.save("b"))
        }
        script.add(Sample.save("a"))
        script.pass(1_000)
        #expect(script.taken().filter { $0.hasPrefix("> modify") } == ["> modifyRecords([\"a\"], [])"])
        let now = script.now
        while script.pending == [Sample.save("b")], script.turnClock() != nil {}
        #expect(script.taken().contains("> modifyRecords([\"b\"], [])"))
        #expect(script.now == now + 1_000)
        // What the app sends itself has everything.
        script.add(Sample.save("c"))
        script.send()
        #expect(script.log.contains("> modifyRecords([\"c\"], [])"))
    }

    @Test("of a scope leave all else pending, whatever the batch holds")
    func scope() {
        let script = EngineScript(EngineScript.signedIn())
        script.add(zones: .saveZone(CKRecordZone(zoneID: zone)), .saveZone(CKRecordZone(zoneID: zoneB)))
        script.add(Sample.save("a"), Sample.save("b", zoneB), Sample.save("c"))
        script.onBatch = { _ in
            script.pending.count < 3
                ? nil
                : .init(
                    recordsToSave: script.pending.map { CKRecord(recordType: "Note", recordID: $0.recordID) },
                    recordIDsToDelete: [])
        }
        script.send(.recordIDs([Sample.id("a")]))
        #expect(
            script.taken().filter { $0.hasPrefix("> modify") } == [
                "> modifyZones([\"A\"], [])", "> modifyRecords([\"a\"], [])",
            ])
        #expect(script.pending == [Sample.save("b", zoneB), Sample.save("c")])
        #expect(script.pendingZones.map(\.zoneID) == [zoneB])
        // One that holds nothing of the scope ends the send.
        script.onBatch = { _ in
            .init(recordsToSave: [CKRecord(recordType: "Note", recordID: Sample.id("c"))], recordIDsToDelete: [])
        }
        script.send(.zoneIDs([zoneB]))
        #expect(!script.log.contains { $0.hasPrefix("> modifyRecords") })
        #expect(CKSyncEngine.SendChangesOptions.Scope.allExcluding([zone]).contains(Sample.save("b", zoneB)))
        #expect(!CKSyncEngine.SendChangesOptions.Scope.allExcluding([zone]).contains(Sample.id("a")))
    }

    @Test("send zones that are added in the midst of them before the next batch, each change once")
    func zonesAddedMeanwhile() {
        let script = EngineScript(EngineScript.signedIn())
        script.add(Sample.save("a"))
        script.onEvent = { event in
            guard case .sentRecordZoneChanges(let sent) = event, sent.savedRecords.first?.recordID == Sample.id("a")
            else { return }
            script.add(zones: .saveZone(CKRecordZone(zoneID: zoneB)))
            script.add(Sample.save("b", zoneB))
        }
        var batches: [[CKSyncEngine.PendingRecordZoneChange]] = [[Sample.save("a")], [Sample.save("b", zoneB)], [], []]
        script.onBatch = { _ in
            let batch = batches.removeFirst()
            // A delegate that makes sure of its zone whenever it is asked.
            if batch.isEmpty { script.add(zones: .saveZone(CKRecordZone(zoneID: zone))) }
            let records = batch.map { CKRecord(recordType: "Note", recordID: $0.recordID) }
            return records.isEmpty ? nil : .init(recordsToSave: records, recordIDsToDelete: [])
        }
        script.send()
        #expect(
            script.taken().filter { $0.hasPrefix("> modify") } == [
                "> modifyRecords([\"a\"], [])", "> modifyZones([\"B\"], [])", "> modifyRecords([\"b\"], [])",
                "> modifyZones([\"A\"], [])",
            ])
    }

    @Test("send a zone that the delegate adds with the batch of its records before that batch")
    func zoneAddedWithItsBatch() {
        let script = EngineScript(EngineScript.signedIn())
        script.add(Sample.save("b", zoneB))
        var batches = 0
        script.onBatch = { _ in
            batches += 1
            if batches > 1 { return nil }
            script.add(zones: .saveZone(CKRecordZone(zoneID: zoneB)))
            // Newer than the record that is given: it stays pending.
            script.add(Sample.save("b", zoneB))
            return .init(
                recordsToSave: [CKRecord(recordType: "Note", recordID: Sample.id("b", zoneB))], recordIDsToDelete: [])
        }
        script.send()
        #expect(
            script.taken().filter { $0.hasPrefix("> modify") } == [
                "> modifyZones([\"B\"], [])", "> modifyRecords([\"b\"], [])",
            ])
        #expect(script.machine.state.recordChanges[Sample.id("b", zoneB)] == Sample.save("b", zoneB))
    }

    @Test("take what the app keeps itself, and are over with it when there is no more")
    func untracked() {
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        script.start()
        script.log = []
        var left = ["a", "b"]
        script.onBatch = { _ in
            if left.isEmpty { return nil }
            let record = CKRecord(recordType: "Note", recordID: Sample.id(left.removeFirst()))
            return .init(recordsToSave: [record], recordIDsToDelete: [])
        }
        let isChanged = script.machine.setHasUntrackedChanges(true, now: script.now)
        #expect(isChanged)
        while script.turnClock() != nil {}
        #expect(script.taken().filter { $0.hasPrefix("> modify") }.count == 2)
        #expect(!script.machine.state.hasUntrackedChanges)
    }

    @Test("of a zone's deletion drop what was to be sent there before, and keep what is added since")
    func zoneDeletion() {
        let script = EngineScript(EngineScript.signedIn())
        script.add(Sample.save("a"))
        script.add(zones: .deleteZone(zone))
        script.server = { if case .modifyZones = $0 { nil } else { EngineScript.friendlyServer($0) } }
        script.send()
        script.add(zones: .saveZone(CKRecordZone(zoneID: zone)))
        script.add(Sample.save("b"))
        script.server = EngineScript.friendlyServer
        script.onBatch = { _ in nil }
        script.answer(
            .modifyZones(.success(.init(saves: [:], deletions: [zone: .success(())]))))
        #expect(script.pending == [Sample.save("b")])
        // The zone that takes its place is made in the same pass.
        #expect(script.log.contains("> modifyZones([\"A\"], [])"))
        // The deletion comes back with the changes, and means the zone before.
        script.server = { request in
            if case .databaseChanges(nil) = request {
                return EngineScript.databasePage([], deleted: [zone], token: "d")
            }
            return EngineScript.friendlyServer(request)
        }
        script.fetch()
        #expect(script.log.contains("fetchedDatabaseChanges(modifications: [], deletions: [\"A\"])"))
        #expect(script.pending == [Sample.save("b")])
    }

    @Test("of a zone's deletion keep what was added behind it, over launches too, and drop all else")
    func addedBehindDeletion() throws {
        let script = EngineScript(EngineScript.signedIn())
        script.add(Sample.save("before"))
        script.add(zones: .deleteZone(Sample.zone))
        script.add(Sample.save("behind"), Sample.save("other", Sample.zoneB))
        let kept = try JSONEncoder().encode(CKSyncEngine.State.Serialization(script.machine.state))
        let next = EngineScript(try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: kept).state)
        for script in [script, next] {
            script.onBatch = { _ in nil }
            script.send()
            #expect(script.taken().contains("> modifyZones([], [\"A\"])"))
            #expect(script.pending == [Sample.save("behind"), Sample.save("other", Sample.zoneB)])
            #expect(script.machine.state.recordsForNextZone.isEmpty)
        }
        // Another deletion takes that as well.
        script.add(zones: .deleteZone(Sample.zone))
        script.send()
        #expect(script.pending == [Sample.save("other", Sample.zoneB)])
    }

    @Test("ask for the token of a zone that was never fetched before records are saved in it, so that none is missed")
    func firstFetchTokens() {
        let script = EngineScript(EngineScript.signedIn { $0.zoneTokens[Sample.zoneB] = EngineScript.token("b") })
        script.add(Sample.save("1"), Sample.save("2", Sample.zoneB))
        script.server = { request in
            if case .firstFetchTokens = request { return .firstFetchTokens(.failure(CKError(.networkFailure))) }
            return EngineScript.friendlyServer(request)
        }
        script.send()
        var log = script.taken()
        #expect(log.contains("> firstFetchTokens([\"A\"])") && !log.contains { $0.hasPrefix("> modifyRecords") })
        #expect(script.pending == [Sample.save("1"), Sample.save("2", Sample.zoneB)])
        script.server = EngineScript.friendlyServer
        script.send()
        log = script.taken().filter { $0.hasPrefix("> ") }
        #expect(log == ["> firstFetchTokens([\"A\"])", "> modifyRecords([\"1\", \"2\"], [])"])
        script.add(Sample.save("3"))
        script.send()
        #expect(script.taken().filter { $0.hasPrefix("> ") } == ["> modifyRecords([\"3\"], [])"])
        script.server = { request in
            if case .databaseChanges = request {
                return EngineScript.databasePage([Sample.zone, Sample.zoneB], token: "d")
            }
            return EngineScript.friendlyServer(request)
        }
        script.fetch()
        #expect(script.taken().contains("> zoneChanges(A, first)"))
    }

    @Test("to a zone that is not there, and deletions, ask for no token twice")
    func firstFetchTokenOfNoZone() {
        let script = EngineScript(EngineScript.signedIn())
        script.server = { request in
            switch request {
            case .firstFetchTokens: return .firstFetchTokens(.success([:]))
            case .modifyRecords(let batch):
                var errors: [CKRecord.ID: CKError] = [:]
                for record in batch.recordsToSave { errors[record.recordID] = CKError(.zoneNotFound) }
                return EngineScript.saved(batch, failing: errors)
            default: return EngineScript.friendlyServer(request)
            }
        }
        script.add(Sample.delete("0"))
        script.send()
        #expect(!script.taken().contains { $0.hasPrefix("> firstFetchTokens") })
        script.add(Sample.save("1"))
        script.send()
        let log = script.taken().filter { $0.hasPrefix("> ") }
        #expect(log == ["> firstFetchTokens([\"A\"])", "> modifyRecords([\"1\"], [])"])
        // The zone's save brings its token.
        script.server = EngineScript.friendlyServer
        script.add(zones: .saveZone(CKRecordZone(zoneID: Sample.zone)))
        script.add(Sample.save("1"))
        script.send()
        #expect(!script.taken().contains { $0.hasPrefix("> firstFetchTokens") })
        #expect(script.machine.state.zoneTokens[Sample.zone] == EngineScript.token("first"))
    }

    @Test("report changes to zones that fail, and keep those that pass by themselves")
    func failedZones() {
        for (code, isKept) in [(CKError.Code.zoneBusy, true), (.quotaExceeded, false)] {
            let script = EngineScript(EngineScript.signedIn())
            script.add(zones: .saveZone(CKRecordZone(zoneID: zone)))
            script.add(Sample.save("a"))
            script.server = { request in
                guard case .modifyZones = request else { return EngineScript.friendlyServer(request) }
                return .modifyZones(.success(.init(saves: [zone: .failure(CKError(code))], deletions: [:])))
            }
            script.send()
            let log = script.taken()
            #expect(
                log.contains(
                    "sentDatabaseChanges(saved: [], failedSaves: [\"A: \(code)\"], deleted: [], failedDeletes: [])"))
            #expect(log.last == "< 1 partialFailure")
            #expect(script.pendingZones.isEmpty != isKept)
            #expect(log.contains("batch?") != isKept)
        }
    }

    @Test("that are cancelled end paired, with their changes pending")
    func cancelled() {
        let script = EngineScript(EngineScript.signedIn())
        script.server = { if case .modifyRecords = $0 { nil } else { EngineScript.friendlyServer($0) } }
        script.add(Sample.save("a"))
        let call = script.send()
        script.log = []
        script.perform(script.machine.callCancelled(call, now: script.now))
        #expect(script.taken() == ["< 1 operationCancelled", "> cancel"])
        script.answer(.modifyRecords(.failure(CKError(.operationCancelled))))
        #expect(script.taken() == [sent(failed: "[\"a: operationCancelled\"]"), "didSendChanges(manual)"])
        #expect(script.pending == [Sample.save("a")])
        script.perform(script.machine.callCancelled(call, now: script.now))
        #expect(script.taken().isEmpty)
    }

    @Test("end when the delegate is gone, and so does everything that waits")
    func delegateGone() {
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        script.start()
        script.add(Sample.save("a"))
        script.isDelegateThere = false
        script.log = []
        script.send()
        #expect(script.taken() == ["willSendChanges(manual)", "< 1 operationCancelled"])
        script.fetch()
        script.push(.databaseChanged)
        #expect(script.taken() == ["< 2 operationCancelled"])
        #expect(script.turnClock() == nil)
        #expect(script.pending == [Sample.save("a")])
    }
}
