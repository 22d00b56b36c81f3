internal import BrumeLock
internal import BrumeSystem
internal import Foundation

/// How much of the files of each record has been sent, or has come: for an operation's `perRecordProgressBlock`.
///
/// Tells of each hundredth once, below 1.0, which comes with the record. Transfers of one record run side by side, so
/// its files are counted together.
///
/// `@unchecked Sendable`: the block is called under the lock alone, one call at a time.
final class TransferProgress: @unchecked Sendable {
    private struct Count {
        var byteCount = 0
        /// What is done of each file.
        var done: [Int: Int] = [:]
        var toldHundredths = 0
    }

    private let counts = Lock<[CKRecord.ID: Count]>([:])
    private let tell: ((CKRecord.ID, Double) -> Void)?

    /// - Parameter tell: Nil when nobody wants to know.
    init(_ tell: ((CKRecord.ID, Double) -> Void)? = nil) { self.tell = tell }

    /// A record's files are to be transferred, so many bytes.
    func begin(_ id: CKRecord.ID, byteCount: Int) {
        if tell == nil { return }
        // Begun again, it tells nothing until it is further than before.
        counts.withLock { $0[id] = Count(byteCount: byteCount, toldHundredths: $0[id]?.toldHundredths ?? 0) }
    }

    /// The same for files of this device, as large as they are now.
    func begin(_ id: CKRecord.ID, files: [URL]) {
        if tell == nil { return }
        begin(id, byteCount: files.reduce(0) { $0 + ((try? FileSystem.status($1.path).version.byteCount) ?? 0) })
    }

    /// So many bytes of a file are done, by its place among those of the record.
    func moved(_ id: CKRecord.ID, file: Int, to byteCount: Int) {
        guard let tell else { return }
        counts.withLock { counts in
            guard var count = counts[id], count.byteCount > 0 else { return }
            count.done[file] = max(byteCount, count.done[file] ?? 0)
            let done = count.done.values.reduce(0, +)
            let hundredths = min(done * 100 / count.byteCount, 99)
            defer { counts[id] = count }
            if hundredths <= count.toldHundredths { return }
            count.toldHundredths = hundredths
            tell(id, Double(hundredths) / 100)
        }
    }
}
