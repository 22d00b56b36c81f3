@testable import BrumeKit
import BrumeModel
import Foundation
import Testing

@Suite("Calls of a sync engine whose records wait for files")
struct SyncEngineHeldCallTests {
    private func script(isAutomatic: Bool = false, pictures: Set<String>) -> EngineScript {
        let state = EngineScript.signedIn { state in
            state.databaseToken = EngineScript.token("d")
            for zone in [Sample.zone, Sample.zoneB] { state.zoneTokens[zone] = EngineScript.token("z") }
        }
        let script = EngineScript(state, isAutomatic: isAutomatic)
        script.makeRecord = { id in
            let record = CKRecord(recordType: "Note", recordID: id)
            if pictures.contains(id.recordName) {
                record["picture"] = CKAsset(fileURL: URL(fileURLWithPath: "/pictures/\(id.recordName)"))
            }
            if id.recordName.hasPrefix("child of ") {
                let parent = String(id.recordName.dropFirst("child of ".count))
                record.parent = CKRecord.Reference(recordID: Sample.id(parent, id.zoneID), action: .none)
            }
            return record
        }
        return script
    }

    private func isOver(_ call: UInt64, _ log: [String]) -> Bool { log.contains { $0.hasPrefix("< \(call)") } }

    @Test("are not over before what they are for was sent, however much waits")
    func full() {
        let names = (0..<1_000).map { "p\($0)" }
        let script = script(pictures: Set(names))
        for name in names { script.add(Sample.save(name)) }
        script.send()
        #expect(script.machine.heldChanges.count == 1_000)
        // A call for some records or zones has room of its own.
        script.add(Sample.save("b"))
        let one = script.send(.recordIDs([Sample.id("b")]))
        var log = script.taken()
        #expect(log.contains("> modifyRecords([\"b\"], [])") && log.last == "< \(one)")
        // One for everything waits for room.
        script.add(Sample.save("d", Sample.zoneB))
        let all = script.send()
        script.pass(10_000)
        log = script.taken()
        #expect(!isOver(all, log) && script.pending.contains(Sample.save("d", Sample.zoneB)))
        for (number, name) in names.enumerated() {
            script.endUpload(name)
            if number % 100 == 99 { script.pass(1_000) }
        }
        log = script.taken()
        #expect(isOver(all, log) && isOver(1, log) && script.pending.isEmpty)
    }

    @Test("for zones wait for room as well when twice as much waits")
    func fullZone() {
        let names = (0..<2_200).map { "p\($0)" }
        let script = script(pictures: Set(names))
        for name in names { script.add(Sample.save(name)) }
        let call = script.send(.zoneIDs([Sample.zone]))
        #expect(script.machine.heldChanges.count == 2_000)
        for (number, name) in names.enumerated() {
            script.endUpload(name)
            if number % 100 == 99 { script.pass(1_000) }
        }
        #expect(script.taken().last == "< \(call)" && script.pending.isEmpty)
    }

    @Test("send what a call for other records took out of what waits")
    func takenOver() {
        let script = script(pictures: ["a"])
        script.add(Sample.save("a"), Sample.save("child of a"))
        let all = script.send()
        script.add(Sample.save("a"))
        let one = script.send(.recordIDs([Sample.id("a")]))
        _ = script.taken()
        script.endUpload("a")
        let log = script.taken().filter { $0.hasPrefix("> ") || $0.hasPrefix("< ") }
        #expect(script.pending.isEmpty)
        #expect(log.first == "> modifyRecords([\"a\"], [])" && log.last == "< \(all)")
        #expect(Set(log.dropFirst().dropLast()) == ["< \(one)", "> modifyRecords([\"child of a\"], [])"])
    }

    @Test("are not over with what they took out of what waits, but end with its removal")
    func takenOverAndRemoved() {
        let script = script(pictures: ["a"])
        script.add(Sample.save("a"), Sample.save("child of a"))
        let all = script.send()
        script.remove(Sample.save("a"), Sample.save("child of a"))
        #expect(isOver(all, script.taken()))
    }

