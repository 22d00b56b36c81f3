import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("Random queries")
struct RandomQueryTests {
    @Test("pages are what a naive filter and sort give, with writes and restarts between them", arguments: 0..<24)
    func againstTheModel(seed: UInt64) throws {
        var play = QueryPlay(seed: seed, stepUnits: seed % 2 == 0 ? 1 : 1_000)
        // One in three looks all zones through; the others have indexes, and take any way that a plan could take.
        play.hasIndexes = seed % 3 != 0
        play.indexLimits = QueryPlay.indexLimits(seed)
        for step in 0..<120 {
            play.comment = "seed \(seed), step \(step)"
            try play.step()
        }
        if play.hasIndexes, play.indexLimits.promptBytes == 0 {
            #expect(play.pagesBehind > 10, "seed \(seed): \(play.pagesBehind) pages of indexes that were behind")
        }
        #expect(play.pages > 30 && play.matches > 100, "seed \(seed): \(play.pages) pages, \(play.matches) matches")
    }
}

/// Random operations on a database, and queries that are compared with all of its records, filtered and sorted.
struct QueryPlay {
    var random: RandomQueries
    var comment: Comment = ""
    let stepUnits: Int
    var desk = Desk()
    var journal: [JournalEntry] = []
    /// What a restart begins with.
    var snapshot: (blocks: [[UInt8]], header: SnapshotHeader)?
    /// Creation, by zone's incarnation and name: the number of the commit's change, counted here.
    var created: [String: UInt64] = [:]
    var creations: UInt64 = 0
    var clock: Int64 = 0
    private(set) var pages = 0
    private(set) var matches = 0
    /// Queries that began when indexes had not taken over all commits.
    private(set) var pagesBehind = 0
    var nameCount = 40
    var hasIndexes = false
    var indexLimits = IndexLimits() {
        didSet { desk.database.indexLimits = indexLimits }
    }

    /// One seed in four has the server's own limits; with the others indexes are behind commits, wholly or in part, or
    /// leave records out that have more than a word or two.
    static func indexLimits(_ seed: UInt64) -> IndexLimits {
        switch seed % 4 {
        case 0: IndexLimits()
        case 1: IndexLimits(elements: 2, words: 2, promptBytes: 0)
        case 2: IndexLimits(elements: 1, words: 3, promptUnits: 4)
        default: IndexLimits(elements: 2, words: 1)
        }
    }

    static let zones = ["one", "two", Names.defaultZone]

    init(seed: UInt64, stepUnits: Int) {
        random = RandomQueries(generator: SeededGenerator(seed: seed))
        self.stepUnits = stepUnits
        desk = Desk(Database(id: Desk.privateID, epoch: 7), caller: Caller(user: Desk.owner, isOwner: true))
        makeZone("one")
        makeZone("two")
    }

    private mutating func makeZone(_ name: String) {
        if let commit = desk.makeZone(name) { journal.append(commit.entry) }
    }

    mutating func step() throws {
        switch Int.random(in: 0..<40, using: &random.generator) {
        case 0:
            let name = random.generator.pick(["one", "two"])
            if let commit = desk.deleteZone(name).commit {
                journal.append(commit.entry)
                created = created.filter { !$0.key.hasPrefix(name + "/") }
            }
        case 1, 2:
            makeZone("one")
            makeZone("two")
        case 3: try restart()
        case 4..<24: modify()
        default: try query()
        }
    }

    mutating func modify() {
        let zone = random.generator.pick(QueryPlay.zones)
        guard desk.database.incarnation(of: ZoneID(name: zone)) != nil else { return }
        var names = (0..<nameCount).map { "r\($0)" }.shuffled(using: &random.generator)
        let saves = (0..<Int.random(in: 0...8, using: &random.generator)).map { _ in names.removeLast() }
        let deletions = (0..<Int.random(in: 0...2, using: &random.generator)).map { _ in names.removeLast() }
        clock += 50
        let (result, commit) = desk.modify(
            ZoneID(name: zone), policy: random.generator.pick([.allKeys, .changedKeys]), isAtomic: false,
            saves: saves.map { name in
                var fields: [String: FieldValue?] = random.fields().mapValues { .some($0) }
                if random.generator.oneIn(3) { fields["s1"] = .some(nil) }
                return .of(name, fields, type: random.generator.oneIn(9) ? "Other" : "Note")
            }, deletions: deletions, now: clock)
        for (name, save) in zip(saves, result.saves) where save.record != nil && created[zone + "/" + name] == nil {
            creations += 1
            created[zone + "/" + name] = creations
        }
        for name in deletions { created[zone + "/" + name] = nil }
        if let commit { journal.append(commit.entry) }
    }

