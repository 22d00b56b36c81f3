import BrumeLock
import BrumeModel
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService
@testable import BrumeStore

@Suite("An upload into a folder", .timeLimit(.minutes(1)))
struct FolderUploadTests {
    private let disk = SimulatedDisk()
    private let threads = DiskThreads(count: 0)
    private let database = DatabaseID(container: "iCloud.a", environment: .development, scope: .private, owner: "ada")
    private let results = Results()

    /// Begins an upload, and ends when it is open.
    ///
    /// - Parameter kept: How much of it there has to be.
    private func begin(byteCount: UInt64, kept: UInt64 = 0) throws -> any StoredUpload {
        let space = SpaceWatch(on: disk, freePercent: 0, log: .none) { 0 }
        let store = FolderBlobStore(on: disk, threads: threads, space: space, nowNanoseconds: { 0 }) { reason in
            Issue.record("the server ends: \(reason)")
        }
        let identity = BlobUpload.Identity(
            id: UploadID([UInt8](repeating: 1, count: UploadID.byteCount))!, user: "ada", zone: "notes",
            byteCount: byteCount)
        let begun = Lock<(any StoredUpload)?>(nil)
        store.beginUpload(identity, to: database, of: .account("ada")) { result in
            if case .success(.open(let upload, kept)) = result { begun.withLock { $0 = upload } }
        }
        while threads.step() {}
        return try #require(begun.withLock { $0 })
    }

    private func append(_ byte: UInt8, to upload: any StoredUpload) {
        upload.append([UInt8](repeating: byte, count: 4)) { [results] in results.note($0) }
    }

    @Test("goes on where it was left, to the MiB, also after a power cut")
    func left() throws {
        let upload = try begin(byteCount: 3_000_000)
        for byte in UInt8(0)..<9 {
            upload.append([UInt8](repeating: byte, count: 250_000)) { [results] in results.note($0) }
        }
        upload.close()
        while threads.step() {}
        #expect(results.all == [BlobFailure?](repeating: nil, count: 9))
        disk.crash(seed: 1, .nothing)
        _ = try begin(byteCount: 3_000_000, kept: 2 << 20)
    }

    @Test("fails what was asked for behind a piece that did not fit, though there is room again")
    func failure() throws {
        let upload = try begin(byteCount: 12)
        append(1, to: upload)
        append(2, to: upload)
        append(3, to: upload)
        #expect(threads.step())
        disk.faults.capacityBytes = 0
        #expect(threads.step())
        disk.faults.capacityBytes = nil
        #expect(threads.step())
        #expect(results.all == [nil, .full, .full])

        let checksum = Lock<Result<AssetChecksum, BlobFailure>?>(nil)
        upload.finish { result in checksum.withLock { $0 = result } }
        upload.close()
        while threads.step() {}
        #expect(checksum.withLock { $0 } == .failure(.full))
    }
}

/// How pieces ended, in their order; nil is one that was done.
private final class Results: Sendable {
    private let failures = Lock<[BlobFailure?]>([])

    var all: [BlobFailure?] { failures.withLock { $0 } }

    func note(_ failure: BlobFailure?) { failures.withLock { $0.append(failure) } }
}
