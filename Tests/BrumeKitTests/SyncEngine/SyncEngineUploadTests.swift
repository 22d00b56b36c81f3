@testable import BrumeKit
import Foundation
import Testing

@Suite("A sync engine's uploads")
struct SyncEngineUploadTests {
    /// An engine whose delegate gives some records a file of their name, and "child of a" the parent "a".
    func script(isAutomatic: Bool = false, pictures: Set<String>) -> EngineScript {
        let state = EngineScript.signedIn { state in
            state.databaseToken = EngineScript.token("d")
            for zone in [Sample.zone, Sample.zoneB] { state.zoneTokens[zone] = EngineScript.token("z") }
        }
        let script = EngineScript(state, isAutomatic: isAutomatic)
        script.makeRecord = { id in
            let record = CKRecord(recordType: "Note", recordID: id)
            if pictures.contains(id.recordName) { record["picture"] = Self.file(id.recordName) }
            if id.recordName.hasPrefix("child of ") {
                let parent = String(id.recordName.dropFirst("child of ".count))
                record.parent = CKRecord.Reference(recordID: Sample.id(parent, id.zoneID), action: .none)
            }
            return record
        }
        return script
    }

    static func file(_ name: String) -> CKAsset {
        CKAsset(fileURL: URL(fileURLWithPath: "/pictures/\(name)"))
    }

    private func sent(saved: String = "[]", failed: String = "[]") -> String {
        "sentRecordZoneChanges(saved: \(saved), failedSaves: \(failed), deleted: [], failedDeletes: [])"
    }

