package import BrumeModel

/// What a request is answered with, as values and stored bytes, which may cross threads. A door encodes it.
///
/// Each payload is one reference, so that an answer is passed on as cheaply as an array: saves and reads, the commonest
/// requests, allocate nothing for it.
package enum Answer: Sendable {
    case recordsModified([ZoneModificationResult<SharedBytes>])
    /// The same as it is remembered for a retry: an ``OperationOutcome`` as the store encodes it, with the layout of a
    /// `brume.v1.ModifyRecordsResponse`. So what every save is answered with is encoded once.
    case recordsOutcome([UInt8])
    indirect case zonesModified(ModifyZonesResult)
    indirect case subscriptionsModified(ModifySubscriptionsResult)
    case records([[RecordOutcome<SharedBytes>]])
    indirect case queryPage(QueryPage<SharedBytes>)
    indirect case queryPlan(QueryPlan)
    indirect case zoneChanges(ZoneChangesPage<SharedBytes, [UInt8]>)
    indirect case databaseChanges(DatabaseChangesPage<[UInt8]>)
    case zones([Result<Zone, ServiceError>])
    case allZones([Zone])
    case subscriptions([Result<Subscription, ServiceError>])
    case allSubscriptions([Subscription])
    indirect case shareMetadata(ShareMetadata<SharedBytes>)
    case shareAccessRequested
    indirect case shareAccepted(AcceptedShare<SharedBytes>)
    case statementAppended
    indirect case statements(StatementsPage)
    case ringEntryAppended
    indirect case ring(RingPage)
    case ringJoined
    indirect case ringStatements(StatementsPage)
    case ringRoots([String])
    indirect case misplacedRecords(MisplacedRecordsPage)
    case enrolmentPosted
    case enrolments([RelayedEnrolment])
    case enrolmentEnded
    indirect case health(HealthStatus)
    indirect case administration(AdminAnswer)
}

/// A request's answer, or why the call failed.
package typealias Outcome = Result<Answer, ServiceError>

// MARK: Waiting

extension Answer {
    /// About how many bytes the answer takes, encoded or in memory of its own.
    var byteCount: Int {
        switch self {
        case .recordsOutcome(let bytes): bytes.count
        case .recordsModified(let zones):
            zones.reduce(0) { sum, zone in
                zone.saves.reduce(sum + zone.deletions.count * Self.itemBytes) { $0 + Self.byteCount(of: $1.outcome) }
            }
        case .zonesModified(let result):
            Self.byteCount(of: result.saves.compactMap { try? $0.get().id })
                + (result.saves.count + result.deletions.count) * Self.itemBytes
        case .subscriptionsModified(let result):
            result.saves.count * Self.subscriptionBytes + result.deletions.count * Self.itemBytes
        case .records(let zones):
            zones.reduce(0) { sum, outcomes in outcomes.reduce(sum) { $0 + Self.byteCount(of: $1) } }
        case .queryPage(let page): page.matches.reduce(page.cursor.count) { $0 + $1.record.count + Self.itemBytes }
        case .zoneChanges(let page):
            page.records.reduce(page.token.count + page.clientToken.count) { $0 + $1.count + Self.itemBytes }
                + page.deletions.reduce(0) { $0 + $1.name.utf8.count + $1.type.utf8.count + Self.itemBytes }
        case .databaseChanges(let page):
            page.token.count + Self.byteCount(of: page.changed) + Self.byteCount(of: page.deletions.map(\.zone))
                + Self.byteCount(of: page.earlierDeletions.map(\.zone))
        case .zones(let zones): Self.byteCount(of: zones.compactMap { try? $0.get().id }) + zones.count * Self.itemBytes
        case .allZones(let zones): Self.byteCount(of: zones.map(\.id))
        case .subscriptions(let subscriptions): subscriptions.count * Self.subscriptionBytes
        case .allSubscriptions(let subscriptions): subscriptions.count * Self.subscriptionBytes
        case .shareMetadata(let metadata):
            metadata.share.count + (metadata.rootRecord?.count ?? 0) + Self.subscriptionBytes
        case .shareAccepted(let accepted): accepted.share.count + Self.subscriptionBytes
        case .statements(let page), .ringStatements(let page):
            page.statements.reduce(0) { $0 + $1.count + Self.itemBytes }
        case .ring(let page):
            page.entries.reduce(0) { $0 + $1.count + Self.itemBytes } + page.guests.count * Self.guestBytes
                + (page.departed.count + page.renewed.count) * Self.itemBytes
        case .ringRoots(let roots): roots.reduce(0) { $0 + $1.utf8.count + Self.itemBytes }
        case .misplacedRecords(let page): page.names.reduce(0) { $0 + $1.utf8.count + Self.itemBytes }
        case .enrolments(let enrolments):
            enrolments.reduce(0) { $1.messages.reduce($0 + Self.itemBytes) { $0 + $1.count } }
        case .queryPlan, .health, .administration, .shareAccessRequested, .statementAppended, .ringEntryAppended,
            .ringJoined, .enrolmentPosted, .enrolmentEnded:
            Self.subscriptionBytes
        }
    }

