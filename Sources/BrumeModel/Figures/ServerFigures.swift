/// What a server has done since its start, and what it holds now. Names no account, container or database.
package struct ServerFigures: Equatable, Sendable {
    package var health = HealthStatus(isServing: true, uptimeMilliseconds: 0)
    /// Event loops.
    package var loops = 0
    /// User and system time of the process.
    package var cpuNanoseconds: UInt64 = 0

    /// Calls by method; those that were never called may be missing.
    package var methods: [MethodFigures] = []
    /// Calls that were refused before they began: too many calls on the connection, an unknown method, or a server that
    /// drains.
    package var refusedCalls: UInt64 = 0
    /// Calls that have not ended, streams included.
    package var openCalls = 0
    /// Items that failed in requests that succeeded as a whole, by code: 14 is a conflict.
    package var itemFailures: [ErrorCode: UInt64] = [:]
    package var commits: UInt64 = 0
    /// Records, zones and subscriptions that commits wrote or deleted.
    package var changes: UInt64 = 0

    package var connections = Connections()
    /// File descriptors of the process: files, sockets and what else has one.
    package var descriptors = Descriptors()
    package var push = Push()
    package var journal = Journal()
    package var databases = Databases()
    package var assets = Assets()
    package var memory = Memory()

    package init() {}

    package struct Connections: Equatable, Sendable {
        package var open = 0
        package var accepted: UInt64 = 0
        /// Connections that were welcomed.
        package var welcomed: UInt64 = 0
        /// Connections that were refused with a reason: not authenticated, late, or in breach of the protocol.
        package var refused: UInt64 = 0
        /// The number of connections that the server accepts.
        package var limit = 0
        /// Connections that were closed because the server had as many as it accepts.
        package var beyondLimit: UInt64 = 0
        /// Connections that were closed because their address had as many as it may have without an account.
        package var beyondAddress: UInt64 = 0
        /// Connections that were refused because their account, or all clients without one, had as many as allowed.
        package var beyondAccount: UInt64 = 0
        /// Connections that were closed before they authenticated: to make room for others, or because they took too
        /// long.
        package var late: UInt64 = 0
        /// Connections that were closed because they held resources that others needed.
        package var shed: UInt64 = 0

        package init() {}
    }

    package struct Descriptors: Equatable, Sendable {
        package var open = 0
        package var limit = 0

        package init() {}
    }

    package struct Push: Equatable, Sendable {
        /// Notification streams that are open.
        package var streams = 0
        /// Events that were sent to devices.
        package var sent: UInt64 = 0
        /// Events that were made, one for each user whom a commit concerns.
        package var published: UInt64 = 0
        /// The time from a commit to the hand-over of its events to the listening devices, for commits that had any.
        package var lagNanoseconds = Histogram()
        /// Times that a device was told to fetch, because events for it were no longer kept.
        package var missed: UInt64 = 0
        /// Events that are kept for devices.
        package var backlogEvents = 0

        package init() {}
    }

    package struct Journal: Equatable, Sendable {
        /// The time of one batch's write and sync.
        package var syncNanoseconds = Histogram()
        /// Commits in one batch.
        package var batchEntries = Histogram()
        /// Bytes of one batch's commits.
        package var batchBytes = Histogram()
        /// Files of the journal.
        package var segments = 0

        package init() {}
    }

    package struct Databases: Equatable, Sendable {
        /// Databases in memory.
        package var loaded = 0
        package var loading = 0
        /// Loads since the start.
        package var loads: UInt64 = 0
        /// Databases that were dropped from memory.
        package var drops: UInt64 = 0
        /// Queries that have begun and not ended.
        package var runningQueries = 0
        /// Snapshots that were written.
        package var snapshots: UInt64 = 0
        package var snapshotBytes: UInt64 = 0

        package init() {}
    }

    /// Contents of assets.
    package struct Assets: Equatable, Sendable {
        /// Uploads and downloads that are open.
        package var transfers = 0
        /// Uploads that ended with an asset.
        package var uploads: UInt64 = 0
        package var uploadedBytes: UInt64 = 0
        /// Downloads that ended as they should.
        package var downloads: UInt64 = 0
        package var downloadedBytes: UInt64 = 0
        /// Files that were removed because no record named them any more.
        package var removedFiles: UInt64 = 0
        /// Bytes that records of the databases in memory name.
        package var namedBytes: UInt64 = 0
        /// Bytes of uploads that no record has named yet.
        package var pendingBytes: UInt64 = 0
        /// Bytes that no record names any more, and that are not removed yet.
        package var unneededBytes: UInt64 = 0

        package init() {}

        fileprivate mutating func add(_ other: Assets) {
            transfers += other.transfers
            uploads += other.uploads
            uploadedBytes += other.uploadedBytes
            downloads += other.downloads
            downloadedBytes += other.downloadedBytes
            removedFiles += other.removedFiles
            namedBytes += other.namedBytes
            pendingBytes += other.pendingBytes
            unneededBytes += other.unneededBytes
        }
    }

    /// About how many bytes each part takes.
    package struct Memory: Equatable, Sendable {
        /// What the databases in memory hold: records, names, feeds, look-ups.
        package var databaseBytes = 0
        /// Events that are kept for devices.
        package var backlogBytes = 0
        /// Answers that wait for the disk.
        package var heldAnswerBytes = 0
        /// Calls that wait for their database to be loaded.
        package var waitingCallBytes = 0
        /// Commits that wait for the disk.
        package var undurableBytes = 0
        /// Answers for clients: on their way between loops, waiting for the disk, or not read by their peers.
        package var unreadAnswerBytes = 0
        /// Requests that have not fully arrived, or are on their way to their database.
        package var unfinishedRequestBytes = 0
        /// The resident memory of the process, as the kernel reports it.
        package var residentBytes = 0

        package init() {}

        fileprivate mutating func add(_ other: Memory) {
            databaseBytes += other.databaseBytes
            backlogBytes += other.backlogBytes
            heldAnswerBytes += other.heldAnswerBytes
            waitingCallBytes += other.waitingCallBytes
            undurableBytes += other.undurableBytes
            unreadAnswerBytes += other.unreadAnswerBytes
            unfinishedRequestBytes += other.unfinishedRequestBytes
            residentBytes += other.residentBytes
        }
    }

    /// Adds what another part of the same server counted. Health, uptime and CPU time are the whole server's, and stay.
    package mutating func add(_ other: ServerFigures) {
        loops += other.loops
        for method in other.methods { self[method.method].add(method) }
        refusedCalls += other.refusedCalls
        openCalls += other.openCalls
        itemFailures.merge(other.itemFailures) { $0 + $1 }
        commits += other.commits
        changes += other.changes
        connections.open += other.connections.open
        connections.accepted += other.connections.accepted
        connections.welcomed += other.connections.welcomed
        connections.refused += other.connections.refused
        connections.limit += other.connections.limit
        connections.beyondLimit += other.connections.beyondLimit
        connections.beyondAddress += other.connections.beyondAddress
        connections.beyondAccount += other.connections.beyondAccount
        connections.late += other.connections.late
        connections.shed += other.connections.shed
        descriptors.open += other.descriptors.open
        descriptors.limit += other.descriptors.limit
        push.streams += other.push.streams
        push.sent += other.push.sent
        push.published += other.push.published
        push.lagNanoseconds.merge(other.push.lagNanoseconds)
        push.missed += other.push.missed
        push.backlogEvents += other.push.backlogEvents
        journal.syncNanoseconds.merge(other.journal.syncNanoseconds)
        journal.batchEntries.merge(other.journal.batchEntries)
        journal.batchBytes.merge(other.journal.batchBytes)
        journal.segments += other.journal.segments
        databases.loaded += other.databases.loaded
        databases.loading += other.databases.loading
        databases.loads += other.databases.loads
        databases.drops += other.databases.drops
        databases.runningQueries += other.databases.runningQueries
        databases.snapshots += other.databases.snapshots
        databases.snapshotBytes += other.databases.snapshotBytes
        assets.add(other.assets)
        memory.add(other.memory)
    }

    /// A method's figures, by its number on the wire.
    package subscript(_ method: UInt32) -> MethodFigures {
        get { methods.first { $0.method == method } ?? MethodFigures(method: method) }
        set {
            if let index = methods.firstIndex(where: { $0.method == method }) {
                methods[index] = newValue
            } else {
                methods.append(newValue)
            }
        }
    }
}

