import BrumeModel
import BrumeRecord
@testable import BrumeStore
import BrumeTestKit
import Testing

/// Shares as their owner saves and deletes them (Documentation/CloudKit.md, Sharing).
@Suite("A share in a batch")
struct ShareBatchTests {
    private static let friend = RandomShare.user(1)

    private let desk = Desk.ofSharer()

    private static func share(_ name: String = "share", tag: String = "", title: String = "Groceries")
        -> RecordSave<CheckedFields>
    {
        .of(name, ["cloudkit.title": .string(title)], type: Names.shareType, tag: tag)
    }

    private static func inviting(_ users: String..., permission: Share.Permission = .readWrite) -> ShareEdit {
        var edit = ShareEdit()
        edit.puts = users.map { .init(id: "for \($0)", invitee: .user($0), permission: permission) }
        return edit
    }

    private func modify(
        _ saves: [RecordSave<CheckedFields>], shares: [String: ShareSave] = [:], deletions: [String] = [],
        isAtomic: Bool = true, policy: SavePolicy = .ifServerRecordUnchanged, in zone: ZoneID = Desk.zone
    ) -> (result: ZoneModificationResult<SharedBytes>, commit: Commit?) {
        var modification = ZoneModification(zone: zone, saves: saves, deletions: deletions)
        modification.shares = shares
        let decision = desk.database.modifyRecords(
            ModifyRecordsRequest(
                database: desk.database.id.scope, savePolicy: policy, isAtomic: isAtomic, zones: [modification]),
            caller: desk.caller, nowMilliseconds: 2000)
        let audit = desk.database.audit()
        #expect(audit.kept == audit.recounted)
        return (decision.answer[0], decision.commit)
    }

    /// Shares a new record `list` with somebody; returns the tags of the record and of its share.
    @discardableResult
    private func shareList(_ name: String = "list", as share: String = "share") throws -> (list: String, share: String)
    {
        let result = modify(
            [Self.share(share), .of(name, ["title": .string("a")], type: "List")],
            shares: [share: ShareSave(root: name, edit: Self.inviting(Self.friend))]
        ).result
        #expect(result.saveCodes == [nil, nil])
        return (
            try #require(result.saves[1].record).system.changeTag, try #require(result.saves[0].record).system.changeTag
        )
    }

    private func details(_ name: String = "share") throws -> ShareView {
        let record = try #require(desk.record(name))
        return try #require(record.shareDetails)
    }

    // MARK: Made

    @Test("is made together with its root, in any order, and both tell of each other")
    func new() throws {
        let result = modify(
            [.of("list", type: "List"), Self.share()],
            shares: ["share": ShareSave(root: "list", edit: Self.inviting(Self.friend, permission: .readOnly))]
        ).result
        #expect(result.saveCodes == [nil, nil])
        #expect(result.saves.map { $0.record?.share } == ["share", nil])
        let answered = try #require(result.saves[1].record)
        #expect(!result.saves[1].fieldsOmitted && answered.fields["cloudkit.title"] == .string("Groceries"))
        #expect(answered.shareDetails == (try details()))
        let details = try details()
        #expect(details.participants.map(\.user) == [Desk.sharer, Self.friend])
        #expect(details.participants.map(\.isAccepted) == [true, false])
        #expect(details.participants[1].permission == .readOnly && details.url.hasPrefix("/share/"))
        #expect(desk.record("list")?.share == "share")
        let page = try desk.database.zoneChanges(zone: Desk.zone, since: nil, resultsLimit: 0, desiredKeys: [])
        #expect(page.records.map { Record(stored: $0).shareDetails } == [nil, details])
    }

    @Test("may be made of a record that there is, which gets another tag though nothing else changes")
    func existingRoot() throws {
        let tag = try desk.save("list", ["title": .string("a")], type: "List")
        let result = modify(
            [Self.share(), .of("list", type: "List", tag: tag)], shares: ["share": ShareSave(root: "list")]
        ).result
        #expect(result.saveCodes == [nil, nil])
        let list = try #require(desk.record("list"))
        #expect(list.system.changeTag != tag && list.share == "share" && list.fields["title"] == .string("a"))
        #expect(result.saves[1].record?.system == list.system && result.saves[1].record?.share == "share")
    }

