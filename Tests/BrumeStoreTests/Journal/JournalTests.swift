import BrumeModel
import BrumeRandom
import BrumeStore
import BrumeTestKit
import Testing

/// A data folder on a simulated disk, and a desk on its database.
struct Folder {
    let disk: SimulatedDisk
    let log: ManualJournal
    let desk: Desk

    /// Opens the folder, or makes it.
    init(on disk: SimulatedDisk = SimulatedDisk(), segmentBytes: Int = 4096, salt: UInt64 = 99, run: UInt32 = 7)
        throws(StoreError)
    {
        self.disk = disk
        log = try ManualJournal(opening: disk, options: Folder.options(segmentBytes, salt), newEpoch: run)
        desk = Desk(try log.open(Desk.privateID), caller: Caller(user: Desk.owner, isOwner: true))
    }

    static func options(_ segmentBytes: Int = 4096, _ salt: UInt64 = 99) -> JournalWriter.Options {
        JournalWriter.Options(salt: salt, segmentBytes: segmentBytes)
    }

    /// Makes the zone `notes`, durably.
    func makeZone() throws {
        if let commit = desk.makeZone("notes") { try keep(commit) }
    }

    func keep(_ commit: Commit) throws(StoreError) {
        _ = try log.append(commit.entry)
        try log.flush()
    }

    /// Saves records, durably.
    func save(_ names: String..., bytes: Int = 10) throws {
        let field = FieldValue.bytes([UInt8](repeating: UInt8(ascii: "x"), count: bytes))
        let (result, commit) = desk.modify(policy: .allKeys, saves: names.map { .of($0, ["x": field]) })
        #expect(result.saveCodes.allSatisfy { $0 == nil })
        if let commit { try keep(commit) }
    }

    var names: [String] {
        get throws { try desk.changes(since: nil, limit: 10_000).live }
    }

    static func segment(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "journal/" + String(repeating: "0", count: 16 - digits.count) + digits + ".journal"
    }
}

@Suite("The journal")
struct JournalTests {
    @Test("what was synced is there after a restart, over many segments")
    func roundTripAndRotation() throws {
        let folder = try Folder()
        try folder.makeZone()
        for index in 0..<100 { try folder.save("r\(index)", bytes: 200) }
        try folder.save("large", bytes: 20_000)
        try folder.save("last")
        #expect(folder.log.segment > 5)
        let again = try Folder(on: folder.disk.copy())
        #expect(try again.names == (0..<100).map { "r\($0)" } + ["large", "last"])
        #expect(again.desk.database.sequence == 103)
        #expect(again.log.report.entries == 103 && again.log.report.tornBytes == 0)
        #expect(again.desk.record("r7") == folder.desk.record("r7"))
        try again.save("more")
        #expect(try Folder(on: again.disk).names.last == "more")
    }

    @Test("a batch holds many entries, and an empty folder is opened again")
    func batches() throws {
        let folder = try Folder()
        #expect(folder.log.report.isNewFolder)
        let opened = try Folder(on: folder.disk).log.report
        #expect(!opened.isNewFolder && opened.segments == 1 && opened.batches == 0)
        for name in ["a", "b", "c"] {
            let commit = try #require(folder.desk.makeZone(name))
            _ = try folder.log.append(commit.entry)
        }
        #expect(folder.log.durablePosition == 0)
        try folder.log.flush()
        #expect(folder.log.durablePosition == 3)
        let report = try Folder(on: folder.disk).log.report
        #expect(report.batches == 1 && report.entries == 3 && report.entriesApplied == 3)
    }

    @Test("a segment that a full disk kept from beginning is no damage, whatever is written meanwhile")
    func segmentThatDidNotBegin() throws {
        var call = 0
        while true {
            let folder = try Folder()
            try folder.makeZone()
            try folder.save("before")
            folder.disk.faults.fullCall = folder.disk.calls + call
            do throws(StoreError) {
                try folder.log.trim()
                if folder.disk.calls <= folder.disk.faults.fullCall! { break }
            } catch {
                guard case .disk(let reason) = error, reason.isFull else { throw error }
            }
            try folder.save("meanwhile")
            #expect(try Folder(on: folder.disk.copy()).names == ["before", "meanwhile"], "call \(call)")
            try folder.log.trim()
            try folder.save("after")
            #expect(try Folder(on: folder.disk).names == ["before", "meanwhile", "after"], "call \(call)")
            call += 1
        }
        #expect(call > 5)
    }