extension ServerFigures {
    /// What was counted since an earlier look at the same server; what is held stays as it is now. All of it when the
    /// server was started again in between.
    package func since(_ earlier: ServerFigures) -> ServerFigures {
        guard health.uptimeMilliseconds >= earlier.health.uptimeMilliseconds else { return self }
        func difference(_ now: UInt64, _ before: UInt64) -> UInt64 { now > before ? now - before : 0 }
        var figures = self
        figures.cpuNanoseconds = difference(cpuNanoseconds, earlier.cpuNanoseconds)
        figures.methods = methods.map { $0.since(earlier[$0.method]) }
        figures.refusedCalls = difference(refusedCalls, earlier.refusedCalls)
        for (code, count) in itemFailures {
            let added = difference(count, earlier.itemFailures[code] ?? 0)
            figures.itemFailures[code] = added > 0 ? added : nil
        }
        figures.commits = difference(commits, earlier.commits)
        figures.changes = difference(changes, earlier.changes)
        figures.connections.accepted = difference(connections.accepted, earlier.connections.accepted)
        figures.connections.welcomed = difference(connections.welcomed, earlier.connections.welcomed)
        figures.connections.refused = difference(connections.refused, earlier.connections.refused)
        figures.connections.beyondLimit = difference(connections.beyondLimit, earlier.connections.beyondLimit)
        figures.connections.beyondAddress = difference(connections.beyondAddress, earlier.connections.beyondAddress)
        figures.connections.beyondAccount = difference(connections.beyondAccount, earlier.connections.beyondAccount)
        figures.connections.late = difference(connections.late, earlier.connections.late)
        figures.connections.shed = difference(connections.shed, earlier.connections.shed)
        figures.push.sent = difference(push.sent, earlier.push.sent)
        figures.push.published = difference(push.published, earlier.push.published)
        figures.push.lagNanoseconds = push.lagNanoseconds.since(earlier.push.lagNanoseconds)
        figures.push.missed = difference(push.missed, earlier.push.missed)
        figures.journal.syncNanoseconds = journal.syncNanoseconds.since(earlier.journal.syncNanoseconds)
        figures.journal.batchEntries = journal.batchEntries.since(earlier.journal.batchEntries)
        figures.journal.batchBytes = journal.batchBytes.since(earlier.journal.batchBytes)
        figures.databases.loads = difference(databases.loads, earlier.databases.loads)
        figures.databases.drops = difference(databases.drops, earlier.databases.drops)
        figures.databases.snapshots = difference(databases.snapshots, earlier.databases.snapshots)
        figures.databases.snapshotBytes = difference(databases.snapshotBytes, earlier.databases.snapshotBytes)
        figures.assets.uploads = difference(assets.uploads, earlier.assets.uploads)
        figures.assets.uploadedBytes = difference(assets.uploadedBytes, earlier.assets.uploadedBytes)
        figures.assets.downloads = difference(assets.downloads, earlier.assets.downloads)
        figures.assets.downloadedBytes = difference(assets.downloadedBytes, earlier.assets.downloadedBytes)
        figures.assets.removedFiles = difference(assets.removedFiles, earlier.assets.removedFiles)
        return figures
    }
}
