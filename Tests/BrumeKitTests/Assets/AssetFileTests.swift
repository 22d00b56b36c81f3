@testable import BrumeKit
import BrumeLock
import BrumeModel
import BrumeSystem
import BrumeTestKit
import Foundation
import Testing

private let mebibyte = 1 << 20

@Suite("A file that becomes an asset", .timeLimit(.minutes(1)))
struct AssetFileTests {
    let folder: TestFolder
    let url: URL

    init() throws {
        folder = try TestFolder()
        url = URL(fileURLWithPath: folder.file("photo.jpg"))
    }

    private func write(_ bytes: [UInt8]) throws {
        try Data(bytes).write(to: url)
    }

    /// Opens the file's content for an edit in place, which keeps its inode. The time of the change differs from
    /// before, as it does when more than a few milliseconds pass.
    private func edit(_ change: (File) throws -> Void) throws {
        let file = try File(path: url.path, mode: .write)
        try change(file)
        let now = Int64(Date().timeIntervalSince1970 * 1e9)
        try file.setTimes(accessedNanoseconds: now, modifiedNanoseconds: now + 1_000_000_000)
    }

    /// Why a file is not found.
    private func reason(_ body: () throws -> Void) -> String? {
        do {
            try body()
        } catch AssetError.fileNotFound(let reason) {
            return reason
        } catch {
            Issue.record("\(error)")
        }
        return nil
    }

    @Test("has the size and SHA-256 of its content")
    func checksum() throws {
        try write(Array("abc".utf8))
        let file = try AssetFile(url)
        #expect(file.byteCount == 3)
        #expect(
            try file.checksum().description == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(file.isUnchanged())
    }

    @Test("may be empty, or larger than what is read at a time", arguments: [0, 1, mebibyte, 2 * mebibyte + 12_345])
    func sizes(byteCount: Int) throws {
        let bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try write(bytes)
        let file = try AssetFile(url)
        #expect(file.byteCount == byteCount)
        #expect(try file.checksum().bytes == SHA256.digest(bytes))
    }

    @Test("is not found when there is none, or a link that leads nowhere")
    func missing() throws {
        #expect(reason { _ = try AssetFile(url) }?.contains("No such file") == true)
        try FileManager.default.createSymbolicLink(atPath: url.path, withDestinationPath: folder.file("nowhere"))
        #expect(reason { _ = try AssetFile(url) }?.contains("No such file") == true)
    }

    @Test("is not found when a folder or a pipe is there, without waiting for a writer")
    func kinds() throws {
        #expect(reason { _ = try AssetFile(URL(fileURLWithPath: folder.path)) }?.contains("not a regular file") == true)
        #expect(mkfifo(url.path, 0o600) == 0)
        #expect(reason { _ = try AssetFile(url) }?.contains("not a regular file") == true)
        #expect(
            reason { _ = try AssetFile(URL(fileURLWithPath: "/dev/zero")) }?.contains("not a regular file") == true)
    }

    @Test("is not found when its path holds a NUL, even if the part before it names a file")
    func nul() throws {
        try write([1])
        #expect(reason { _ = try AssetFile(URL(fileURLWithPath: url.path + "\0x")) } != nil)
    }

    @Test("is not found when this user may not read it", .enabled(if: getuid() != 0, "root may read everything"))
    func unreadable() throws {
        try write([1])
        #expect(chmod(url.path, 0) == 0)
        #expect(reason { _ = try AssetFile(url) }?.contains("Permission denied") == true)
    }

    @Test("is what a link leads to")
    func link() throws {
        try write([1, 2])
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: url.path)
        let file = try AssetFile(URL(fileURLWithPath: link))
        #expect(try file.checksum().bytes == SHA256.digest([1, 2]))
    }

    enum Change: CaseIterable {
        case edited, grown, truncated, replaced
    }

    private func make(_ change: Change) throws {
        switch change {
        case .edited: try edit { file in try withUnsafeBytes(of: UInt8(8)) { try file.write($0, at: 0) } }
        case .grown: try edit { try $0.truncate(to: 3 * mebibyte) }
        case .truncated: try edit { try $0.truncate(to: mebibyte / 2) }
        case .replaced: try FileSystem.atomicReplace(url.path, [UInt8](repeating: 7, count: 2 * mebibyte))
        }
    }

    @Test("is reported as modified when it changes while it is read", arguments: Change.allCases)
    func changedWhileRead(change: Change) throws {
        try write([UInt8](repeating: 7, count: 2 * mebibyte))
        let file = try AssetFile(url)
        var pieces = 0
        #expect(throws: AssetError.fileModified(url.path)) {
            try file.checksum {
                pieces += 1
                if pieces == 2 { #expect(throws: Never.self) { try make(change) } }
                return false
            }
        }
        #expect(pieces == 2)
    }

    @Test("is no longer unchanged when it changed after it was read", arguments: Change.allCases)
    func changedLater(change: Change) throws {
        try write([UInt8](repeating: 7, count: 2 * mebibyte))
        let file = try AssetFile(url)
        _ = try file.checksum()
        #expect(file.isUnchanged())
        try make(change)
        #expect(!file.isUnchanged())
        #expect(throws: AssetError.fileModified(url.path)) { try file.checksum() }
    }

    @Test("that was removed meanwhile is not found")
    func removed() throws {
        try write([1])
        let file = try AssetFile(url)
        try FileSystem.remove(url.path)
        #expect(!file.isUnchanged())
        #expect(reason { _ = try file.checksum() } != nil)
    }

    @Test("is read no further once the caller cancelled", arguments: [0, 1, 3])
    func cancelled(piecesBefore: Int) throws {
        try write([UInt8](repeating: 7, count: 4 * mebibyte))
        let file = try AssetFile(url)
        var pieces = 0
        #expect(throws: AssetError.cancelled) {
            try file.checksum {
                pieces += 1
                return pieces > piecesBefore
            }
        }
        #expect(pieces == piecesBefore + 1)
    }

    @Test("gives ranges, up to its end")
    func ranges() throws {
        try write(Array(0..<100))
        let file = try AssetFile(url)
        #expect(try file.read(at: 0, count: 3) == [0, 1, 2])
        #expect(try file.read(at: 98, count: 2) == [98, 99])
        #expect(try file.read(at: 100, count: 0) == [])
    }

    @Test("that became shorter is reported as modified when a range is read")
    func truncatedRange() throws {
        try write(Array(0..<100))
        let file = try AssetFile(url)
        try edit { try $0.truncate(to: 50) }
        #expect(try file.read(at: 40, count: 10) == Array(40..<50))
        #expect(throws: AssetError.fileModified(url.path)) { try file.read(at: 41, count: 10) }
    }

    @Test("fails with CloudKit's codes")
    func codes() {
        #expect(CKError(.fileNotFound("no reason")).code == .assetFileNotFound)
        #expect(CKError(.fileModified("/a")).code == .assetFileModified)
        #expect(CKError(AssetError.cancelled).code == .operationCancelled)
        #expect(CKError(AssetError.damaged).code == .assetNotAvailable)
        #expect(CKError(.incomplete(missingByteCount: 1)).code == .networkFailure)
        #expect(CKError(AssetError(SystemError(call: "write", errno: ENOSPC))).localizedDescription.contains("no room"))
        #expect(CKError(AssetError(SystemError(call: "write", errno: EIO))).code == .internalError)
    }
}