    @Test("try anew after cancelOperations(), whatever is to wait by itself")
    func triesAfterCancellation() {
        let script = script(isAutomatic: true, pictures: ["a"])
        script.start()
        script.add(Sample.save("a"))
        while script.openUploads.isEmpty { script.turnClock() }
        // Something else is told to wait while the file is on its way.
        script.add(Sample.save("b"))
        script.server = EngineScript.server(failing: [
            Sample.id("b"): CKError(.requestRateLimited, message: "", retryAfterSeconds: 60)
        ])
        while script.machine.schedule.sendHeldUntil <= script.now { script.turnClock() }
        script.server = EngineScript.friendlyServer
        _ = script.taken()
        script.cancelOperations()
        #expect(
            script.taken().contains {
                $0.hasPrefix("sentRecordZoneChanges") && $0.contains("a: operationCancelled")
            })
        let call = script.send()
        var log = script.taken()
        #expect(log.contains("> upload a") && !isOver(call, log))
        script.endUpload("a")
        log = script.taken()
        #expect(log.last == "< \(call)" && script.pending.isEmpty)
    }

    @Test("try anew what has failed a moment before")
    func triesAfterFailure() {
        let script = script(isAutomatic: true, pictures: ["a", "b"])
        script.start()
        script.add(Sample.save("a"), Sample.save("b"))
        while script.openUploads.isEmpty { script.turnClock() }
        script.endUpload("a", CKError(.zoneBusy))
        let call = script.send()
        var log = script.taken()
        #expect(log.contains { $0.contains("a: zoneBusy") } && log.contains("> upload a") && !isOver(call, log))
        script.endUpload("a")
        script.endUpload("b")
        log = script.taken()
        #expect(log.last == "< \(call)" && script.pending.isEmpty)
    }

    @Test("throw at once what has failed beside a file, whose upload goes on for the next call")
    func failuresBeside() {
        let script = script(pictures: ["a", "b"])
        script.server = EngineScript.server(failing: [Sample.id("x"): CKError(.serverRecordChanged)])
        script.add(Sample.save("a"), Sample.save("b"), Sample.save("x"))
        let first = script.send()
        var log = script.taken()
        #expect(log.last == "< \(first) partialFailure")
        #expect(Set(script.openUploads.keys) == ["a", "b"])
        let second = script.send()
        #expect(!isOver(second, script.taken()))
        script.endUpload("b", CKError(.quotaExceeded))
        script.pass(1_000)
        log = script.taken()
        #expect(log.last == "< \(second) partialFailure" && Set(script.openUploads.keys) == ["a"])
        // Also where the app does not call again.
        script.endUpload("a")
        #expect(script.taken().contains("> modifyRecords([\"a\"], [])") && script.pending.isEmpty)
    }

    @Test("that are cancelled end uploads that went on for the next call")
    func cancelledNextCall() {
        let script = script(pictures: ["a"])
        script.server = EngineScript.server(failing: [Sample.id("x"): CKError(.serverRecordChanged)])
        script.add(Sample.save("a"), Sample.save("x"))
        script.send()
        let second = script.send()
        #expect(!script.openUploads.isEmpty)
        script.perform(script.machine.callCancelled(second, now: script.now))
        #expect(script.openUploads.isEmpty && script.pending == [Sample.save("a")])
    }

    @Test("are not over while the delegate gave nothing but what waited")
    func givenAgain() {
        let script = script(pictures: ["a"])
        script.onBatch = { _ in script.pending.first.map { .init(recordsToSave: [script.makeRecord($0.recordID)]) } }
        script.add(Sample.save("a"), Sample.save("b"))
        let call = script.send()
        script.endUpload("a")
        #expect(script.pending.isEmpty && script.taken().last == "< \(call)")
    }

    @Test("are not over while the delegate gave nothing but what waited, also when the app removes just that")
    func givenAgainAndRemoved() {
        let script = script(pictures: ["a"])
        script.onBatch = { _ in script.pending.first.map { .init(recordsToSave: [script.makeRecord($0.recordID)]) } }
        script.add(Sample.save("a"), Sample.save("b"))
        script.holdsQuestions = true
        let call = script.send()
        while !script.log.contains("didSendChanges(manual)") { script.reply() }
        script.remove(Sample.save("a"))
        script.holdsQuestions = false
        script.reply()
        #expect(script.pending.isEmpty && script.taken().last == "< \(call)")
    }

    @Test("don't wait for what the server asked of an earlier request")
    func staleHold() {
        let script = script(isAutomatic: true, pictures: ["a"])
        script.start()
        script.add(Sample.save("a"))
        while script.openUploads.isEmpty { script.turnClock() }
        let first = script.send()
        script.holdsQuestions = true
        script.endUpload("a")
        // The send of what waited is about to begin.
        script.server = { request in
            guard case .account = request else { return EngineScript.friendlyServer(request) }
            return .account(.failure(CKError(.requestRateLimited, message: "", retryAfterSeconds: 60)))
        }
        script.perform(script.machine.accountMayHaveChanged(now: script.now))
        script.holdsQuestions = false
        script.reply()
        #expect(isOver(first, script.taken()) && script.pending == [Sample.save("a")])
        script.server = EngineScript.friendlyServer
        let second = script.send()
        script.pass(1_000)
        #expect(script.taken().last == "< \(second)" && script.pending.isEmpty)
    }

    @Test("send a deletion when what it waited for is gone, or was sent")
    func deletionsAlone() {
        let whole = script(pictures: ["a"])
        whole.isAtomic = true
        whole.add(Sample.save("a"), Sample.delete("x"))
        var call = whole.send()
        whole.remove(Sample.save("a"))
        var log = whole.taken()
        #expect(log.contains("> modifyRecords([], [\"x\"])") && isOver(call, log))

        let moving = script(pictures: [])
        moving.makeRecord = { id in
            let version = CKRecordState.Version(
                changeTag: "1", creator: "_ada", creationDate: nil, modifier: "_ada", modificationDate: Date())
            let record = CKRecord(
                recordType: "Note", recordID: id,
                state: CKRecordState(
                    version: version, parent: nil,
                    fields: ["of": .reference(.init(recordName: "x", deletesSelf: true))]))
            record["of"] = CKRecord.Reference(recordID: Sample.id("y"), action: .deleteSelf)
            record["picture"] = CKAsset(fileURL: URL(fileURLWithPath: "/pictures/m"))
            return record
        }
        moving.add(Sample.save("m"))
        moving.send()
        moving.add(Sample.delete("x"))
        call = moving.send()
        moving.endUpload("m")
        log = moving.taken()
        #expect(moving.pending.isEmpty && isOver(call, log))
    }

    @Test("are not over while what the delegate has behind waits for another call")
    func heldByAnother() {
        let script = script(pictures: ["a", "b"])
        script.onBatch = { context in
            script.pending.first { context.options.scope.contains($0) }
                .map { .init(recordsToSave: [script.makeRecord($0.recordID)]) }
        }
        script.add(Sample.save("a"), Sample.save("b"))
        let call = script.send()
        script.send(.recordIDs([Sample.id("b")]))
        script.endUpload("a")
        script.pass(1_000)
        #expect(!isOver(call, script.taken()))
        script.endUpload("b")
        script.pass(1_000)
        #expect(isOver(call, script.taken()) && script.pending.isEmpty)
    }

    @Test("of a share and of its root don't take them from each other for ever")
    func shareAndRoot() {
        let script = script(pictures: ["a", "x"])
        script.isAtomic = true
        let make = script.makeRecord
        script.makeRecord = { id in
            id.recordName == "share" ? CKShare(rootRecord: make(Sample.id("a")), shareID: id) : make(id)
        }
        script.server = { if case .modifyRecords = $0 { nil } else { EngineScript.friendlyServer($0) } }
        var asked = 0
        script.onEvent = { event in
            guard case .willSendChanges = event else { return }
            asked += 1
            if asked > 50 { script.isDelegateThere = false }
        }
        script.add(Sample.save("a"), Sample.save("share"), Sample.save("x"))
        script.send(.recordIDs([Sample.id("a")]))
        script.send(.recordIDs([Sample.id("share"), Sample.id("x")]))
        #expect(asked < 10)
    }
}
