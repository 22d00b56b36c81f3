import BrumeRandom
import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// What has to be in a folder is known apart from what is there.
@Suite("What has to be in a folder")
struct ManifestTests {

    /// A folder whose database is in a snapshot alone, with an older copy of that.
    private struct Kept {
        let disk = SimulatedDisk()
        let path: String
        let older: [UInt8]

        init() throws {
            let folder = try Folder(on: disk)
            try folder.makeZone()
            try folder.save("a")
            try folder.log.writeSnapshot(folder.desk.database.capture())
            path = SnapshotFormat.path(of: Desk.privateID, on: disk)
            older = try #require(disk.contents(of: path))
            try folder.save("b")
            try folder.log.writeSnapshot(folder.desk.database.capture())
            try folder.log.trim()
        }
    }

    private func expectDamage(of path: String, on disk: SimulatedDisk, _ comment: Comment? = nil) throws {
        let error = #expect(throws: StoreError.self, comment) { try Folder(on: disk.copy()) }
        guard case .damaged(let damage) = error else {
            Issue.record("\(path) is to be named, not: \(String(describing: error))")
            return
        }
        #expect(damage.file == path, comment)
        #expect(try Verification(of: disk).problems.contains { $0.file == path }, comment)
    }

    @Test("a snapshot that is missing is no empty database")
    func missingSnapshot() throws {
        let kept = try Kept()
        kept.disk.replace(kept.path, with: nil)
        try expectDamage(of: kept.path, on: kept.disk)
        #expect(throws: StoreError.self) { try FolderCopy(of: kept.disk, .idle, others: []) }
        #expect(throws: StoreError.self) { try FolderCopy(of: kept.disk, .inUse, others: []) }
    }

    @Test("a snapshot that goes while the folder is in use is no empty database either")
    func missingLater() throws {
        let kept = try Kept()
        let recovery = try Recovery(opening: kept.disk, options: Folder.options(), newEpoch: 5)
        let other = DatabaseID(
            container: "iCloud.other", environment: .production, scope: .private, owner: "_nobody")
        #expect(try recovery.openDatabase(other).sequence == 0)
        #expect(try recovery.loadDatabase(Desk.privateID)?.sequence == 3)
        kept.disk.replace(kept.path, with: nil)
        let missing = StoreError.damaged(ManifestFile.missing(kept.path, sequence: 3))
        #expect(throws: missing) { _ = try recovery.openDatabase(Desk.privateID) }
        #expect(throws: missing) { _ = try recovery.loadDatabase(Desk.privateID) }
        let limits = ShortLoadLimits(fileBytes: 1 << 20, items: 100, contentBytes: 1 << 20)
        #expect(throws: missing) { _ = try recovery.snapshots.openIfShort(Desk.privateID, limits: limits) }
    }

    @Test("a snapshot that is older than the last one is damage, unless the journal has what it lacks")
    func olderSnapshot() throws {
        let kept = try Kept()
        kept.disk.replace(kept.path, with: kept.older)
        try expectDamage(of: kept.path, on: kept.disk)

        // Before the journal lets go of anything the manifest need not know of a snapshot.
        let folder = try Folder()
        try folder.makeZone()
        try folder.log.writeSnapshot(folder.desk.database.capture())
        let path = SnapshotFormat.path(of: Desk.privateID, on: folder.disk)
        let older = folder.disk.contents(of: path)
        try folder.save("a")
        try folder.log.writeSnapshot(folder.desk.database.capture())
        folder.disk.replace(path, with: older)
        #expect(try Folder(on: folder.disk).names == ["a"])
    }

    @Test("segments that are missing at either end of the journal are named, all of them as well")
    func missingSegments() throws {
        let folder = try Folder(segmentBytes: 1024)
        try folder.makeZone()
        for index in 0..<12 { try folder.save("r\(index)", bytes: 300) }
        try folder.log.writeSnapshot(folder.desk.database.capture())
        try folder.log.trim()
        for index in 0..<6 { try folder.save("s\(index)", bytes: 300) }
        let segments = folder.disk.paths.filter { $0.hasSuffix(".journal") }
        #expect(segments.count >= 3)
        for missing in [[segments[0]], [segments.last!], Array(segments.suffix(2)), segments] {
            let disk = folder.disk.copy()
            for path in missing { disk.replace(path, with: nil) }
            try expectDamage(of: missing[0], on: disk)
        }
        // The journal is newer than what is known of it: the file is not the one that was there last.
        let former = folder.disk.contents(of: "journal/extent")
        for index in 0..<8 { try folder.save("t\(index)", bytes: 300) }
        folder.disk.replace("journal/extent", with: former)
        try expectDamage(of: "journal/extent", on: folder.disk)
    }

    @Test(
        "what a failed sync left in the system's memory alone is written again by the next start, whichever sync it was"
    )
    func failedSyncs() throws {
        for call in 0... {
            let disk = SimulatedDisk()
            let folder = try Folder(on: disk, segmentBytes: 1024)
            try folder.makeZone()
            disk.faults.failingCall = disk.calls + call
            var isWhole = true
            do throws(StoreError) {
                for index in 0..<6 {
                    if let commit = save("r\(index)", at: folder.desk) { try folder.keep(commit) }
                    if index == 3 { try folder.log.record() }
                }
            } catch {
                isWhole = false
            }
            disk.endProcess()
            let again = try Folder(on: disk, segmentBytes: 1024)
            try again.save("after")
            disk.crash(seed: 1, .nothing)
            let last = try Folder(on: disk, segmentBytes: 1024)
            #expect(try last.names == again.names, "call \(call)")
            if isWhole {
                #expect(call > 20)
                return
            }
        }
    }

