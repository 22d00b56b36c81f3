internal import BrumeStore

/// What waits for the journal's thread: submissions in the order in which they came, and rotations and removals, which
/// are never kept waiting by what comes after them.
struct JournalQueue {
    /// What a shard hands in: encoded entries, and how many it has handed in altogether.
    struct Submission {
        var shard: Int
        var entries: JournalEntries
        var lastPosition: UInt64

        var byteCount: Int { entries.byteCount }
    }

    struct Removal {
        var firstKept: UInt64
        var removedCount = 0
        var done: @Sendable (_ segmentsRemoved: Int, _ segmentsKept: UInt64) -> Void
    }

    typealias Rotation = @Sendable (Result<UInt64, DiskError>) -> Void

    /// What is done in one go.
    struct Work {
        var submissions: [Submission]
        var rotations: [Rotation]
        var removals: [Removal]
    }

    private var submissions: [Submission] = []
    private var rotations: [Rotation] = []
    /// The submissions that came before the last rotation.
    private var submissionsBeforeRotation = 0
    private var removals: [Removal] = []
    /// Of the submissions.
    private(set) var byteCount = 0
    private var emptied: [JournalEntries] = []

    /// Room of emptied submissions that is kept: for as many loops, each with what it expects of a turn.
    static let emptiedMax = 4

    var isEmpty: Bool { submissions.isEmpty && rotations.isEmpty && removals.isEmpty }
    var hasSubmissions: Bool { !submissions.isEmpty }

    /// Returns whether it is the only one.
    mutating func append(_ submission: Submission) -> Bool {
        byteCount += submission.byteCount
        submissions.append(submission)
        return submissions.count == 1
    }

    /// Adds what is to be done behind all submissions that are here.
    mutating func append(_ rotation: @escaping Rotation) {
        rotations.append(rotation)
        submissionsBeforeRotation = submissions.count
    }

    mutating func append(_ removal: Removal) { removals.append(removal) }

    /// Takes submissions of up to so many bytes, at least one, with all removals, and with the rotations if nothing is
    /// left of what came before them; nil: there is nothing.
    ///
    /// Where work comes in faster than it is done the queue is never empty. So rotations don't wait for that: without
    /// them no snapshot would be taken, and the journal would grow for as long as it lasts.
    ///
    /// In the order in which they came: those of one loop may not change places, and a large one that smaller ones of
    /// other loops may pass would have to be kept from waiting for ever. What an account may have here is bounded
    /// instead, by ``ServerLimits/undurableTurnBytes`` and ``ServerLimits/undurableAccountBytes``.
    mutating func take(bytesLimit: Int) -> Work? {
        if isEmpty { return nil }
        var count = 0
        var bytes = 0
        while count < submissions.count, count == 0 || bytes + submissions[count].byteCount <= bytesLimit {
            bytes += submissions[count].byteCount
            count += 1
        }
        byteCount -= bytes
        var work = Work(submissions: [], rotations: [], removals: exchange(&removals, with: []))
        submissionsBeforeRotation = max(submissionsBeforeRotation - count, 0)
        if submissionsBeforeRotation == 0 { swap(&work.rotations, &rotations) }
        if count < submissions.count {
            work.submissions = Array(submissions.prefix(count))
            submissions.removeFirst(count)
        } else {
            swap(&work.submissions, &submissions)
        }
        return work
    }

    // MARK: Memory that is used again

    /// Whether the room of entries is worth keeping: neither next to nothing nor more than a turn needs.
    static func mayKeep(_ entries: JournalEntries) -> Bool {
        (4096...2 * ServerLimits.expectedTurnBytes).contains(entries.capacity)
    }

    /// Takes back what has become durable, emptied: filling memory that was filled before needs no new pages of the
    /// system.
    mutating func recycle(_ room: [JournalEntries]) {
        emptied += room.prefix(Self.emptiedMax - emptied.count)
    }

    /// Room for the entries of a turn, or none.
    mutating func takeEmptied() -> JournalEntries { emptied.popLast() ?? JournalEntries() }
}