    /// From a snapshot taken now or earlier, and the journal behind it.
    mutating func restart() throws {
        if random.generator.oneIn(2) {
            let capture = desk.database.capture()
            var blocks: [[UInt8]] = []
            try capture.forEachBlock { blocks.append($0) }
            snapshot = (blocks, capture.header)
        }
        let database: Database
        if let snapshot {
            let loader = DatabaseLoader(id: Desk.privateID, epoch: 7, sequence: snapshot.header.sequence)
            #expect(loader.add(snapshot.header) == nil, comment)
            for block in snapshot.blocks { #expect(block.withUnsafeBytes { loader.add(content: $0) } == nil, comment) }
            database = try loader.finish().get()
        } else {
            database = Database(id: Desk.privateID, epoch: 7)
        }
        database.indexLimits = indexLimits
        for entry in journal { try database.apply(entry) }
        desk = Desk(database, caller: desk.caller)
    }

    // MARK: Queries

    struct Expected {
        var zone: String
        var record: Record
        var bytes: [UInt8]
        var created: UInt64
    }

    /// All matches of the moment, in order.
    func expected(_ query: Query, zone: String?) -> [Expected] {
        var found: [Expected] = []
        for zone in zone.map({ [$0] }) ?? QueryPlay.zones {
            for index in 0..<nameCount {
                guard desk.database.incarnation(of: ZoneID(name: zone)) != nil,
                    let bytes = desk.bytes("r\(index)", in: ZoneID(name: zone)),
                    case let record = Record(stored: bytes), record.system.type == query.recordType,
                    NaivePredicate.holds(query.predicate, record) == true
                else { continue }
                found.append(Expected(zone: zone, record: record, bytes: bytes, created: created["\(zone)/r\(index)"]!))
            }
        }
        return found.sorted { isBefore($0, $1, query.sortDescriptors) }
    }

    func isBefore(_ left: Expected, _ right: Expected, _ sorts: [QuerySort]) -> Bool {
        for sort in sorts {
            let order = NaiveSort.order(left.record, right.record, sort)
            if order != 0 { return order < 0 }
        }
        return left.created < right.created
    }

    mutating func randomQuery() -> Query {
        var sorts: [QuerySort] = []
        for _ in 0..<random.generator.pick([0, 0, 1, 1, 2]) {
            let key = random.generator.pick(
                [
                    .field("s0"), .field("s1"), .field("s2"), .field("s3"), .field("s4"), .field("s6"), .field("any"),
                    .field("l0"), .field("s5"), .creationDate, .modificationDate, .recordID, .parent,
                ] as [QueryKey])
            let place: QuerySort.Place? = key == .field("s5") ? .init(latitude: 52, longitude: 13) : nil
            sorts.append(QuerySort(key: key, isAscending: Bool.random(using: &random.generator), relativeTo: place))
        }
        let predicate = random.generator.oneIn(6) ? .constant(true) : random.predicate()
        return Query(
            recordType: random.generator.oneIn(9) ? "Other" : "Note", predicate: predicate, sortDescriptors: sorts)
    }

    /// Every index holds what one that is made anew would hold.
    func checkIndexes() throws {
        for position in desk.database.zoneIndexOfIncarnation.values {
            let zone = desk.database.zoneStates[position]
            guard let indexes = desk.database.zoneIndexes[zone.incarnation] else { continue }
            #expect(indexes.testOnly_differences(zone.slots).isEmpty, comment)
        }
    }

    mutating func query() throws {
        let query = randomQuery()
        let zone = random.generator.oneIn(3) ? nil : random.generator.pick(QueryPlay.zones)
        if let zone, desk.database.incarnation(of: ZoneID(name: zone)) == nil {
            let error = #expect(throws: ServiceError.self) {
                try desk.database.startQuery(query, zone: ZoneID(name: zone))
            }
            #expect(error?.code == .zoneNotFound, comment)
            return
        }
        desk.database.indexedZoneMinimum = hasIndexes ? 1 : 256
        var cursor: QueryCursor?
        var after: Expected?
        // Records come and go all the time, so a query need not come to its end.
        for _ in 0..<8 {
            let limit = Int.random(in: 1...12, using: &random.generator)
            let run = try desk.database.startQuery(
                query, zone: zone.map { ZoneID(name: $0) }, after: cursor, resultsLimit: limit)
            if hasIndexes { run.testOnly_choice = Int.random(in: 0...9, using: &random.generator) }
            // The moment that is shown comes when the indexes are made.
            var moments = [desk.database.sequence: expected(query, zone: zone)]
            var changes = 0
            var isFinished = false
            if desk.database.pendingIndexChanges > 0 { pagesBehind += 1 }
            while !isFinished {
                if random.generator.oneIn(stepUnits == 1 ? 8 : 2) {
                    _ = desk.database.applyPendingIndexes(Int.random(in: 1...30, using: &random.generator))
                }
                if changes < 6, random.generator.oneIn(stepUnits == 1 ? 40 : 3) {
                    if random.generator.oneIn(20), let commit = desk.deleteZone("two").commit {
                        journal.append(commit.entry)
                        created = created.filter { !$0.key.hasPrefix("two/") }
                    }
                    modify()
                    changes += 1
                    if !run.isReading { moments[desk.database.sequence] = expected(query, zone: zone) }
                }
                isFinished = run.step(stepUnits)
            }
            var wanted = try #require(moments[run.sequence], comment)
            if let after { wanted.removeAll { !isBefore(after, $0, query.sortDescriptors) } }
            if random.generator.oneIn(2) { while desk.database.applyPendingIndexes(10) {} }
            if desk.database.pendingIndexChanges == 0 { try checkIndexes() }
            let populated = desk.database.zoneStates.filter { $0.liveCount > 0 }.map(\.incarnation).sorted()
            #expect(desk.database.populatedZones == populated, comment)
            let results = try #require(run.results)
            let found = results.matches.map { $0.zone.name + "/" + Record(stored: $0.record).system.name }
            let names = wanted.prefix(limit).map { $0.zone + "/" + $0.record.system.name }
            #expect(found == names, "\(comment) \(query) behind \(String(describing: cursor)): \(run.plan.steps)")
            #expect((results.next != nil) == (wanted.count > limit), comment)
            // As bytes, because a record that holds what is not a number does not equal itself.
            #expect(results.matches.map(\.record.array) == wanted.prefix(limit).map(\.bytes), comment)
            pages += 1
            matches += found.count
            if found != names { return }
            cursor = results.next
            after = results.next == nil ? nil : wanted[limit - 1]
            if random.generator.oneIn(2) { modify() }
            if random.generator.oneIn(12) { try restart() }
            if let zone, desk.database.incarnation(of: ZoneID(name: zone)) == nil { return }
            if cursor == nil { return }
        }
    }
}

