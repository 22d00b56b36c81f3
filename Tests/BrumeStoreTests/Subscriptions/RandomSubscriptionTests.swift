import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeStore
import BrumeTestKit
import Testing

@Suite("Random query subscriptions")
struct RandomSubscriptionTests {
    @Test("each commit fires those that the naive matcher finds, also after restarts", arguments: 0..<40)
    func againstTheNaiveMatcher(seed: UInt64) throws {
        var run = Run(seed: seed)
        for step in 0..<120 {
            run.comment = "seed \(seed), step \(step)"
            try run.step()
        }
        #expect(run.firedCount > 0, "seed \(seed) fires something")
    }

    private struct Run {
        var queries: RandomQueries
        var comment: Comment = ""
        var desk = Desk(
            Database(id: Desk.privateID, epoch: 7), caller: Caller(user: Desk.owner, isOwner: true))
        var journal: [JournalEntry] = []
        var subscriptions: [String: QuerySubscription] = [:]
        var records: [String: Record] = [:]
        var firedCount = 0
        private static let zones = [ZoneID.defaultZone, ZoneID(name: "one"), ZoneID(name: "two")]
        private static let types = ["Note", "City"]

        init(seed: UInt64) {
            queries = RandomQueries(generator: SeededGenerator(seed: seed))
            for zone in ["one", "two"] { journal.append(desk.makeZone(zone)!.entry) }
        }

        mutating func step() throws {
            switch Int.random(in: 0..<10, using: &queries.generator) {
            case 0...3: try subscribe()
            case 4: try deleteSubscription()
            case 5 where queries.generator.oneIn(4): try restart()
            case 6 where queries.generator.oneIn(6): try replaceZone()
            default: try modify()
            }
            #expect(Set(desk.database.subscriptions.map(\.id)) == Set(subscriptions.keys), comment)
        }

        private mutating func request(_ saves: [Subscription], _ deletions: [String]) throws {
            let decision = desk.database.modifySubscriptions(
                ModifySubscriptionsRequest(database: .private, saves: saves, deletions: deletions), caller: desk.caller,
                nowMilliseconds: 1)
            for save in decision.answer.saves { _ = try save.get() }
            if let commit = decision.commit { journal.append(commit.entry) }
        }

        private mutating func subscribe() throws {
            var options = QuerySubscription.Options(rawValue: UInt8.random(in: 1...7, using: &queries.generator))
            if queries.generator.oneIn(4) { options.insert(.once) }
            let query = QuerySubscription(
                recordType: queries.generator.pick(Self.types), predicate: queries.predicate(), options: options,
                zone: queries.generator.oneIn(2) ? nil : queries.generator.pick(Self.zones))
            // Not all that chance makes is valid.
            guard Self.isValid(query) else { return }
            // Some are replaced.
            let id = "s\(Int.random(in: 0..<60, using: &queries.generator))"
            subscriptions[id] = query
            try request([Subscription(id: id, kind: .query(query))], [])
        }

        private static func isValid(_ query: QuerySubscription) -> Bool {
            let coder = MessageCoder()
            let request = ModifySubscriptionsRequest(
                database: .private, saves: [Subscription(id: "s", kind: .query(query))])
            return coder.encodeModifySubscriptionsRequest(request).withUnsafeBytes { bytes in
                (try? coder.decodeModifySubscriptionsRequest(bytes)) == request
            }
        }

        private mutating func deleteSubscription() throws {
            guard !subscriptions.isEmpty else { return }
            let id = queries.generator.pick(subscriptions.keys.sorted())
            subscriptions[id] = nil
            try request([], [id])
        }