    private func save(_ name: String, at desk: Desk) -> Commit? {
        desk.modify(saves: [.of(name, ["x": .bytes([UInt8](repeating: 7, count: 400))])]).commit
    }

    @Test("what stands in a segment that was just begun is damage of that segment")
    func garbageInNewSegment() throws {
        let disk = SimulatedDisk()
        let folder = try Folder(on: disk)
        try folder.makeZone()
        // As it is when the process ends between the segment's name and the extent's.
        try folder.log.record()
        let before = disk.contents(of: "journal/extent")
        try folder.log.trim()
        disk.replace("journal/extent", with: before)
        _ = try Folder(on: disk.copy())
        disk.flip(1, at: 3_000, of: Folder.segment(2))
        try expectDamage(of: Folder.segment(2), on: disk)
    }

    @Test(
        "a folder of version 1 is opened once without it, whatever call is the last before a power cut, and then has one"
    )
    func versionOne() throws {
        for call in 0... {
            let disk = FormatTests.folder(journal: FormatTests.journal)
            disk.replace(FormatTests.snapshotPath, with: FormatTests.bytes(FormatTests.snapshot))
            disk.syncEverything()
            disk.faults.powerCutCall = disk.calls + call
            let isWhole = (try? Folder(on: disk)) != nil
            disk.crash(seed: UInt64(call))
            #expect(try Verification(of: disk).isSound, "call \(call)")
            #expect(try Folder(on: disk).names == ["a", "b"], "call \(call)")
            if !isWhole { continue }
            #expect(call > 8)
            for path in ["brume.manifest", "journal/extent", FormatTests.snapshotPath] {
                let damaged = disk.copy()
                damaged.replace(path, with: nil)
                try expectDamage(of: path, on: damaged)
            }
            return
        }
    }

    @Test("a list of files that somebody made up is refused or read, and never traps", arguments: 0..<200)
    func hostile(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var file = ManifestFile()
        for index in 0..<Int.random(in: 0..<20, using: &generator) {
            file.files["snapshots/\(index)"] = UInt64.random(in: 0 ... .max, using: &generator)
        }
        #expect(try ManifestFile(decoding: file.encoded) == file)
        var bytes = Array(file.encoded.dropLast(Int.random(in: 0..<30, using: &generator)))
        for _ in 0..<3 where bytes.count > 28 {
            bytes[Int.random(in: 8..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
        }
        if bytes.count >= 28 {
            let crc = CRC32C.checksum(bytes[..<24] + bytes[28...])
            bytes.setInteger(crc, at: 24)
        }
        _ = try? ManifestFile(decoding: bytes)
    }

    // MARK: Accepted losses

    @Test("a loss that is accepted is told, and the folder is opened without it, under another epoch")
    func acceptedLoss() throws {
        let kept = try Kept()
        let folder = try Folder(on: kept.disk)
        for index in 0..<4 { try folder.save("later\(index)", bytes: 1_500) }
        try folder.log.record()
        let segments = kept.disk.paths.filter { $0.hasSuffix(".journal") }
        #expect(segments.count >= 2)
        let lost: [(path: String, names: [String]?)] = [
            ("brume.manifest", try folder.names), ("journal/extent", try folder.names), (segments.last!, nil),
        ]
        for (path, names) in lost {
            let disk = kept.disk.copy()
            disk.replace(path, with: nil)
            try expectDamage(of: path, on: disk)
            let losses = try LossAcceptance(on: disk, options: Folder.options(), newEpoch: 77).losses
            #expect(losses.map(\.file) == [path], "\(losses)")
            #expect(try Verification(of: disk).isSound, "\(path)")
            let again = try Folder(on: disk)
            #expect(again.log.epoch == 77)
            if let names { #expect(try again.names == names) } else { #expect(try again.names.contains("later0")) }
            try again.save("new")
            #expect(try Folder(on: disk).names.contains("new"))
        }
    }

    @Test(
        "a missing snapshot whose loss is accepted is an empty database from then on; damage inside of files is not accepted"
    )
    func acceptedSnapshot() throws {
        let kept = try Kept()
        let damaged = kept.disk.copy()
        damaged.flip(1, at: 100, of: kept.path)
        let before = damaged.paths.map { damaged.contents(of: $0) }
        #expect(throws: StoreError.self) { try LossAcceptance(on: damaged, options: Folder.options(), newEpoch: 77) }
        #expect(damaged.paths.map { damaged.contents(of: $0) } == before)
        kept.disk.replace(kept.path, with: nil)
        let losses = try LossAcceptance(on: kept.disk, options: Folder.options(), newEpoch: 77).losses
        #expect(losses.map(\.file) == [kept.path])
        let folder = try Folder(on: kept.disk)
        #expect(folder.desk.database.sequence == 0)
    }

    @Test("the end of the journal that can't be read is cut when that is accepted, and kept beside it")
    func acceptedEnd() throws {
        let folder = try Folder()
        try folder.makeZone()
        for name in ["a", "b", "c"] { try folder.save(name, bytes: 100) }
        try folder.log.record()
        let path = Folder.segment(1)
        let bytes = try #require(folder.disk.contents(of: path))
        let end = try #require(bytes.lastIndex { $0 != 0 })
        folder.disk.flip(4, at: end - 20, of: path)
        let damaged = folder.disk.contents(of: path)
        try expectDamage(of: path, on: folder.disk)
        let losses = try LossAcceptance(on: folder.disk, options: Folder.options(), newEpoch: 77).losses
        #expect(losses.map(\.file) == [path])
        #expect(folder.disk.contents(of: path + ".damaged") == damaged)
        #expect(try Folder(on: folder.disk).names == ["a", "b"])
    }
}
