internal import BrumeService
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
    /// The number of submissions that came before the last rotation.
    private var submissionsBeforeRotation = 0
    private var removals: [Removal] = []
    /// The bytes of the submissions that wait, and of those that were taken and are not durable.
    private(set) var byteCount = 0
    private var takenByteCount = 0
    private var emptied: [JournalEntries] = []

    /// How many emptied buffers are kept: for as many loops, each with room for what it expects of a turn.
    static let emptiedMax = 4

    var isEmpty: Bool { submissions.isEmpty && rotations.isEmpty && removals.isEmpty }
    var hasSubmissions: Bool { !submissions.isEmpty }

    /// Adds a submission. Returns whether it is the only one.
    mutating func append(_ submission: Submission) -> Bool {
        byteCount += submission.byteCount
        submissions.append(submission)
        return submissions.count == 1
    }

    /// Adds a rotation, to be done after all submissions that are in the queue.
    mutating func append(_ rotation: @escaping Rotation) {
        rotations.append(rotation)
        submissionsBeforeRotation = submissions.count
    }

    mutating func append(_ removal: Removal) { removals.append(removal) }

    /// Takes submissions of up to so many bytes, at least one, with all removals, and with the rotations if nothing is
    /// left of what came before them; nil when there is nothing to do.
    ///
    /// When work comes in faster than it is done, the queue is never empty. So rotations don't wait until it is:
    /// without them no snapshot would be taken, and the journal would grow for as long as it lasts.
    ///
    /// In order of arrival: those of one loop must keep their order, and a large one that smaller ones of other loops
    /// could overtake would have to be kept from waiting forever. What an account may have here is bounded instead, by
    /// ``ServiceLimits/undurableTurnBytes`` and ``ServiceLimits/undurableAccountBytes``.
    mutating func take(bytesLimit: Int) -> Work? {
        if isEmpty { return nil }
        var count = 0
        var bytes = 0
        while count < submissions.count, count == 0 || bytes + submissions[count].byteCount <= bytesLimit {
            bytes += submissions[count].byteCount
            count += 1
        }
        takenByteCount += bytes
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

    /// Whether the memory of entries is worth keeping: neither very small nor more than a turn needs.
    static func mayKeep(_ entries: JournalEntries) -> Bool {
        (4096...2 * ServerLimits.expectedTurnBytes).contains(entries.capacity)
    }

    /// All submissions that were taken have become durable. Their emptied memory comes back: filling it again needs no
    /// new pages from the system.
    mutating func becameDurable(_ room: [JournalEntries]) {
        byteCount -= takenByteCount
        takenByteCount = 0
        emptied += room.prefix(Self.emptiedMax - emptied.count)
    }

    /// Memory kept for the entries of a turn, if there is any.
    mutating func takeEmptied() -> JournalEntries { emptied.popLast() ?? JournalEntries() }
}
