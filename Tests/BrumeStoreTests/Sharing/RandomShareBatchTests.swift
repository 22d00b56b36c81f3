import BrumeModel
import BrumeRandom
import BrumeRecord
import BrumeTestKit
import Testing

@testable import BrumeStore

/// Batches of shares, roots and other records by chance, beside the plainest reading of the rules.
@Suite("Random batches with shares")
struct RandomShareBatchTests {
    @Test(
        "keep each share with its root, tell followers all of it, and are the same when replayed and loaded",
        arguments: 0..<40 as Range<UInt64>)
    func batches(seed: UInt64) throws {
        var run = Run(seed: seed)
        for step in 0..<250 { try run.step("seed \(seed), step \(step)") }
        #expect(run.shared > 2 && run.refused > 2 && run.ended > 0, "seed \(seed) tries something")
        try run.expectReplayed("seed \(seed)")
    }

    private struct Run {
        private static let names = (0..<8).map { "r\($0)" }

        private var generator: SeededGenerator
        private let desk = Desk.ofSharer()
        private var journal: [JournalEntry] = []
        private var followed: [String: Record] = [:]
        private var token: ChangeToken?
        private(set) var (shared, refused, ended) = (0, 0, 0)

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        private var zone: ZoneState { desk.database.zoneStates[1] }

        /// The records as the owner is shown them.
        private var records: [String: Record] {
            let records = desk.database.allRecords(in: Desk.zone).map { Record(stored: $0) }
            return Dictionary(uniqueKeysWithValues: records.map { ($0.system.name, $0) })
        }

        mutating func step(_ comment: Comment) throws {
            let before = records
            var saves: [RecordSave<CheckedFields>] = []
            var modification = ZoneModification<CheckedFields>(zone: Desk.zone)
            var expected: ErrorCode?
            var deletesToo = false
            let root = generator.pick(Self.names)
            let share = "s-\(root)"
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<4:
                for name in Self.names.shuffled(using: &generator).prefix(Int.random(in: 1...3, using: &generator)) {
                    let parent = Self.names.filter { before[$0] != nil && $0 != name }.randomElement(using: &generator)
                    let change: ParentChange = generator.oneIn(2) ? parent.map { .set($0) } ?? .removed : .unchanged
                    let reference = FieldValue.reference(
                        .init(recordName: generator.pick(Self.names + before.keys.sorted()), deletesSelf: true))
                    var fields: [String: FieldValue?] = ["n": .int64(Int64.random(in: 0...9, using: &generator))]
                    if generator.oneIn(6) { fields["up"] = reference }
                    if generator.oneIn(4) { fields.updateValue(nil, forKey: "up") }
                    saves.append(.of(name, fields, tag: before[name]?.system.changeTag ?? "", parent: change))
                }
            case 4..<7:
                saves = [
                    .of(share, ["cloudkit.title": .string("x")], type: Names.shareType),
                    .of(root, tag: before[root]?.system.changeTag ?? ""),
                ]
                let others = before.keys.sorted().filter { $0 != root && $0 != share }
                if generator.oneIn(3), let cause = others.randomElement(using: &generator) {
                    // The share goes with another record, maybe in this batch.
                    let reference = FieldValue.reference(.init(recordName: cause, deletesSelf: true))
                    saves[0] = .of(share, ["up": reference], type: Names.shareType)
                    deletesToo = generator.oneIn(2)
                    if deletesToo { modification.deletions = [cause] }
                }
                if generator.oneIn(2) { saves.reverse() }
                modification.shares[share] = ShareSave(root: root)
                expected =
                    before[share] != nil
                    ? .serverRecordChanged
                    : before[Names.zoneShare] != nil
                        ? .serverRejectedRequest : isSharedAround(root, before) ? .alreadyShared : nil
            case 7:
                saves = [.of(Names.zoneShare, type: Names.shareType)]
                modification.shares[Names.zoneShare] = ShareSave()
                let isShared = before.values.contains { $0.system.type == Names.shareType }
                expected =
                    before[Names.zoneShare] != nil ? .serverRecordChanged : isShared ? .invalidArguments : nil
            default:
                let names = generator.oneIn(2) ? before.keys.sorted() : [share, root, Names.zoneShare]
                modification.deletions = Array(
                    names.shuffled(using: &generator).prefix(Int.random(in: 1...3, using: &generator)))
            }
            modification.saves = saves
            let decision = desk.database.modifyRecords(
                ModifyRecordsRequest(
                    database: .private, savePolicy: generator.oneIn(2) ? .changedKeys : .ifServerRecordUnchanged,
                    isAtomic: Bool.random(using: &generator), zones: [modification]),
                caller: desk.caller, nowMilliseconds: 5)
            if let commit = decision.commit { journal.append(commit.entry) }
            let after = records
            if !deletesToo, let place = saves.firstIndex(where: { $0.type == Names.shareType }) {
                #expect(decision.answer[0].saves[place].error?.code == expected, comment)
                if expected == nil { shared += 1 } else { refused += 1 }
            }
            for name in before.keys where before[name]?.shareDetails != nil && after[name] == nil { ended += 1 }
            try check(before, after, decision.answer[0], comment)
        }

