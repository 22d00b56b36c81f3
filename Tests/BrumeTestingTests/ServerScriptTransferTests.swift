import BrumeTesting
import CloudKit
import Foundation
import Testing

@Suite("A server's script of transfers of assets", .timeLimit(.minutes(1)))
struct ServerScriptTransferTests {
    private let files: AssetFiles

    init() throws { files = try AssetFiles() }

    /// A server with the zone ``notes``, and two devices of its owner.
    private func run(
        _ options: TestServer.Options = TestServer.Options(),
        _ body: (_ server: TestServer, _ phone: TestDevice, _ laptop: TestDevice) async throws -> Void
    ) async throws {
        try await TestServer.run(options: options) { server in
            let phone = try server.device(of: "ada")
            try await phone.privateCloudDatabase.save(notes)
            server.forgetCalls()
            try await body(server, phone, try server.device(of: "ada"))
        }
    }

    @Test("finds uploads and downloads among the calls, with what they were for and how much they moved")
    func listed() async throws {
        try await run { server, phone, laptop in
            let note = try files.note("n", 200_000)
            note["pages"] = [try files.asset(10), try files.asset(0)]
            try await phone.privateCloudDatabase.save(note)
            #expect(
                Set(server.calls(.uploadAsset).map(\.description)) == [
                    "ada-1 uploadAsset in Notes, 200000 bytes: answered",
                    "ada-1 uploadAsset in Notes, 10 bytes: answered", "ada-1 uploadAsset in Notes, 0 bytes: answered",
                ])
            _ = try await laptop.privateCloudDatabase.record(for: note.recordID)
            #expect(
                server.calls(.downloadAsset).map(\.description).sorted() == [
                    "ada-2 downloadAsset in Notes, pages of n, 0 bytes: answered",
                    "ada-2 downloadAsset in Notes, pages of n, 10 bytes: answered",
                    "ada-2 downloadAsset in Notes, photo of n, 200000 bytes: answered",
                ])
            let call = try #require(server.calls(.downloadAsset.ofField("photo").from(laptop)).first)
            #expect(call.database == .private && call.zones == ["Notes"] && call.recordNames == ["n"])
            #expect(call.field == "photo" && call.offset == 0 && call.byteCount == 200_000)
            #expect(server.calls(.downloadAsset.touchingRecord(named: "n").in(notes.zoneID)).count == 3)
            #expect(server.calls(.uploadAsset).allSatisfy { $0.database == .private && $0.field == nil })
            #expect(Set(server.calls().map(\.method)) == [.uploadAsset, .modifyRecords, .downloadAsset, .fetchRecords])
            // The content is in the cache by now.
            server.forgetCalls()
            _ = try await laptop.privateCloudDatabase.record(for: note.recordID)
            #expect(server.calls().map(\.method) == [.fetchRecords])
        }
    }

    @Test(
        "fails transfers before anything of them is moved, with whatever code",
        arguments: [CKError.Code.permissionFailure, .limitExceeded, .serverRejectedRequest, .assetFileModified])
    func fail(code: CKError.Code) async throws {
        try await run { server, phone, laptop in
            let note = try files.note("n", 200_000)
            let upload = server.script.fail(.uploadAsset, with: code, message: "not this one")
            let unsaved = await failure { try await phone.privateCloudDatabase.save(note) }
            #expect(unsaved?.code == code && unsaved?.localizedDescription.contains("not this one") == true)
            #expect(server.calls(.uploadAsset).map(\.byteCount) == [0])
            #expect(server.calls(.modifyRecords).isEmpty)
            try await phone.privateCloudDatabase.save(note)
            let download = server.script.fail(.downloadAsset.ofField("photo"), with: code)
            let unread = await failure { try await laptop.privateCloudDatabase.record(for: note.recordID) }
            #expect(unread?.code == code)
            #expect(server.calls(.downloadAsset).map(\.outcome) == [.failed(code)])
            #expect(upload.firedCount == 1 && download.firedCount == 1)
        }
    }

    @Test("fails transfers with a time to try again: the app's where it is long, the SDK's where it is short")
    func failWithRetry() async throws {
        try await run { server, phone, laptop in
            let note = try files.note("n", 200_000)
            server.script.fail(.uploadAsset, with: .requestRateLimited, retryAfterSeconds: 60)
            let unsaved = await failure { try await phone.privateCloudDatabase.save(note) }
            #expect(unsaved?.code == .requestRateLimited && unsaved?.retryAfterSeconds == 60)
            server.script.fail(.uploadAsset, with: .serviceUnavailable, retryAfterSeconds: 0.01)
            try await phone.privateCloudDatabase.save(note)
            server.script.fail(.downloadAsset, with: .zoneBusy, retryAfterSeconds: 30)
            let unread = await failure { try await laptop.privateCloudDatabase.record(for: note.recordID) }
            #expect(unread?.code == .zoneBusy && unread?.retryAfterSeconds == 30)
            server.script.fail(.downloadAsset, with: .serviceUnavailable, retryAfterSeconds: 0.01)
            let read = try await laptop.privateCloudDatabase.record(for: note.recordID)
            #expect(read.content() == note.content())
        }
    }

    @Test("breaks connections after so many bytes, and the transfer goes on by itself, at most a MiB before")
    func breakMidway() async throws {
        try await run { server, phone, laptop in
            let note = try files.note("n", 2_500_000)
            let upload = server.script.breakConnection(during: .uploadAsset, .afterBytes(1_500_000))
            try await phone.privateCloudDatabase.save(note)
            #expect(upload.firedCount == 1)
            let uploads = server.calls(.uploadAsset).filter { $0.byteCount > 0 }
            #expect(uploads.map(\.offset) == [0, mebibyte])
            #expect(uploads.map(\.byteCount) == [1_500_000, 2_500_000 - mebibyte])
            #expect(uploads.map(\.outcome) == [.unanswered, .answered])

            let download = server.script.breakConnection(during: .downloadAsset, .afterBytes(1_000_001))
            let read = try await laptop.privateCloudDatabase.record(for: note.recordID)
            #expect(read.content() == note.content() && download.firedCount == 1)
            let downloads = server.calls(.downloadAsset)
            #expect(downloads.map(\.outcome) == [.unanswered, .answered])
            let (first, second) = (try #require(downloads.first), try #require(downloads.last))
            #expect(first.byteCount == 1_000_001 && second.offset > 0)
            #expect(second.offset <= 1_000_001 && second.offset + second.byteCount == 2_500_000)
        }
    }

    @Test("fails transfers after so many bytes: what the app does next goes on with the whole MiBs that there are")
    func failMidway() async throws {
        try await run { server, phone, laptop in
            let note = try files.note("n", 2_500_000)
            server.script.fail(.uploadAsset, with: .internalError, .afterBytes(1_500_000))
            let unsaved = await failure { try await phone.privateCloudDatabase.save(note) }
            #expect(unsaved?.code == .internalError)
            try await phone.privateCloudDatabase.save(note)
            let uploads = server.calls(.uploadAsset).filter { $0.byteCount > 0 }
            #expect(uploads.map(\.offset) == [0, mebibyte])
            #expect(uploads.map(\.byteCount) == [1_500_000, 2_500_000 - mebibyte])

            server.script.fail(.downloadAsset, with: .internalError, .afterBytes(2_100_000))
            let unread = await failure { try await laptop.privateCloudDatabase.record(for: note.recordID) }
            #expect(unread?.code == .internalError)
            let read = try await laptop.privateCloudDatabase.record(for: note.recordID)
            #expect(read.content() == note.content())
            let downloads = server.calls(.downloadAsset)
            #expect(downloads.map(\.offset) == [0, 2 * mebibyte])
            #expect(downloads.map(\.byteCount) == [2_100_000, 2_500_000 - 2 * mebibyte])
        }
    }

    @Test("takes a device's network away in the midst of a transfer, which goes on with the next attempt")
    func loseNetworkMidway() async throws {
        try await run { server, phone, laptop in
            let note = try files.note("n", 2_500_000)
            server.script.loseNetwork(during: .uploadAsset, .afterBytes(1_500_000))
            let unsaved = await failure { try await phone.privateCloudDatabase.save(note) }
            #expect(unsaved?.code == .networkUnavailable && !phone.isOnline)
            phone.goOnline()
            try await phone.privateCloudDatabase.save(note)
            let uploads = server.calls(.uploadAsset).filter { $0.byteCount > 0 }
            #expect(uploads.map(\.offset) == [0, mebibyte])
            #expect(uploads.map(\.byteCount) == [1_500_000, 2_500_000 - mebibyte])

            server.script.loseNetwork(during: .downloadAsset.from(laptop), .afterBytes(200_000))
            let unread = await failure { try await laptop.privateCloudDatabase.record(for: note.recordID) }
            #expect(unread?.code == .networkUnavailable && !laptop.isOnline && phone.isOnline)
            laptop.goOnline()
            let read = try await laptop.privateCloudDatabase.record(for: note.recordID)
            #expect(read.content() == note.content())
            #expect(server.calls(.downloadAsset).map(\.byteCount) == [200_000, 2_500_000])
        }
    }

    @Test("holds transfers midway: nothing more comes or goes until the test lets them go on, or ends them")
    func holdMidway() async throws {
        try await run { server, phone, laptop in
            let note = try files.note("n", 700_000)
            let upload = server.script.hold(.uploadAsset, .afterBytes(123_456))
            async let saved = phone.privateCloudDatabase.save(note)
            try await upload.waitUntilHeld()
            // Other calls of the device are answered meanwhile, behind all that it may send.
            _ = try await phone.privateCloudDatabase.allRecordZones()
            #expect(server.calls(.uploadAsset).map(\.byteCount) == [123_456])
            #expect(server.calls(.uploadAsset).map(\.outcome) == [.pending])
            upload.release()
            _ = try await saved
            #expect(server.calls(.uploadAsset).map(\.byteCount) == [700_000])

            let download = server.script.hold(.downloadAsset, .afterBytes(400_000))
            async let read = laptop.privateCloudDatabase.record(for: note.recordID)
            try await download.waitUntilHeld()
            _ = try await laptop.privateCloudDatabase.allRecordZones()
            #expect(server.calls(.downloadAsset).map(\.byteCount) == [400_000])
            download.release()
            #expect(try await read.content() == note.content())

            let other = try files.note("m", 300_000)
            let ended = server.script.hold(.uploadAsset, .afterBytes(300_000))
            async let unsaved = failure { try await phone.privateCloudDatabase.save(other) }
            try await ended.waitUntilHeld()
            ended.release(failingWith: .quotaExceeded)
            #expect(await unsaved?.code == .quotaExceeded)
        }
    }

    @Test("lets go of a transfer that is held when its operation is cancelled, and when the server stops")
    func heldEnds() async throws {
        try await run { server, phone, laptop in
            let note = try files.note("n", 300_000)
            let upload = server.script.hold(.uploadAsset, .afterBytes(100_000))
            let saving = Task { try await phone.privateCloudDatabase.save(note) }
            try await upload.waitUntilHeld()
            saving.cancel()
            await #expect(throws: (any Error).self) { try await saving.value }
            upload.release()
            try await phone.privateCloudDatabase.save(note)
            let download = server.script.hold(.downloadAsset, .afterBytes(100_000))
            async let unread = failure { try await laptop.privateCloudDatabase.record(for: note.recordID) }
            try await download.waitUntilHeld()
            await server.stop()
            #expect(await unread != nil)
        }
    }

    @Test("gives a rule for the midst of a transfer to the first one that gets there")
    func shorterTransfers() async throws {
        try await run { server, phone, _ in
            let rule = server.script.fail(.any, with: .internalError, .afterBytes(50_000))
            try await phone.privateCloudDatabase.save(try files.note("small", 49_999))
            #expect(rule.firedCount == 0)
            let large = try files.note("large", 50_000)
            let unsaved = await failure { try await phone.privateCloudDatabase.save(large) }
            #expect(unsaved?.code == .internalError)
            #expect(rule.isDone)
            try await phone.privateCloudDatabase.save(large)
        }
    }

    @Test("takes the answer of a whole upload away, and the upload has one effect; the end of a download, too")
    func afterEffect() async throws {
        try await run { server, phone, laptop in
            let note = try files.note("n", mebibyte)
            server.script.breakConnection(during: .uploadAsset, .afterEffect)
            try await phone.privateCloudDatabase.save(note)
            #expect(server.calls(.uploadAsset).first?.byteCount == mebibyte)
            #expect(server.calls(.uploadAsset).first?.outcome == .unanswered)
            #expect(server.calls(.uploadAsset).last?.outcome == .answered)
            #expect(try await server.storedBytes(of: "ada") < 2 * mebibyte)

            server.script.fail(.downloadAsset, with: .internalError, .afterEffect)
            let unread = await failure { try await laptop.privateCloudDatabase.record(for: note.recordID) }
            #expect(unread?.code == .internalError)
            #expect(server.calls(.downloadAsset).map(\.byteCount) == [mebibyte])
            // All of it has come.
            let read = try await laptop.privateCloudDatabase.record(for: note.recordID)
            #expect(read.content() == note.content() && server.calls(.downloadAsset).count == 1)
        }
    }

    @Test("holds the answer of an upload and the end of a download, and lets them go")
    func holdAfterEffect() async throws {
        try await run { server, phone, laptop in
            let note = try files.note("n", 300_000)
            let upload = server.script.hold(.uploadAsset, .afterEffect)
            async let saved = phone.privateCloudDatabase.save(note)
            try await upload.waitUntilHeld()
            #expect(server.calls(.uploadAsset).map(\.byteCount) == [300_000])
            #expect(server.calls(.modifyRecords).isEmpty)
            upload.release()
            _ = try await saved
            let download = server.script.hold(.downloadAsset, .afterEffect)
            async let read = laptop.privateCloudDatabase.record(for: note.recordID)
            try await download.waitUntilHeld()
            // What makes streams go on does not end this one.
            _ = try await laptop.privateCloudDatabase.allRecordZones()
            #expect(server.calls(.downloadAsset).map(\.outcome) == [.pending])
            download.release()
            #expect(try await read.content() == note.content())
        }
    }

    @Test("makes transfers as slow as the clock is turned")
    func slow() async throws {
        try await run { server, phone, laptop in
            let note = try files.note("n", 250_000)
            let rule = server.script.limitTransfers(toBytesPerSecond: 100_000)
            server.script.delay(.uploadAsset, by: .seconds(5), .afterBytes(240_000), times: 1)
            async let saved = phone.privateCloudDatabase.save(note)
            for (sent, seconds) in [(100_000, 1), (200_000, 1), (240_000, 5)] {
                await server.clock.waitUntilScheduled()
                #expect(server.calls(.uploadAsset).map(\.byteCount) == [sent])
                server.clock.advance(by: .milliseconds(seconds * 1_000 - 1))
                #expect(server.clock.scheduleCount == 1)
                server.clock.advance(by: .milliseconds(1))
            }
            _ = try await saved
            async let read = laptop.privateCloudDatabase.record(for: note.recordID)
            for sent in [100_000, 200_000] {
                await server.clock.waitUntilScheduled()
                #expect(server.calls(.downloadAsset).map(\.byteCount) == [sent])
                server.clock.advance(by: .seconds(1))
            }
            #expect(try await read.content() == note.content())
            #expect(rule.firedCount == 4)
        }
    }

    @Test("cuts several transfers of a connection each at its own place")
    func several() async throws {
        try await run { server, phone, laptop in
            let note = try files.note("n", 400_000)
            note["pages"] = try (0..<6).map { _ in try files.asset(300_000) }
            let uploads = server.script.hold(.uploadAsset, .afterBytes(250_000), times: 3)
            async let saved = phone.privateCloudDatabase.save(note)
            try await uploads.waitUntilHeld(count: 3)
            uploads.release()
            _ = try await saved
            let rule = server.script.breakConnection(during: .downloadAsset, .afterBytes(200_000), times: 5)
            let read = try await laptop.privateCloudDatabase.record(for: note.recordID)
            let pages = try #require(read["pages"] as? [CKAsset])
            let sent = try #require(note["pages"] as? [CKAsset])
            for (page, original) in zip(pages, sent) {
                #expect(try Data(contentsOf: #require(page.fileURL)) == Data(contentsOf: #require(original.fileURL)))
            }
            #expect(read.content() == note.content() && pages.count == 6)
            rule.remove()
        }
    }

    @Test("breaks the transfers of a sync engine, which goes on with them")
    func syncEngine() async throws {
        try await TestServer.run { server in
            let phone = TestSyncEngineDelegate()
            let engine = phone.makeEngine(on: try server.device(of: "ada", clock: TestClock()))
            let note = try files.note("n", 2_500_000)
            server.script.breakConnection(during: .uploadAsset, .afterBytes(1_500_000))
            phone.save([note], with: engine)
            try await phone.waitUntilIdle(engine, timeout: .seconds(40))
            let uploads = server.calls(.uploadAsset).filter { $0.byteCount > 0 }
            #expect(uploads.map(\.offset) == [0, mebibyte])
            #expect(try await server.dump(of: "ada").contains("photo: asset of 2500000 bytes"))

            let device = try server.device(of: "ada")
            let laptop = TestSyncEngineDelegate()
            let other = laptop.makeEngine(on: device, automaticallySync: false)
            server.script.fail(.downloadAsset.from(device), with: .internalError, .afterBytes(2_100_000))
            await #expect(throws: CKError.self) { try await other.fetchChanges() }
            try await other.fetchChanges()
            #expect(laptop.records[note.recordID]?.content() == note.content())
            let downloads = server.calls(.downloadAsset.from(device))
            #expect(downloads.map(\.offset) == [0, 2 * mebibyte])
        }
    }
}

private let mebibyte = 1_048_576
