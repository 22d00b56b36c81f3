package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// The server's figures, both sides.
extension MessageCoder {
    package func encodeStatsRequest() -> [UInt8] {
        encode { $0.make(brume__v1__stats_request__init) }
    }

    package func decodeStatsRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try request(brume__v1__stats_request__unpack, bytes)
    }

    package func encodeStatsResponse(_ figures: ServerFigures) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__stats_response__init)
            message.pointee.serving = figures.health.isServing ? 1 : 0
            message.pointee.disk_full = figures.health.isDiskFull ? 1 : 0
            message.pointee.damage_found = figures.health.isDamageFound ? 1 : 0
            message.pointee.uptime_milliseconds = figures.health.uptimeMilliseconds
            message.pointee.loops = UInt32(clamping: figures.loops)
            message.pointee.cpu_nanoseconds = figures.cpuNanoseconds

            message.pointee.n_methods = figures.methods.count
            message.pointee.methods = arena.messages(figures.methods, arena.method)
            message.pointee.refused_calls = figures.refusedCalls
            message.pointee.open_calls = UInt64(clamping: figures.openCalls)
            let itemFailures = figures.itemFailures.sorted { $0.key.rawValue < $1.key.rawValue }
            message.pointee.n_item_failures = itemFailures.count
            message.pointee.item_failures = arena.messages(itemFailures, arena.errorCount)
            message.pointee.commits = figures.commits
            message.pointee.changes = figures.changes

            message.pointee.open_connections = UInt64(clamping: figures.connections.open)
            message.pointee.accepted_connections = figures.connections.accepted
            message.pointee.welcomed_connections = figures.connections.welcomed
            message.pointee.refused_connections = figures.connections.refused
            message.pointee.connection_limit = UInt64(clamping: figures.connections.limit)
            message.pointee.connections_beyond_limit = figures.connections.beyondLimit
            message.pointee.connections_beyond_address = figures.connections.beyondAddress
            message.pointee.connections_beyond_account = figures.connections.beyondAccount
            message.pointee.connections_late = figures.connections.late
            message.pointee.connections_shed = figures.connections.shed
            message.pointee.descriptors = UInt64(clamping: figures.descriptors.open)
            message.pointee.descriptor_limit = UInt64(clamping: figures.descriptors.limit)

            message.pointee.open_streams = UInt64(clamping: figures.push.streams)
            message.pointee.sent_events = figures.push.sent
            message.pointee.published_events = figures.push.published
            message.pointee.push_lag_nanoseconds = arena.histogram(figures.push.lagNanoseconds)
            message.pointee.missed_events = figures.push.missed
            message.pointee.backlog_events = UInt64(clamping: figures.push.backlogEvents)

            message.pointee.sync_nanoseconds = arena.histogram(figures.journal.syncNanoseconds)
            message.pointee.batch_entries = arena.histogram(figures.journal.batchEntries)
            message.pointee.batch_bytes = arena.histogram(figures.journal.batchBytes)
            message.pointee.journal_segments = UInt32(clamping: figures.journal.segments)

            message.pointee.loaded_databases = UInt64(clamping: figures.databases.loaded)
            message.pointee.loading_databases = UInt64(clamping: figures.databases.loading)
            message.pointee.loads = figures.databases.loads
            message.pointee.drops = figures.databases.drops
            message.pointee.running_queries = UInt64(clamping: figures.databases.runningQueries)
            message.pointee.snapshots = figures.databases.snapshots
            message.pointee.snapshot_bytes = figures.databases.snapshotBytes

            message.pointee.open_transfers = UInt64(clamping: figures.assets.transfers)
            message.pointee.uploads = figures.assets.uploads
            message.pointee.uploaded_bytes = figures.assets.uploadedBytes
            message.pointee.downloads = figures.assets.downloads
            message.pointee.downloaded_bytes = figures.assets.downloadedBytes
            message.pointee.removed_asset_files = figures.assets.removedFiles
            message.pointee.named_asset_bytes = figures.assets.namedBytes
            message.pointee.pending_asset_bytes = figures.assets.pendingBytes
            message.pointee.unneeded_asset_bytes = figures.assets.unneededBytes

            message.pointee.database_bytes = UInt64(clamping: figures.memory.databaseBytes)
            message.pointee.backlog_bytes = UInt64(clamping: figures.memory.backlogBytes)
            message.pointee.held_answer_bytes = UInt64(clamping: figures.memory.heldAnswerBytes)
            message.pointee.waiting_call_bytes = UInt64(clamping: figures.memory.waitingCallBytes)
            message.pointee.undurable_bytes = UInt64(clamping: figures.memory.undurableBytes)
            message.pointee.unread_answer_bytes = UInt64(clamping: figures.memory.unreadAnswerBytes)
            message.pointee.unfinished_request_bytes = UInt64(clamping: figures.memory.unfinishedRequestBytes)
            message.pointee.resident_bytes = UInt64(clamping: figures.memory.residentBytes)
            return message
        }
    }

    package func decodeStatsResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> ServerFigures {
        let message = try answer(brume__v1__stats_response__unpack, bytes).pointee
        var figures = ServerFigures()
        figures.health = HealthStatus(
            isServing: message.serving != 0, uptimeMilliseconds: message.uptime_milliseconds,
            isDiskFull: message.disk_full != 0, isDamageFound: message.damage_found != 0)
        figures.loops = Int(message.loops)
        figures.cpuNanoseconds = message.cpu_nanoseconds

        figures.methods = try values(message.methods, message.n_methods) { (method) throws(ServiceError) in
            try MethodFigures(method.pointee)
        }
        figures.refusedCalls = message.refused_calls
        figures.openCalls = Int(clamping: message.open_calls)
        figures.itemFailures = errorCounts(message.item_failures, message.n_item_failures)
        figures.commits = message.commits
        figures.changes = message.changes

        figures.connections.open = Int(clamping: message.open_connections)
        figures.connections.accepted = message.accepted_connections
        figures.connections.welcomed = message.welcomed_connections
        figures.connections.refused = message.refused_connections
        figures.connections.limit = Int(clamping: message.connection_limit)
        figures.connections.beyondLimit = message.connections_beyond_limit
        figures.connections.beyondAddress = message.connections_beyond_address
        figures.connections.beyondAccount = message.connections_beyond_account
        figures.connections.late = message.connections_late
        figures.connections.shed = message.connections_shed
        figures.descriptors.open = Int(clamping: message.descriptors)
        figures.descriptors.limit = Int(clamping: message.descriptor_limit)

        figures.push.streams = Int(clamping: message.open_streams)
        figures.push.sent = message.sent_events
        figures.push.published = message.published_events
        figures.push.lagNanoseconds = try histogram(message.push_lag_nanoseconds)
        figures.push.missed = message.missed_events
        figures.push.backlogEvents = Int(clamping: message.backlog_events)

        figures.journal.syncNanoseconds = try histogram(message.sync_nanoseconds)
        figures.journal.batchEntries = try histogram(message.batch_entries)
        figures.journal.batchBytes = try histogram(message.batch_bytes)
        figures.journal.segments = Int(message.journal_segments)

        figures.databases.loaded = Int(clamping: message.loaded_databases)
        figures.databases.loading = Int(clamping: message.loading_databases)
        figures.databases.loads = message.loads
        figures.databases.drops = message.drops
        figures.databases.runningQueries = Int(clamping: message.running_queries)
        figures.databases.snapshots = message.snapshots
        figures.databases.snapshotBytes = message.snapshot_bytes

        figures.assets.transfers = Int(clamping: message.open_transfers)
        figures.assets.uploads = message.uploads
        figures.assets.uploadedBytes = message.uploaded_bytes
        figures.assets.downloads = message.downloads
        figures.assets.downloadedBytes = message.downloaded_bytes
        figures.assets.removedFiles = message.removed_asset_files
        figures.assets.namedBytes = message.named_asset_bytes
        figures.assets.pendingBytes = message.pending_asset_bytes
        figures.assets.unneededBytes = message.unneeded_asset_bytes

        figures.memory.databaseBytes = Int(clamping: message.database_bytes)
        figures.memory.backlogBytes = Int(clamping: message.backlog_bytes)
        figures.memory.heldAnswerBytes = Int(clamping: message.held_answer_bytes)
        figures.memory.waitingCallBytes = Int(clamping: message.waiting_call_bytes)
        figures.memory.undurableBytes = Int(clamping: message.undurable_bytes)
        figures.memory.unreadAnswerBytes = Int(clamping: message.unread_answer_bytes)
        figures.memory.unfinishedRequestBytes = Int(clamping: message.unfinished_request_bytes)
        figures.memory.residentBytes = Int(clamping: message.resident_bytes)
        return figures
    }
}

