/// Work for threads that wait for a disk: the pieces of a lane one after the other, several lanes at a time, and one
/// account after the other.
///
/// A transfer is a lane: its pieces build on one another. Nobody waits for all that somebody else has asked for, only
/// for one piece on each thread.
package struct LaneQueue<Work> {
    /// Pieces of work that come one after the other.
    package struct Lane: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Line {
        let account: ClientShare.Key
        var waiting: [Work] = []
        var isBusy = false
    }

    private var lines: [Lane: Line] = [:]
    /// The lanes with work that are not busy.
    private var ready = FairQueue<Lane>()
    private var lastNumber: UInt64 = 0
    /// The pieces that wait.
    package private(set) var count = 0

    package init() {}

    /// A lane that no work was in before.
    package mutating func makeLane() -> Lane {
        lastNumber += 1
        return Lane(number: lastNumber)
    }

    /// Adds a piece to the end of a lane, all of whose work is one account's.
    package mutating func append(_ work: Work, in lane: Lane, of account: ClientShare.Key) {
        var line = lines.removeValue(forKey: lane) ?? Line(account: account)
        precondition(line.account == account, "a lane has work of two accounts")
        if line.waiting.isEmpty, !line.isBusy { ready.append(lane, of: account) }
        line.waiting.append(work)
        lines[lane] = line
        count += 1
    }

    /// Takes the next piece of the next account; nil when there is none, or only some that wait for others of their
    /// lanes. ``ended(_:)`` follows when it is over.
    package mutating func next() -> (lane: Lane, work: Work)? {
        guard let lane = ready.popFirst()?.element else { return nil }
        count -= 1
        lines[lane]!.isBusy = true
        return (lane, lines[lane]!.waiting.removeFirst())
    }

    /// A piece is over that ``next()`` gave.
    package mutating func ended(_ lane: Lane) {
        guard let line = lines[lane], line.isBusy else { preconditionFailure("a piece of work ends that never began") }
        if line.waiting.isEmpty {
            lines[lane] = nil
        } else {
            lines[lane]!.isBusy = false
            ready.append(lane, of: line.account)
        }
    }
}
