import BrumeModel
import BrumeRandom
import BrumeRecord
import BrumeTestKit
import Testing

@testable import BrumeStore

/// Records that are shared, moved, left and deleted by chance, in several shares of a zone, beside the plainest reading
/// of the rules.
@Suite("Random trees of shared records")
struct RandomTreesTests {
    @Test(
        "show each user what stands below the roots that are shared with them, from every token that they ever had",
        arguments: 0..<24 as Range<UInt64>)
    func trees(seed: UInt64) throws {
        var run = TreesRun(seed: seed)
        for step in 0..<200 {
            run.comment = "seed \(seed), step \(step)"
            try run.step()
        }
        let counts = run.counts
        #expect(counts.accepted > 0 && counts.shared > 2 && counts.moved > 2, "seed \(seed) tries \(counts)")
        #expect(counts.guestSaves > 0 && counts.guestRefusals > 2, "seed \(seed) tries \(counts)")
        #expect(counts.prepared > 0 && counts.edited > 2 && counts.asked > 0, "seed \(seed) tries \(counts)")
        try run.checkAllTokens()
        try run.checkCopies()
    }
}

/// The zone's records as they are stored, and what follows from them.
private struct TruthOfTrees {
    struct Node: Equatable {
        var tag: String
        var parent: String
        /// The share that it is the root of.
        var rootOf: String
        var isShare: Bool
    }

    /// What all who take part are shown of a share.
    struct Front: Equatable {
        var participants: [ShareParticipant]
        var publicPermission: Share.Permission
        var allowsAccessRequests: Bool
        var title: FieldValue?
    }

    var nodes: [String: Node] = [:]
    var shares: [String: Share] = [:]
    private var fronts: [String: Front] = [:]
    /// The tags of the last changes of shares that all are shown.
    private(set) var shownTags: [String: String] = [:]

    /// - Parameter former: The truth before the last commit.
    init(_ database: Database, after former: TruthOfTrees? = nil) {
        let state = database.zoneStates[1]
        for (slot, record) in state.liveSlots {
            let stored = Record(stored: record.bytes)
            let part = record.sharing
            nodes[record.name] = Node(
                tag: stored.system.changeTag, parent: record.parent, rootOf: part?.share ?? "",
                isShare: record.type == Names.shareType)
            guard let share = state.slots[slot].share else { continue }
            let front = Front(
                participants: share.participants.filter(\.isAccepted), publicPermission: share.publicPermission,
                allowsAccessRequests: share.allowsAccessRequests, title: stored.fields["cloudkit.title"])
            shares[record.name] = share
            fronts[record.name] = front
            // Where nobody takes part the first who comes is a change for all.
            shownTags[record.name] =
                former?.fronts[record.name] == front ? former?.shownTags[record.name] : stored.system.changeTag
        }
    }

    /// The share that covers a record; nil for none.
    func cover(of name: String) -> String? {
        var seen = Set<String>()
        var current = name
        while let node = nodes[current], seen.insert(current).inserted {
            if node.isShare { return current }
            if !node.rootOf.isEmpty { return node.rootOf }
            if node.parent.isEmpty { return nil }
            current = node.parent
        }
        return nil
    }

    func permission(_ user: String, _ name: String) -> Share.Permission? {
        guard let share = cover(of: name).flatMap({ shares[$0] }), share.participant(ofUser: user) != nil else {
            return nil
        }
        return share.permission(ofUser: user)
    }

    /// The tags of what a user sees, by name.
    func view(of user: String) -> [String: String] {
        var view: [String: String] = [:]
        for name in nodes.keys where permission(user, name) != nil { view[name] = tag(of: name, for: user) }
        return view
    }

    /// The tag that a user who sees a record is shown.
    func tag(of name: String, for user: String) -> String {
        let isLess = shares[name]?.participant(ofUser: user)?.role == .privateUser
        return isLess ? shownTags[name]! : nodes[name]!.tag
    }

    func takesPart(_ user: String) -> Bool { shares.values.contains { $0.participant(ofUser: user) != nil } }
}

private struct TreesRun {
    private static let users = (1...3).map { RandomShare.user($0) }
    private static let strangers = (5...7).map { RandomShare.user($0) }
    private static let names = (0..<12).map { "r\($0)" }

    /// A device in the midst of its pages, or a token that was kept for later.
    private struct Device {
        var user: String
        var token: ChangeToken?
        var view: [String: String] = [:]
        var start: ChangePosition
    }

    struct Counts {
        var (accepted, shared, moved, guestSaves, guestRefusals, ended, prepared, edited, asked) =
            (0, 0, 0, 0, 0, 0, 0, 0, 0)
    }

