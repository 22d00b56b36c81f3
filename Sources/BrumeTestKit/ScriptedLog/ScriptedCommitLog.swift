package import BrumeModel
package import BrumeStore
internal import BrumeSystem

/// One shard's part of ``ScriptedCommitLogs``.
///
/// `@unchecked Sendable`: a test has one thread.
package final class ScriptedCommitLog: CommitLog, @unchecked Sendable {
    package unowned var host: (any CommitLogHost)?
    let loop: EventLoop
    private unowned let logs: ScriptedCommitLogs
    private var recovered: [OpenedDatabase] = []
    /// Commits that are not durable; nil in the place of one whose database was lost.
    private var waiting: [(position: UInt64, entry: JournalEntry?)] = []
    private var appendedPosition: UInt64 = 0
    /// The records that commits moved between shared trees.
    private(set) var movedRecords = 0
    private var submittedPosition: UInt64 = 0
    /// What is durable, and what the host has been told of.
    private var reachedPosition: UInt64 = 0
    package private(set) var durablePosition: UInt64 = 0
    private var isOpen: Set<DatabaseID> = []
    private var fenced: Set<DatabaseID> = []
    private var heldOpenings: [(id: DatabaseID, done: (Result<OpenedDatabase, StoreError>) -> Void)] = []

    init(loop: EventLoop, logs: ScriptedCommitLogs) {
        self.loop = loop
        self.logs = logs
    }

    // MARK: Databases

    func adopt(_ opened: OpenedDatabase) { recovered.append(opened) }

    package func takeRecovered() -> [OpenedDatabase] {
        let opened = exchange(&recovered, with: [])
        isOpen.formUnion(opened.map(\.database.id))
        return opened
    }

    package func open(
        _ id: DatabaseID, background: (_ work: @escaping @Sendable () -> Void) -> Void,
        _ done: @escaping (Result<OpenedDatabase, StoreError>) -> Void
    ) {
        precondition(!isOpen.contains(id), "a database is opened that is open")
        let opening = Opening(done)
        switch logs.opening {
        case .atOnce: done(outcome(of: id))
        case .inBackground:
            background { [self] in
                loop.execute { [self] in opening.done(outcome(of: id)) }
            }
        case .held: background { [self] in heldOpenings.append((id, opening.done)) }
        }
    }

    /// `@unchecked Sendable`: a test has one thread.
    private struct Opening: @unchecked Sendable {
        let done: (Result<OpenedDatabase, StoreError>) -> Void

        init(_ done: @escaping (Result<OpenedDatabase, StoreError>) -> Void) { self.done = done }
    }

    /// Whoever opens a database owns it from then on.
    private func outcome(of id: DatabaseID) -> Result<OpenedDatabase, StoreError> {
        if let error = logs.takeOpeningError() { return .failure(error) }
        isOpen.insert(id)
        fenced.remove(id)
        return .success(logs.storage.open(id, run: logs.run))
    }

    func finishOpenings() {
        for (id, done) in exchange(&heldOpenings, with: []) {
            let opening = Opening(done)
            loop.execute { [self] in opening.done(outcome(of: id)) }
        }
    }

    /// What was taken of the database and is not durable never will be.
    package func close(_ id: DatabaseID) {
        isOpen.remove(id)
        forgetWaiting(id)
    }

    private func forgetWaiting(_ id: DatabaseID) {
        for index in waiting.indices where waiting[index].entry?.database == id { waiting[index].entry = nil }
    }

    // MARK: Commits

    package var refusal: CommitLogRefusal? { logs.isFull ? .full : logs.isBehind ? .behind : nil }

    package func append(_ entry: JournalEntry, movedRecords: Int) throws(CommitLogRefusal) -> AppendedCommit {
        if logs.takesNoMore { throw .full }
        if fenced.contains(entry.database) { throw .fenced }
        precondition(isOpen.contains(entry.database), "a commit comes of a database that is not open")
        appendedPosition += 1
        self.movedRecords += movedRecords
        waiting.append((appendedPosition, entry))
        return AppendedCommit(position: appendedPosition, byteCount: 100)
    }

    package func submit() { submittedPosition = appendedPosition }

    var undurableCount: Int { waiting.count }

    /// Makes durable what was submitted, up to a position.
    func makeDurable(upTo position: UInt64, tellsHost: Bool = true) {
        var saved: [DatabaseID: UInt64] = [:]
        let before = reachedPosition
        while let next = waiting.first, next.position <= min(position, submittedPosition) {
            waiting.removeFirst()
            reachedPosition = next.position
            guard let entry = next.entry else { continue }
            logs.storage.commit(entry)
            if logs.savesAtOnce {
                logs.storage.save(entry.database, upTo: entry.sequence)
                saved[entry.database] = entry.sequence
            }
        }
        if reachedPosition == before || !tellsHost { return }
        loop.execute { [self, reached = reachedPosition, saved] in
            durablePosition = reached
            host?.becameDurable(upTo: reached)
            for (id, sequence) in saved { host?.saved(id, upTo: sequence) }
        }
    }

    // MARK: Owners

    /// Another owner takes a database: what is not durable of it never will be.
    func fence(_ id: DatabaseID) {
        forgetWaiting(id)
        if isOpen.contains(id) { fenced.insert(id) }
    }

    func tellLost(_ id: DatabaseID) {
        loop.execute { [self] in host?.lost(id) }
    }

    var openIDs: [DatabaseID] { logs.storage.ids.filter { isOpen.contains($0) } }

    // MARK: Saving

    package func save(_ ids: [DatabaseID], _ done: @escaping @Sendable (_ isSaved: Bool) -> Void) {
        guard let host, !logs.failsToSave else { return loop.execute { done(false) } }
        host.capture(ids[...]) { [self] captures, taken in
            for capture in captures {
                logs.storage.save(capture.id, upTo: capture.sequence)
                loop.execute { self.host?.saved(capture.id, upTo: capture.sequence) }
            }
            if taken < ids.count {
                loop.execute { self.save(Array(ids.dropFirst(taken)), done) }
            } else {
                loop.execute { done(true) }
            }
        }
    }
}
