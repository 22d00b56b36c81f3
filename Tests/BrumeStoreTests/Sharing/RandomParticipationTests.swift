import BrumeModel
import BrumeRandom
import BrumeTestKit
import Testing

@testable import BrumeStore

/// Zones that are shared, accepted, written to, left and ended by chance, beside the plainest reading of the rules.
@Suite("Random participation")
struct RandomParticipationTests {
    @Test(
        "gives each user what the share says, by every way to read and write, and is the same when replayed and loaded",
        arguments: 0..<40 as Range<UInt64>)
    func participation(seed: UInt64) throws {
        var run = Run(seed: seed)
        for step in 0..<300 {
            run.comment = "seed \(seed), step \(step)"
            try run.step()
        }
        #expect(run.accepted > 2 && run.saved > 3 && run.refused > 3 && run.left > 0, "seed \(seed) tries something")
        try run.expectCopies()
    }

    /// What a user who takes part may do, and since when.
    private struct Part: Equatable {
        var permission: Share.Permission
        var isAdministrator = false
        var isPublic = false
        var start: ChangePosition
    }

    private struct Zone {
        var isShared = false
        var publicPermission = Share.Permission.none
        /// Those who were invited and have not come: a permission, and whether they are to be administrators.
        var invited: [String: (permission: Share.Permission, isAdministrator: Bool)] = [:]
        var parts: [String: Part] = [:]
        /// The names of the records beside the share.
        var names = Set<String>()
        /// The tags of its share: the last one, and the last that is shown to those who don't manage it.
        var tag = ""
        var shownTag = ""

        /// Whether all are shown the same of the share.
        func hasFront(of other: Zone) -> Bool {
            parts == other.parts && publicPermission == other.publicPermission && isShared == other.isShared
        }

        func tag(for user: String) -> String {
            user == Desk.sharer || parts[user]?.isAdministrator == true ? tag : shownTag
        }
    }

    /// A device that follows a zone by its feed.
    private struct Follower {
        var names = Set<String>()
        var shareTag: String?
        var token: ChangeToken?
        /// The part that the token is of.
        var start: ChangePosition?
    }

    private struct Run {
        private static let users = (1...4).map { RandomShare.user($0) }
        private static let zoneNames = ["one", "two"]

        var comment: Comment = ""
        private var generator: SeededGenerator
        private let shared = SharedDesk()
        private var journal: [JournalEntry] = []
        private var zones: [String: Zone] = [:]
        private var followers: [String: Follower] = [:]
        private(set) var (accepted, saved, refused, left) = (0, 0, 0, 0)

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        private var database: Database { shared.database }

        mutating func step() throws {
            let name = generator.pick(Self.zoneNames)
            let former = zones[name]
            let parts = former?.parts.keys.sorted() ?? []
            let user = generator.pick(parts.isEmpty || generator.oneIn(2) ? Self.users : parts)
            switch Int.random(in: 0..<16, using: &generator) {
            case _ where zones[name] == nil && generator.oneIn(4): try makeOrDelete(name)
            case 0: try makeOrDelete(name)
            case 1..<5: try editShare(of: name, by: generator.oneIn(3) ? user : Desk.sharer)
            case 5..<8: try accept(generator.pick(Self.users), name)
            case 8, 9: try leave(user, name)
            default: try write(generator.oneIn(5) ? Desk.sharer : user, name)
            }
            noteTag(of: name, after: former)
            try check()
        }

        private mutating func noteTag(of name: String, after former: Zone?) {
            guard let zone = zones[name], zone.isShared else { return }
            zones[name]!.tag = shared.owner.record(Names.zoneShare, in: ZoneID(name: name))?.system.changeTag ?? ""
            if former?.hasFront(of: zone) != true || former?.tag == "" { zones[name]!.shownTag = zones[name]!.tag }
        }

        private mutating func keep(_ commit: Commit?) {
            if let commit { journal.append(commit.entry) }
        }

        private func desk(_ user: String) -> Desk {
            user == Desk.sharer ? shared.owner : shared.desk(of: user)
        }

        // MARK: What happens

        private mutating func makeOrDelete(_ name: String) throws {
            if zones[name] == nil {
                keep(shared.owner.makeZone(name))
                zones[name] = Zone()
            } else if generator.oneIn(4) {
                keep(shared.owner.deleteZone(name).commit)
                zones[name] = nil
            } else if zones[name]?.isShared == true, generator.oneIn(2) {
                let ended = shared.owner.modify(ZoneID(name: name), deletions: [Names.zoneShare])
                #expect(ended.result.deletionCodes == [nil], comment)
                keep(ended.commit)
                zones[name] = Zone(names: zones[name]?.names ?? [])
            }
        }