    var comment: Comment = ""
    private(set) var counts = Counts()
    private var generator: SeededGenerator
    private let shared = SharedDesk()
    private var journal: [JournalEntry] = []
    private var devices: [Device] = []
    private var kept: [Device] = []
    private var number = 0
    /// A record whose tree is made ready.
    private var preparing: LargeTree?
    private var truth: TruthOfTrees
    /// What each user has ever seen since they came to the zone.
    private var seen: [String: Set<String>] = [:]

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        truth = TruthOfTrees(shared.database)
    }

    private var database: Database { shared.database }

    private func desk(_ user: String) -> Desk { user == Desk.sharer ? shared.owner : shared.desk(of: user) }

    mutating func step() throws {
        let before = truth
        switch Int.random(in: 0..<28, using: &generator) {
        case 0..<7: ownerWrites()
        case 7..<9: sharesRecord(generator.pick(Self.names))
        case 9: if generator.oneIn(2) { endsShare() }
        case 10..<12: editsShare()
        case 12..<16: try accepts()
        case 16: if generator.oneIn(2) { leaves() }
        case 17, 18: try strangerAsks()
        default: guestWrites()
        }
        try prepares()
        truth = TruthOfTrees(database, after: truth)
        if before.nodes.contains(where: { truth.nodes[$0.key]?.parent != $0.value.parent }) {
            counts.moved += 1
        }
        shared.expectSound()
        #expect(database.zoneStates[1].problemWithTrees == nil, comment)
        noteSeen()
        for user in Self.users { try look(user) }
        try fetch()
    }

    private mutating func noteSeen() {
        for user in Self.users {
            if !truth.takesPart(user) {
                seen[user] = []
            } else {
                seen[user, default: []].formUnion(truth.view(of: user).keys)
            }
        }
    }

    private mutating func keep(_ commit: Commit?) {
        if let commit { journal.append(commit.entry) }
    }

    // MARK: What the owner does

    private mutating func ownerWrites() {
        var saves: [RecordSave<CheckedFields>] = []
        var deletions: [String] = []
        for name in Self.names.shuffled(using: &generator).prefix(Int.random(in: 1...4, using: &generator)) {
            if generator.oneIn(6) {
                deletions.append(name)
                continue
            }
            let others = Self.names.filter { $0 != name && (truth.nodes[$0] != nil || generator.oneIn(8)) }
            let parent: ParentChange
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: parent = .unchanged
            case 1 where generator.oneIn(2): parent = .removed
            default: parent = others.randomElement(using: &generator).map { .set($0) } ?? .unchanged
            }
            number += 1
            var fields: [String: FieldValue?] = ["n": .int64(Int64(number))]
            if generator.oneIn(8) {
                fields["up"] = .reference(.init(recordName: generator.pick(Self.names), deletesSelf: true))
            }
            saves.append(.of(name, fields, parent: parent))
        }
        keep(
            shared.owner.modify(policy: .changedKeys, isAtomic: generator.oneIn(2), saves: saves, deletions: deletions)
                .commit)
    }

    /// Goes on with a tree that is made ready, and shares its root when it is.
    private mutating func prepares() throws {
        guard let tree = preparing else {
            let root = generator.pick(Self.names)
            if truth.nodes[root] == nil || truth.cover(of: root) != nil { return }
            let tree = LargeTree(zone: database.zoneStates[1].incarnation, root: root)
            try database.beginTree(tree)
            preparing = tree
            return
        }
        switch database.continueTree(tree, units: Int.random(in: 1...4, using: &generator)) {
        case .underWay: return
        case .broken: break
        case .ready:
            let number = database.zoneStates[1].trees.preparations[tree.root]?.number
            truth = TruthOfTrees(database, after: truth)
            noteSeen()
            sharesRecord(tree.root)
            if let number, database.zoneStates[1].trees.numberOfShare["s-\(tree.root)"] == number {
                counts.prepared += 1
            }
        }
        database.endTree(tree)
        preparing = nil
    }

    private mutating func sharesRecord(_ root: String) {
        let share = "s-\(root)"
        if truth.nodes[share] != nil { return }
        var edit = ShareEdit()
        edit.allowsAccessRequests = generator.oneIn(2) ? true : nil
        edit.puts = Self.users.filter { _ in !generator.oneIn(3) }.map {
            .init(
                id: "for \($0)", invitee: .user($0), role: generator.oneIn(4) ? .administrator : .privateUser,
                permission: generator.oneIn(3) ? .readOnly : .readWrite)
        }
        number += 1
        var saves: [RecordSave<CheckedFields>] = [
            .of(share, type: Names.shareType),
            .of(root, ["n": .int64(Int64(number))], tag: truth.nodes[root]?.tag ?? ""),
        ]
        if generator.oneIn(2) { saves.reverse() }
        if generator.oneIn(4) { saves.append(.of("r-new\(number)", parent: .set(root))) }
        let other = generator.pick(Self.names)
        if other != root, generator.oneIn(4) {
            let parent: ParentChange = generator.oneIn(2) ? .set(root) : .removed
            saves.append(.of(other, tag: truth.nodes[other]?.tag ?? "", parent: parent))
            // What stands below it may change with the same request.
            let names = Set(saves.map(\.name))
            let children = truth.nodes.filter { $0.value.parent == other && !names.contains($0.key) }.keys.sorted()
            for child in children where generator.oneIn(2) {
                saves.append(.of(child, ["n": .int64(Int64(number))], tag: truth.nodes[child]!.tag))
            }
        }
        if generator.oneIn(2) { saves.shuffle(using: &generator) }
        let result = shared.owner.modify(saves: saves, shares: [share: ShareSave(root: root, edit: edit)])
        if result.commit != nil { counts.shared += 1 }
        keep(result.commit)
    }

    private mutating func endsShare() {
        guard let share = truth.shares.keys.sorted().randomElement(using: &generator) else { return }
        var saves: [RecordSave<CheckedFields>] = []
        if generator.oneIn(3) { saves.append(.of("r-new\(number)", parent: .set(generator.pick(Self.names)))) }
        let result = shared.owner.modify(isAtomic: false, saves: saves, deletions: [share])
        if result.commit != nil { counts.ended += 1 }
        keep(result.commit)
    }

    private mutating func editsShare() {
        guard let name = truth.shares.keys.sorted().randomElement(using: &generator), let share = truth.shares[name]
        else {
            return
        }
        var edit = ShareEdit()
        edit.allowsAccessRequests = true
        let user = generator.pick(Self.users)
        // What those who don't manage it are not shown.
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: edit.puts = [.init(id: "more\(number)", invitee: .oneTime, permission: .readOnly)]
        case 1: edit.removals = share.participants.filter { !$0.isAccepted && $0.id.hasPrefix("more") }.map(\.id)
        case 2: edit.blocks = [generator.pick(Self.strangers)]
        case 3: edit.unblocks = share.blockedUsers
        case 4: edit.denials = share.requesters.map(\.user)
        default: changePart(of: user, in: share, &edit)
        }
        number += 1
        let managers = Self.users.filter { share.participant(ofUser: $0)?.role == .administrator }
        let editor = generator.pick(managers + [Desk.sharer])
        let title: [String: FieldValue?] =
            generator.oneIn(8) ? ["cloudkit.title": .string(generator.pick(["One", "Two"]))] : [:]
        let saved = desk(editor).modify(
            saves: [.of(name, title, type: Names.shareType, tag: truth.tag(of: name, for: editor))],
            shares: [name: ShareSave(edit: edit)])
        #expect(saved.result.saveCodes == [nil], comment)
        if saved.commit != nil { counts.edited += 1 }
        keep(saved.commit)
    }

    private mutating func changePart(of user: String, in share: Share, _ edit: inout ShareEdit) {
        if let participant = share.participants.first(where: { $0.user == user || $0.id == "for \(user)" }) {
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: edit.removals = [participant.id]
            default:
                edit.puts = [
                    .init(
                        id: participant.id, invitee: nil,
                        role: generator.oneIn(3) ? .administrator : .privateUser,
                        permission: generator.pick([.readOnly, .readWrite, .none]))
                ]
            }
        } else {
            edit.puts = [.init(id: "for \(user)", invitee: .user(user), permission: .readWrite)]
        }
    }

    private mutating func strangerAsks() throws {
        guard let name = truth.shares.keys.sorted().randomElement(using: &generator) else { return }
        let link = ShareLink(zone: database.zoneStates[1].incarnation, secret: truth.shares[name]!.secret)
        let visitor = ShareVisitor(user: generator.pick(Self.strangers), handles: [])
        let (outcome, commit) = try database.requestAccess(link, by: visitor, nowMilliseconds: 4000)
        #expect((outcome == .noted) == (commit != nil), comment)
        if commit != nil { counts.asked += 1 }
        keep(commit)
    }

    // MARK: What others do

    private mutating func accepts() throws {
        guard let name = truth.shares.keys.sorted().randomElement(using: &generator), let share = truth.shares[name]
        else {
            return
        }
        let user = generator.pick(Self.users)
        let link = ShareLink(zone: database.zoneStates[1].incarnation, secret: share.secret)
        let isInvited = share.participants.contains { !$0.isAccepted && $0.id == "for \(user)" }
        let isPart = share.participant(ofUser: user) != nil
        do {
            let decision = try shared.accept(user, through: link)
            #expect(isInvited || isPart, comment)
            if decision.commit != nil { counts.accepted += 1 }
            keep(decision.commit)
        } catch {
            #expect(!isInvited && !isPart, comment)
        }
    }

    private mutating func leaves() {
        let user = generator.pick(Self.users)
        if generator.oneIn(3) { return keep(desk(user).deleteZone("notes").commit) }
        guard let name = truth.shares.keys.sorted().randomElement(using: &generator) else { return }
        let participant = truth.shares[name]!.participant(ofUser: user)
        if let participant, generator.oneIn(2) {
            // With the tag that they are shown, whatever the share's own is.
            var edit = ShareEdit()
            edit.removals = [participant.id]
            let saved = desk(user).modify(
                saves: [.of(name, type: Names.shareType, tag: truth.tag(of: name, for: user))],
                shares: [name: ShareSave(edit: edit)])
            #expect(saved.commit != nil, comment)
            return keep(saved.commit)
        }
        let result = desk(user).modify(deletions: [name])
        #expect((result.commit != nil) == (participant != nil), comment)
        keep(result.commit)
    }

    private mutating func guestWrites() {
        let before = TruthOfTrees(database, after: truth)
        let guests = Self.users.filter { before.takesPart($0) }
        let user = generator.pick(guests.isEmpty || generator.oneIn(6) ? Self.users : guests)
        let visible = before.view(of: user).keys.sorted()
        let all = Self.names + before.nodes.keys.sorted()
        let writable = visible.filter {
            before.permission(user, $0) == .readWrite && before.nodes[$0]?.isShare == false
        }
        let isGood = generator.oneIn(3) && !writable.isEmpty
        let name =
            isGood
            ? "g-good\(number)" : generator.pick(generator.oneIn(2) ? Self.names : visible + ["r-new\(number)"])
        let parent =
            isGood
            ? generator.pick(writable)
            : generator.oneIn(3) ? nil : generator.pick(visible.isEmpty || generator.oneIn(4) ? all : visible)
        let isDeletion = generator.oneIn(5)
        number += 1
        var saves: [RecordSave<CheckedFields>] = []
        if !isDeletion {
            saves.append(
                .of(name, ["g": .int64(Int64(number))], parent: parent.map { .set($0) } ?? .unchanged))
            if generator.oneIn(3) {
                saves.append(.of("g\(number)", ["g": .int64(Int64(number))], parent: .set(name)))
            }
            // Two that may lead in a circle.
            if generator.oneIn(4), let other = visible.filter({ $0 != name }).randomElement(using: &generator) {
                saves.append(.of(other, parent: .set(generator.pick([name] + visible.filter { $0 != other }))))
            }
        }
        let result = desk(user).modify(
            policy: .changedKeys, isAtomic: generator.oneIn(2), saves: saves, deletions: isDeletion ? [name] : [])
        let after = TruthOfTrees(database, after: before)
        expectNoHarm(by: user, before, after)
        if result.commit == nil { counts.guestRefusals += 1 } else { counts.guestSaves += 1 }
        let (permission, known) = (before.permission(user, name), before.nodes[name])
        if !before.takesPart(user) {
            #expect((result.result.saveCodes + result.result.deletionCodes).allSatisfy { $0 == .zoneNotFound }, comment)
        } else if isDeletion {
            let code = result.result.deletionCodes[0]
            // A share is left, and what is not seen is not there.
            if permission == nil || known?.isShare == true {
                #expect(code == nil, comment)
            } else if permission == .readOnly || known?.rootOf.isEmpty == false {
                #expect(code == .permissionFailure, comment)
            } else {
                #expect(code == nil || code == .referenceViolation, comment)
            }
        } else if saves.count == 1, known == nil {
            let allowed = parent.map { before.permission(user, $0) == .readWrite && before.nodes[$0]?.isShare == false }
            #expect((result.result.saveCodes[0] == nil) == (allowed ?? false), comment)
        } else if saves.count == 1, known?.isShare == false, parent == nil {
            #expect((result.result.saveCodes[0] == nil) == (permission == .readWrite), comment)
        }
        keep(result.commit)
    }

    /// What a user changed was theirs to change, and stayed in its share.
    private func expectNoHarm(by user: String, _ before: TruthOfTrees, _ after: TruthOfTrees) {
        for (name, node) in after.nodes where before.nodes[name] != node && !node.isShare {
            #expect(after.permission(user, name) == .readWrite, "\(comment): \(name) is \(node)")
            if let former = before.nodes[name] {
                #expect(before.cover(of: name) == after.cover(of: name), comment)
                #expect(
                    former.rootOf == node.rootOf && (former.rootOf.isEmpty || former.parent == node.parent), comment)
            }
        }
        for (name, node) in before.nodes where after.nodes[name] == nil {
            #expect(!node.isShare && node.rootOf.isEmpty && before.permission(user, name) == .readWrite, comment)
        }
    }

    // MARK: What holds

    /// What a user is shown who asks by name.
    private func look(_ user: String) throws {
        for (name, node) in truth.nodes {
            let shown = desk(user).record(name)
            let isSeen = truth.permission(user, name) != nil
            #expect((shown != nil) == isSeen, comment)
            if isSeen { #expect(shown?.system.changeTag == truth.tag(of: name, for: user), comment) }
            if isSeen, !node.rootOf.isEmpty { #expect(shown?.system.parent == nil, comment) }
        }
    }

    /// Devices read a page each, of any length, and are now and then up to date.
    private mutating func fetch() throws {
        for user in Self.users where devices.filter({ $0.user == user }).count < 3 {
            if let start = database.start(of: user, inZoneNamed: "notes") {
                devices.append(Device(user: user, token: nil, start: start))
            }
        }
        for index in devices.indices where generator.oneIn(2) {
            guard try isCurrent(devices[index]) else {
                devices[index].user = ""
                continue
            }
            let isDone = try read(&devices[index], limit: generator.pick([1, 1, 2, 3, 0]))
            if isDone {
                #expect(devices[index].view == truth.view(of: devices[index].user), comment)
                let next = try desk(devices[index].user).changes(since: devices[index].token)
                #expect(next.live.isEmpty && next.deleted.isEmpty && next.token == devices[index].token, comment)
            }
            if generator.oneIn(3) { kept.append(devices[index]) }
        }
        devices.removeAll { $0.user.isEmpty || generator.oneIn(40) }
        for device in kept.shuffled(using: &generator).prefix(4) { try checkToken(device, in: database) }
    }

    /// Whether the user still takes part, as they did when the device began.
    private func isCurrent(_ device: Device) throws -> Bool {
        if database.start(of: device.user, inZoneNamed: "notes") == device.start { return true }
        let refusal = shared.refusal(of: device.token, for: desk(device.user))
        if !truth.takesPart(device.user) {
            #expect(refusal?.code == .zoneNotFound, comment)
        } else if device.token != nil {
            #expect(refusal?.detail == .zoneMadeAgain, comment)
        }
        return false
    }

    private func read(_ device: inout Device, limit: Int, in copy: Database? = nil) throws -> Bool {
        let page = try (copy ?? database).zoneChanges(
            zone: Desk.zone, since: device.token, resultsLimit: limit, desiredKeys: nil,
            caller: Caller(user: device.user, isOwner: false))
        let names = page.records.map { Record(stored: $0).system.name }
        #expect(Set(names).count == names.count, "\(comment) a page names a record twice")
        for bytes in page.records {
            let record = Record(stored: bytes)
            device.view[record.system.name] = record.system.changeTag
        }
        for deletion in page.deletions {
            device.view[deletion.name] = nil
            #expect(seen[device.user]!.contains(deletion.name), "\(comment) \(deletion.name) was never seen")
        }
        device.token = page.token
        return !page.moreComing
    }

    private func checkToken(_ kept: Device, in copy: Database) throws {
        var device = kept
        guard try isCurrent(device) else { return }
        let limit = (kept.view.count + (device.token.map { Int($0.position.sequence) } ?? 0)) % 3
        while try !read(&device, limit: limit, in: copy) {}
        #expect(device.view == truth.view(of: device.user), comment)
    }

    func checkAllTokens() throws {
        for device in kept { try checkToken(device, in: database) }
    }

    /// The database as its journal and its snapshot have it tells the same, from every token.
    func checkCopies() throws {
        for copy in try shared.copies(replaying: journal) {
            #expect(copy.audit().kept == copy.audit().recounted, comment)
            #expect(copy.zoneStates[1].problemWithTrees == nil, comment)
            for device in kept { try checkToken(device, in: copy) }
        }
    }
}