extension MethodFigures {
    fileprivate init(_ message: Brume__V1__MethodStats) throws(ServiceError) {
        // An open set: a server may be newer.
        let method = Method(rawValue: UInt32(message.method.rawValue))
        self.init(method: method.rawValue, name: method.name)
        ended = message.ended
        cancelled = message.cancelled
        failures = errorCounts(message.failures, message.n_failures)
        latencyNanoseconds = try histogram(message.latency_nanoseconds)
    }
}

private func errorCounts(
    _ list: UnsafeMutablePointer<UnsafeMutablePointer<Brume__V1__ErrorCount>?>?, _ count: Int
) -> [ErrorCode: UInt64] {
    var counts: [ErrorCode: UInt64] = [:]
    guard let list else { return counts }
    for index in 0..<count {
        guard let item = list[index]?.pointee else { continue }
        counts[ErrorCode(rawValue: item.code), default: 0] &+= item.count
    }
    return counts
}

private func histogram(_ message: UnsafeMutablePointer<Brume__V1__Histogram>?) throws(ServiceError) -> Histogram {
    guard let message = message?.pointee else { return Histogram() }
    var buckets: [Histogram.Bucket] = []
    if message.n_buckets == message.n_counts, let indices = message.buckets, let counts = message.counts {
        for index in 0..<message.n_buckets {
            buckets.append(Histogram.Bucket(index: Int(indices[index]), count: counts[index]))
        }
    }
    guard message.n_buckets == message.n_counts,
        let histogram = Histogram(buckets: buckets, sum: message.sum, maximum: message.maximum)
    else { throw MessageCoder.unreadableAnswer("one of its histograms makes no sense") }
    return histogram
}

