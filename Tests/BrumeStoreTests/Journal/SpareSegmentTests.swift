import BrumeLock
import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// The file of a segment that is no longer needed becomes another one, and nothing of what it was is left in it.
@Suite("Spare segments")
struct SpareSegmentTests {
    private static let segmentBytes = 1024

    /// A folder whose last segment was another one before, with a record in it.
    private static func folder() throws -> Folder {
        let folder = try Folder(segmentBytes: segmentBytes)
        try folder.makeZone()
        for round in 0..<6 {
            try folder.save("r\(round)", bytes: 150)
            try folder.save("s\(round)", bytes: 150)
            try snapshot(folder)
        }
        try folder.save("first", bytes: 30)
        return folder
    }

    private static func snapshot(_ folder: Folder) throws {
        try folder.log.writeSnapshot(folder.desk.database.capture())
        try folder.log.trim()
    }

    private static func spares(_ disk: SimulatedDisk) -> [String] { disk.paths.filter { $0.hasSuffix(".spare") } }

    private static func reopened(_ disk: SimulatedDisk, salt: UInt64 = 100) throws(StoreError) -> Folder {
        try Folder(on: disk, segmentBytes: segmentBytes, salt: salt)
    }

    @Test("segments that are no longer needed serve again, also after a restart, and the folder does not grow")
    func reuse() throws {
        let folder = try Self.folder()
        #expect(!Self.spares(folder.disk).isEmpty)
        var again = folder
        var settledCount = Int.max
        for round in 0..<40 {
            let spares = Set(Self.spares(again.disk))
            let segment = again.log.segment
            again.log.preparation.prepare()
            try again.save("t\(round)", bytes: 700)
            again.log.preparation.prepare()
            try again.save("u\(round)", bytes: 700)
            #expect(again.log.segment > segment)
            #expect(Set(Self.spares(again.disk)).isStrictSubset(of: spares), "the new segments were spare files")
            try Self.snapshot(again)
            if round == 20 { settledCount = again.disk.paths.count }
            #expect(again.disk.paths.count <= settledCount)
            if round % 10 == 9 {
                again = try Self.reopened(again.disk.copy(), salt: UInt64(round))
                #expect(again.log.report.tornBytes == 0)
            }
        }
        #expect(try again.names.count == 12 + 1 + 80)
        #expect(try Verification(of: again.disk).isSound)
    }

    @Test("only files of the usual length are kept, and no more than they may be")
    func bounded() throws {
        let folder = try Self.folder()
        for index in 0..<80 { try folder.save("u\(index)", bytes: 600) }
        try folder.save("large", bytes: 5_000)
        try Self.snapshot(folder)
        folder.log.preparation.prepare()
        let spares = Self.spares(folder.disk)
        #expect(spares.count == 16)
        #expect(spares.allSatisfy { folder.disk.contents(of: $0)?.count == Self.segmentBytes })
        // Told to make larger ones, the next start has no use for them.
        let other = try Folder(on: folder.disk.copy(), segmentBytes: 4096)
        #expect(Self.spares(other.disk).isEmpty)
        #expect(try other.names == folder.names)
    }

    @Test("behind the last batch all is zero, whatever the file held")
    func zeros() throws {
        let folder = try Self.folder()
        for round in 0..<8 {
            if round % 2 == 0 { folder.log.preparation.prepare() }
            try folder.save("z\(round)", bytes: 700)
            let path = Folder.segment(Int(folder.log.segment))
            let before = try #require(folder.disk.contents(of: path))
            #expect(before.count == Self.segmentBytes)
            let end = try #require(before.lastIndex { $0 != 0 })
            #expect(end < Self.segmentBytes - 64, "a whole record of an earlier life would reach further")
            try Self.snapshot(folder)
        }
    }

    @Test(
        "a power cut at any call while a file changes its part leaves a folder that opens with all that was acknowledged"
    )
    func crashes() throws {
        for seed in 0..<40 as Range<UInt64> {
            let folder = try Self.folder()
            for round in 0..<3 { try folder.save("c\(round)", bytes: 700) }
            try folder.log.writeSnapshot(folder.desk.database.capture())
            let names = try folder.names
            // The power fails in one of the calls that trimming and the next segments make.
            folder.disk.faults.powerCutCall = folder.disk.calls + Int(seed)
            do {
                try folder.log.trim()
                for round in 0..<4 { try folder.save("d\(round)", bytes: 700) }
            } catch {}
            folder.disk.crash(seed: seed)
            let again = try Self.reopened(folder.disk)
            #expect(Set(try again.names).isSuperset(of: names), "seed \(seed)")
            try again.save("new", bytes: 700)
            #expect(try Self.reopened(folder.disk).names.contains("new"), "seed \(seed)")
        }
    }

    @Test("a segment that was made ahead begins without being filled, and holds what is written to it")
    func ahead() throws {
        let folder = try Folder(segmentBytes: Self.segmentBytes)
        try folder.makeZone()
        try folder.save("first", bytes: 700)
        for round in 0..<4 {
            let before = folder.disk.calls
            try folder.save("plain\(round)", bytes: 700)
            let plainCalls = folder.disk.calls - before
            folder.log.preparation.prepare()
            folder.log.preparation.prepare()
            #expect(Self.spares(folder.disk).count == 1, "one is enough")
            let prepared = folder.disk.calls
            try folder.save("ahead\(round)", bytes: 700)
            // Neither the removal of an unfinished file nor the filling.
            #expect(folder.disk.calls - prepared < plainCalls)
            #expect(Self.spares(folder.disk).isEmpty)
        }
        #expect(try Self.reopened(folder.disk.copy()).names.count == 9)
        #expect(try Verification(of: folder.disk).isSound)
    }