    @Test("needs its root in the request")
    func missingRoot() throws {
        let tag = try desk.save("list", type: "List")
        for root in ["list", "other", "", "share"] {
            let result = modify([Self.share(), .of("beside")], shares: ["share": ShareSave(root: root)]).result
            #expect(result.saveCodes == [.invalidArguments, .batchRequestFailed], "\(root)")
        }
        #expect(modify([Self.share()]).result.saveCodes == [.invalidArguments])
        #expect(desk.record("beside") == nil && desk.record("share") == nil)
        #expect(desk.record("list")?.system.changeTag == tag)
    }

    @Test("is made with its root or not at all, whatever the request says")
    func atomic() throws {
        try desk.save("list", type: "List")
        let result = modify(
            [Self.share(), .of("list", type: "List", tag: "old"), .of("beside")],
            shares: ["share": ShareSave(root: "list")], isAtomic: false
        ).result
        #expect(result.saveCodes == [.batchRequestFailed, .serverRecordChanged, .batchRequestFailed])
        #expect(desk.record("share") == nil && desk.record("list")?.share == nil)
    }

    @Test("is refused where nothing is shared")
    func places() throws {
        let shares = ["share": ShareSave(root: "list")]
        let saves: [RecordSave<CheckedFields>] = [Self.share(), .of("list", type: "List")]
        #expect(modify(saves, shares: shares, in: .defaultZone).result.saveCodes == [.invalidArguments, nil])
        desk.makeZone("brume.key-value-store")
        let own = ZoneID(name: "brume.key-value-store")
        #expect(modify(saves, shares: shares, in: own).result.saveCodes == [.invalidArguments, .batchRequestFailed])
        let publicDesk = Desk.ofPublicDatabase(user: Desk.sharer)
        var modification = ZoneModification(zone: .defaultZone, saves: saves)
        modification.shares = shares
        let decision = publicDesk.database.modifyRecords(
            ModifyRecordsRequest(database: .public, zones: [modification]), caller: publicDesk.caller,
            nowMilliseconds: 1)
        #expect(decision.answer[0].saves[0].error?.code == .badDatabase)
        #expect(publicDesk.record("share", in: .defaultZone) == nil)
    }

    @Test("of a record that is shared already, by itself or with others, is refused")
    func alreadyShared() throws {
        try shareList()
        try desk.save("item", parent: .set("list"))
        try desk.save("folder")
        let list = try #require(desk.record("list")).system.changeTag
        let codes = { (root: String) in
            modify(
                [
                    Self.share("other"),
                    .of(root, type: root == "list" ? "List" : "Note", tag: desk.record(root)?.system.changeTag ?? ""),
                ], shares: ["other": ShareSave(root: root)]
            ).result.saveCodes
        }
        #expect(codes("list") == [.alreadyShared, .batchRequestFailed], "the root")
        #expect(codes("item") == [.alreadyShared, .batchRequestFailed], "below it")
        try desk.save("list", type: "List", tag: list, parent: .set("folder"))
        #expect(codes("folder") == [.alreadyShared, .batchRequestFailed], "above it")
        #expect(codes("new") == [nil, nil])
        let both = modify(
            [Self.share("a"), Self.share("b"), .of("x")],
            shares: ["a": ShareSave(root: "x"), "b": ShareSave(root: "x")]
        ).result
        #expect(both.saveCodes == [.batchRequestFailed, .alreadyShared, .batchRequestFailed])
        let nested = modify(
            [Self.share("a"), Self.share("b"), .of("x"), .of("y", parent: .set("x"))],
            shares: ["a": ShareSave(root: "x"), "b": ShareSave(root: "y")]
        ).result
        #expect(nested.saveCodes == [.alreadyShared, .alreadyShared, .batchRequestFailed, .batchRequestFailed])
    }