    @Test("the last batch torn at any byte is cut, nothing else is lost, and the journal goes on")
    func tornTail() throws {
        let folder = try Folder()
        try folder.makeZone()
        try folder.save("a", "b")
        let path = Folder.segment(1)
        let before = try #require(folder.disk.contents(of: path))
        try folder.save("torn", bytes: 60)
        let after = try #require(folder.disk.contents(of: path))
        let written = before.indices.filter { before[$0] != after[$0] }
        let (first, last) = (try #require(written.first), try #require(written.last))
        for cut in first...last {
            // What lies behind the cut did not reach the disk.
            let disk = folder.disk.copy()
            disk.replace(path, with: Array(after[..<cut]) + before[cut...])
            let again = try Folder(on: disk)
            #expect(try again.names == ["a", "b"], "cut at \(cut)")
            #expect(disk.contents(of: path) == before, "what is behind the tail is zero again")
            try again.save("new")
            #expect(try Folder(on: disk).names == ["a", "b", "new"])
        }
        // What did reach the disk, and is wrong, was damaged there.
        for hole in first...last {
            let disk = folder.disk.copy()
            var bytes = after
            bytes[hole] ^= 0x20
            disk.replace(path, with: bytes)
            try expectDamage(of: path, upTo: hole, on: disk)
        }
    }

    @Test(
        "of a batch that was being written any sectors may be missing, whatever it holds; one that is all there and wrong is damage",
        arguments: 0..<24)
    func missingSectors(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let folder = try Folder(segmentBytes: 16_384)
        try folder.makeZone()
        let path = Folder.segment(1)
        // So that the batch begins anywhere in a sector, also a few bytes before its end.
        try folder.save("a", bytes: Int.random(in: 0..<600, using: &generator))
        let before = try #require(folder.disk.contents(of: path))
        // Zeros in it make sectors that are zero by themselves.
        let contents = (0..<6).map { _ in
            [UInt8](
                repeating: Bool.random(using: &generator) ? 0 : 7, count: Int.random(in: 0..<1_500, using: &generator))
        }
        let (_, commit) = folder.desk.modify(
            saves: contents.enumerated().map { .of("b\($0.offset)", ["x": .bytes($0.element)]) })
        try folder.keep(try #require(commit))
        let after = try #require(folder.disk.contents(of: path))
        let changed = before.indices.filter { before[$0] != after[$0] }
        let sectors = Set(changed.map { $0 / 512 }).sorted()
        for _ in 0..<20 {
            let missing = sectors.filter { _ in Bool.random(using: &generator) }
            var bytes = after
            for sector in missing {
                bytes.replaceSubrange(
                    sector * 512..<(sector + 1) * 512, with: before[sector * 512..<(sector + 1) * 512])
            }
            let disk = folder.disk.copy()
            disk.replace(path, with: bytes)
            let again = try Folder(on: disk)
            #expect(try again.names == (missing.isEmpty ? folder.names : ["a"]), "seed \(seed), missing \(missing)")
        }
        for _ in 0..<100 {
            var bytes = after
            let place = Int.random(in: changed.first!...changed.last!, using: &generator)
            bytes[place] ^= UInt8.random(in: 1...255, using: &generator)
            // The byte that shows the end can't become zero by fewer than six bits.
            if place == changed.last { bytes[place] |= 1 }
            if bytes == after { continue }
            let disk = folder.disk.copy()
            disk.replace(path, with: bytes)
            try expectDamage(of: path, upTo: place, on: disk)
        }
        // Behind a batch that was begun, nothing is written before it is synced.
        var bytes = after
        bytes[(changed.last! / 512 + 2) * 512] = 9
        bytes[changed.first! + 100] ^= 1
        let disk = folder.disk.copy()
        disk.replace(path, with: bytes)
        try expectDamage(of: path, upTo: changed.first! + 100, on: disk)
    }

    @Test(
        "each sector of the last batch that becomes zero is damage when the batch is known to be synced",
        arguments: [1, 4])
    func zeroedSectors(batches: Int) throws {
        let folder = try Folder(segmentBytes: 65_536)
        try folder.makeZone()
        for index in 0..<batches { try folder.save("r\(index)", bytes: 5_000) }
        let path = Folder.segment(1)
        let bytes = try #require(folder.disk.contents(of: path))
        let last = try #require(bytes.lastIndex { $0 != 0 })
        let sectors = (last - 5_000) / 512...last / 512
        func disk(without sector: Int) -> SimulatedDisk {
            let disk = folder.disk.copy()
            var bytes = bytes
            bytes.replaceSubrange(sector * 512..<(sector + 1) * 512, with: [UInt8](repeating: 0, count: 512))
            disk.replace(path, with: bytes)
            return disk
        }
        // In the midst of work nobody can tell it from a power cut before the sync.
        let unrecorded = try Folder(on: disk(without: sectors.upperBound)).log.report
        #expect(unrecorded.tornBytes > 0 && unrecorded.batches == batches)
        try folder.log.record()
        for sector in sectors { try expectDamage(of: path, upTo: sector * 512, on: disk(without: sector)) }
    }

    @Test("one damaged byte anywhere before the last batch is refused, with file and offset")
    func damage() throws {
        let folder = try Folder(segmentBytes: 1024)
        try folder.makeZone()
        for index in 0..<8 { try folder.save("r\(index)", bytes: 100) }
        try folder.log.trim()
        try folder.save("last")
        #expect(folder.log.segment == 4)
        for number in 1...3 {
            let path = Folder.segment(number)
            let bytes = try #require(folder.disk.contents(of: path))
            let end = try #require(bytes.lastIndex { $0 != 0 })
            for offset in 0...end {
                let disk = folder.disk.copy()
                var damaged = bytes
                damaged[offset] ^= 1
                disk.replace(path, with: damaged)
                try expectDamage(of: path, upTo: offset, on: disk)
            }
            // Zeroed pages and missing files are damage as well.
            for (start, length) in [(0, 64), (64, 64), (64, bytes.count - 64), (end - 8, 8)] {
                let disk = folder.disk.copy()
                var damaged = bytes
                damaged.replaceSubrange(start..<start + length, with: [UInt8](repeating: 0, count: length))
                disk.replace(path, with: damaged)
                try expectDamage(of: path, upTo: start + length, on: disk)
            }
            if number > 1 {
                let disk = folder.disk.copy()
                disk.replace(path, with: nil)
                #expect(throws: StoreError.self) { try Folder(on: disk) }
            }
        }
    }

    @Test("a damaged byte in the last segment is refused when a whole batch follows it")
    func damageInTheLastSegment() throws {
        let folder = try Folder()
        try folder.makeZone()
        try folder.save("a")
        let path = Folder.segment(1)
        let end = try #require(folder.disk.contents(of: path)?.lastIndex { $0 != 0 })
        try folder.save("b")
        let bytes = try #require(folder.disk.contents(of: path))
        for offset in 0...end {
            let disk = folder.disk.copy()
            var damaged = bytes
            damaged[offset] ^= 0x80
            disk.replace(path, with: damaged)
            try expectDamage(of: path, upTo: offset, on: disk)
            #expect(disk.contents(of: path) == damaged, "a damaged file is left as it is")
        }
    }

    private func expectDamage(of path: String, upTo offset: Int, on disk: SimulatedDisk) throws {
        let verification = try Verification(of: disk)
        do {
            _ = try Folder(on: disk)
            Issue.record("damage of \(path) at \(offset) was not noticed")
        } catch {
            guard case .damaged(let damage) = error else {
                Issue.record("damage of \(path) at \(offset) gave \(error)")
                return
            }
            #expect(damage.file == path && damage.offset <= UInt64(offset), "\(damage)")
            #expect(verification.problems.map(\.problem) == [damage.problem])
        }
    }

    @Test("a batch that a client put into a record is not taken for one")
    func forgedBatch() throws {
        // The bytes of a true batch, as another folder wrote it, inside a record of the batch that tears.
        let other = try Folder(salt: 1)
        try other.makeZone()
        let forged = try #require(other.disk.contents(of: Folder.segment(1)))[64..<400]
        let folder = try Folder(salt: 2)
        try folder.makeZone()
        let path = Folder.segment(1)
        let before = try #require(folder.disk.contents(of: path))
        let (_, commit) = folder.desk.modify(
            saves: (0..<8).map { .of("a\($0)", ["x": .bytes([UInt8](repeating: 0, count: $0) + forged)]) })
        try folder.keep(try #require(commit))
        var after = try #require(folder.disk.contents(of: path))
        let start = try #require(zip(before, after).enumerated().first { $0.element.0 != $0.element.1 }?.offset)
        // The sector in which it begins did not reach the disk.
        for index in start..<(start / 512 + 1) * 512 { after[index] = 0 }
        folder.disk.replace(path, with: after)
        let again = try Folder(on: folder.disk)
        #expect(try again.names.isEmpty)
        #expect(again.log.report.tornBytes > 0)
    }

    @Test("after a failed sync nothing more is written, and the error stays")
    func failedSync() throws {
        let folder = try Folder()
        try folder.makeZone()
        // The write is one call, the sync the next.
        folder.disk.faults.failingCall = folder.disk.calls + 1
        #expect(throws: StoreError.self) { try folder.save("a") }
        let calls = folder.disk.calls
        #expect(throws: StoreError.self) { try folder.log.flush() }
        #expect(folder.disk.calls == calls, "a failed sync is not tried again")
        #expect(folder.log.durablePosition == 1)
    }

    @Test("a full disk refuses a batch, and takes the same one when there is room")
    func fullDisk() throws {
        let folder = try Folder(segmentBytes: 1024)
        try folder.makeZone()
        folder.disk.faults.capacityBytes = 1100
        try folder.save("fits")
        var refused: DiskError?
        do throws(StoreError) {
            for index in 0..<10 {
                let (_, commit) = folder.desk.modify(saves: [
                    .of("r\(index)", ["x": .bytes([UInt8](repeating: 1, count: 200))])
                ])
                if let commit { try folder.keep(commit) }
            }
        } catch {
            if case .disk(let error) = error { refused = error }
        }
        #expect(refused?.isFull == true)
        let durable = folder.log.durablePosition
        #expect(throws: StoreError.self) { try folder.log.flush() }
        folder.disk.faults.capacityBytes = nil
        try folder.log.flush()
        #expect(folder.log.durablePosition == durable + 1)
        try folder.save("after")
        #expect(try Folder(on: folder.disk, segmentBytes: 1024).names == folder.names)
    }

    @Test("a newer format, a lost meta file and a lost journal are told apart")
    func otherFiles() throws {
        let folder = try Folder()
        try folder.makeZone()
        let meta = try #require(folder.disk.contents(of: "brume.meta"))
        for offset in meta.indices {
            let disk = folder.disk.copy()
            var damaged = meta
            damaged[offset] ^= 1
            disk.replace("brume.meta", with: damaged)
            #expect(throws: StoreError.self) { try Folder(on: disk) }
        }
        var newer = meta
        newer[8] += 1
        newer.replaceSubrange(
            16..., with: withUnsafeBytes(of: CRC32C.checksum(newer[..<16]).littleEndian) { Array($0) })
        let disk = folder.disk.copy()
        disk.replace("brume.meta", with: newer)
        #expect(throws: StoreError.unknownVersion(file: "brume.meta", version: UInt32(newer[8]))) {
            try Folder(on: disk)
        }
        for path in ["brume.meta", "brume.manifest", "journal/extent", Folder.segment(1)] {
            let disk = folder.disk.copy()
            disk.replace(path, with: nil)
            let error = #expect(throws: StoreError.self) { try Folder(on: disk) }
            guard case .damaged(let damage) = error else {
                Issue.record("\(path) is gone, and that gave \(String(describing: error))")
                continue
            }
            #expect(damage.file == path)
        }
    }
}
