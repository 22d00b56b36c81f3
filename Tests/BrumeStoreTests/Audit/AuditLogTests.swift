import BrumeModel
import BrumeRandom
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("The audit log")
struct AuditLogTests {
    private let disk = SimulatedDisk()

    private func began(_ act: String, _ target: String = "ada") -> AuditEntry.Event {
        .began(act: act, target: target, peer: "process 7 of user 0", request: "r")
    }

    private func writer(fileBytes: UInt64 = 1 << 20, files: Int = 64) throws -> AuditWriter {
        var limits = AuditLimits()
        (limits.fileBytes, limits.files) = (fileBytes, files)
        return try AuditWriter(on: disk, limits: limits)
    }

    private func entries() throws -> [AuditEntry] {
        var entries: [AuditEntry] = []
        let verification = try AuditVerification(of: disk) { entry, _ in entries.append(entry) }
        try #require(verification.problems.isEmpty, "\(verification.problems)")
        return entries
    }

    /// - Parameter files: So many are kept.
    private func problems(files: Int = AuditLimits().files) throws -> [String] {
        var limits = AuditLimits()
        limits.files = files
        return try AuditVerification(of: disk, limits: limits).problems.map(\.description)
    }

    @Test("gives back what was written, in order, over any number of starts and files")
    func written() throws {
        #expect(try entries().isEmpty && AuditVerification(of: disk).numbers == nil)
        let targets = ["ada", "", "a\"b\\c\n\u{7}\u{9b}", "\u{e9}e\u{301}\u{1F600}", "{\"number\":1}"]
        var expected: [AuditEntry.Event] = []
        for start in 0..<3 {
            let writer = try writer(fileBytes: 700)
            for (index, target) in targets.enumerated() {
                let number = try writer.append(began("account.add", target), milliseconds: Int64(start - 1) * 1_000)
                #expect(number == UInt64(expected.count + 1))
                _ = try writer.append(.ended(number: number, error: index % 2 * 27), milliseconds: .max)
                expected += [began("account.add", target), .ended(number: number, error: index % 2 * 27)]
            }
        }
        #expect(try entries().map(\.event) == expected)
        #expect(try entries().map(\.number) == (1...UInt64(expected.count)).map { $0 })
        #expect(try disk.list(AuditFile.folder).count > 3)
        #expect(try AuditVerification(of: disk).openActs.isEmpty)
    }