    @Test("of a whole zone and shares of its records exclude each other")
    func zoneWide() throws {
        try shareList()
        let zoneShare = [Names.zoneShare: ShareSave()]
        #expect(modify([Self.share(Names.zoneShare)], shares: zoneShare).result.saveCodes == [.invalidArguments])
        desk.makeZone("whole")
        let whole = ZoneID(name: "whole")
        #expect(desk.database.zones.contains { $0.isShared } == false)
        let made = modify([Self.share(Names.zoneShare)], shares: zoneShare, in: whole).result
        #expect(made.saveCodes == [nil])
        #expect(desk.database.zones.filter(\.isShared).map(\.id) == [whole])
        let again = modify([Self.share(Names.zoneShare)], shares: zoneShare, in: whole).result
        #expect(again.saveCodes == [.serverRecordChanged])
        #expect(Record(stored: try #require(again.saves[0].error?.serverRecord)).shareDetails != nil)
        let inside = modify(
            [Self.share(), .of("list")], shares: ["share": ShareSave(root: "list")], in: whole
        ).result
        #expect(inside.saveCodes == [.serverRejectedRequest, .batchRequestFailed])
        desk.makeZone("neither")
        let both = modify(
            [Self.share(Names.zoneShare), Self.share(), .of("list")],
            shares: [Names.zoneShare: ShareSave(), "share": ShareSave(root: "list")], in: ZoneID(name: "neither")
        ).result
        #expect(both.saveCodes == [.invalidArguments, .serverRejectedRequest, .batchRequestFailed])
        let url = try #require(made.saves[0].record?.shareDetails).url
        _ = modify([], deletions: [Names.zoneShare], in: whole)
        #expect(desk.database.zones.contains { $0.isShared } == false)
        let remade = modify([Self.share(Names.zoneShare)], shares: zoneShare, in: whole).result
        #expect(remade.saves[0].record?.shareDetails?.url == url, "the URL is the same")
    }

    @Test("is not made of a root whose share the same request deletes, and is in the next one")
    func sharedAgain() throws {
        let (list, _) = try shareList()
        let save = RecordSave<CheckedFields>.of("list", type: "List", tag: list)
        let both = modify([Self.share("next"), save], shares: ["next": ShareSave(root: "list")], deletions: ["share"])
        #expect(both.result.saveCodes == [.alreadyShared, .batchRequestFailed] && both.commit == nil)
        #expect(both.result.deletions.map { $0?.code } == [.batchRequestFailed])
        #expect(modify([], deletions: ["share"]).result.deletions == [nil])
        let tag = try #require(desk.record("list")).system.changeTag
        let next = modify(
            [Self.share("next"), .of("list", type: "List", tag: tag)], shares: ["next": ShareSave(root: "list")])
        #expect(next.result.saveCodes == [nil, nil])
    }

    @Test("finds room in its zone beside a number of others, and where one of these has gone")
    func sharesOfZone() throws {
        let count = Limits.sharesPerZone
        func share(_ numbers: Range<Int>) -> [ErrorCode?] {
            modify(
                numbers.flatMap { [Self.share("s\($0)"), .of("r\($0)")] },
                shares: Dictionary(uniqueKeysWithValues: numbers.map { ("s\($0)", ShareSave(root: "r\($0)")) })
            ).result.saveCodes
        }
        for start in stride(from: 0, to: count - 1, by: 100) {
            #expect(share(start..<min(start + 100, count - 1)).allSatisfy { $0 == nil })
        }
        #expect(share(count..<count + 2).contains(.limitExceeded), "two where there is room for one")
        #expect(share(count..<count + 1) == [nil, nil])
        #expect(share(count + 1..<count + 2) == [.limitExceeded, .batchRequestFailed])
        #expect(modify([], deletions: ["s0"]).result.deletions == [nil])
        #expect(share(count + 1..<count + 2) == [nil, nil])
    }

    @Test("of a whole zone has the secret of the run that made the zone, in whatever run it is shared")
    func secretOfZone() throws {
        let plain = desk.database.shareAddresses
        desk.database.shareAddresses = ShareAddresses(
            newSecret: plain.newSecret, secretOfZone: { run, _ in [UInt8](repeating: UInt8(run), count: 20) },
            url: plain.url)
        // Another zone of another run, as at the same place after a folder was put back.
        desk.database.begin(run: 8)
        desk.makeZone("later")
        for run in 9...10 as ClosedRange<UInt32> {
            desk.database.begin(run: run)
            for (zone, secret) in [(Desk.zone, UInt8(7)), (ZoneID(name: "later"), 8)] {
                #expect(modify([Self.share(Names.zoneShare)], in: zone).result.saveCodes == [nil])
                let state = try #require(desk.database.zoneStates.first { $0.name == zone.name })
                let slot = try #require(state.sharing.shares[Names.zoneShare])
                #expect(state[slot].share?.secret == [UInt8](repeating: secret, count: 20))
                #expect(modify([], deletions: [Names.zoneShare], in: zone).result.deletions == [nil])
            }
        }
    }

