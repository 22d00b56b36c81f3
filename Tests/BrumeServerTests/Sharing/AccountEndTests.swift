import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// What becomes of shares when an account is removed.
@Suite("Shares when an account is removed")
struct AccountEndTests {
    private let server: SteppedServer
    private let a: FramePeer
    private let b: FramePeer
    private let c: FramePeer

    init() throws {
        server = try SteppedServer { $0.loopCount = 2 }
        a = try server.connect(account: "a")
        b = try server.connect(account: "b")
        c = try server.connect(account: "c")
    }

    private func remove(_ account: String, withData deletesData: Bool) {
        let removal = server.administer(.removeAccount(name: account, deletesData: deletesData))
        server.settle()
        #expect(removal.error == nil && removal.isAnswered)
    }

    private func users(ofShare name: String, in zone: String) throws -> [String] {
        guard case .record(let share) = try a.fetch([name], in: ZoneID(name: zone))[0] else {
            throw TestFailure("the share is not there")
        }
        return share.shareDetails!.participants.map(\.user)
    }

    @Test("a participant leaves all shares, of zones and of records, and makes room in them")
    func participant() throws {
        let others = (1..<Limits.participantsPerShare).map { RandomShare.user($0) }
        let url = try a.shareZone("list", with: [b.user] + others)
        try b.accept(url)
        try a.makeZone("lists")
        for root in ["first", "second"] {
            try b.accept(try a.shareRecord(root, in: "lists", with: [b.user, c.user]))
        }
        func invite() -> ErrorCode? {
            do {
                try a.changeShare(of: "list", .inviting([c.user]))
                return nil
            } catch {
                return (error as? ServiceError)?.code
            }
        }
        #expect(invite() == .tooManyParticipants)
        remove("b", withData: true)
        #expect(invite() == nil)
        for root in ["first", "second"] {
            #expect(try users(ofShare: "s-\(root)", in: "lists") == [a.user, c.user])
        }
        try c.accept(url)
    }

    @Test("a participant whose data stays keeps their place until the owner removes them")
    func participantWithoutData() throws {
        try b.accept(try a.shareZone("list", with: [b.user]))
        remove("b", withData: false)
        #expect(try users(ofShare: Names.zoneShare, in: "list") == [a.user, b.user])
        try a.changeShare(of: "list", .removing([b.user]))
        #expect(try users(ofShare: Names.zoneShare, in: "list") == [a.user])
    }

    @Test("an owner's zones go with the data, and participants are told", arguments: [true, false])
    func owner(isWhole: Bool) throws {
        if isWhole {
            try b.accept(try a.shareZone("list", with: [b.user]))
        } else {
            try a.makeZone("list")
            try b.accept(try a.shareRecord("root", in: "list", with: [b.user]))
        }
        let zone = ZoneID(name: "list", owner: a.user)
        try b.subscribe(Subscription(id: "all", kind: .database(recordType: "")), in: .shared)
        let stream = b.openNotifications()
        _ = try b.takeEvents(stream)
        let token = try b.sharedChanges().token
        remove("a", withData: true)
        #expect(try !b.takeEvents(stream).isEmpty)
        let page = try b.sharedChanges(since: token)
        #expect(page.changed == [] && page.deletions.map(\.zone) == [zone])
        #expect(page.deletions.map(\.reason) == [.deleted])
        #expect(try b.sharedZones() == [])
        #expect(try b.modify(zone, saving: ["late"]).saves.codes == [.zoneNotFound])
    }

    @Test("an owner's zones stay without the data for whoever takes part, who may leave them, and nobody new comes")
    func ownerWithoutData() throws {
        let url = try a.shareZone("list", publicPermission: .readWrite)
        try b.accept(url)
        try a.save(["milk"], zone: ZoneID(name: "list"))
        let zone = ZoneID(name: "list", owner: a.user)
        let token = try b.sharedChanges().token
        remove("a", withData: false)
        #expect(try b.sharedChanges(since: token).deletions == [])
        #expect(try b.fetch(["milk"], in: zone, of: .shared).texts == ["milk"])
        #expect(try b.modify(zone, saving: ["tea"]).saves.codes == [nil])
        try c.accept(url)
        #expect(try c.fetch(["tea"], in: zone, of: .shared).texts == ["tea"])
        #expect(try b.leave([zone]) == [nil])
        #expect(try b.sharedZones() == [])
    }
}