        private mutating func editShare(of name: String, by editor: String) throws {
            guard let zone = zones[name] else { return }
            let user = generator.pick(Self.users)
            var edit = ShareEdit()
            var after = zone
            switch Int.random(in: 0..<6, using: &generator) {
            case 0..<3:
                let permission = generator.pick([Share.Permission.readOnly, .readWrite])
                let isAdministrator = generator.oneIn(4)
                edit.puts = [
                    .init(
                        id: id(of: user, in: name) ?? "for \(user)", invitee: .user(user),
                        role: isAdministrator ? .administrator : .privateUser, permission: permission)
                ]
                if let part = zone.parts[user] {
                    // A public user may do what the share lets everybody do.
                    if part.isPublic { return }
                    after.parts[user]?.permission = permission
                    after.parts[user]?.isAdministrator = isAdministrator
                } else {
                    if zone.publicPermission != .none { return }
                    after.invited[user] = (permission, isAdministrator)
                }
            case 3:
                guard let id = id(of: user, in: name) else { return }
                edit.removals = [id]
                (after.parts[user], after.invited[user]) = (nil, nil)
            case 4:
                let permission = generator.pick([Share.Permission.none, .readOnly, .readWrite])
                edit.publicPermission = permission
                if permission != zone.publicPermission {
                    after.publicPermission = permission
                    after.invited = [:]
                    for (user, part) in zone.parts where part.isPublic {
                        after.parts[user] = permission == .none ? nil : part
                        after.parts[user]?.permission = permission
                    }
                    if permission == .none { after.invited = zone.invited }
                }
            case 5 where generator.oneIn(2):
                // What is not shown to all.
                edit.blocks = [RandomShare.user(5)]
            default: break
            }
            after.isShared = true
            let expected = refusal(of: edit, by: editor, in: name, zone)
            let (result, commit) = shared.share(ZoneID(name: name), by: desk(editor)) { $0 = edit }
            #expect(result.saveCodes == [expected], comment)
            if expected != nil { refused += 1 } else { zones[name] = after }
            keep(commit)
        }

        /// What an edit of the share is answered.
        private func refusal(of edit: ShareEdit, by editor: String, in name: String, _ zone: Zone) -> ErrorCode? {
            if editor == Desk.sharer { return nil }
            guard let part = zone.parts[editor] else { return .zoneNotFound }
            var edit = edit
            if edit.publicPermission == zone.publicPermission { edit.publicPermission = nil }
            if part.isAdministrator || edit == ShareEdit() { return nil }
            var leaving = ShareEdit()
            leaving.removals = id(of: editor, in: name).map { [$0] } ?? []
            return edit == leaving ? nil : .permissionFailure
        }

        /// The id of the participant that a user is or is to be, as the share has it.
        private func id(of user: String, in name: String) -> String? {
            let zone = ZoneID(name: name)
            guard let details = shared.owner.record(Names.zoneShare, in: zone)?.shareDetails else { return nil }
            return details.participants.first { $0.user == user }?.id
        }

        private mutating func accept(_ user: String, _ name: String) throws {
            guard let zone = zones[name] else { return }
            let link = try shared.link(to: ZoneID(name: name))
            let isKnown = zone.parts[user] != nil
            let mayCome = isKnown || zone.isShared && (zone.invited[user] != nil || zone.publicPermission != .none)
            do {
                let decision = try shared.accept(user, through: link)
                #expect(mayCome && (decision.commit == nil) == isKnown, comment)
                if let commit = decision.commit {
                    let start = ChangePosition(sequence: commit.sequence, index: 0)
                    let invitation = zone.invited[user]
                    zones[name]?.invited[user] = nil
                    zones[name]?.parts[user] = Part(
                        permission: invitation?.permission ?? zone.publicPermission,
                        isAdministrator: invitation?.isAdministrator ?? false, isPublic: invitation == nil, start: start
                    )
                    accepted += 1
                }
                #expect(decision.answer.news.start == zones[name]?.parts[user]?.start, comment)
                keep(decision.commit)
            } catch {
                #expect(!mayCome && error as? ServiceError == Share.unknownURL, comment)
            }
        }

        private mutating func leave(_ user: String, _ name: String) throws {
            let isPart = zones[name]?.parts[user] != nil
            let commit: Commit?
            if generator.oneIn(2) {
                let decision = desk(user).deleteZone(name)
                #expect(decision.answer.deletions == [nil], comment)
                commit = decision.commit
            } else {
                let names = generator.oneIn(2) ? [Names.zoneShare] : ["r1", Names.zoneShare]
                let modified = desk(user).modify(ZoneID(name: name), deletions: names)
                let expected: [ErrorCode?] = names.map { name in
                    if !isPart { return .zoneNotFound }
                    return name == Names.zoneShare ? nil : .permissionFailure
                }
                #expect(modified.result.deletionCodes == expected, comment)
                commit = modified.commit
            }
            #expect((commit != nil) == isPart, comment)
            zones[name]?.parts[user] = nil
            if isPart { left += 1 }
            keep(commit)
        }

