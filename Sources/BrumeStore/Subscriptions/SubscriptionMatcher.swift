internal import BrumeModel
internal import BrumeRecord

/// Finds the query subscriptions that the records of a commit fire.
///
/// Candidates come from the index; each is evaluated once for a record, and a record that the user may not read is
/// treated as missing. The cost is metered as what is really done, for the commit and for each user: a user whose share
/// is spent is told to fetch. Belongs to one database, so to one loop.
final class SubscriptionMatcher {
    /// What one commit may cost and make.
    struct Limits {
        var cost = BrumeModel.Limits.matchingCostPerCommit
        var costPerOwner = BrumeModel.Limits.matchingCostPerUserAndCommit
        var events = BrumeModel.Limits.queryEventsPerCommit
        var eventsPerOwner = BrumeModel.Limits.queryEventsPerUserAndCommit
        var eventBytesPerOwner = BrumeModel.Limits.queryEventBytesPerUserAndCommit
    }

    /// A subscription that has been a candidate since it was saved.
    private struct Candidate {
        let evaluator: PredicateEvaluator
        /// Index of its owner in `shares`.
        let owner: Int
    }

    /// What one owner's subscriptions took of a commit.
    private struct Share {
        /// The commit that the rest is about.
        var commit: UInt64 = 0
        /// Whether the owner is told to fetch.
        var isOverflowing = false
        var cost = 0
        var events = 0
        var eventBytes = 0
    }

    /// By the subscription's place in the table; nil for one that has not been a candidate since it was saved.
    private var candidates: [Candidate?] = []
    /// The mark of the last record that the subscription was a candidate for.
    private var marks: [UInt64] = []
    private var mark: UInt64 = 0
    private var shares: [Share] = []
    private var shareOfOwner: [String: Int] = [:]
    private var commit: UInt64 = 0
    /// The version of the gate that the candidates were made with.
    private var gateVersion: UInt64 = 0
    private let meter = CostMeter()
    private let limits: Limits

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Forgets the candidate at a place that now holds another subscription, or none.
    func forget(_ slot: Int32) {
        guard slot < candidates.count else { return }
        candidates[Int(slot)] = nil
        marks[Int(slot)] = 0
    }

    /// Forgets all candidates, because the schema changed: searches may look elsewhere.
    func forgetAll() {
        for index in candidates.indices { candidates[index] = nil }
        shares = []
        shareOfOwner = [:]
    }

    func matches(
        of records: [CommittedRecord], in table: SubscriptionTable, gate: SubscriptionGate
    ) -> CommitMatches {
        var result = CommitMatches()
        /// Groups whose owners are all told to fetch.
        var overflowingGroups = Set<ObjectIdentifier>()
        func overflow(_ group: SubscriptionGroup) {
            guard overflowingGroups.insert(ObjectIdentifier(group)).inserted else { return }
            result.overflowingOwners.formUnion(group.ownerNames)
        }
        /// Subscriptions that this commit has ended.
        var ended = Set<Int32>()
        let version = gate.version()
        if version != gateVersion {
            forgetAll()
            gateVersion = version
        }
        // Names of users whose subscriptions are gone stay until they are more than there can be subscriptions.
        if shares.count > BrumeModel.Limits.subscriptionsPerDatabase { forgetAll() }
        commit += 1
        meter.reset(to: limits.cost)
        for record in records {
            guard table.index.concerns(record.type) else { continue }
            if meter.isSpent || result.matches.count >= limits.events {
                // No more subscriptions are looked for: all that might fire are told to fetch.
                table.index.forEachGroup(ofType: record.type, zone: record.zone.name) { overflow($0) }
                continue
            }
            mark += 1
            var readers = Readers(of: record, gate)
            record.bytes.withUnsafeBytes { bytes in
                table.index.forEachGroup(ofType: record.type, zone: record.zone.name) { group in
                    var isCutShort = false
                    let isComplete = group.forEachCandidate(of: bytes, meter) { posting in
                        if meter.isSpent {
                            isCutShort = true
                            return
                        }
                        meter.charge(Cost.candidate)
                        guard posting.reasons.contains(record.reason.option), isNew(posting.slot),
                            let subscription = table[posting.slot], !ended.contains(posting.slot)
                        else { return }
                        if result.matches.count >= limits.events {
                            meter.charge(Cost.overflow)
                            result.overflowingOwners.insert(subscription.owner)
                            return
                        }
                        let candidate = candidate(posting.slot, subscription, gate)
                        beginCommit(candidate.owner)
                        // The owner is told to fetch, whatever else there is.
                        if shares[candidate.owner].isOverflowing { return }
                        let verdict = evaluate(candidate, bytes)
                        if verdict == .fails { return }
                        if verdict == .matches {
                            guard readers.contains(subscription.owner, bytes, meter) else { return }
                            if subscription.query!.options.contains(.once) { ended.insert(posting.slot) }
                            if takeEvent(of: subscription, candidate, bytes) {
                                return result.matches.append(
                                    SubscriptionMatch(
                                        subscription: subscription, record: record,
                                        isOwn: readers.creator(bytes) == subscription.owner))
                            }
                        }
                        shares[candidate.owner].isOverflowing = true
                        result.overflowingOwners.insert(subscription.owner)
                    }
                    if isCutShort || !isComplete { overflow(group) }
                }
            }
        }
        return result
    }

