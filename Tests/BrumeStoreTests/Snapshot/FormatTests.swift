import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

/// Files as version 1 of the formats wrote them. They stay as they are for as long as that version is read; a new
/// version adds its own beside them.
@Suite("Files of earlier versions")
struct FormatTests {
    @Test("a folder of format version 1 is opened")
    func versionOne() throws {
        let disk = FormatTests.folder(journal: FormatTests.journal)
        let folder = try Folder(on: disk)
        #expect(try folder.names == ["a", "b"])
        #expect(folder.desk.record("a")?.fields == ["n": .int64(5)])
        #expect(folder.desk.record("b")?.system.parent == "a")
        #expect(folder.desk.record("b")?.fields == ["up": Reference.cascading(to: "a")])
        #expect(folder.desk.record("c", in: .defaultZone)?.system.createdMilliseconds == 2000)
        #expect(folder.desk.database.sequence == 3 && folder.log.epoch == 7)
        try folder.save("more")
        #expect(try Folder(on: disk).names == ["a", "b", "more"])
    }

    @Test("a snapshot of format version 1 is opened, and the journal's entries that it holds are skipped")
    func snapshotVersionOne() throws {
        let disk = FormatTests.folder(journal: FormatTests.journal)
        disk.replace(FormatTests.snapshotPath, with: FormatTests.bytes(FormatTests.snapshot))
        let folder = try Folder(on: disk)
        #expect(folder.log.report.entries == 3 && folder.log.report.entriesApplied == 0)
        #expect(folder.desk.database.sequence == 5)
        #expect(try folder.names == ["a", "b"])
        let start = ChangeToken(
            kind: .zone, epoch: 7, incarnation: try #require(folder.desk.database.incarnation(of: Desk.zone)),
            position: .start)
        #expect(try folder.desk.changes(since: start).deleted == ["d"])
    }

    @Test("a snapshot of format version 2 is opened, and holds what the same one of version 1 does")
    func snapshotVersionTwo() throws {
        var portraits: [String] = []
        for snapshot in [FormatTests.snapshot, FormatTests.snapshotVersionTwo] {
            let disk = FormatTests.folder(journal: FormatTests.journal)
            disk.replace(FormatTests.snapshotPath, with: FormatTests.bytes(snapshot))
            let folder = try Folder(on: disk)
            #expect(folder.log.report.snapshotsRead == 1 && folder.log.report.entriesApplied == 0)
            #expect(folder.desk.record("c", in: .defaultZone)?.system.createdMilliseconds == 2000)
            portraits.append(try SnapshotTests.portrait(folder.desk.database))
        }
        #expect(portraits[0] == portraits[1])
    }

    @Test("a snapshot of a version to come is refused as such")
    func snapshotOfTomorrow() throws {
        let disk = FormatTests.folder(journal: FormatTests.journal)
        var header = Array(FormatTests.bytes(FormatTests.snapshot)[..<12])
        header[8] = 3
        let crc = CRC32C.checksum(header)
        header += (0..<4).map { UInt8(truncatingIfNeeded: crc >> ($0 * 8)) }
        disk.replace(FormatTests.snapshotPath, with: header)
        #expect(throws: StoreError.unknownVersion(file: FormatTests.snapshotPath, version: 3)) { try Folder(on: disk) }
    }

    @Test("a block that would decompress to more than blocks hold is refused, and so is one that lies about it")
    func decompressionBomb() throws {
        let whole = FormatTests.bytes(FormatTests.snapshotVersionTwo)
        for (contentBytes, problem) in [
            (UInt32.max, "a block says that it is larger than blocks are"),
            (UInt32(8 * 1024 * 1024 + 1), "a block says that it is larger than blocks are"),
            (UInt32(8 * 1024 * 1024), "a block does not decompress to what it says"),
        ] {
            // The second block, with checksums that hold.
            let start = 16 + 20 + 35
            let payloadBytes = Int(whole[start]) + Int(whole[start + 1]) << 8
            var header = Array(whole[start..<start + 12])
            header += (0..<4).map { UInt8(truncatingIfNeeded: contentBytes >> ($0 * 8)) }
            let payload = whole[(start + 20)..<(start + 20 + payloadBytes)]
            let crc = CRC32C.checksum(header + payload)
            header += (0..<4).map { UInt8(truncatingIfNeeded: crc >> ($0 * 8)) }
            let disk = FormatTests.folder(journal: FormatTests.journal)
            disk.replace(FormatTests.snapshotPath, with: whole[..<start] + header + payload)
            let damage = Damage(file: FormatTests.snapshotPath, offset: UInt64(start), problem: problem)
            #expect(throws: StoreError.damaged(damage)) { try Folder(on: disk) }
        }
    }

