import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeStore
import BrumeTestKit
import Testing

@Suite("Random operations")
struct RandomOperationsTests {
    @Test("the engine answers and holds what the naive model does, and so does every feed", arguments: 0..<60)
    func againstTheModel(seed: UInt64) throws {
        var run = Run(seed: seed)
        for step in 0..<250 {
            run.comment = "seed \(seed), step \(step)"
            try run.step()
        }
    }

    @Test("the same with little history: a token gives what the model says, or has expired", arguments: 0..<12)
    func withLittleHistory(group: UInt64) throws {
        var good = 0
        var expired = 0
        for seed in group * 5..<group * 5 + 5 {
            var run = Run(seed: seed, history: HistoryLimits(tombstonesPerZone: 2, deletedZones: 2, runs: 2))
            for step in 0..<250 {
                run.comment = "seed \(seed), step \(step)"
                try run.step()
            }
            good += run.goodTokens
            expired += run.expiredTokens
        }
        #expect(good > 0 && expired > 0, "group \(group)")
    }

    /// A device that follows a zone by its feed, page by page.
    private struct Replica {
        let zone: ZoneID
        var records: [String: Record] = [:]
        var token: ChangeToken?

        /// Fetches one page; true when there is more.
        mutating func fetch(from database: Database, limit: Int) throws(ServiceError) -> Bool {
            let page = try database.zoneChanges(zone: zone, since: token, resultsLimit: limit, desiredKeys: nil)
            for bytes in page.records {
                let record = Record(stored: bytes)
                records[record.system.name] = record
            }
            for deletion in page.deletions { records[deletion.name] = nil }
            token = page.token
            return page.moreComing
        }
    }

    private struct Run {
        var generator: SeededGenerator
        var comment: Comment = ""
        let history: HistoryLimits
        var desk: Desk
        var model = ReferenceModel(epoch: 7)
        var journal: [JournalEntry] = []
        /// Tokens at the end of a zone's feed, and the commit after which they were given.
        var tokens: [(zone: ZoneID, commit: UInt64, token: ChangeToken)] = []
        var replicas: [Replica] = []
        /// Tags that a record had once.
        var tags: [String] = [""]

        static let zones = [ZoneID(name: "one"), ZoneID(name: "two"), ZoneID.defaultZone]
        static let names = (0..<10).map { "r\($0)" }

        private(set) var goodTokens = 0
        private(set) var expiredTokens = 0

        init(seed: UInt64, history: HistoryLimits = .standard) {
            generator = SeededGenerator(seed: seed)
            self.history = history
            desk = Desk(
                Database(id: Desk.privateID, epoch: 7, history: history),
                caller: Caller(user: Desk.owner, isOwner: true))
        }

        mutating func step() throws {
            let commit: Commit?
            if generator.oneIn(12) {
                let zone = generator.pick(["one", "two"])
                if generator.oneIn(4) {
                    commit = desk.deleteZone(zone).commit
                    #expect(model.deleteZone(zone) == (commit != nil), comment)
                } else {
                    commit = desk.makeZone(zone)
                    #expect(model.saveZone(zone) == (commit != nil), comment)
                }
            } else {
                commit = modifyRecords()
            }
            if let commit { journal.append(commit.entry) }
            #expect(desk.database.sequence == model.commit, comment)
            compareRecords()
            try compareFeeds()
            let audit = desk.database.audit()
            #expect(audit.kept == audit.recounted, comment)
            if generator.oneIn(60) {
                // A database that is replayed is the same one: go on with it.
                let replayed = Database(id: Desk.privateID, epoch: 7, history: history)
                for entry in journal { try replayed.apply(entry) }
                desk = Desk(replayed, caller: desk.caller)
            }
        }