    /// What is done for a candidate, in units of ``Limits/matchingCostPerCommit``.
    private enum Cost {
        /// To look up what is known of it.
        static let candidate = 3
        /// To note that its owner is told to fetch.
        static let overflow = 5
        /// To begin with a predicate, which charges for its own steps.
        static let evaluation = 12
        /// To ask the schema about a user.
        static let reader = 64
        /// To make a match, and to release it again.
        static let match = 24
    }

    /// The users who may be told of one record.
    private struct Readers {
        private let record: CommittedRecord
        private let gate: SubscriptionGate
        private let isReadByAll: Bool
        private var knownCreator: String?
        /// The last user who was checked: an owner's subscriptions usually follow each other.
        private var last: (user: String, mayRead: Bool)?

        init(of record: CommittedRecord, _ gate: SubscriptionGate) {
            self.record = record
            self.gate = gate
            isReadByAll = gate.isReadByAll(record.type)
        }

        /// - Parameter bytes: The bytes of the record.
        mutating func creator(_ bytes: UnsafeRawBufferPointer) -> String {
            if let knownCreator { return knownCreator }
            let creator = SubscriptionMatcher.creator(of: bytes)
            knownCreator = creator
            return creator
        }

        mutating func contains(_ user: String, _ bytes: UnsafeRawBufferPointer, _ meter: CostMeter) -> Bool {
            if isReadByAll { return true }
            if let last, last.user == user { return last.mayRead }
            meter.charge(Cost.reader)
            let mayRead = gate.mayRead(record.type, creator(bytes), user)
            last = (user, mayRead)
            return mayRead
        }
    }

    /// Whether the subscription is a candidate for this record for the first time.
    private func isNew(_ slot: Int32) -> Bool {
        let index = Int(slot)
        if index >= marks.count {
            let count = max(index + 1, marks.count * 2)
            candidates += Array(repeating: nil, count: count - marks.count)
            marks += Array(repeating: 0, count: count - marks.count)
        }
        if marks[index] == mark { return false }
        marks[index] = mark
        return true
    }

    /// The candidate of a subscription, compiled when it first becomes one.
    private func candidate(_ slot: Int32, _ subscription: KeptSubscription, _ gate: SubscriptionGate) -> Candidate {
        if let known = candidates[Int(slot)] { return known }
        let query = subscription.query!
        let size = query.predicate.size
        // A byte of text that is searched for takes as long as a few comparisons: it is broken into words.
        meter.charge(16 * (size.terms + size.values) + 8 * size.searchBytes)
        let owner: Int
        if let known = shareOfOwner[subscription.owner] {
            owner = known
        } else {
            owner = shares.count
            shares.append(Share())
            shareOfOwner[subscription.owner] = owner
        }
        let candidate = Candidate(
            evaluator: PredicateEvaluator(
                query.predicate, searchableFields: gate.searchableFields(query.recordType)), owner: owner)
        candidates[Int(slot)] = candidate
        return candidate
    }

    /// Resets the share of an owner when it is first used in a commit.
    private func beginCommit(_ owner: Int) {
        if shares[owner].commit != commit { shares[owner] = Share(commit: commit) }
    }

    private func evaluate(_ candidate: Candidate, _ record: UnsafeRawBufferPointer) -> PredicateEvaluator.Verdict {
        let left = min(meter.left, limits.costPerOwner - shares[candidate.owner].cost)
        if left <= 0 { return .unfinished }
        let evaluator = candidate.evaluator
        evaluator.load(record)
        var units = left - Cost.evaluation - evaluator.fields.fieldsRead / 2
        let verdict = evaluator.evaluate(record, units: &units)
        let spent = left - units
        meter.charge(spent)
        shares[candidate.owner].cost += spent
        return verdict
    }

    /// Counts an event that is about to be made. Returns false when its owner has no room for it.
    private func takeEvent(
        of subscription: KeptSubscription, _ candidate: Candidate, _ record: UnsafeRawBufferPointer
    ) -> Bool {
        let share = shares[candidate.owner]
        guard share.events < limits.eventsPerOwner, share.eventBytes < limits.eventBytesPerOwner else { return false }
        meter.charge(Cost.match)
        shares[candidate.owner].events += 1
        shares[candidate.owner].eventBytes += subscription.textBytes
        if subscription.subscription.notificationInfo?.desiredKeys.isEmpty == false {
            // The record is walked for them; a field usually has at least eight bytes.
            meter.charge(min(record.count / 8, BrumeModel.Limits.fieldsPerRecord) / 2)
        }
        return true
    }

    fileprivate static func creator(of record: UnsafeRawBufferPointer) -> String {
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
