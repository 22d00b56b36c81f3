internal import BrumeModel
internal import BrumeWire

/// Finds the query subscriptions that the records of a commit fire.
///
/// Candidates come from the index; each is evaluated once for a record, and what the user may not read is as if it were not
/// there. Belongs to one database, so to one loop.
final class SubscriptionMatcher {
    /// Compiled when a subscription first becomes a candidate; nil: not yet.
    private var evaluators: [PredicateEvaluator?] = []
    /// What an evaluation costs: terms and values.
    private var costs: [Int] = []
    /// The last record that the subscription was a candidate for.
    private var marks: [UInt64] = []
    private var mark: UInt64 = 0

    /// The place of a subscription holds another one now, or none.
    func forget(_ slot: Int32) {
        guard slot < evaluators.count else { return }
        evaluators[Int(slot)] = nil
        marks[Int(slot)] = 0
    }

    /// The schema changed: searches may look elsewhere.
    func forgetAll() {
        for index in evaluators.indices { evaluators[index] = nil }
    }

    /// - Parameter costLimit: See ``Limits/matchingCostPerCommit``.
    func matches(
        of records: [CommittedRecord], in table: SubscriptionTable, gate: SubscriptionGate,
        costLimit: Int = Limits.matchingCostPerCommit, eventLimit: Int = Limits.queryEventsPerCommit
    ) -> CommitMatches {
        var result = CommitMatches()
        var costLeft = costLimit
        /// Subscriptions that this commit has ended.
        var ended = Set<Int32>()
        for record in records {
            guard table.index.concerns(record.type) else { continue }
            if costLeft < 0 || result.matches.count >= eventLimit {
                // Who else would have been told is not found out.
                table.index.forEachGroup(ofType: record.type, zone: record.zone.name) {
                    result.overflowingOwners.formUnion($0.ownerNames)
                }
                continue
            }
            mark += 1
            var creator: String?
            record.bytes.withUnsafeBytes { bytes in
                table.index.forEachGroup(ofType: record.type, zone: record.zone.name) { group in
                    group.forEachCandidate(of: bytes) { posting in
                        guard posting.reasons.contains(record.reason.option), isNew(posting.slot),
                            let subscription = table[posting.slot], !ended.contains(posting.slot)
                        else { return }
                        costLeft -= cost(of: posting.slot, subscription, gate)
                        if costLeft < 0 || result.matches.count >= eventLimit {
                            result.overflowingOwners.insert(subscription.owner)
                            return
                        }
                        guard evaluators[Int(posting.slot)]!.matches(bytes) else { return }
                        if creator == nil { creator = Self.creator(of: bytes) }
                        guard gate.mayRead(record.type, creator!, subscription.owner) else { return }
                        if subscription.query!.options.contains(.once) { ended.insert(posting.slot) }
                        result.matches.append(SubscriptionMatch(subscription: subscription, record: record))
                    }
                }
            }
        }
        return result
    }

    /// Whether the subscription is a candidate for this record for the first time.
    private func isNew(_ slot: Int32) -> Bool {
        let index = Int(slot)
        if index >= marks.count {
            let count = max(index + 1, marks.count * 2)
            evaluators += Array(repeating: nil, count: count - marks.count)
            costs += Array(repeating: 0, count: count - costs.count)
            marks += Array(repeating: 0, count: count - marks.count)
        }
        if marks[index] == mark { return false }
        marks[index] = mark
        return true
    }

    private func cost(of slot: Int32, _ subscription: KeptSubscription, _ gate: SubscriptionGate) -> Int {
        let index = Int(slot)
        if evaluators[index] == nil {
            let query = subscription.query!
            let size = query.predicate.size
            evaluators[index] = PredicateEvaluator(
                query.predicate, searchableFields: gate.searchableFields(query.recordType))
            costs[index] = 1 + size.terms + size.values
        }
        return costs[index]
    }

    private static func creator(of record: UnsafeRawBufferPointer) -> String {
        var reader = StoredRecordReader(record)
        while let element = reader.next() {
            switch element {
            case .creator(let name): return String(decoding: name, as: UTF8.self)
            case .field: return ""
            default: continue
            }
        }
        return ""
    }
}