    @Test("hold no other record back, and no fetch; the call ends when the record with the file is saved")
    func others() {
        let script = script(pictures: ["a"])
        script.add(Sample.save("a"), Sample.save("b"))
        script.send()
        #expect(
            script.taken() == [
                "> account", "willSendChanges(manual)", "batch?", "> assetFiles", "> upload a",
                "> modifyRecords([\"b\"], [])", sent(saved: "[\"b\"]"), "batch?", "didSendChanges(manual)",
            ])
        #expect(script.pending == [Sample.save("a")])
        script.add(Sample.save("d"))
        #expect(script.send() == 2)
        #expect(script.taken().contains("> modifyRecords([\"d\"], [])"))
        script.fetch()
        #expect(script.taken().last == "< 3")
        script.endUpload("a")
        #expect(
            script.taken() == [
                "willSendChanges(manual)", "> modifyRecords([\"a\"], [])", sent(saved: "[\"a\"]"),
                "didSendChanges(manual)", "< 1", "< 2",
            ])
        #expect(script.pending.isEmpty && script.machine.isAtRest(now: script.now))
    }

    @Test("keep what refers to their record waiting, and what is to be saved at once with it")
    func dependents() {
        let script = script(pictures: ["a"])
        script.add(Sample.save("child of child of a"), Sample.save("child of a"), Sample.save("a"), Sample.save("b"))
        script.send()
        #expect(script.taken().contains("> modifyRecords([\"b\"], [])"))
        // Also what comes later.
        script.add(Sample.save("child of child of child of a"))
        script.send()
        #expect(!script.taken().contains { $0.hasPrefix("> modifyRecords") })
        script.endUpload("a")
        #expect(
            script.taken().filter { $0.hasPrefix("> ") } == [
                "> modifyRecords([\"child of child of a\", \"child of a\", \"a\"], [])",
                "> modifyRecords([\"child of child of child of a\"], [])",
            ])
        #expect(script.pending.isEmpty)
    }

    @Test("keep a zone of an atomic batch whole, and the others going")
    func atomic() {
        let script = script(pictures: ["a"])
        script.isAtomic = true
        script.add(Sample.save("a"), Sample.delete("x"), Sample.save("b"), Sample.save("d", Sample.zoneB))
        script.send()
        #expect(script.taken().filter { $0.hasPrefix("> mod") } == ["> modifyRecords([\"d\"], [])"])
        // The zone is asked for anew when some of it is given again.
        script.add(Sample.save("b"))
        script.send()
        #expect(!script.taken().contains { $0.hasPrefix("> mod") || $0.contains("upload") || $0.contains("cancel") })
        script.endUpload("a")
        #expect(script.taken().contains("> modifyRecords([\"a\", \"b\"], [\"x\"])"))
        #expect(script.pending.isEmpty)
    }

    @Test("are of the newest version: an unchanged file goes on, and one that is not needed any more is cancelled")
    func edits() {
        let script = script(pictures: ["a"])
        script.add(Sample.save("a"))
        script.send()
        #expect(script.taken().contains("> upload a"))
        var titles: [String] = []
        let server = script.server
        script.server = { request in
            if case .modifyRecords(let batch) = request { titles = batch.recordsToSave.map { $0["title"] ?? "" } }
            return server(request)
        }
        script.makeRecord = { id in
            let record = CKRecord(recordType: "Note", recordID: id)
            record["picture"] = Self.file("a")
            record["title"] = "new"
            return record
        }
        script.add(Sample.save("a"))
        script.send()
        #expect(
            script.taken() == ["willSendChanges(manual)", "batch?", "> assetFiles", "batch?", "didSendChanges(manual)"])
        // Another file.
        script.makeRecord = { id in
            let record = CKRecord(recordType: "Note", recordID: id)
            record["picture"] = Self.file("a2")
            record["title"] = "newest"
            return record
        }
        script.add(Sample.save("a"))
        script.send()
        let log = script.taken()
        #expect(log.contains("> cancel a") && log.contains("> upload a2"))
        script.endUpload("a2")
        #expect(titles == ["newest"])
        #expect(script.taken().suffix(3) == ["< 1", "< 2", "< 3"])
        // A deletion, and a change that is removed.
        for change in [Sample.delete("a"), nil] {
            script.add(Sample.save("a"))
            let call = script.send()
            #expect(script.taken().contains("> upload a2"))
            if let change { script.add(change) } else { script.remove(Sample.save("a")) }
            #expect(script.taken() == ["> cancel a2", "< \(call)"])
            script.send()
            #expect(script.taken().contains("> modifyRecords([], [\"a\"])") == (change != nil))
            #expect(script.pending.isEmpty && script.machine.isAtRest(now: script.now))
        }
    }

    @Test("that fail fail their record, and what refers to it where it is tried again")
    func failures() {
        for (code, isKept) in [(CKError.Code.zoneBusy, true), (.quotaExceeded, false)] {
            let script = script(pictures: ["a"])
            script.add(Sample.save("a"), Sample.save("child of a"))
            script.send()
            _ = script.taken()
            script.endUpload("a", CKError(code))
            let log = script.taken()
            #expect(log.contains("> modifyRecords([\"child of a\"], [])") == !isKept)
            #expect(log.last == "< 1 partialFailure")
            #expect(script.pending == (isKept ? [Sample.save("a"), Sample.save("child of a")] : []))
            if isKept {
                #expect(log.contains(sent(failed: "[\"a: zoneBusy\", \"child of a: zoneBusy\"]")))
                script.send()
                #expect(script.taken().contains("> upload a"))
            }
        }
    }

    @Test("that fail take what was to be saved at once along")
    func atomicFailures() {
        let script = script(pictures: ["a"])
        script.isAtomic = true
        script.add(Sample.save("a"), Sample.save("b"))
        script.send()
        _ = script.taken()
        script.endUpload("a", CKError(.quotaExceeded))
        #expect(
            script.taken() == [
                "willSendChanges(manual)", sent(failed: "[\"a: quotaExceeded\", \"b: batchRequestFailed\"]"),
                "didSendChanges(manual)",
                "< 1 partialFailure",
            ])
    }

    @Test("are tried again after the time that the server asked for, and by themselves")
    func retries() {
        let script = script(isAutomatic: true, pictures: ["a"])
        script.start()
        script.add(Sample.save("a"))
        while script.openUploads.isEmpty { script.turnClock() }
        script.endUpload("a", CKError(.requestRateLimited, message: "", retryAfterSeconds: 20))
        let failed = script.now
        while script.openUploads.isEmpty { script.turnClock() }
        #expect(script.now >= failed + 20_000)
        script.endUpload("a")
        #expect(script.pending.isEmpty)
    }

    @Test("are tried again after pauses that grow while the server can't be reached")
    func growingPauses() {
        let script = script(isAutomatic: true, pictures: ["a"])
        script.start()
        script.add(Sample.save("a"))
        var tries = 0
        let end = script.now + 600_000
        while script.now < end, script.turnClock() != nil {
            guard !script.openUploads.isEmpty else { continue }
            tries += 1
            script.endUpload("a", CKError(.networkUnavailable))
        }
        #expect(tries > 3 && tries < 60)
        // A success ends the pauses.
        while script.openUploads.isEmpty { script.turnClock() }
        script.endUpload("a")
        #expect(script.pending.isEmpty && script.machine.schedule.sendHeldUntil == 0)
    }

    @Test("whose file is gone ask the delegate once more, which may have moved it")
    func missingFile() {
        for isAutomatic in [false, true] {
            let script = script(isAutomatic: isAutomatic, pictures: ["a", "child of a"])
            script.add(Sample.save("a"), Sample.save("child of a"))
            script.send()
            let makeRecord = script.makeRecord
            script.makeRecord = { id in
                let record = makeRecord(id)
                if id.recordName == "a" { record["picture"] = Self.file("a2") }
                return record
            }
            _ = script.taken()
            script.endUpload("a", CKError(.assetFileNotFound))
            script.pass(1_000)
            #expect(script.taken().contains("> upload a2") && script.openUploads.count == 2)
            script.endUpload("child of a")
            script.endUpload("a2")
            #expect(script.taken().last == "< 1" && script.pending.isEmpty)
        }
    }

    @Test("whose file is gone while the delegate is asked have the same call ask it again")
    func missingFileMeanwhile() {
        let script = script(pictures: ["a"])
        script.add(Sample.save("a"))
        script.holdsQuestions = true
        script.send()
        while script.openUploads.isEmpty { script.reply() }
        // What is asked now is answered by what the delegate saw before.
        script.onBatch = { _ in nil }
        script.endUpload("a", CKError(.assetFileNotFound))
        script.reply()
        script.onBatch = nil
        _ = script.taken()
        script.holdsQuestions = false
        script.reply()
        let log = script.taken()
        #expect(log.contains("> upload a") && !log.contains { $0.hasPrefix("<") })
        script.endUpload("a", CKError(.assetFileNotFound))
        #expect(script.taken().last == "< 1 partialFailure" && script.pending.isEmpty)
    }

    @Test("whose file is gone for good fail, and take what was to be saved at once along")
    func missingFileForGood() {
        let script = script(pictures: ["a"])
        script.isAtomic = true
        script.add(Sample.save("a"), Sample.save("b"))
        script.send()
        script.endUpload("a", CKError(.assetFileNotFound))
        script.pass(1_000)
        #expect(!script.openUploads.isEmpty && !script.taken().contains { $0.hasPrefix("> modify") })
        script.endUpload("a", CKError(.assetFileNotFound))
        let log = script.taken()
        #expect(log.contains(sent(failed: "[\"a: assetFileNotFound\", \"b: batchRequestFailed\"]")))
        #expect(log.last == "< 1 partialFailure" && script.pending.isEmpty)
    }

    @Test("are four at a time, and go together when they end together")
    func bound() {
        let names = (0..<10).map { "p\($0)" }
        let script = script(pictures: Set(names))
        for name in names { script.add(Sample.save(name)) }
        script.send()
        #expect(script.openUploads.count == 4)
        _ = script.taken()
        for name in names.prefix(8) {
            script.endUpload(name)
            #expect(script.openUploads.count <= 4)
        }
        #expect(!script.taken().contains { $0.hasPrefix("> modify") })
        // A second later what is there goes.
        script.pass(1_000)
        #expect(script.taken().filter { $0.hasPrefix("> modify") }.count == 1)
        #expect(script.pending == [Sample.save("p8"), Sample.save("p9")])
        script.endUpload("p8")
        script.endUpload("p9")
        #expect(script.taken().last == "< 1")
    }

    @Test("leave a place to small files, however many large ones wait, and are those of four files")
    func places() {
        let films = (0..<6).map { "film\($0)" }
        let photos = (0..<3).map { "photo\($0)" }
        let script = script(pictures: Set(films + photos))
        let makeRecord = script.makeRecord
        script.makeRecord = { id in
            let record = makeRecord(id)
            if id.recordName == "album" { record["pictures"] = (0..<6).map { Self.file("page\($0)") } }
            return record
        }
        for name in films + photos + ["album"] { script.add(Sample.save(name)) }
        script.send()
        let album = (0..<6).map { "page\($0)" }.joined(separator: " ")
        #expect(Set(script.openUploads.keys) == ["film0", "film1", "film2", "photo0"])
        for name in photos { script.endUpload(name) }
        // The record with six files has the place that is left.
        #expect(Set(script.openUploads.keys) == ["film0", "film1", "film2", album] && script.openPlaces == 4)
        script.endUpload("film0")
        script.endUpload("film1")
        #expect(Set(script.openUploads.keys) == ["film2", "film3", "film4", album])
        for name in ["film2", "film3", "film4", "film5", album] { script.endUpload(name) }
        // Where there is more room it uploads three at a time.
        script.add(Sample.save("album"))
        script.send()
        #expect(Set(script.openUploads.keys) == [album] && script.openPlaces == 3)
        script.endUpload(album)
        #expect(script.taken().last == "< 2" && script.pending.isEmpty)
    }

    @Test("fail together where the way to the server is gone")
    func connection() {
        let names = (0..<10).map { "p\($0)" }
        let script = script(pictures: Set(names))
        for name in names { script.add(Sample.save(name)) }
        script.send()
        for name in names.prefix(4) { script.endUpload(name, CKError(.networkFailure)) }
        #expect(script.openUploads.isEmpty && script.pending.count == 10)
        #expect(script.taken().last == "< 1 partialFailure")
    }

    @Test("are so many at most that wait; then the delegate is asked for more when half of them are gone")
    func full() {
        let names = (0..<1_300).map { "p\($0)" }
        let script = script(pictures: Set(names))
        for name in names { script.add(Sample.save(name)) }
        script.add(Sample.save("b"))
        script.send()
        #expect(script.machine.heldChanges.count == 1_200)
        var ended = 0
        while let name = script.openUploads.keys.first {
            script.endUpload(name)
            ended += 1
            if ended == 650 { #expect(script.pending.contains(Sample.save("b"))) }
            if ended % 100 == 0 { script.pass(1_000) }
            #expect(script.machine.heldChanges.count <= 1_300)
        }
        #expect(script.pending.isEmpty && script.taken().last == "< 1")
    }

    @Test("keep 16 MiB of records waiting at most, until half of these are gone")
    func fullOfBytes() {
        let names = (0..<40).map { "p\($0)" }
        let script = script(pictures: Set(names))
        let makeRecord = script.makeRecord
        script.makeRecord = { id in
            let record = makeRecord(id)
            record["text"] = String(repeating: "x", count: 900_000)
            return record
        }
        script.onBatch = { _ in
            let next = script.pending.first { !script.machine.holdsBack($0, now: script.now) }
            return next.map { .init(recordsToSave: [script.makeRecord($0.recordID)]) }
        }
        for name in names { script.add(Sample.save(name)) }
        script.send()
        #expect((15...20).contains(script.machine.heldChanges.count))
        for name in names {
            script.endUpload(name)
            script.pass(1_000)
            #expect(script.machine.heldChanges.count <= 20)
        }
        #expect(script.taken().last == "< 1" && script.pending.isEmpty)
    }

    @Test("end with cancelOperations(), and leave their changes pending")
    func cancelled() {
        let script = script(pictures: ["a"])
        script.add(Sample.save("a"), Sample.save("child of a"))
        script.send()
        _ = script.taken()
        script.cancelOperations()
        #expect(
            script.taken() == [
                "< 1 operationCancelled", "> cancel a", "willSendChanges(manual)",
                sent(failed: "[\"a: operationCancelled\", \"child of a: operationCancelled\"]"),
                "didSendChanges(manual)",
            ])
        #expect(script.pending == [Sample.save("a"), Sample.save("child of a")])
        #expect(script.machine.isAtRest(now: script.now))
    }

    @Test("end with cancelOperations() also when the send is just being told as over")
    func cancelledAtTheEnd() {
        let script = script(pictures: ["a"])
        script.add(Sample.save("a"))
        script.holdsQuestions = true
        script.send()
        while !script.log.contains("didSendChanges(manual)") { script.reply() }
        script.cancelOperations()
        script.holdsQuestions = false
        script.reply()
        let log = script.taken()
        #expect(log.contains("> cancel a") && log.contains("< 1 operationCancelled"))
        #expect(script.pending == [Sample.save("a")])
    }

    @Test("end with the call that wanted them, unless the engine sends by itself")
    func abandoned() {
        for isAutomatic in [false, true] {
            let script = script(isAutomatic: isAutomatic, pictures: ["a"])
            script.add(Sample.save("a"))
            let call = script.send()
            script.perform(script.machine.callCancelled(call, now: script.now))
            #expect(script.openUploads.isEmpty == !isAutomatic)
            #expect(script.pending == [Sample.save("a")])
            #expect(script.taken().contains("< 1 operationCancelled"))
        }
    }

    @Test("end with the account, and with the delegate")
    func account() {
        let script = script(pictures: ["a"])
        script.add(Sample.save("a"))
        script.send()
        _ = script.taken()
        script.server = {
            if case .account = $0 { .account(.success("_bob")) } else { EngineScript.friendlyServer($0) }
        }
        script.perform(script.machine.accountMayHaveChanged(now: script.now))
        script.fetch()
        #expect(script.taken().prefix(3) == ["> account", "> cancel a", "< 1 operationCancelled"])
        #expect(script.openUploads.isEmpty && script.machine.heldBatches.isEmpty && script.pending.isEmpty)

        script.add(Sample.save("a"))
        script.send()
        script.isDelegateThere = false
        script.fetch()
        #expect(script.openUploads.isEmpty && script.taken().contains("< 3 operationCancelled"))
    }

    @Test("go with their zone")
    func goneZone() {
        let script = script(pictures: ["a"])
        script.add(Sample.save("a"))
        script.send()
        script.server = { request in
            if case .databaseChanges = request {
                return EngineScript.databasePage([], deleted: [Sample.zone], token: "d2")
            }
            return EngineScript.friendlyServer(request)
        }
        script.fetch()
        #expect(script.openUploads.isEmpty && script.pending.isEmpty)
        #expect(script.taken().contains("< 1"))
    }

    @Test("are made for records that the app keeps itself, which are given once or always")
    func untracked() {
        for givesAlways in [false, true] {
            let script = script(pictures: ["a"])
            var isSaved = false
            var given = 0
            script.onBatch = { _ in
                given += 1
                if isSaved || !givesAlways && given > 1 { return nil }
                return .init(recordsToSave: [script.makeRecord(Sample.id("a"))])
            }
            script.onEvent = { if case .sentRecordZoneChanges = $0 { isSaved = true } }
            _ = script.machine.setHasUntrackedChanges(true, now: script.now)
            script.send()
            #expect(script.taken().last == "didSendChanges(manual)")
            // An end of the process now would lose nothing.
            #expect(script.machine.state.hasUntrackedChanges)
            script.endUpload("a")
            var log = script.taken()
            #expect(log.last == "< 1" && log.filter { $0.hasPrefix("> mod") } == ["> modifyRecords([\"a\"], [])"])
            // One that gave nothing but what waited is asked for what may be behind.
            if givesAlways { log.removeAll { $0 == "batch?" } }
            #expect(!log.contains("batch?") && log.contains(sent(saved: "[\"a\"]")))
            script.send()
            #expect(!script.machine.state.hasUntrackedChanges)
        }
    }

    @Test("are used again when the request fails that saves their record")
    func usedAgain() {
        let script = script(pictures: ["a"])
        script.add(Sample.save("a"))
        script.send()
        var fails = true
        script.server = { request in
            guard case .modifyRecords(let batch) = request else { return EngineScript.friendlyServer(request) }
            #expect(batch.uploads[Sample.id("a")]?.count == 1)
            return fails ? .modifyRecords(.failure(CKError(.networkFailure))) : EngineScript.saved(batch)
        }
        script.endUpload("a")
        #expect(script.taken().last == "< 1 networkFailure" && script.pending == [Sample.save("a")])
        fails = false
        script.send()
        let log = script.taken()
        #expect(log.contains("> modifyRecords([\"a\"], [])") && !log.contains("> upload a"))
        #expect(script.machine.uploads.isEmpty)
    }

    @Test("don't keep the engine busy while it is not known who is signed in")
    func unknownAccount() {
        for isAutomatic in [false, true] {
            let script = script(isAutomatic: isAutomatic, pictures: ["a"])
            script.add(Sample.save("a"))
            script.send()
            script.server = { request in
                guard case .account = request else { return EngineScript.friendlyServer(request) }
                return .account(.failure(CKError(.networkFailure)))
            }
            script.perform(script.machine.accountMayHaveChanged(now: script.now))
            script.endUpload("a")
            var looks = 0
            let start = script.now
            while script.now < start + 10_000, looks < 1_000, script.turnClock() != nil { looks += 1 }
            #expect(looks < 100)
        }
    }
}