    private static func byteCount(of outcome: RecordOutcome<SharedBytes>) -> Int {
        switch outcome {
        case .record(let record): record.count + itemBytes
        case .failure(let error): error.message.utf8.count + (error.serverRecord?.count ?? 0) + itemBytes
        case .deferred: itemBytes
        }
    }

    private static func byteCount(of zones: [ZoneID]) -> Int {
        zones.reduce(0) { $0 + $1.name.utf8.count + itemBytes }
    }

    /// What an item of a list takes beside a record's bytes: names, and the list's own parts.
    private static let itemBytes = 64
    private static let subscriptionBytes = 1_024
    private static let guestBytes = 256

    fileprivate var holdsRecords: Bool {
        switch self {
        case .recordsModified, .records, .queryPage, .zoneChanges: true
        default: false
        }
    }

    /// The same answer with records in memory of its own, for an answer that waits. A record in an answer is a part of
    /// an array that may hold many others, and that array stays for as long as the answer does: that of a save also
    /// holds what failed after it was merged, which is in no commit and counts nowhere.
    var compact: Answer {
        switch self {
        case .recordsModified(var zones):
            var gathered = SharedBytes.gathering(
                zones.flatMap { zone in
                    zone.saves.compactMap { if case .record(let record) = $0.outcome { record } else { nil } }
                }
            ).makeIterator()
            for zone in zones.indices {
                for save in zones[zone].saves.indices {
                    guard case .record = zones[zone].saves[save].outcome else { continue }
                    zones[zone].saves[save].outcome = .record(gathered.next()!)
                }
            }
            return .recordsModified(zones)
        case .records(let zones):
            var gathered = SharedBytes.gathering(
                zones.joined().compactMap { if case .record(let record) = $0 { record } else { nil } }
            ).makeIterator()
            return .records(
                zones.map { outcomes in
                    outcomes.map { if case .record = $0 { .record(gathered.next()!) } else { $0 } }
                })
        case .queryPage(var page):
            for (index, record) in SharedBytes.gathering(page.matches.map(\.record)).enumerated() {
                page.matches[index].record = record
            }
            return .queryPage(page)
        case .zoneChanges(var page):
            page.records = SharedBytes.gathering(page.records)
            return .zoneChanges(page)
        default: return self
        }
    }
}

extension SharedBytes {
    /// Copies of all parts, in one array.
    fileprivate static func gathering(_ parts: [SharedBytes]) -> [SharedBytes] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.reduce(0) { $0 + $1.count })
        for part in parts { part.withUnsafeBytes { bytes.append(contentsOf: $0) } }
        var end = 0
        return parts.map { part in
            end += part.count
            return SharedBytes(of: bytes, at: end - part.count..<end)
        }
    }
}

extension Outcome {
    /// The bytes that the outcome counts for while it waits; a failure is not free either.
    var heldByteCount: Int {
        switch self {
        case .success(let answer): answer.byteCount + ServiceLimits.heldReplyBytes
        case .failure: ServiceLimits.heldReplyBytes
        }
    }

    /// The same outcome with records in memory of its own: see ``Answer/compact``.
    var compact: Outcome {
        guard case .success(let answer) = self, answer.holdsRecords else { return self }
        return .success(answer.compact)
    }
}
