/// Reads the whole audit log of a folder, entry by entry, and says where its chain is broken.
///
/// It may be read while a server writes: what stands behind the last whole line is left out.
package struct AuditVerification: Sendable {
    /// What is wrong at a line of a file.
    package struct Problem: Equatable, Sendable, CustomStringConvertible {
        package let path: String
        /// From 1 on.
        package let line: Int
        package let text: String

        package var description: String { "\(path), line \(line): \(text)" }
    }

    /// The number of the first entry that there is, and of the last; nil for an empty log. Older ones have gone, where
    /// the first is not 1.
    package private(set) var numbers: ClosedRange<UInt64>?
    /// The hash of the last line.
    package private(set) var lastHash = AuditEntry.noHash
    /// The first problems.
    package private(set) var problems: [Problem] = []
    package private(set) var problemCount = 0
    /// Whether a line has the hash that was looked for.
    package private(set) var hasExpectedHash = false
    /// Acts of which no end is noted: the server ended meanwhile, or they are under way.
    package private(set) var openActs: Set<UInt64> = []
    /// Where files end in an entry that is not whole: a crash came before its act, or somebody has cut the end of the
    /// log, which no chain shows. It is no problem by itself.
    package private(set) var unfinished: [Problem] = []

    private static let problemsMax = 20
    private var hasBegun = false

    /// - Parameters:
    ///   - limits: How much is kept: the oldest files go where there are as many as these say, and are missed where
    ///     there are fewer.
    ///   - hash: The hash that the last line once had, as was noted elsewhere.
    ///   - visit: Called with each entry that can be read, and the hash of its line.
    package init(
        of disk: any Disk, limits: AuditLimits = AuditLimits(), expecting hash: [UInt8]? = nil,
        visit: (AuditEntry, _ hash: [UInt8]) -> Void = { _, _ in }
    ) throws(DiskError) {
        let files = try AuditFile.list(on: disk)
        // A crash may have come between the removal of a file without entries and the making of another one.
        if let (first, path) = files.first, first > 1, files.count < limits.files - 1 {
            note(path, 1, "entries are missing: the first one has the number \(first), and the log is not full")
        }
        for (first, path) in files {
            let lines: AuditLines
            do throws(DiskError) {
                lines = try AuditLines(path, on: disk)
            } catch {
                // The oldest goes when a server begins a file.
                if error.isMissing, numbers == nil { continue }
                throw error
            }
            if let last = numbers?.upperBound, !lines.whole.isEmpty, first != last + 1 {
                note(path, 1, "entries are missing: the last one before has the number \(last)")
            }
            var number = first
            for (index, bytes) in lines.whole.enumerated() {
                let line = Array(bytes)
                let entry = AuditEntry(line: line)
                numbers = (numbers?.lowerBound ?? first)...(first + UInt64(index))
                check(entry, of: line, number: number, path, index + 1, disk)
                if lastHash == hash { hasExpectedHash = true }
                if let entry { visit(entry, lastHash) }
                // Where one was taken out, those behind it are told by it alone.
                number = (entry?.number ?? number) &+ 1
            }
            if let line = lines.unfinishedLine, unfinished.count < Self.problemsMax {
                unfinished.append(Problem(path: path, line: line, text: "an entry is not whole"))
            }
        }
    }

    private mutating func check(
        _ entry: AuditEntry?, of line: [UInt8], number: UInt64, _ path: String, _ place: Int, _ disk: any Disk
    ) {
        let former = lastHash
        let isFirst = !hasBegun
        hasBegun = true
        lastHash = disk.sha256(line)
        guard let entry else { return note(path, place, "this is no entry") }
        if entry.number != number {
            note(path, place, "the entry has the number \(entry.number), and \(number) by its place")
        }
        if isFirst ? number == 1 && entry.previous != AuditEntry.noHash : entry.previous != former {
            note(path, place, "the line before is not what it was, or another one was there")
        }
        switch entry.event {
        case .began: openActs.insert(entry.number)
        case .ended(let number, _): openActs.remove(number)
        }
    }

    private mutating func note(_ path: String, _ line: Int, _ text: String) {
        problemCount += 1
        if problems.count < Self.problemsMax { problems.append(Problem(path: path, line: line, text: text)) }
    }
}