    static let snapshotPath = "snapshots/development+private+iCloud.test+_owner.snapshot"

    static func folder(journal: String) -> SimulatedDisk {
        let disk = SimulatedDisk()
        let bytes = bytes(journal)
        disk.replace(Folder.segment(1), with: bytes + [UInt8](repeating: 0, count: 4096 - bytes.count))
        disk.replace("brume.meta", with: FormatTests.bytes(meta))
        return disk
    }

    static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.filter { !$0.isWhitespace }
        return stride(from: 0, to: digits.count, by: 2).map { index in
            let start = digits.index(digits.startIndex, offsetBy: index)
            return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16)!
        }
    }

    private static let meta = "4252554d454d455401000000070000004373bbd4"

    static let journal = """
        4252554d454a4e4c0100000040000000010000000000000001000000000000000807060504030201000000000000000000000000
        000000000000000082c0e52e42544348eefc3c3f0807060504030201010000000000000033000000010000000000000000000000
        2f0000000a190a0b69436c6f75642e746573741001180222065f6f776e6572100118e807220d1a0b0880804012056e6f74657300
        00000000425443487f9b44e9080706050403020102000000000000009b00000001000000eefc3c3f00000000970000000a190a0b
        69436c6f75642e746573741001180222065f6f776e6572100218d00f22350a3308808040122d0a016112044e6f74651a03372d32
        22065f6f776e657228d00f32065f6f776e657238d00f7a070a016e1202100a223e0a3c0880804012360a016212044e6f74651a03
        372d3222065f6f776e657228d00f32065f6f776e657238d00f4201617a0d0a02757012073a050a01611001000000000042544348
        fe6addb4080706050403020103000000000000004e000000010000007f9b44e9000000004a0000000a190a0b69436c6f75642e74
        6573741001180222065f6f776e6572100318d00f22280a2612240a016312044e6f74651a03372d3322065f6f776e657228d00f32
        065f6f776e657238d00f
        """

    static let snapshot = """
        4252554d45534e50010000008aa1517d23000000010000000000000074fb6c7a0a190a0b69436c6f75642e746573741001180222
        065f6f776e65721005180320012802e50000000200000074fb6c7a68e3adb90a13120c5f64656661756c745a6f6e65188080c001
        0a100880804012056e6f746573188080c002122b108080c0011a240a016312044e6f74651a03372d3322065f6f776e657228d00f
        32065f6f776e657238d00f12380880804010808080011a2d0a016112044e6f74651a03372d3222065f6f776e657228d00f32065f
        6f776e657238d00f7a070a016e1202100a12410880804010818080011a360a016212044e6f74651a03372d3222065f6f776e6572
        28d00f32065f6f776e657238d00f4201617a0d0a02757012073a050a016110011a1208808040108080c0021a016422044e6f7465
        280000000300000068e3adb9525bf625010000000000000002000000000000000300000000000000010000000000000000000000
        00000000
        """

    private static let snapshotVersionTwo = """
        4252554d45534e5002000000b328731f230000000100000000000000230000001d7e54390a190a0b69436c6f75642e7465737410
        01180222065f6f776e65721005180320012802a9000000020000001d7e5439e5000000acb6c7de28b52ffd20e505050032c9222a
        80b7e9f3163221131fda89823670bc3bc5a5b8546ca0106c9ba64aea8032f04d57b9e958a16ea366cb13914e2a79ac7dadfefdd6
        c16525b2f4c1d53881c10d18587ebcfd17009a5d6bb9bc60115c86defe77d3cf48dd6452d4640c8428156675781c10c4f0229d54
        d204cb8bb7f5778d6ef57712229d52e9e9671c6ffd9d28a70035b86041b42a442b3806008c2030304e578203c552b5ade2ac4401
        1900000003000000acb6c7de28000000defe6de628b52ffd202885000040010002000300010004500200128f21
        """
}
