import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// A database whose owner shares zones as a whole, and the users who take part in them.
struct SharedDesk {
    static let guest = RandomShare.user(1)
    static let other = RandomShare.user(2)
    static let stranger = RandomShare.user(9)

    let owner = Desk.ofSharer()

    var database: Database { owner.database }

    /// The desk of a user who does not own the database.
    func desk(of user: String, device: [UInt8] = []) -> Desk {
        Desk(database, caller: Caller(user: user, isOwner: false, device: device))
    }

    /// Saves the share of a zone with an edit: a new share, or the one that there is.
    @discardableResult
    func share(
        _ zone: ZoneID = Desk.zone, by editor: Desk? = nil, fields: [String: FieldValue] = [:],
        _ change: (inout ShareEdit) -> Void = { _ in }
    ) -> (result: ZoneModificationResult<SharedBytes>, commit: Commit?) {
        var edit = ShareEdit()
        change(&edit)
        let editor = editor ?? owner
        let tag = editor.record(Names.zoneShare, in: zone)?.system.changeTag ?? ""
        let saved = editor.modify(
            zone, saves: [.of(Names.zoneShare, fields, type: Names.shareType, tag: tag)],
            shares: [Names.zoneShare: ShareSave(edit: edit)])
        expectSound()
        return saved
    }

    /// Shares a zone with users by name.
    func invite(
        _ users: String..., to zone: ZoneID = Desk.zone, role: ShareParticipant.Role = .privateUser,
        permission: Share.Permission = .readWrite
    ) {
        let saved = share(zone) { edit in
            edit.puts = users.map {
                .init(id: "for \($0)", invitee: .user($0), role: role, permission: permission)
            }
        }
        #expect(saved.result.saveCodes == [nil])
    }

    /// Where the URL of a zone's share leads to, whether or not it is shared now.
    func link(to zone: ZoneID = Desk.zone) throws -> ShareLink {
        let incarnation = try #require(database.incarnation(of: zone))
        return ShareLink(zone: incarnation, secret: database.shareAddresses.secretOfZone(7, incarnation))
    }

    @discardableResult
    func accept(
        _ user: String, handles: [Handle] = [], through link: ShareLink? = nil, in zone: ZoneID = Desk.zone
    ) throws -> Decision<Database.Acceptance> {
        let visitor = ShareVisitor(user: user, handles: handles)
        defer { expectSound() }
        return try database.acceptShare(link ?? self.link(to: zone), by: visitor, nowMilliseconds: 3000)
    }

    /// Invites users by name, and lets them accept.
    func admit(
        _ users: String..., to zone: ZoneID = Desk.zone, role: ShareParticipant.Role = .privateUser,
        permission: Share.Permission = .readWrite
    ) throws {
        for user in users {
            invite(user, to: zone, role: role, permission: permission)
            #expect(try accept(user, in: zone).commit != nil)
        }
    }

    /// Why a user is refused who comes with a link; nil if they are not. Nothing changes where they are.
    func refusal(
        of user: String, handles: [Handle] = [], through link: ShareLink? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ServiceError? {
        let link = try link ?? self.link()
        let visitor = ShareVisitor(user: user, handles: handles)
        let sequence = database.sequence
        var refusals: [ServiceError?] = []
        do throws(ServiceError) {
            try database.mayAccept(link, visitor)
            refusals.append(nil)
        } catch {
            refusals.append(error)
        }
        do throws(ServiceError) {
            _ = try database.acceptShare(link, by: visitor, nowMilliseconds: 3000)
            refusals.append(nil)
        } catch {
            refusals.append(error)
            #expect(database.sequence == sequence, sourceLocation: sourceLocation)
        }
        #expect(refusals[0] == refusals[1], "both say the same", sourceLocation: sourceLocation)
        expectSound()
        return refusals[1]
    }

    /// What a user is shown of the participants of a zone's share.
    func details(for user: String? = nil, in zone: ZoneID = Desk.zone) throws -> ShareView {
        let record = (user.map { desk(of: $0) } ?? owner).record(Names.zoneShare, in: zone)
        return try #require(record?.shareDetails)
    }

    /// Why a user gets no page of a zone's changes; nil if they do.
    func refusal(of token: ChangeToken?, for desk: Desk, in zone: ZoneID = Desk.zone) -> ServiceError? {
        do {
            _ = try desk.changes(since: token, in: zone)
            return nil
        } catch {
            return error as? ServiceError
        }
    }

    /// The count that the database keeps of everything is right.
    func expectSound() {
        let audit = database.audit()
        #expect(audit.kept == audit.recounted)
    }

    // MARK: Other lives of the database

    /// The database as its journal, from the first commit after the zone's, and as a snapshot of it have it.
    func copies(replaying journal: [JournalEntry]) throws -> [Database] {
        let replayed = Desk.ofSharer().database
        for entry in journal { try replayed.apply(entry) }
        return [replayed, try SharedDesk.loaded(database)]
    }

    /// The database that a snapshot of another one holds.
    static func loaded(_ database: Database) throws -> Database {
        let capture = database.capture()
        let loader = DatabaseLoader(id: database.id, epoch: 7, sequence: capture.sequence)
        #expect(loader.add(capture.header) == nil)
        try capture.forEachBlock { block in
            #expect(block.withUnsafeBytes { loader.add(content: $0) } == nil)
        }
        return try loader.finish().get()
    }
}

extension SharedZone {
    /// A part that began in the run that news of tests are of.
    init(id: ZoneID, incarnation: UInt64, start: ChangePosition) {
        self.init(id: id, incarnation: incarnation, start: start, run: 1)
    }
}

extension SharedZoneNews {
    /// News that are newer than all else.
    init(id: ZoneID, incarnation: UInt64, start: ChangePosition?) {
        self.init(
            id: id, incarnation: incarnation,
            zone: start.map { SharedZone(id: id, incarnation: incarnation, start: $0) }, sequence: .max, run: 1)
    }

    var start: ChangePosition? { zone?.start }
}