        /// Whether the record is in a share, or one that is below it is.
        private func isSharedAround(_ name: String, _ records: [String: Record]) -> Bool {
            func path(_ name: String) -> [String] {
                var path = [name]
                while let parent = records[path.last!]?.system.parent, !path.contains(parent) { path.append(parent) }
                return path
            }
            let roots = records.filter { $0.value.share != nil }.keys
            return path(name).contains { roots.contains($0) } || roots.contains { cut(path($0), roots).contains(name) }
        }

        /// What is above a root, up to the next one.
        private func cut(_ path: [String], _ roots: Dictionary<String, Record>.Keys) -> [String] {
            guard let end = path.dropFirst().firstIndex(where: { roots.contains($0) }) else { return path }
            return Array(path[...end])
        }

        private mutating func check(
            _ before: [String: Record], _ after: [String: Record], _ result: ZoneModificationResult<SharedBytes>,
            _ comment: Comment
        ) throws {
            let audit = desk.database.audit()
            #expect(audit.kept == audit.recounted, comment)
            let shares = Set(after.filter { $0.value.system.type == Names.shareType }.keys)
            let roots = after.values.compactMap(\.share)
            #expect(shares.subtracting([Names.zoneShare]) == Set(roots) && roots.count == Set(roots).count, comment)
            #expect(!shares.contains(Names.zoneShare) || shares.count == 1, comment)
            for (name, record) in after {
                #expect((record.shareDetails != nil) == shares.contains(name), comment)
                if record.share != before[name]?.share {
                    #expect(record.system.changeTag != before[name]?.system.changeTag, comment)
                }
            }
            for save in result.saves {
                guard let record = save.record, let now = after[record.system.name] else { continue }
                #expect(record.system.changeTag == now.system.changeTag && record.share == now.share, comment)
                #expect(record.shareDetails == now.shareDetails, comment)
            }
            let page = try desk.database.zoneChanges(
                zone: Desk.zone, since: token, resultsLimit: 0, desiredKeys: nil)
            for bytes in page.records { followed[Record(stored: bytes).system.name] = Record(stored: bytes) }
            for deletion in page.deletions { followed[deletion.name] = nil }
            token = page.token
            #expect(followed == after, comment)
        }

        func expectReplayed(_ comment: Comment) throws {
            let replayed = Desk.ofSharer()
            for entry in journal { try replayed.database.apply(entry) }
            let capture = desk.database.capture()
            let loader = DatabaseLoader(id: desk.database.id, epoch: 7, sequence: capture.sequence)
            #expect(loader.add(capture.header) == nil)
            try capture.forEachBlock { block in
                #expect(block.withUnsafeBytes { loader.add(content: $0) } == nil)
            }
            let loaded = try loader.finish().get()
            for database in [replayed.database, loaded] {
                let audit = database.audit()
                #expect(audit.kept == audit.recounted, comment)
                let sharing = database.zoneStates[1].sharing
                #expect(sharing.shares.keys.sorted() == zone.sharing.shares.keys.sorted(), comment)
                #expect(sharing.roots.keys.sorted() == zone.sharing.roots.keys.sorted(), comment)
                let records = database.allRecords(in: Desk.zone).map { Record(stored: $0) }
                #expect(Dictionary(uniqueKeysWithValues: records.map { ($0.system.name, $0) }) == self.records, comment)
            }
        }
    }
}
