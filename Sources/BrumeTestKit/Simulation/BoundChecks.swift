package import BrumeModel
package import BrumeServer
package import BrumeStore

/// Checks counts against recounts (I9), and what may pile up against its limits (I10). Each check returns what is
/// wrong, or nil.
package enum BoundChecks {
    /// How many entries a feed may have before it is compacted.
    private static let feedEntriesMin = 64

    /// - Parameter history: How much history the database may keep.
    package static func problem(with audit: DatabaseAudit, of id: DatabaseID, history: HistoryLimits) -> String? {
        if audit.kept != audit.recounted {
            return "I9: counted is another than a recount gives: \(audit.kept.differences(from: audit.recounted))"
        }
        let (operations, bytes) =
            switch id.scope {
            case .private: (Limits.rememberedOperations, Limits.rememberedOperationBytes)
            case .public: (Limits.rememberedPublicOperations, Limits.rememberedPublicOperationBytes)
            case .shared: preconditionFailure("no database is a shared one")
            }
        if audit.kept.operations > operations || (audit.kept.operationBytes > bytes && audit.kept.operations > 1) {
            return "I10: \(audit.kept.operations) operations of \(audit.kept.operationBytes) bytes are remembered"
        }
        if audit.kept.participantOperations > Limits.rememberedParticipantOperations
            || (audit.kept.participantOperationBytes > Limits.rememberedOperationBytes
                && audit.kept.participantOperations > 1)
        {
            return "I10: \(audit.kept.participantOperations) operations of participants are remembered"
        }
        if audit.runs > history.runs { return "I10: \(audit.runs) runs are remembered; the limit is \(history.runs)" }
        if history.tombstones < .max {
            // All but the two that each zone keeps in any case.
            let limit = history.tombstones + audit.kept.records + 2 * audit.histories.count
            if audit.kept.tombstones > limit {
                return "I10: the zones keep \(audit.kept.tombstones) deletions together, where \(limit) are the most"
            }
        }
        for feed in audit.histories {
            let limit = feed.zone.isEmpty ? history.deletedZones : history.tombstonesPerZone
            if feed.tombstones > max(limit, feed.live) {
                return "I10: the feed '\(feed.zone)' keeps \(feed.tombstones) deletions beside \(feed.live) items"
            }
            let told = feed.live + feed.tombstones + feed.earlierDeletions
            if feed.earlierDeletions > feed.live || feed.feedEntries > max(feedEntriesMin, 2 * told) {
                return "I10: the feed '\(feed.zone)' has \(feed.feedEntries) entries for \(feed.live) items "
                    + "and \(feed.tombstones) deletions"
            }
        }
        return nil
    }

    /// - Parameter events: How many events may be kept for devices that are away.
    package static func problem(backlogEvents: Int, bytes: Int, limit events: Int) -> String? {
        if backlogEvents > events { return "I10: \(backlogEvents) events are kept; the limit is \(events)" }
        // The newest one stays whatever its size.
        if bytes > StepwiseServer.backlogByteLimit, backlogEvents > 1 {
            return "I10: \(bytes) bytes of events are kept"
        }
        return nil
    }

    /// - Parameter isAtRest: Whether everything has come to its end.
    package static func problem(with waiting: StepwiseServer.Waiting, isAtRest: Bool) -> String? {
        if waiting.answerBytes > StepwiseServer.heldAnswerByteLimit {
            return "I10: \(waiting.answerBytes) bytes of answers wait for the disk"
        }
        if isAtRest, waiting != StepwiseServer.Waiting() { return "I10: at rest something is held: \(waiting)" }
        return nil
    }

    /// - Parameters:
    ///   - segments: The segments that exist after snapshots were written.
    ///   - first: The segment that was written to when the snapshots were asked for.
    package static func problem(withSegments segments: [UInt64], from first: UInt64) -> String? {
        guard let oldest = segments.min(), oldest < first else { return nil }
        return "I10: segment \(oldest) of the journal is there, though snapshots hold what was before segment \(first)"
    }
}

extension SimulatedServer {
    /// Recounts now and then.
    func planRecount() {
        after(UInt64.random(in: 1...2_000_000_000, using: &generator)) { server in
            server.recount()
            server.planRecount()
        }
    }

    /// Checks all counts of what is in memory against recounts, and everything that may pile up against its limits.
    func recount() {
        guard let process else { return }
        simulation.report.audits += 1
        for loaded in process.loaded {
            // Each user has a backlog of their own.
            let users = loaded.database.id.scope == .public ? simulation.options.accounts : 1
            let problem =
                BoundChecks.problem(
                    with: loaded.database.audit(), of: loaded.database.id, history: simulation.options.history)
                ?? BoundChecks.problem(
                    backlogEvents: loaded.backlogEvents, bytes: loaded.backlogBytes,
                    limit: simulation.options.backlogEvents * users)
            if let problem { return simulation.violated(problem) }
        }
        if let problem = process.quotaProblem { simulation.violated("I9: \(problem)") }
    }

    /// Checks, at each step, what waits for the disk or another loop.
    func checkQueues(_ process: StepwiseServer) {
        if process.pendingByteCount > StepwiseServer.pendingByteLimit {
            simulation.violated("I10: \(process.pendingByteCount) bytes wait for the disk")
        }
        if let problem = BoundChecks.problem(with: process.waiting, isAtRest: false) { simulation.violated(problem) }
    }

    func checkRest() {
        guard let process else { return simulation.violated("liveness: the server does not run at the end") }
        if let problem = BoundChecks.problem(with: process.waiting, isAtRest: true) { simulation.violated(problem) }
        if process.reservedUploadBytes > 0 {
            simulation.violated("I9: quotas count \(process.reservedUploadBytes) bytes of uploads, and none is open")
        }
    }

    /// Checks the journal after snapshots of everything before a segment were written.
    func checkJournal(from segment: UInt64) {
        // A fault that is armed may strike while segments are removed; the process ends with it.
        guard process?.failure == nil, !disk.faults.isArmed else { return }
        let segments = disk.paths.compactMap { path -> UInt64? in
            guard path.hasPrefix("journal/"), path.hasSuffix(".journal") else { return nil }
            return UInt64(path.dropFirst("journal/".count).dropLast(".journal".count), radix: 16)
        }
        if let problem = BoundChecks.problem(withSegments: segments, from: segment) { simulation.violated(problem) }
    }
}