    @Test("has what was added, and no false alarm, whenever the power fails or the disk is full")
    func crashes() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var (acknowledged, isOpen) = ([UInt64: AuditEntry.Event](), Set<UInt64>())
        for start in 0..<45 {
            let writer = try writer(fileBytes: 2_000, files: .max)
            #expect(acknowledged.keys.max() ?? 0 <= writer.lastNumber, "seed \(seed)")
            let calls = disk.calls
            switch start % 3 {
            case 0: disk.faults.powerCutCall = calls + Int.random(in: 0..<30, using: &generator)
            case 1: disk.faults.fullCall = calls + Int.random(in: 0..<30, using: &generator)
            default: disk.faults.failingCall = calls + Int.random(in: 0..<30, using: &generator)
            }
            for _ in 0..<8 {
                let event = began(
                    "token.create", String(repeating: "x", count: Int.random(in: 0..<600, using: &generator)))
                do throws(DiskError) {
                    acknowledged[try writer.append(event, milliseconds: 0)] = event
                } catch {
                    // Whoever goes on where nobody knows what is on the disk would break the chain.
                    if error.isFailedSync || start % 3 == 0 { break }
                }
            }
            if start % 3 == 1 || start % 6 == 2 { disk.endProcess() } else { disk.crash(seed: UInt64(start)) }
            let found = Dictionary(uniqueKeysWithValues: try entries().map { ($0.number, $0.event) })
            for (number, event) in acknowledged where found[number] != event {
                Issue.record("seed \(seed): entry \(number) is lost, or another one")
            }
            isOpen = try AuditVerification(of: disk).openActs
        }
        #expect(isOpen.count >= acknowledged.count)
    }

    @Test("shows each line that was changed, taken out, put in or moved")
    func tampering() throws {
        let writer = try writer()
        for index in 0..<6 { _ = try writer.append(began("account.remove", "user-\(index)"), milliseconds: 5) }
        let path = try #require(AuditFile.list(on: disk).first).path
        let whole = try #require(disk.contents(of: path))
        var lines = whole.split(separator: UInt8(ascii: "\n")).map { Array($0) }
        func check(_ changed: [[UInt8]], _ comment: Comment) throws {
            disk.replace(path, with: Array(changed.map { $0 + [UInt8(ascii: "\n")] }.joined()))
            #expect(try !problems().isEmpty, comment)
        }
        // The last one has no line behind it that names its hash.
        for index in 0..<5 {
            var changed = lines
            changed[index] =
                AuditEntry(
                    number: UInt64(index + 1), previous: try #require(AuditEntry(line: lines[index])).previous,
                    milliseconds: 5, event: began("account.remove", "other")
                ).line
            try check(changed, "line \(index) is another one")
            for bit in 0..<8 {
                changed = lines
                changed[index][changed[index].count / 2] ^= 1 << UInt8(bit)
                try check(changed, "a bit of line \(index) was flipped")
            }
            changed = lines
            changed.remove(at: index)
            try check(changed, "line \(index) was taken out")
            changed = lines
            changed.swapAt(index, 5 - index)
            try check(changed, "line \(index) was moved")
            changed = lines
            changed.insert(lines[index], at: index)
            try check(changed, "line \(index) was put in twice")
        }
        // One that is taken out is told once, and not with each line behind it.
        var without = lines
        without.remove(at: 2)
        disk.replace(path, with: Array(without.map { $0 + [UInt8(ascii: "\n")] }.joined()))
        #expect(try problems().map { $0.contains("line 3:") } == [true, true])
        #expect(try AuditVerification(of: disk).numbers == 1...5)
        // What was cut off at the end shows to whoever noted the last hash.
        let hash = writer.lastHash
        disk.replace(path, with: whole)
        #expect(try AuditVerification(of: disk, expecting: hash).hasExpectedHash)
        lines.removeLast()
        disk.replace(path, with: Array(lines.map { $0 + [UInt8(ascii: "\n")] }.joined()))
        #expect(try problems().isEmpty && !AuditVerification(of: disk, expecting: hash).hasExpectedHash)
    }

    @Test("has no hole where a sync failed, the server was started again, and the power failed then")
    func failedSync() throws {
        _ = try writer().append(began("account.add"), milliseconds: 0)
        let first = try writer()
        // The line is written again, and synced; then it is the new one's sync that fails.
        disk.faults.failingCall = disk.calls + 5
        let error = try #require(throws: DiskError.self) {
            try first.append(began("account.remove"), milliseconds: 0)
        }
        #expect(error.isFailedSync)
        // The server ends on that. Nothing more is added before, though the disk would take it.
        #expect(throws: error) { try first.append(began("account.remove"), milliseconds: 0) }
        disk.endProcess()
        #expect(try entries().count == 2)
        let second = try writer()
        for _ in 0..<3 { _ = try second.append(began("token.create"), milliseconds: 0) }
        disk.crash(seed: 1, .nothing)
        #expect(try entries().count == 5)
    }

    @Test("loses the oldest files alone, whenever the power fails")
    func oldest() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        for start in 0..<100 {
            let writer = try writer(fileBytes: 500, files: 3)
            disk.faults.powerCutCall = disk.calls + Int.random(in: 0..<40, using: &generator)
            while (try? writer.append(began("snapshot"), milliseconds: 0)) != nil {}
            disk.crash(seed: UInt64(start))
            #expect(try problems(files: 3) == [], "seed \(seed)")
        }
        #expect(try AuditFile.list(on: disk).count <= 4)
    }

    @Test("shows a file that is missing between others, and none that went for its age")
    func files() throws {
        let writer = try writer(fileBytes: 500, files: 4)
        for _ in 0..<12 { _ = try writer.append(began("snapshot"), milliseconds: 0) }
        let files = try AuditFile.list(on: disk)
        #expect(files.count == 4 && files[0].first > 1)
        #expect(try problems(files: 4) == [] && AuditVerification(of: disk).numbers == files[0].first...12)
        // Of a log that may be larger nothing has gone by itself.
        #expect(
            try problems() == [
                "\(files[0].path), line 1: entries are missing: the first one has the number \(files[0].first), and the "
                    + "log is not full"
            ])
        disk.replace(files[2].path, with: nil)
        #expect(
            try problems(files: 4) == [
                "\(files[3].path), line 1: entries are missing: the last one before has the number "
                    + "\(files[2].first - 1)",
                "\(files[3].path), line 1: the line before is not what it was, or another one was there",
            ])
    }

    @Test("is read, whatever stands in its files, and written on")
    func damage() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let disk = SimulatedDisk()
            try disk.makeDirectory(AuditFile.folder)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let number = [1, 2, 999_999_999_900, UInt64.random(in: 1...50, using: &generator)]
                    .randomElement(using: &generator)!
                let line = AuditEntry(
                    number: .random(in: 1 ... .max, using: &generator), previous: AuditEntry.noHash, milliseconds: 0,
                    event: began("snapshot")
                ).line
                var bytes = Array(repeating: line + [10], count: Int.random(in: 0...3, using: &generator)).flatMap {
                    $0
                }
                for _ in 0..<Int.random(in: 0...4, using: &generator) where !bytes.isEmpty {
                    bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
                }
                bytes.removeLast(Int.random(in: 0...bytes.count, using: &generator))
                disk.replace(AuditFile.path(ofFirst: number), with: bytes)
            }
            let before = try AuditVerification(of: disk)
            let writer = try AuditWriter(on: disk)
            let number = try writer.append(began("snapshot"), milliseconds: 1)
            let after = try AuditVerification(of: disk)
            #expect(after.numbers?.upperBound == number, "seed \(seed)")
            // What is written stands behind what is there: a number may be missing, or twice, between the two.
            #expect(after.problemCount <= before.problemCount + 1, "seed \(seed)")
        }
    }

    @Test("a line is read as it was written, and in no other form")
    func lines() throws {
        let entry = AuditEntry(
            number: 7, previous: Array(0..<32), milliseconds: -1, event: began("role.add", "\u{85}\"\\\u{0}é"))
        #expect(AuditEntry(line: entry.line) == entry)
        let text = String(decoding: entry.line, as: UTF8.self)
        #expect(text.contains(#""target":"\u0085\u0022\u005c\u0000é""#), "\(text)")
        for other in [
            text + " ", text.replacing("é", with: "\\u00e9"), text.replacing(":7,", with: ":07,"),
            text.replacing("0001", with: "000A"), text.replacing("\"peer\"", with: "\"peers\""), "", "{}",
            "{\"number\":7}",
        ] where other != text {
            #expect(AuditEntry(line: Array(other.utf8)) == nil, "\(other)")
        }
    }
}