        private mutating func modifyRecords() -> Commit? {
            let zone = generator.pick(Run.zones)
            let names = Run.names.shuffled(using: &generator)
            let saveCount = Int.random(in: 0...4, using: &generator)
            let deletions = Array(names[saveCount..<saveCount + Int.random(in: 0...2, using: &generator)])
            let policy = generator.pick([SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
            let isAtomic = Bool.random(using: &generator)
            let saves = names[..<saveCount].map { randomSave(of: $0, in: zone) }
            let expected = model.modify(
                zone: zone.name, policy: policy, isAtomic: isAtomic, saves: saves, deletions: deletions)
            let (result, commit) = desk.modify(
                zone, policy: policy, isAtomic: isAtomic,
                saves: saves.map { .of($0.name, $0.fields, type: $0.type, tag: $0.changeTag, parent: $0.parent) },
                deletions: deletions)
            let outcomes = result.saves.map { save -> ReferenceModel.SaveOutcome in
                if let error = save.error { return .failed(error.code) }
                return .saved(tag: save.record!.system.changeTag, fieldsOmitted: save.fieldsOmitted)
            }
            #expect(outcomes == expected.saves, comment)
            #expect(result.deletionCodes == expected.deletions, comment)
            tags = (tags + result.saves.compactMap { $0.record?.system.changeTag }).suffix(30) + [""]
            return commit
        }

        private mutating func randomSave(of name: String, in zone: ZoneID) -> ReferenceModel.Save {
            var fields: DecodedFields = [:]
            if generator.oneIn(2) { fields["n"] = .some(.int64(Int64.random(in: 0...2, using: &generator))) }
            if generator.oneIn(6) { fields["n"] = .some(nil) }
            if generator.oneIn(3) {
                fields["up"] = .reference(
                    Reference(recordName: generator.pick(Run.names), deletesSelf: Bool.random(using: &generator)))
            }
            if generator.oneIn(8) {
                fields["all"] = .references(
                    (0..<3).map { _ in Reference(recordName: generator.pick(Run.names), deletesSelf: true) })
            }
            if generator.oneIn(4) { fields[generator.pick(["up", "all"])] = .some(nil) }
            var parent = ParentChange.unchanged
            if generator.oneIn(4) { parent = .set(generator.pick(Run.names)) }
            if generator.oneIn(6) { parent = .removed }
            let current = model.zones[zone.name]?.records[name]?.tag ?? ""
            return RecordSave(
                name: name, type: generator.oneIn(20) ? "Other" : "Note",
                changeTag: generator.oneIn(4) ? generator.pick(tags) : current, parent: parent, fields: fields)
        }

        private func compareRecords() {
            for zone in Run.zones {
                let expected = model.zones[zone.name]?.records ?? [:]
                for name in Run.names {
                    let record = desk.record(name, in: zone)
                    #expect(record?.fields == expected[name]?.fields, comment)
                    #expect(record?.system.changeTag == expected[name]?.tag, comment)
                    #expect(record?.system.parent == expected[name]?.parent, comment)
                    #expect(record?.system.type == expected[name]?.type, comment)
                }
            }
            #expect(desk.database.recordCount == model.zones.values.reduce(0) { $0 + $1.records.count }, comment)
        }

        /// Whether too much was deleted since: only where little history is kept.
        private mutating func hasExpired(_ token: ChangeToken, of zone: ZoneID) -> Bool {
            guard history != .standard, desk.database.incarnation(of: zone) == token.incarnation else { return false }
            do {
                _ = try desk.changes(since: token, in: zone)
                return false
            } catch {
                #expect((error as? ServiceError)?.code == .changeTokenExpired, comment)
                expiredTokens += 1
                return true
            }
        }

        private mutating func compareFeeds() throws {
            let zone = generator.pick(Array(Run.zones.dropLast()))
            guard model.zones[zone.name] != nil else { return }
            // From an earlier token to the end, in pages of any size.
            if let index = tokens.indices.randomElement(using: &generator) {
                let (zone, commit, token) = tokens[index]
                if hasExpired(token, of: zone) {
                    tokens.remove(at: index)
                } else if desk.database.incarnation(of: zone) == token.incarnation {
                    goodTokens += 1
                    var live = Set<String>()
                    var deleted = Set<String>()
                    var next = token
                    while true {
                        let page = try desk.changes(
                            since: next, limit: Int.random(in: 0...4, using: &generator), in: zone)
                        #expect(live.isDisjoint(with: page.live) && deleted.isDisjoint(with: page.deleted), comment)
                        live.formUnion(page.live)
                        deleted.formUnion(page.deleted)
                        next = page.token
                        if !page.moreComing { break }
                    }
                    let expected = model.changes(inZone: zone.name, after: commit)
                    #expect(live == expected.live && deleted == expected.deleted, comment)
                } else {
                    let error = #expect(throws: ServiceError.self) { try desk.changes(since: token, in: zone) }
                    #expect(error?.code == (model.zones[zone.name] == nil ? .zoneNotFound : .changeTokenExpired))
                    tokens.remove(at: index)
                }
            }
            tokens.append((zone, model.commit, try desk.changes(since: nil, limit: 100, in: zone).token))
            // Devices that fetch a page now and then, and are right whenever they reach the end.
            if generator.oneIn(20) || replicas.isEmpty { replicas.append(Replica(zone: zone)) }
            let index = Int.random(in: replicas.indices, using: &generator)
            do throws(ServiceError) {
                let more = try replicas[index].fetch(
                    from: desk.database, limit: Int.random(in: 1...4, using: &generator))
                if !more {
                    let expected = model.zones[replicas[index].zone.name]?.records ?? [:]
                    #expect(replicas[index].records.mapValues(\.system.changeTag) == expected.mapValues(\.tag), comment)
                    #expect(replicas[index].records.mapValues(\.fields) == expected.mapValues(\.fields), comment)
                }
            } catch {
                #expect(error.code == .changeTokenExpired || error.code == .zoneNotFound, comment)
                replicas.remove(at: index)
            }
        }
    }
}
