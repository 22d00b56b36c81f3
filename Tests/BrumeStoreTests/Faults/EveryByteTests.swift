import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

/// Each byte of each file of a small data folder damaged in turn: it is always noticed.
///
/// Behind the last batch there are zeros: what stands there is no batch, is cut, and nothing is lost by that.
@Suite("Damage to every byte")
struct EveryByteTests {
    /// `brume.meta`, a journal of several segments with several batches each, and snapshots of two databases, of which
    /// one is in the journal too.
    private struct Small {
        let disk = SimulatedDisk()
        /// Where the last batch begins, in the last segment, and where it ends.
        var lastBatch = 0..<0
        var lastSegment = ""
        /// What the private database is.
        var whole = ""

        init() throws {
            let folder = try Folder(on: disk, segmentBytes: 1024)
            try folder.makeZone()
            let other = Desk(
                try folder.log.open(Desk.publicID), caller: Caller(user: Desk.owner, isOwner: false))
            try folder.keep(try #require(other.modify(.defaultZone, saves: [.of("p", ["n": .int64(1)])]).commit))
            try folder.save("r0", "r1", bytes: 40)
            try folder.log.writeSnapshot(folder.desk.database.capture())
            try folder.log.writeSnapshot(other.database.capture())
            try folder.log.trim()
            for step in 0..<9 { try folder.save("r\(step % 3)", "r\(step % 3 + 3)", bytes: 60 + step) }
            try folder.keep(try #require(folder.desk.modify(deletions: ["r0"]).commit))
            let segment = folder.log.segment
            lastSegment = Folder.segment(Int(segment))
            let before = Small.end(of: try #require(disk.contents(of: lastSegment)))
            try folder.save("r5", bytes: 33)
            try #require(folder.log.segment == segment, "the last two batches are in one segment")
            lastBatch = before..<Small.end(of: try #require(disk.contents(of: lastSegment)))
            whole = FaultScript.portrait(of: folder.desk.database)
            try folder.log.record()
            // They hold nothing.
            for path in disk.paths where path.hasSuffix(".spare") { try disk.remove(path) }
            try #require(disk.paths.filter { $0.hasPrefix("journal/") }.count >= 3)
        }

        /// Behind the last byte that is not zero, at a multiple of 8 as batches are.
        private static func end(of bytes: [UInt8]) -> Int {
            ((bytes.lastIndex { $0 != 0 } ?? 0) + 8) / 8 * 8
        }
    }

    private enum Outcome: Equatable {
        /// With the file that is named.
        case damaged(String)
        /// What the private database holds, and how many bytes were cut as torn.
        case opened(String, torn: Int)
    }

    private static func open(_ disk: SimulatedDisk) throws -> Outcome {
        do throws(StoreError) {
            let recovery = try Recovery(
                opening: disk, options: JournalWriter.Options(salt: 3, segmentBytes: 1024), newEpoch: 9)
            // The other database is in no segment any more: the start checks its snapshot all the same.
            let portrait = recovery.databases[Desk.privateID].map(FaultScript.portrait(of:)) ?? ""
            return .opened(portrait, torn: recovery.report.tornBytes)
        } catch {
            switch error {
            case .damaged(let damage): return .damaged(damage.file)
            case .unknownVersion(let file, _): return .damaged(file)
            case .disk(let error): throw error
            }
        }
    }

    @Test(
        "every damaged byte of every file is noticed, and nothing is silently shorter", arguments: [0x01, 0x80, 0xFF])
    func everyByte(mask: UInt8) throws {
        let small = try Small()
        #expect(try Self.open(small.disk.copy()) == .opened(small.whole, torn: 0))
        var damaged = 0
        for path in small.disk.paths {
            let bytes = try #require(small.disk.contents(of: path))
            for index in bytes.indices {
                var changed = bytes
                changed[index] ^= mask
                let disk = small.disk.copy()
                disk.replace(path, with: changed)
                let verification = try Verification(of: disk)
                let place: Comment = "byte \(index) of \(path), mask \(mask)"
                switch try Self.open(disk) {
                case .damaged(let file):
                    damaged += 1
                    #expect(file.hasPrefix(path.hasPrefix("journal/") ? "journal/" : path), place)
                    #expect(!verification.isSound, place)
                case .opened(let portrait, let torn):
                    #expect(path == small.lastSegment && index >= small.lastBatch.upperBound, place)
                    #expect(portrait == small.whole, place)
                    #expect(torn > 0, place)
                    #expect(verification.tornBytes > 0, place)
                }
            }
        }
        #expect(damaged > 2000)
    }

    @Test("a file that is cut off at any length is noticed, but for zeros at the journal's end")
    func everyLength() throws {
        let small = try Small()
        for path in small.disk.paths {
            let bytes = try #require(small.disk.contents(of: path))
            for length in 0..<bytes.count {
                let disk = small.disk.copy()
                disk.replace(path, with: Array(bytes[..<length]))
                let place: Comment = "\(path) with \(length) of \(bytes.count) bytes"
                switch try Self.open(disk) {
                case .damaged: break
                case .opened(let portrait, let torn):
                    // Segments have their full length from the start; no crash shortens one. What a shorter one lost of
                    // its zeros is nothing.
                    #expect(path.hasPrefix("journal/") && path.hasSuffix(".journal"), place)
                    #expect(portrait == small.whole && torn == 0, place)
                }
            }
        }
    }

    @Test("each file that is missing is named, by a start and by a verification")
    func everyFile() throws {
        let small = try Small()
        for path in small.disk.paths {
            let disk = small.disk.copy()
            disk.replace(path, with: nil)
            #expect(try Self.open(disk) == .damaged(path))
            let verification = try Verification(of: disk)
            #expect(verification.problems.contains { $0.file == path }, "\(path): \(verification.problems)")
            #expect(disk.paths == small.disk.paths.filter { $0 != path }, "nothing is made in its place")
        }
    }
}