    // MARK: Changed

    @Test("is saved over the version that the client knows alone, whatever the policy")
    func tags() throws {
        let (_, tag) = try shareList()
        for policy: SavePolicy in [.allKeys, .changedKeys, .ifServerRecordUnchanged] {
            let stale = modify(
                [Self.share(tag: "other", title: "b")],
                shares: ["share": ShareSave(edit: Self.inviting(RandomShare.user(2)))],
                policy: policy
            ).result
            #expect(stale.saveCodes == [.serverRecordChanged])
            let server = Record(stored: try #require(stale.saves[0].error?.serverRecord))
            #expect(server.shareDetails == (try details()) && server.system.changeTag == tag)
        }
        let unchanged = modify([Self.share(tag: tag)], shares: ["share": ShareSave()], policy: .allKeys)
        #expect(unchanged.commit == nil && unchanged.result.saves[0].record == desk.record("share"))
        let saved = modify(
            [Self.share(tag: tag)], shares: ["share": ShareSave(edit: Self.inviting(RandomShare.user(2)))],
            policy: .changedKeys
        ).result
        #expect(saved.saveCodes == [nil] && saved.saves[0].record?.system.changeTag != tag)
        #expect(try details().participants.count == 3)
        let gone = modify([Self.share("gone", tag: tag)], shares: ["gone": ShareSave()], policy: .allKeys).result
        #expect(gone.saveCodes == [.unknownItem])
    }

    @Test("keeps its root, has no parent, and stays a share")
    func fixed() throws {
        let (_, tag) = try shareList()
        let moved = modify([Self.share(tag: tag), .of("other")], shares: ["share": ShareSave(root: "other")]).result
        #expect(moved.saveCodes == [.invalidArguments, .batchRequestFailed])
        #expect(modify([Self.share(tag: tag)], shares: ["share": ShareSave(root: "list")]).result.saveCodes == [nil])
        let child = RecordSave<CheckedFields>.of("share", type: Names.shareType, tag: tag, parent: .set("list"))
        #expect(modify([child]).result.saveCodes == [.invalidArguments])
        #expect(modify([.of("share", tag: tag)]).result.saveCodes == [.invalidArguments])
        #expect(
            modify([.of("plain"), Self.share("plain")], isAtomic: false).result.saveCodes.contains(.invalidArguments))
        try desk.save("note")
        let turned = modify([Self.share("note"), .of("x")], shares: ["note": ShareSave(root: "x")], policy: .allKeys)
        #expect(turned.result.saveCodes == [.serverRecordChanged, .batchRequestFailed])
    }

