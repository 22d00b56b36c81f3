import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// Taking part concerns two databases: what a crash, a removal or a refusal between their commits leaves.
@Suite("Taking part, whatever comes between")
struct SharedRecoveryTests {
    @Test("leaves both databases in step, at whatever step the power goes", arguments: [1, 2])
    func everyStep(loops: Int) throws {
        var seen = Set<Bool>()
        for steps in 0..<80 {
            let disk = SimulatedDisk()
            let server = try SteppedServer(disk: disk) { $0.loopCount = loops }
            let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
            let url = try a.shareZone("list", publicPermission: .readWrite)
            let zone = ZoneID(name: "list", owner: a.user)
            server.settle()
            let call = b.startAccepting(url)
            for _ in 0..<steps {
                server.turn()
                server.stepJournal()
            }
            let isAnswered = b.isAnswered(call)
            disk.crash(seed: 1, .nothing)
            let again = try SteppedServer(disk: disk, run: 2) { $0.loopCount = loops }
            let (owner, guest) = (try again.connect(account: "a"), try again.connect(account: "b"))
            again.settle()
            guard case .record(let share) = try owner.fetch([Names.zoneShare], in: ZoneID(name: "list"))[0] else {
                throw TestFailure("the share is not there")
            }
            let takesPart = share.shareDetails!.participants.contains { $0.user == guest.user }
            #expect(try guest.sharedZones() == (takesPart ? [zone] : []), "after \(steps) steps")
            #expect(try guest.sharedChanges().changed == (takesPart ? [zone] : []), "after \(steps) steps")
            if isAnswered { #expect(takesPart) }
            // And once more.
            #expect(try guest.accept(url).zone == zone)
            #expect(try guest.sharedZones() == [zone])
            seen.insert(takesPart)
            if isAnswered { break }
        }
        #expect(seen == [false, true])
    }

    @Test("is told again of all zones after a restart, and finds those that went meanwhile")
    func restart() throws {
        let disk = SimulatedDisk()
        var server = try SteppedServer(disk: disk)
        var (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let zone = ZoneID(name: "list", owner: a.user)
        try b.accept(try a.shareZone("list", publicPermission: .readWrite))
        let token = try b.sharedChanges().token
        #expect(try b.sharedChanges(since: token).changed == [])
        server.snapshot()
        disk.crash(seed: 1, .nothing)
        server = try SteppedServer(disk: disk, run: 2)
        (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let page = try b.sharedChanges(since: token)
        #expect(page.changed == [zone] && page.deletions == [])
        #expect(try b.sharedChanges(since: page.token).changed == [])
        #expect(try b.modify(zone, saving: ["milk"]).saves.codes == [nil])
    }

    @Test("ends with either account: others are told of the owner's, and a participant's leaves no name behind")
    func accountsEnd() throws {
        let server = try SteppedServer { $0.loopCount = 2 }
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let c = try server.connect(account: "c")
        let url = try a.shareZone("list", publicPermission: .readWrite)
        try b.accept(url)
        try c.accept(url)
        try c.accept(try b.shareZone("of b", publicPermission: .readWrite))
        #expect(try c.sharedZones().map(\.name) == ["list", "of b"])
        let removal = server.beginRemoving(account: "b")
        server.settle()
        #expect(removal.error == nil)
        guard case .record(let share) = try a.fetch([Names.zoneShare], in: ZoneID(name: "list"))[0] else {
            throw TestFailure("the share is not there")
        }
        #expect(share.shareDetails!.participants.map(\.user) == [a.user, c.user])
        #expect(try c.sharedZones().map(\.name) == ["list"])
    }

    @Test("is not repaired by requests for zones that the user never had, and tells no device of them")
    func foreignNames() throws {
        let server = try SteppedServer()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        try b.accept(try a.shareZone("list", publicPermission: .readWrite))
        try b.subscribe(Subscription(id: "all", kind: .database(recordType: "")), in: .shared)
        let stream = b.openNotifications()
        _ = try b.takeEvents(stream)
        let names = ["list"] + (0..<100).map { "other \($0)" }
        let zones = try b.fetchZones(names.map { ZoneID(name: $0, owner: a.user) }, of: .shared)
        #expect(zones.count { if case .success = $0 { true } else { false } } == 1)
        #expect(try b.takeEvents(stream).isEmpty)
        #expect(try b.sharedZones().map(\.name) == ["list"])
    }

    /// A folder in which the guest takes part in the owner's zone, and the guest's own database does not know of it.
    private struct OutOfStep {
        let disk = SimulatedDisk()
        var (owner, guest) = ("a", "b")
        var zone = ZoneID(name: "list")
        var url = ""

        init() throws {
            let former = SimulatedDisk()
            let server = try SteppedServer(disk: former)
            let both = try ["a", "b"].map { try server.connect(account: $0) }
            for peer in both { try peer.save(["own"]) }
            // Files are copied in the order of their names.
            let (b, a) = both[0].user < both[1].user ? (both[0], both[1]) : (both[1], both[0])
            if b === both[0] { (owner, guest) = ("b", "a") }
            let url = try a.shareZone("list", publicPermission: .readWrite)
            self.url = url
            zone.owner = a.user
            server.snapshot()
            // A backup of a server that runs holds each database as it was at a moment of its own.
            let path = SnapshotFormat.path(of: Identity.home(of: b.user), on: former)
            var isAccepted = false
            let copy = disk
            try FolderCopy(of: former, .inUse, others: DataFolder.backedUpFiles).run(to: copy, epoch: nil, salt: 1) {
                _ in
                if isAccepted || copy.contents(of: path) == nil { return }
                isAccepted = (try? b.accept(url)) != nil
                server.snapshot()
            }
            #expect(isAccepted)
        }
    }

    @Test("finds a zone again that the user's own database does not know, as after the restore of a backup")
    func restoredOutOfStep() throws {
        let folder = try OutOfStep()
        let server = try SteppedServer(disk: folder.disk, run: 2)
        let b = try server.connect(account: folder.guest)
        #expect(try b.sharedZones() == [], "nobody knows yet")
        _ = try server.connect(account: folder.owner)
        server.settle()
        #expect(try b.sharedZones() == [folder.zone])
        #expect(try b.sharedChanges().changed == [folder.zone])
    }

    @Test("finds it also where the owner's database has left the memory by the turn after it came")
    func restoredWithLittleMemory() throws {
        let folder = try OutOfStep()
        let server = try SteppedServer(disk: folder.disk, run: 2) { configuration in
            (configuration.memoryBudgetBytes, configuration.shortLoadBytes) = (1, 0)
        }
        let (b, c) = (try server.connect(account: folder.guest), try FrameWatcher(server, account: "c"))
        #expect(try b.sharedZones() == [])
        #expect(c.ask([c.metadata(folder.url)])[0].count == 1)
        #expect(!server.loadedIDs.contains(Identity.home(of: folder.zone.owner)))
        server.settle()
        #expect(try b.sharedZones() == [folder.zone])
    }

    @Test("loads nobody's database to tell of an end; they find it when they come")
    func endWithoutLoads() throws {
        let server = try SteppedServer { $0.memoryBudgetBytes = 1 }
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let zone = ZoneID(name: "list", owner: a.user)
        try b.accept(try a.shareZone("list", publicPermission: .readWrite))
        let token = try b.sharedChanges().token
        b.disconnect()
        server.snapshot()
        let home = Identity.home(of: b.user)
        for _ in 0..<20 where server.core.shards[0].databases.known(home) != nil {
            server.turn(after: 300_000_000)
            server.settle()
        }
        #expect(server.core.shards[0].databases.known(home) == nil)
        try a.deleteZone("list")
        #expect(server.core.shards[0].databases.known(home) == nil, "nobody needs it")
        let again = try server.connect(account: "b")
        let page = try again.sharedChanges(since: token)
        #expect(page.changed == [zone])
        #expect(throws: ServiceError.self) { try again.changes(of: zone) }
        #expect(try again.sharedChanges(since: page.token).deletions.map(\.zone) == [zone])
        #expect(try again.sharedZones() == [])
    }

    @Test("takes nothing of the owner's room where it may read alone, not by client tokens either")
    func readersCommitNothing() throws {
        let server = try SteppedServer()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let zone = ZoneID(name: "list", owner: a.user)
        try b.accept(try a.shareZone("list", publicPermission: .readOnly))
        let before = server.core.shards[0].databases.known(Identity.home(of: a.user))!.database.sequence
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .shared, zones: [ZoneModification(zone: zone, deletions: ["nope"])], clientToken: [1, 2, 3])
        #expect(try b.modify(request)[0].deletions == [nil])
        #expect(server.core.shards[0].databases.known(Identity.home(of: a.user))!.database.sequence == before)
    }
}

extension Identity {
    fileprivate static func home(of user: String) -> DatabaseID {
        DatabaseID(
            container: SteppedServer.container, environment: .development, scope: .private, owner: user)
    }
}