/// The order of two records by one sort descriptor, from its definition.
enum NaiveSort {
    static func order(_ left: Record, _ right: Record, _ sort: QuerySort) -> Int {
        let (left, right) = (sortable(left, sort), sortable(right, sort))
        guard let left else { return right == nil ? 0 : 1 }
        guard let right else { return -1 }
        let order = compare(left, right)
        return sort.isAscending ? order : -order
    }

    private static func sortable(_ record: Record, _ sort: QuerySort) -> FieldValue? {
        guard let value = NaivePredicate.value(of: sort.key, record) else { return nil }
        if let place = sort.relativeTo {
            guard case .location(let location) = value else { return nil }
            let distance = Distance.metres(place.latitude, place.longitude, location.latitude, location.longitude)
            return distance.isNaN ? nil : .double(distance)
        }
        if case .location = value { return nil }
        return NaivePredicate.elements(value) == nil ? value : nil
    }

    private static func compare(_ left: FieldValue, _ right: FieldValue) -> Int {
        let (leftRank, rightRank) = (rank(left), rank(right))
        if leftRank != rightRank { return leftRank < rightRank ? -1 : 1 }
        let (leftIsNaN, rightIsNaN) = (isNaN(left), isNaN(right))
        if leftIsNaN || rightIsNaN { return (leftIsNaN ? 1 : 0) - (rightIsNaN ? 1 : 0) }
        if NaivePredicate.compare(left, .less, right) == true { return -1 }
        return NaivePredicate.compare(left, .equal, right) == true ? 0 : 1
    }

    private static func isNaN(_ value: FieldValue) -> Bool {
        switch value {
        case .double(let number), .date(let number): number.isNaN
        default: false
        }
    }

    private static func rank(_ value: FieldValue) -> Int {
        switch value {
        case .int64, .double: 0
        case .date: 1
        case .string: 2
        case .bytes: 3
        case .reference: 4
        default: 5
        }
    }
}