        private mutating func write(_ user: String, _ name: String) throws {
            let known = zones[name]?.names ?? []
            let record = "r\(Int.random(in: 0..<4, using: &generator))"
            let given = zones[name]?.parts[user]?.permission ?? Share.Permission.none
            let permission = user == Desk.sharer ? .readWrite : given
            let isDeletion = generator.oneIn(3)
            var expected: ErrorCode?
            if zones[name] == nil || permission == .none {
                expected = .zoneNotFound
            } else if permission == .readOnly, !isDeletion || known.contains(record) {
                expected = .permissionFailure
            }
            let modified = desk(user).modify(
                ZoneID(name: name), policy: .changedKeys,
                saves: isDeletion ? [] : [.of(record, ["n": .int64(Int64.random(in: 0...99, using: &generator))])],
                deletions: isDeletion ? [record] : [])
            #expect((isDeletion ? modified.result.deletionCodes : modified.result.saveCodes) == [expected], comment)
            keep(modified.commit)
            if expected != nil {
                refused += 1
                #expect(modified.commit == nil, comment)
            } else if isDeletion {
                zones[name]?.names.remove(record)
            } else {
                zones[name]?.names.insert(record)
                saved += 1
            }
        }

        // MARK: What holds

        private mutating func check() throws {
            shared.expectSound()
            for name in Self.zoneNames {
                let zone = zones[name]
                #expect(database.starts(inZoneNamed: name) == zone?.parts.mapValues(\.start) ?? [:], comment)
                for user in Self.users + [Desk.sharer] { try follow(name, user, zone) }
            }
            let open = zones.filter { !$0.value.parts.isEmpty }.keys.sorted()
            #expect(database.zonesWithMembers.sorted() == open, comment)
        }

        /// A device fetches what changed. It begins anew when it is told to, and only when its user's part did.
        private mutating func follow(_ name: String, _ user: String, _ zone: Zone?) throws {
            let part = user == Desk.sharer ? zone.map { _ in ChangePosition.start } : zone?.parts[user]?.start
            let key = "\(name) \(user)"
            var follower = followers[key] ?? Follower()
            defer { followers[key] = follower }
            guard zone != nil, let part else {
                #expect(
                    shared.refusal(of: follower.token, for: desk(user), in: ZoneID(name: name))?.code == .zoneNotFound,
                    comment)
                return
            }
            if let start = follower.start, start != part {
                let refusal = shared.refusal(of: follower.token, for: desk(user), in: ZoneID(name: name))
                #expect(refusal?.code == .changeTokenExpired && refusal?.detail == .zoneMadeAgain, comment)
                follower = Follower()
            }
            if user == Desk.sharer, shared.refusal(of: follower.token, for: desk(user), in: ZoneID(name: name)) != nil {
                follower = Follower()
            }
            let limit = generator.pick([0, 0, 1, 2])
            while true {
                let page = try database.zoneChanges(
                    zone: ZoneID(name: name), since: follower.token, resultsLimit: limit, desiredKeys: nil,
                    caller: desk(user).caller)
                for record in page.records.map({ Record(stored: $0).system }) {
                    follower.names.insert(record.name)
                    if record.name == Names.zoneShare { follower.shareTag = record.changeTag }
                }
                follower.names.subtract(page.deletions.map(\.name))
                (follower.token, follower.start) = (page.token, part)
                if !page.moreComing { break }
            }
            let share: Set<String> = zone?.isShared == true ? [Names.zoneShare] : []
            #expect(follower.names == zone?.names.union(share), comment)
            if zone?.isShared == true { #expect(follower.shareTag == zone?.tag(for: user), comment) }
        }

        func expectCopies() throws {
            for copy in try shared.copies(replaying: journal) {
                #expect(copy.audit().kept == copy.audit().recounted, comment)
                for name in Self.zoneNames {
                    #expect(copy.starts(inZoneNamed: name) == database.starts(inZoneNamed: name), comment)
                    for user in Self.users + [Desk.sharer] {
                        let again = Desk(copy, caller: desk(user).caller)
                        for record in ["r0", "r1", "r2", "r3", Names.zoneShare] {
                            let bytes = again.bytes(record, in: ZoneID(name: name))
                            #expect(bytes == desk(user).bytes(record, in: ZoneID(name: name)), comment)
                        }
                        #expect(
                            copy.firstFetchToken(of: ZoneID(name: name), for: again.caller)
                                == database.firstFetchToken(of: ZoneID(name: name), for: desk(user).caller), comment)
                        guard let token = followers["\(name) \(user)"]?.token else { continue }
                        let refusal = shared.refusal(of: token, for: again, in: ZoneID(name: name))
                        #expect(refusal == shared.refusal(of: token, for: desk(user), in: ZoneID(name: name)), comment)
                    }
                }
            }
        }
    }
}
