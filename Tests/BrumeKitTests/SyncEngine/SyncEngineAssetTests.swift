@testable import BrumeKit
import BrumeTestKit
import Foundation
import Testing

@Suite("Files that a sync engine saves", .timeLimit(.minutes(2)))
struct SyncEngineAssetTests {
    private let server: RunningServer
    private let pictures: PictureFolder
    private let container: CKContainer
    private let token: String
    private let zone = CKRecordZone.ID(zoneName: "Notes")

    init() throws {
        server = try RunningServer()
        pictures = try PictureFolder()
        token = try server.addAccount("ada")
        container = server.device(token: token)
    }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

    private func url(_ name: String, _ byteCount: Int, _ kind: UInt8 = 0) throws -> URL {
        try #require(pictures.file(name, PictureFolder.content(byteCount, kind)).fileURL)
    }

    /// A device whose zone is there.
    private func device(isAutomatic: Bool = false) async throws -> NotesDevice {
        let device = NotesDevice(container, isAutomatic: isAutomatic)
        device.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
        try await device.engine.sendChanges()
        return device
    }

    /// Takes all turns of uploads, so that none moves until the result is called.
    private func holdUploads() async -> @Sendable () -> Void {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let (taken, take) = AsyncStream<Void>.makeStream()
        let turns = container.core.account.uploadTurns
        for _ in 0..<ClientSessionLimits.transfersMax {
            Task {
                try? await turns.run { () throws(CKError) in
                    take.yield()
                    for await _ in gate {}
                }
            }
        }
        var count = 0
        for await _ in taken {
            count += 1
            if count == ClientSessionLimits.transfersMax { break }
        }
        return { open.finish() }
    }

    private func read(_ name: String) async throws -> Data {
        let other = server.device(token: token).privateCloudDatabase
        return try PictureFolder.read(try await other.record(for: id(name))["picture"])
    }

    @Test("hold up neither other records, nor fetches, and the call returns when all is saved")
    func large() async throws {
        let device = try await device()
        let release = await holdUploads()
        device.write("large", picture: try url("large", 20_000_000), id("large"))
        device.write("small", id("small"))
        async let all: Void = device.engine.sendChanges()
        await device.wait { device in device.events.contains { $0.contains("saved: [\"small\"]") } }
        #expect(device.engine.state.pendingRecordZoneChanges == [.saveRecord(id("large"))])
        try await device.engine.fetchChanges()
        device.write("another", id("another"))
        try await device.engine.sendChanges(.init(scope: .recordIDs([id("another")])))
        #expect(!device.events.contains { $0.contains("saved: [\"large\"]") })
        release()
        try await all
        #expect(device.events.contains { $0.contains("saved: [\"large\"]") })
        #expect(try await read("large") == PictureFolder.content(20_000_000))
        #expect(device.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test("are those of the record as it was given last, also from a file of another name each time")
    func edits() async throws {
        let device = try await device(isAutomatic: true)
        let release = await holdUploads()
        device.write("old", picture: try url("old", 2_000_000, 1), id("a"))
        await device.wait { $0.engine.driver.read { !$0.runningUploads.isEmpty } }
        device.write("new", picture: try url("new", 3_000_000, 2), id("a"))
        await device.wait { $0.engine.driver.read { $0.uploads[id("a")]?.files.first?.url.lastPathComponent == "new" } }
        release()
        await device.wait { $0.events.contains { $0.contains("saved: [\"a\"]") } }
        #expect(try await read("a") == PictureFolder.content(3_000_000, 2))
        #expect(device.events.count { $0.contains("saved: [\"a\"]") } == 1)
        // Deleted on its way.
        let again = await holdUploads()
        device.write("gone", picture: try url("gone", 2_000_000, 3), id("b"))
        await device.wait { $0.engine.driver.read { !$0.runningUploads.isEmpty } }
        device.delete(id("b"))
        #expect(device.engine.driver.read { $0.runningUploads.isEmpty })
        again()
        await device.wait { $0.events.contains { $0.contains("deleted: [\"b\"]") } }
    }

    @Test("go on after the app was ended and started again")
    func restart() async throws {
        let device = try await device(isAutomatic: true)
        let release = await holdUploads()
        device.write("a", picture: try url("a", 2_000_000), id("a"))
        await device.wait { $0.engine.driver.read { !$0.runningUploads.isEmpty } }
        device.quit()
        release()
        device.launch()
        await device.wait { $0.events.contains { $0.contains("saved: [\"a\"]") } }
        #expect(try await read("a") == PictureFolder.content(2_000_000))
    }

    @Test("that can't be uploaded fail their record alone", arguments: [true, false])
    func failures(isMissing: Bool) async throws {
        let device = try await device()
        let file = try url("a", 10_000)
        device.write("a", picture: file, id("a"))
        device.write("b", id("b"))
        if isMissing { try FileManager.default.removeItem(at: file) }
        let release = await holdUploads()
        async let all: Void = device.engine.sendChanges()
        if !isMissing {
            await device.wait { $0.engine.driver.read { !$0.runningUploads.isEmpty } }
            try FileManager.default.removeItem(at: file)
        }
        release()
        do {
            try await all
            Issue.record("nothing failed")
        } catch {
            #expect((error as? CKError)?.partialErrorsByItemID?.count == 1)
        }
        #expect(device.events.contains { $0.contains("failedSaves: [\"a: assetFileNotFound\"]") })
        #expect(device.events.contains { $0.contains("saved: [\"b\"]") })
    }

    @Test("are uploaded before the save also where another file of the record is missing")
    func missingBeside() throws {
        let record = CKRecord(recordType: "Note", recordID: id("a"))
        record["film"] = CKAsset(fileURL: try url("film", 10_000))
        record["picture"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/picture"))
        let files = AssetUpload.files(of: .init(recordsToSave: [record]))
        #expect(files[id("a")]?.map(\.url.lastPathComponent) == ["film", "picture"])
    }

    @Test("are given up when the user signs out", arguments: [true, false])
    func cancelled(isSigningOut: Bool) async throws {
        let device = try await device()
        let release = await holdUploads()
        device.write("a", picture: try url("a", 2_000_000), id("a"))
        async let code = errorCode { try await device.engine.sendChanges() }
        await device.wait { $0.engine.driver.read { !$0.runningUploads.isEmpty } }
        if isSigningOut { container.signOut() } else { await device.engine.cancelOperations() }
        let thrown = await code
        #expect(thrown == .operationCancelled || isSigningOut && thrown != nil, "\(thrown as Any)")
        try await device.engine.waitUntilAtRest()
        #expect(device.engine.driver.read { $0.runningUploads.isEmpty && $0.heldBatches.isEmpty })
        release()
        if isSigningOut { return }
        #expect(device.engine.state.pendingRecordZoneChanges == [.saveRecord(id("a"))])
        try await device.engine.sendChanges()
        #expect(try await read("a") == PictureFolder.content(2_000_000))
    }
}
