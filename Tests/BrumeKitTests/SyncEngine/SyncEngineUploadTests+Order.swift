@testable import BrumeKit
import Foundation
import Testing

/// What goes before what, and what goes together.
extension SyncEngineUploadTests {
    /// One whose records of the name "share" are shares of "a".
    private func scriptWithShare() -> EngineScript {
        let script = script(pictures: ["a"])
        let make = script.makeRecord
        script.makeRecord = { id in
            id.recordName == "share" ? CKShare(rootRecord: make(Sample.id("a")), shareID: id) : make(id)
        }
        return script
    }

    private func modifications(_ script: EngineScript) -> [String] { script.taken().filter { $0.hasPrefix("> mod") } }

    @Test("keep a new share and its root together, whichever is added again")
    func shareAddedAgain() {
        for again in ["a", "share"] {
            let script = scriptWithShare()
            script.add(Sample.save("a"), Sample.save("share"))
            script.send()
            script.add(Sample.save(again))
            script.send()
            script.endUpload("a")
            #expect(modifications(script) == ["> modifyRecords([\"a\", \"share\"], [])"])
            #expect(script.pending.isEmpty && script.machine.isAtRest(now: script.now))
        }
    }

    @Test("send a share with its root that waits already, and what is below the root behind them")
    func shareAddedLater() {
        for given in ["a", "share"] {
            let script = scriptWithShare()
            script.add(Sample.save("a"), Sample.save("child of a"))
            script.send()
            script.add(Sample.save("share"), Sample.save("child of child of a"), Sample.save(given))
            script.send()
            #expect(modifications(script).isEmpty)
            script.endUpload("a")
            let sent = modifications(script)
            #expect(sent.first?.hasPrefix("> modifyRecords([\"a\"") == true && sent.first?.contains("share") == true)
            #expect(script.pending.isEmpty && script.machine.isAtRest(now: script.now))
        }
    }

    @Test("don't ask for ever a delegate that gives a share and its root one by one, or always")
    func shareOneByOne() {
        for names in [["a"], ["share"], ["a", "share"], ["share", "a"], []] {
            let script = scriptWithShare()
            var asked = 0
            script.onBatch = { _ in
                asked += 1
                var changes = script.pending
                if names.isEmpty {
                    // Both and one of them in turns.
                    changes = Array(changes.prefix(asked % 2 + 1))
                } else {
                    // Those of these names that are left, one by one.
                    let name = names[asked % names.count]
                    changes = changes.filter { $0.recordID.recordName == name }
                }
                if asked > 100 || changes.isEmpty { return nil }
                return .init(recordsToSave: changes.map { script.makeRecord($0.recordID) })
            }
            script.add(Sample.save("a"), Sample.save("share"))
            script.send()
            #expect(asked < 20)
            script.endUpload("a")
            #expect(asked < 40 && script.machine.heldBatches.isEmpty)
        }
    }

    @Test("don't ask for ever a delegate that gives one by one records that need each other")
    func circle() {
        let script = script(pictures: ["a", "b"])
        let make = script.makeRecord
        script.makeRecord = { id in
            let record = make(id)
            let other = Sample.id(id.recordName == "a" ? "b" : "a")
            record["other"] = CKRecord.Reference(recordID: other, action: .deleteSelf)
            return record
        }
        var asked = 0
        script.onBatch = { _ in
            asked += 1
            let next = script.pending.first { !script.machine.holdsBack($0, now: script.now) }
            return asked > 100 ? nil : next.map { .init(recordsToSave: [script.makeRecord($0.recordID)]) }
        }
        script.add(Sample.save("a"), Sample.save("b"))
        let call = script.send()
        #expect(asked < 10)
        script.endUpload("a")
        script.endUpload("b")
        #expect(script.pending.isEmpty && script.taken().last == "< \(call)")
    }

    @Test("keep a new child behind its parent that is added again after a failure")
    func parentAddedAgain() {
        let script = script(pictures: ["a", "child of a"])
        script.add(Sample.save("a"), Sample.save("child of a"))
        script.send()
        script.endUpload("a", CKError(.quotaExceeded))
        script.pass(1_000)
        #expect(script.pending == [Sample.save("child of a")])
        script.add(Sample.save("a"))
        script.send()
        script.endUpload("child of a")
        script.pass(1_000)
        script.endUpload("a")
        #expect(modifications(script) == ["> modifyRecords([\"a\"], [])", "> modifyRecords([\"child of a\"], [])"])
        #expect(script.pending.isEmpty && script.machine.isAtRest(now: script.now))
    }

    @Test("whose record a call for others takes out of what waits are sent by the engine itself")
    func takenOverByOthers() {
        let script = script(isAutomatic: true, pictures: ["a", "child of a"])
        script.start()
        script.add(Sample.save("a"), Sample.save("child of a"))
        while script.openUploads.count < 2 { script.turnClock() }
        script.add(Sample.save("a"))
        script.send(.recordIDs([Sample.id("a")]))
        script.endUpload("a")
        script.endUpload("child of a")
        script.pass(10_000)
        #expect(script.pending.isEmpty)
    }