        /// What goes with a zone was deleted; the zone's own subscriptions tell of that before they go too.
        private mutating func replaceZone() throws {
            let zone = queries.generator.pick(["one", "two"])
            var expected: [String] = []
            for (key, record) in records where key.hasPrefix(zone + "/") {
                for (id, query) in subscriptions where fires(query, record, .deleted, in: ZoneID(name: zone)) {
                    expected.append("\(id) \(key) \(RecordChangeReason.deleted)")
                }
            }
            let commit = try #require(desk.deleteZone(zone).commit, comment)
            journal.append(commit.entry)
            check(commit, expected)
            journal.append(try #require(desk.makeZone(zone)).entry)
            records = records.filter { !$0.key.hasPrefix(zone + "/") }
            subscriptions = subscriptions.filter { $0.value.zone?.name != zone }
        }

        /// The journal goes through its bytes.
        private mutating func restart() throws {
            let database = Database(id: Desk.privateID, epoch: 7)
            for entry in journal {
                var bytes: [UInt8] = []
                StoreCoder.encodeJournalEntry(entry, into: &bytes)
                let read: Result<JournalEntry, StoreCodingError> = bytes.withUnsafeBytes { bytes in
                    do throws(StoreCodingError) {
                        return .success(try StoreCoder.decodeJournalEntry(bytes))
                    } catch {
                        return .failure(error)
                    }
                }
                try database.apply(try read.get())
            }
            desk = Desk(database, caller: desk.caller)
        }

        private mutating func modify() throws {
            let zone = queries.generator.pick(Self.zones)
            let names = RandomQueries.names.shuffled(using: &queries.generator)
            let saveCount = Int.random(in: 0...3, using: &queries.generator)
            let saves = names[..<saveCount].map { name -> RecordSave<CheckedFields> in
                let type = records[zone.name + "/" + name]?.system.type ?? queries.generator.pick(Self.types)
                return .of(name, queries.fields().mapValues { Optional($0) }, type: type)
            }
            let deletions = Array(names[saveCount..<saveCount + Int.random(in: 0...2, using: &queries.generator)])
            let before = records
            guard let commit = desk.modify(zone, policy: .allKeys, saves: saves, deletions: deletions).commit else {
                return
            }
            journal.append(commit.entry)
            var expected: [String] = []
            for name in names {
                let key = zone.name + "/" + name
                records[key] = desk.record(name, in: zone)
                let (old, new) = (before[key], records[key])
                if old?.system.changeTag == new?.system.changeTag { continue }
                let reason: RecordChangeReason = old == nil ? .created : new == nil ? .deleted : .updated
                let told = try #require(new ?? old)
                for (id, query) in subscriptions where fires(query, told, reason, in: zone) {
                    expected.append("\(id) \(key) \(reason)")
                }
            }
            check(commit, expected)
        }

        private mutating func check(_ commit: Commit, _ expected: [String]) {
            let fired = commit.matches.matches.map {
                "\($0.subscription.subscription.id) \($0.record.zone.name)/\($0.record.name) \($0.record.reason)"
            }
            firedCount += fired.count
            #expect(commit.matches.overflowingOwners.isEmpty, comment)
            // Those that fire once fire for one of the records that they match.
            let known = subscriptions
            let isOnce = { (line: String) in
                known[String(line.prefix { $0 != " " })]!.options.contains(.once)
            }
            #expect(fired.filter { !isOnce($0) }.sorted() == expected.filter { !isOnce($0) }.sorted(), comment)
            let ended = Set(expected.filter(isOnce).map { String($0.prefix { $0 != " " }) })
            let firedOnce = fired.filter(isOnce)
            #expect(Set(firedOnce).isSubset(of: expected), comment)
            #expect(firedOnce.map { String($0.prefix { $0 != " " }) }.sorted() == ended.sorted(), comment)
            for id in ended { subscriptions[id] = nil }
        }

        private func fires(
            _ query: QuerySubscription, _ record: Record, _ reason: RecordChangeReason, in zone: ZoneID
        ) -> Bool {
            let option: QuerySubscription.Options =
                switch reason {
                case .created: .creation
                case .updated: .update
                case .deleted: .deletion
                }
            return query.recordType == record.system.type && query.options.contains(option)
                && (query.zone == nil || query.zone?.name == zone.name)
                && NaivePredicate.holds(query.predicate, record) == true
        }
    }
}