    @Test("of more participants than one answer shows is refused, in a conflict, too, and the rest is saved")
    func limits() throws {
        var tags: [String] = []
        for number in 0..<42 {
            let users = (1...99).map { RandomShare.user($0) }
            var edit = ShareEdit()
            edit.puts = users.map { .init(id: "for \($0)", invitee: .user($0), permission: .readOnly) }
            let result = modify(
                [.of("r\(number)"), Self.share("s\(number)")],
                shares: ["s\(number)": ShareSave(root: "r\(number)", edit: edit)]
            ).result
            tags.append(try #require(result.saves[1].record).system.changeTag)
        }
        let stale = modify((0..<42).map { Self.share("s\($0)", tag: "old") }).result
        #expect(stale.saveCodes.prefix(40).allSatisfy { $0 == .serverRecordChanged })
        #expect(stale.saveCodes.suffix(2) == [.limitExceeded, .limitExceeded])
        let saved = modify((0..<40).map { Self.share("s\($0)", tag: tags[$0], title: "b") }).result
        #expect(saved.saveCodes.allSatisfy { $0 == nil })
    }

    // MARK: Gone

    @Test("leaves its root behind with another tag, which the request is answered with if it saved the root")
    func deletion() throws {
        let (list, _) = try shareList()
        try desk.save("item", parent: .set("list"))
        let item = desk.record("item")
        let url = try details().url
        let alone = modify([], deletions: ["share"])
        #expect(alone.result.deletions == [nil])
        let root = try #require(desk.record("list"))
        #expect(root.share == nil && root.system.changeTag != list && root.fields["title"] == .string("a"))
        #expect(desk.record("item") == item && desk.record("share") == nil)
        #expect(alone.commit?.entry.changes.count == 2)
        // Shared again, it has the same URL.
        let again = modify(
            [Self.share("next"), .of("list", type: "List", tag: root.system.changeTag)],
            shares: ["next": ShareSave(root: "list")])
        #expect(again.result.saves[0].record?.shareDetails?.url == url)
        // The root is saved in the same request: changed, or as it is.
        for title in ["b", "b"] {
            let name = desk.record("next") == nil ? "share" : "next"
            let tag = try #require(desk.record("list")).system.changeTag
            let both = modify(
                [.of("list", ["title": .string(title)], type: "List", tag: tag)], deletions: [name]
            ).result
            #expect(both.saveCodes == [nil] && both.deletions == [nil])
            #expect(both.saves[0].record?.system == desk.record("list")?.system)
            #expect(both.saves[0].record?.share == nil && both.saves[0].fieldsOmitted)
            #expect(desk.record("list")?.share == nil && desk.record("list")?.fields["title"] == .string("b"))
            let shared = modify(
                [Self.share(), .of("list", type: "List", tag: try #require(desk.record("list")).system.changeTag)],
                shares: ["share": ShareSave(root: "list")])
            #expect(shared.result.saveCodes == [nil, nil])
        }
    }

    @Test("goes with its root, deleted or fallen, and in any order with its children")
    func withRoot() throws {
        try shareList()
        try desk.save("item", parent: .set("list"))
        let blocked = modify([], deletions: ["list"]).result
        #expect(blocked.deletions.map { $0?.code } == [.referenceViolation])
        #expect(desk.record("share") != nil)
        #expect(modify([], deletions: ["share", "list", "item"]).result.deletions == [nil, nil, nil])
        #expect(desk.database.zoneStates[1].liveCount == 0)

        try shareList()
        let deleted = modify([], deletions: ["list"])
        #expect(deleted.result.deletions == [nil] && desk.record("share") == nil)
        #expect(deleted.commit?.entry.changes.count == 2)

        try desk.save("owner")
        let fallen = RecordSave<CheckedFields>.of(
            "list", ["of": .reference(.init(recordName: "owner", deletesSelf: true))], type: "List")
        #expect(
            modify([Self.share(), fallen], shares: ["share": ShareSave(root: "list")]).result.saveCodes == [nil, nil])
        #expect(modify([], deletions: ["owner"], isAtomic: false).result.deletions == [nil])
        #expect(desk.database.zoneStates[1].liveCount == 0, "the root fell, and its share with it")
    }

    @Test("that falls by a reference leaves its root, and a new one is not made of a root that falls")
    func cascades() throws {
        try desk.save("cause")
        let reference = FieldValue.reference(.init(recordName: "cause", deletesSelf: true))
        let share = RecordSave<CheckedFields>.of("share", ["of": reference], type: Names.shareType)
        #expect(
            modify([share, .of("list")], shares: ["share": ShareSave(root: "list")]).result.saveCodes == [nil, nil])
        let fell = modify([.of("beside")], deletions: ["cause"], isAtomic: false)
        #expect(fell.result.saveCodes == [nil] && fell.result.deletions == [nil])
        #expect(desk.record("share") == nil && desk.record("list")?.share == nil)

        try desk.save("cause")
        // The new share goes and its root stays: it would be left without a share.
        for existing in [false, true] {
            let tag = existing ? try desk.save("alone") : ""
            let half = modify(
                [share, .of("alone", tag: tag)], shares: ["share": ShareSave(root: "alone")], deletions: ["cause"])
            #expect(half.result.saveCodes == [.batchRequestFailed, .batchRequestFailed])
            #expect(half.result.deletions.map { $0?.code } == [.invalidArguments] && half.commit == nil)
        }
        let root = RecordSave<CheckedFields>.of("root", ["of": reference])
        let result = modify([Self.share(), root], shares: ["share": ShareSave(root: "root")], deletions: ["cause"])
            .result
        #expect(result.saveCodes == [.batchRequestFailed, .batchRequestFailed])
        #expect(result.deletions.map { $0?.code } == [.invalidArguments])
        #expect(desk.record("cause") != nil && desk.record("share") == nil)
    }

    @Test("is deleted with all that the request asks for, or nothing is done")
    func atomicDeletion() throws {
        try shareList()
        for name in ["share", "list"] {
            let result = modify(
                [.of("list", type: "List", tag: "old")], deletions: [name == "list" ? "share" : name], isAtomic: false
            ).result
            #expect(result.saveCodes == [.serverRecordChanged])
            #expect(result.deletions.map { $0?.code } == [.batchRequestFailed])
        }
        #expect(desk.record("share") != nil && desk.record("list")?.share == "share")
        let plain = modify([.of("list", type: "List", tag: "old"), .of("beside")], isAtomic: false).result
        #expect(plain.saveCodes == [.serverRecordChanged, nil], "a root alone makes no request atomic")
    }

    @Test("an item that fails is why others of its request do, in a zone with other shares, too")
    func reasons() throws {
        try shareList("other", as: "others")
        try desk.save("list", type: "List")
        try desk.save("beside")
        let result = modify(
            [Self.share(), .of("list", type: "List", tag: "old")], shares: ["share": ShareSave(root: "list")],
            deletions: ["beside", "others"]
        ).result
        #expect(result.saveCodes == [.batchRequestFailed, .serverRecordChanged])
        #expect(result.deletions.map { $0?.code } == [.batchRequestFailed, .batchRequestFailed])
    }

    @Test("makes its request atomic with nothing to say but fields, and a root that was one does not")
    func atomicity() throws {
        let (list, tag) = try shareList()
        let fields = modify(
            [Self.share(tag: tag, title: "b"), .of("list", type: "List", tag: "old")], isAtomic: false
        ).result
        #expect(fields.saveCodes == [.batchRequestFailed, .serverRecordChanged])
        _ = modify([], deletions: ["share"])
        try desk.save("b")
        let former = modify([.of("b", tag: list)], deletions: ["list"], isAtomic: false).result
        #expect(former.saveCodes == [.serverRecordChanged] && former.deletions == [nil])
        desk.makeZone("whole")
        let plain = modify([Self.share(Names.zoneShare)], in: ZoneID(name: "whole")).result
        #expect(plain.saveCodes == [nil], "there is nothing to say of the share of a zone")
    }

    @Test("of many roots, edits of those are answered as short as those of other records")
    func shortAnswers() throws {
        let text = FieldValue.string(String(repeating: "x", count: 20_000))
        var saves: [RecordSave<CheckedFields>] = []
        var shares: [String: ShareSave] = [:]
        for number in 0..<90 {
            saves += [.of("r\(number)", ["text": text]), Self.share("s\(number)")]
            shares["s\(number)"] = ShareSave(root: "r\(number)")
        }
        #expect(modify(saves, shares: shares).result.saveCodes.allSatisfy { $0 == nil })
        let edits = (0..<90).map { number in
            RecordSave<CheckedFields>.of(
                "r\(number)", ["n": .int64(1)], tag: desk.record("r\(number)")?.system.changeTag ?? "")
        }
        let edited = modify(edits).result
        #expect(
            edited.saves.allSatisfy { $0.fieldsOmitted && $0.record?.share != nil && $0.record?.fields.isEmpty == true }
        )
        // A root that was saved, or is as it was, beside the deletion of its share, is answered as short.
        let tag = try #require(edited.saves[0].record).system.changeTag
        let both = modify([.of("r0", ["n": .int64(1)], tag: tag)], deletions: ["s0"]).result
        let root = try #require(both.saves[0].record)
        #expect(both.saves[0].fieldsOmitted && root.fields.isEmpty && root.share == nil)
        #expect(root.system == desk.record("r0")?.system)
    }