extension MessageArena {
    fileprivate func method(_ figures: MethodFigures) -> Pointer<Brume__V1__MethodStats> {
        let message = make(brume__v1__method_stats__init)
        message.pointee.method = Brume__V1__Method(rawValue: figures.method)
        message.pointee.ended = figures.ended
        message.pointee.cancelled = figures.cancelled
        let failures = figures.failures.sorted { $0.key.rawValue < $1.key.rawValue }
        message.pointee.n_failures = failures.count
        message.pointee.failures = messages(failures, errorCount)
        message.pointee.latency_nanoseconds = histogram(figures.latencyNanoseconds)
        return message
    }

    fileprivate func errorCount(_ item: (key: ErrorCode, value: UInt64)) -> Pointer<Brume__V1__ErrorCount> {
        let message = make(brume__v1__error_count__init)
        message.pointee.code = item.key.rawValue
        message.pointee.count = item.value
        return message
    }

    /// A histogram as a message; nil when it has no values.
    fileprivate func histogram(_ histogram: Histogram) -> Pointer<Brume__V1__Histogram>? {
        if histogram.count == 0 { return nil }
        let message = make(brume__v1__histogram__init)
        let buckets = histogram.buckets
        message.pointee.n_buckets = buckets.count
        message.pointee.buckets = numbers(buckets.map { UInt32($0.index) })
        message.pointee.n_counts = buckets.count
        message.pointee.counts = numbers(buckets.map(\.count))
        message.pointee.sum = histogram.sum
        message.pointee.maximum = histogram.maximum
        return message
    }
}
