import BrumeModel
import BrumeRandom
import BrumeTestKit
import Testing

@testable import BrumeStore

/// Which blocks are worth the attempt, and what comes of it in a file.
@Suite("Compression of snapshots")
struct CompressionTests {
    /// Which of `count` blocks are tried, where each becomes as short as `frameBytes` says.
    private static func tried(_ count: Int, frameBytes: (Int) -> Int) -> [Int] {
        var attempts = CompressionAttempts()
        return (0..<count).filter { index in
            guard attempts.isDue() else { return false }
            attempts.ended(contentBytes: 1000, frameBytes: frameBytes(index))
            return true
        }
    }

    @Test("blocks that become shorter are all tried")
    func compressible() {
        #expect(Self.tried(40) { _ in 800 } == Array(0..<40))
    }

    @Test("where blocks hardly become shorter fewer and fewer are tried, but never fewer than one in seventeen")
    func incompressible() {
        let tried = Self.tried(200) { _ in 930 }
        #expect(tried.prefix(6) == [0, 2, 5, 10, 19, 36])
        #expect(zip(tried, tried.dropFirst()).allSatisfy { $1 - $0 <= CompressionAttempts.skippedMax + 1 })
    }

    @Test("one block that becomes shorter ends that")
    func ends() {
        let tried = Self.tried(60) { $0 == 19 ? 500 : $0 < 19 ? 1000 : 600 }
        #expect(tried == [0, 2, 5, 10] + Array(19..<60))
    }

    @Test("a small database is compressed as well")
    func small() throws {
        let folder = try Folder()
        try folder.makeZone()
        try folder.save("note", bytes: 4_000)
        #expect(try folder.log.writeSnapshot(folder.desk.database.capture()) < 1_000)
    }

    @Test("what compresses is far shorter in the file, what does not is there once, and both are read back")
    func roundTrip() throws {
        var generator = SeededGenerator(seed: 7)
        let noise = (0..<1_500).map { _ in [UInt8]((0..<1024).map { _ in UInt8.random(in: 0...255, using: &generator) })
        }
        for (contents, limit) in [
            (noise, 1_500 * 1_300), (noise.map { $0.map { _ in 7 } }, 1_500 * 100),
        ] {
            let folder = try Folder()
            try folder.makeZone()
            for index in stride(from: 0, to: contents.count, by: 100) {
                let (_, commit) = folder.desk.modify(
                    policy: .allKeys,
                    saves: (index..<index + 100).map { .of("r\($0)", ["x": .bytes(contents[$0])]) })
                try folder.keep(try #require(commit))
            }
            let capture = folder.desk.database.capture()
            let byteCount = try folder.log.writeSnapshot(capture)
            #expect(byteCount < limit)
            try folder.log.trim()
            let again = try Folder(on: folder.disk.copy())
            #expect(try again.names == folder.names)
            #expect(again.desk.record("r1234") == folder.desk.record("r1234"))
        }
    }
}