    @Test("leaves pages as full of its roots as of other records, and shares themselves count for more")
    func pages() throws {
        for number in 0..<120 {
            let saves = [
                RecordSave<CheckedFields>.of("r\(number)", ["text": .string(String(repeating: "x", count: 6_000))]),
                Self.share("s\(number)"),
            ]
            let save = ShareSave(root: "r\(number)", edit: Self.inviting(Self.friend))
            #expect(modify(saves, shares: ["s\(number)": save]).result.saveCodes == [nil, nil])
        }
        let page = try desk.database.zoneChanges(zone: Desk.zone, since: nil, resultsLimit: 0, desiredKeys: nil)
        #expect(!page.moreComing && page.records.count == 240)
        let names = (0..<120).map { "r\($0)" }
        let fetched = desk.database.fetchRecords(
            FetchRecordsRequest(database: .private, zones: [.init(zone: Desk.zone, names: names)]))
        #expect(!fetched[0].contains(.deferred))
        let marked = try #require(desk.database.zoneStates[1].liveSlot(of: "s0"))
        let shown = desk.database.shown(
            marked, of: desk.database.zoneStates[1].slots, nil, zone: 1, to: Desk.sharer)
        #expect(shown.cost > 2 * shown.record.count)
    }

    @Test("that can't be looked at as well is refused, whatever zones a request spreads shares over")
    func costs() throws {
        for zone in ["a", "b"] {
            desk.makeZone(zone)
            var saves: [RecordSave<CheckedFields>] = []
            for number in 0..<6_000 {
                saves.append(.of("\(number)", parent: number == 0 ? .unchanged : .set("\(number - 1)")))
                if saves.count == 400 || number == 5_999 {
                    #expect(modify(saves, in: ZoneID(name: zone)).result.saveCodes.allSatisfy { $0 == nil })
                    saves = []
                }
            }
        }
        let zones = ["a", "b"].map { name in
            var modification = ZoneModification<CheckedFields>(
                zone: ZoneID(name: name), saves: [Self.share(), .of("new", parent: .set("5999"))])
            modification.shares["share"] = ShareSave(root: "new")
            return modification
        }
        let decision = desk.database.modifyRecords(
            ModifyRecordsRequest(database: .private, zones: zones), caller: desk.caller, nowMilliseconds: 1)
        #expect(decision.answer.map { $0.saves[0].error?.code } == [nil, .limitExceeded])
    }

