internal import Synchronization

/// Whether several accounts write to the disk, whichever loops their databases are on. Any thread.
final class DiskSharing: Sendable {
    /// An account is alone when no other one has written for so long.
    static let nanoseconds: UInt64 = 1_000_000_000

    /// The ``ClientShare/writer`` that wrote last; 0 when none did.
    private let last = Atomic<UInt>(0)
    private let sharedUntilNanoseconds = Atomic<UInt64>(0)

    func isShared(atNanoseconds now: UInt64) -> Bool { now < sharedUntilNanoseconds.load(ordering: .relaxed) }

    /// Notes that an account made a commit.
    func wrote(_ share: ClientShare, atNanoseconds now: UInt64) {
        let writer = share.writer
        // The usual case when one account writes much: nothing changes that other loops read.
        if last.load(ordering: .relaxed) == writer { return }
        if last.exchange(writer, ordering: .relaxed) == 0 { return }
        sharedUntilNanoseconds.store(now + Self.nanoseconds, ordering: .relaxed)
    }
}