    @Test("let calls have their turn, however fast files come and however slow the server is")
    func turns() {
        for pause: UInt64 in [0, 1_500] {
            let names = (0..<30).map { "p\($0)" }
            let script = script(pictures: Set(names))
            for name in names { script.add(Sample.save(name)) }
            script.send()
            script.leaveSavesOpen()
            script.endUpload("p0")
            script.pass(1_000)
            // The first request with a record whose file is there is open.
            let call = script.fetch()
            for name in names[1..<20] {
                script.endUpload(name)
                if script.openRequestID == nil { continue }
                script.pass(pause)
                script.answer(EngineScript.saved(script.openBatch!))
            }
            #expect(script.taken().contains("< \(call)"))
            script.server = EngineScript.friendlyServer
            if script.openRequestID != nil { script.answer(EngineScript.saved(script.openBatch!)) }
            for name in names[20...] { script.endUpload(name) }
            #expect(script.pending.isEmpty && script.machine.isAtRest(now: script.now))
        }
    }

    @Test("that end while others are sent follow a second later")
    func late() {
        let script = script(pictures: ["a", "b", "d"])
        script.add(Sample.save("a"), Sample.save("b"), Sample.save("d"))
        script.send()
        script.leaveSavesOpen()
        script.endUpload("a")
        script.pass(1_000)
        script.endUpload("b")
        script.server = EngineScript.friendlyServer
        script.answer(EngineScript.saved(script.openBatch!))
        #expect(modifications(script) == ["> modifyRecords([\"a\"], [])"])
        #expect(script.turnClock() == 1_000)
        #expect(modifications(script) == ["> modifyRecords([\"b\"], [])"] && script.pending == [Sample.save("d")])
    }

    @Test("leave room beside films for a record with two files")
    func filmsAndPair() {
        let films = (0..<4).map { "film\($0)" }
        let script = script(pictures: Set(films))
        let make = script.makeRecord
        script.makeRecord = { id in
            let record = make(id)
            if id.recordName == "photo" { record["pictures"] = ["large", "thumb"].map(Self.file) }
            return record
        }
        for name in films + ["photo"] { script.add(Sample.save(name)) }
        script.send()
        #expect(Set(script.openUploads.keys) == ["film0", "film1", "film2", "large thumb"])
        #expect(script.openPlaces == 4)
    }

    @Test("don't begin while it is open whose they are")
    func accountInQuestion() {
        for failures in [0, 2] {
            let names = ["a", "b", "c", "d", "e"]
            let script = script(isAutomatic: failures > 0, pictures: Set(names))
            for name in names { script.add(Sample.save(name)) }
            script.send()
            script.server = { if case .account = $0 { nil } else { EngineScript.friendlyServer($0) } }
            script.perform(script.machine.accountMayHaveChanged(now: script.now))
            script.remove(Sample.save("a"))
            script.endUpload("b")
            #expect(script.openUploads.count == 2)
            for _ in 0..<failures {
                script.answer(.account(.failure(CKError(.networkFailure))))
                script.turnClock()
                while script.openRequestID == nil { script.turnClock() }
                #expect(script.openUploads.count == 2)
            }
            script.answer(.account(.success("_ada")))
            #expect(script.openUploads["e"] != nil)
        }
    }

    @Test("that wait for their turn while it can't be asked whose they are have it asked again")
    func accountAskedAgain() {
        let names = ["a", "b", "c", "d", "e"]
        let script = script(pictures: Set(names))
        script.server = EngineScript.server(failing: [Sample.id("x"): CKError(.serverRecordChanged)])
        // They go on after the call's failure, for the next one.
        for name in names + ["x"] { script.add(Sample.save(name)) }
        script.send()
        var failures = 0
        script.server = { request in
            guard case .account = request, failures < 3 else { return EngineScript.friendlyServer(request) }
            failures += 1
            return .account(.failure(CKError(.networkFailure)))
        }
        script.perform(script.machine.accountMayHaveChanged(now: script.now))
        for name in names.prefix(4) { script.remove(Sample.save(name)) }
        #expect(script.openUploads.isEmpty)
        while script.openUploads.isEmpty, failures < 3 || script.machine.isAccountCheckWanted {
            guard script.turnClock() != nil else { break }
        }
        #expect(script.openUploads["e"] != nil)
    }

    @Test("follow each other without a pause where the delegate gives its first pending change each time")
    func oneByOne() {
        let names = (0..<10).map { "p\($0)" }
        let script = script(isAutomatic: true, pictures: Set(names))
        script.onBatch = { _ in script.pending.first.map { .init(recordsToSave: [script.makeRecord($0.recordID)]) } }
        script.start()
        for name in names { script.add(Sample.save(name)) }
        let start = script.now
        while !script.pending.isEmpty, script.turnClock() != nil {
            for name in Array(script.openUploads.keys) { script.endUpload(name) }
        }
        #expect(script.pending.isEmpty && script.now - start < 60_000)
    }

    @Test("are not made for a change that was removed while its files were looked for")
    func removedBefore() {
        for others in [[], ["b", "child of a"]] {
            let script = script(pictures: ["a"])
            for name in ["a"] + others { script.add(Sample.save(name)) }
            var batch: CKSyncEngine.RecordZoneChangeBatch?
            script.server = { request in
                guard case .assetFiles(let asked) = request else { return EngineScript.friendlyServer(request) }
                batch = asked
                return nil
            }
            let call = script.send()
            script.remove(Sample.save("a"))
            script.server = EngineScript.friendlyServer
            script.answer(.assetFiles(EngineScript.files(of: batch!)))
            #expect(script.openUploads.isEmpty)
            let log = script.taken()
            #expect(log.last == "< \(call)" && script.pending.isEmpty)
            #expect(log.filter { $0.hasPrefix("> mod") }.count == (others.isEmpty ? 0 : 1))
        }
    }
}