    // MARK: Shown

    @Test("and its root are shown without what the server keeps of them, in every answer")
    func secrets() throws {
        let (list, tag) = try shareList()
        let secret = try #require(
            desk.database.zoneStates[1].liveSlot(of: "list").flatMap { desk.database.zoneStates[1][$0].sharing?.secret }
        )
        var answers: [[UInt8]] = []
        func note(_ result: ZoneModificationResult<SharedBytes>) {
            for save in result.saves {
                if case .record(let bytes) = save.outcome { answers.append(bytes.array) }
                if let record = save.error?.serverRecord { answers.append(record) }
            }
        }
        note(modify([.of("list", ["title": .string("b")], type: "List", tag: list)]).result)
        note(modify([.of("list", ["title": .string("b")], type: "List")], policy: .allKeys).result)
        note(modify([.of("list", type: "List")], policy: .changedKeys).result)
        note(modify([.of("list", type: "List", tag: list), Self.share(tag: "old")], isAtomic: false).result)
        note(modify([Self.share(tag: tag, title: "b")]).result)
        answers += try ["list", "share"].map { try #require(desk.bytes($0)) }
        answers += try desk.database.zoneChanges(zone: Desk.zone, since: nil, resultsLimit: 0, desiredKeys: nil).records
            .map(\.array)
        answers += desk.database.allRecords(in: Desk.zone).map(\.array)
        let run = try desk.database.startQuery(Query(recordType: "List", predicate: .constant(true)), zone: Desk.zone)
        while !run.step() {}
        answers += try #require(run.results).matches.map(\.record.array)
        let shares = try desk.database.startQuery(
            Query(recordType: Names.shareType, predicate: .constant(true)), zone: Desk.zone)
        while !shares.step() {}
        #expect(shares.results?.matches.count == 1)
        answers += try #require(shares.results).matches.map(\.record.array)
        #expect(answers.count >= 12)
        for answer in answers {
            #expect(
                answer.decoded(StoredRecord.sharing).secret.isEmpty
                    && answer.decoded(StoredRecord.sharing).storedShare.isEmpty)
            #expect(!answer.indices.contains { answer[$0...].starts(with: secret) })
        }
        #expect(answers.contains { Record(stored: $0).share == "share" })
    }
}
