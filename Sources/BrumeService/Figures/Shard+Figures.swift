internal import BrumeModel
internal import BrumeSystem

/// A shard's part of the server's figures, and the operator's request for all. On the shard's loop.
extension Shard {
    /// Asks all shards, and answers here, without waiting for the disk or for another request of the operator.
    func collectAllFigures(to responder: Responder) {
        server.collectFigures { [self] parts in
            loop.execute { [self] in
                let figures = server.figures(of: parts, at: loop.currentNanoseconds)
                responder.finish(.success(.administration(.figures(figures))))
            }
        }
    }

    /// Gives what was counted and what is held. Databases that changed since the last time are measured first, some in
    /// each turn.
    func collectFigures(_ give: @escaping @Sendable (ServerFigures) -> Void) {
        if databases.measureSome(ServiceLimits.measuredDatabasesPerTurn) {
            return loop.execute { [self] in collectFigures(give) }
        }
        var figures = figures.collected
        for door in server.doors { door.addFigures(ofLoop: index, to: &figures) }
        figures.push.sent = push.sent
        figures.push.published = push.published
        figures.push.missed = push.missed
        figures.push.backlogEvents = push.backlogEvents
        figures.databases.loaded = databases.count
        figures.databases.loads = databases.loadCount
        figures.databases.drops = databases.dropCount
        figures.databases.loading = databases.loadingCount
        figures.databases.runningQueries = queries.count
        let assets = databases.assetBytes
        figures.assets.namedBytes = assets.named
        figures.assets.pendingBytes = assets.pending
        figures.assets.unneededBytes = assets.unneeded
        figures.memory.databaseBytes = databases.databaseBytes
        figures.memory.backlogBytes = push.backlogBytes
        figures.memory.heldAnswerBytes = gate.heldByteCount
        figures.memory.waitingCallBytes = databases.waitingCallBytes
        give(figures)
    }
}