    @Test("a power cut at any call leaves all that was acknowledged, where segments are made ahead")
    func crashesAhead() throws {
        for seed in 0..<60 as Range<UInt64> {
            let folder = try Self.folder()
            let names = try folder.names
            folder.disk.faults.powerCutCall = folder.disk.calls + Int(seed)
            var acknowledged: Set<String> = []
            do {
                for round in 0..<5 {
                    folder.log.preparation.prepare()
                    try folder.save("d\(round)", bytes: 700)
                    acknowledged.insert("d\(round)")
                    if round % 2 == 0 { try Self.snapshot(folder) }
                }
            } catch {}
            folder.disk.crash(seed: seed)
            let again = try Self.reopened(folder.disk)
            #expect(Set(try again.names).isSuperset(of: acknowledged.union(names)), "seed \(seed)")
            again.log.preparation.prepare()
            try again.save("new", bytes: 700)
            #expect(try Self.reopened(folder.disk).names.contains("new"), "seed \(seed)")
        }
    }

    @Test("a segment that could not be made ahead is made when it is needed")
    func failedAhead() throws {
        let folder = try Folder(segmentBytes: Self.segmentBytes)
        try folder.makeZone()
        for call in 0..<3 {
            folder.disk.faults.failingCall = folder.disk.calls + call
            folder.log.preparation.prepare()
            folder.disk.faults.failingCall = nil
            #expect(Self.spares(folder.disk).isEmpty)
            try folder.save("r\(call)", bytes: 700)
        }
        #expect(try folder.names.count == 3)
    }

    @Test("a batch that finds no room in a new segment takes that of the files that are kept")
    func fullDisk() throws {
        let folder = try Self.folder()
        let segment = folder.log.segment
        try folder.save("a", bytes: 780)
        #expect(folder.log.segment == segment + 1, "a segment begins that nobody made ahead, so it has few blocks")
        #expect(!Self.spares(folder.disk).isEmpty)
        folder.disk.faults.capacityBytes = folder.disk.usedBytes
        try folder.save("b", bytes: 20)
        #expect(Self.spares(folder.disk).isEmpty)
        #expect(try Self.reopened(folder.disk.copy()).names.contains("b"))
        // When they have gone the disk is full.
        folder.disk.faults.capacityBytes = folder.disk.usedBytes
        #expect(throws: StoreError.self) { try folder.save("c", bytes: 900) }
        folder.disk.faults.capacityBytes = nil
        try folder.log.flush()
        #expect(try Self.reopened(folder.disk.copy()).names.contains("c"))
    }

    @Test("what a full disk took of a batch is gone when another one comes instead", arguments: [0, 512, 1024])
    func partOfABatch(room: Int) throws {
        let folder = try Folder(segmentBytes: 4096)
        try folder.makeZone()
        try folder.save("a", bytes: 3_000)
        try folder.save("b", bytes: 1_000)
        let segment = folder.log.segment
        try #require(segment == 2)
        let whole = folder.disk.contents(of: Folder.segment(2))
        folder.disk.faults.capacityBytes = folder.disk.usedBytes + room
        #expect(throws: StoreError.self) { try folder.save("c", bytes: 2_000) }
        folder.disk.faults.capacityBytes = nil
        #expect(folder.disk.contents(of: Folder.segment(2)) == whole)
        // With this one it is too large for the segment, and the next one begins.
        try folder.save("d", bytes: 2_000)
        #expect(folder.log.segment == segment + 1)
        let again = try Folder(on: folder.disk.copy(), segmentBytes: 4096, salt: 100)
        #expect(try again.names.sorted() == ["a", "b", "c", "d"])
        #expect(again.log.report.tornBytes == 0)
        #expect(try Verification(of: folder.disk).isSound)
    }

    @Test("who makes a segment ahead while the journal takes one leaves that alone")
    func aheadOfItself() throws {
        let disk = HookedDisk()
        let recovery = try Recovery(
            opening: disk, options: JournalWriter.Options(salt: 3, segmentBytes: Self.segmentBytes), newEpoch: 1)
        var writer = recovery.writer
        let preparation = writer.preparation
        // In the middle of every segment that is begun: filled and named, or about to be.
        disk.changed.withLock { $0 = { preparation.prepare() } }
        for number in 2..<8 as Range<UInt64> {
            if number % 2 == 0 { preparation.prepare() }
            var batch = JournalBatch()
            batch.append([UInt8](repeating: 7, count: 700))
            try writer.write(&batch)
            try writer.rotate()
            #expect(writer.segment == number)
        }
        #expect(!writer.hasFailed)
    }
}

/// A simulated disk that calls out before a file is synced or gets another name.
private final class HookedDisk: ForwardingDisk {
    let disk = SimulatedDisk()
    let changed = Lock<@Sendable () -> Void>({})

    /// Not within itself.
    private func hook() {
        let body = changed.withLock { changed in
            defer { changed = {} }
            return changed
        }
        body()
        changed.withLock { $0 = body }
    }

    func sync(_ file: DiskFile) throws(DiskError) {
        hook()
        try disk.sync(file)
    }
    func rename(_ path: String, to target: String) throws(DiskError) {
        hook()
        try disk.rename(path, to: target)
    }
}
