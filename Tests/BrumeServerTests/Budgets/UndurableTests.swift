import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// An account's part of what waits for the disk.
@Suite("Changes that are not durable yet")
struct UndurableTests {
    private func share(_ name: String) -> ClientShare {
        let budget = ByteBudget(limit: 1_000_000)
        return ClientShare(
            .account(name), callLimit: 1, streamLimit: 1, output: ByteShare(of: budget, limit: 1_000_000),
            input: ByteShare(of: budget, limit: 1_000_000))
    }

    @Test("each commit is its account's until it is durable, also where accounts take turns")
    func counting() {
        let (eve, ada) = (share("a"), share("b"))
        let limit = ServiceLimits.undurableAccountBytes
        let (evesTime, adasTime) = (
            TimeShare(account: eve.key, limits: .init()), TimeShare(account: ada.key, limits: .init())
        )
        var commits = UndurableCommits()
        // A turn with four commits, of which the middle ones belong together, and another one.
        commits.append(limit / 2, of: eve, evesTime, at: 1, nowNanoseconds: 0)
        commits.append(1, of: ada, adasTime, at: 2, nowNanoseconds: 0)
        commits.append(1, of: ada, adasTime, at: 3, nowNanoseconds: 0)
        commits.append(limit / 2, of: eve, evesTime, at: 4, nowNanoseconds: 0)
        commits.submitted(upTo: 4)
        commits.append(2 * limit, of: ada, adasTime, at: 5, nowNanoseconds: 0)
        #expect(eve.undurableRefusal?.code == .requestRateLimited && ada.undurableRefusal != nil)
        commits.becameDurable(1, isShared: true, nowNanoseconds: 0)
        #expect(eve.undurableRefusal == nil && !eve.isUnused)
        commits.becameDurable(4, isShared: true, nowNanoseconds: 0)
        #expect(eve.isUnused && evesTime.undurableBytes == 0, "nothing of it is counted any more")
        #expect(
            ada.undurableRefusal != nil && adasTime.waitsForDisk(isShared: true),
            "the next turn's commit does not go with those before it")
        commits.becameDurable(5, isShared: true, nowNanoseconds: 0)
        #expect(ada.isUnused && ada.undurableRefusal == nil && !adasTime.waitsForDisk(isShared: true))
    }

    private let coder = MessageCoder()

    /// A change of 900 KB.
    private func save(_ name: String) -> [UInt8] {
        let fields: [String: FieldValue?] = ["body": .bytes([UInt8](repeating: 7, count: 900_000))]
        return coder.encodeModifyRecordsRequest(
            ModifyRecordsRequest<DecodedFields>(
                database: .private,
                zones: [
                    ZoneModification(
                        zone: .defaultZone, saves: [RecordSave(name: name, type: "Note", fields: fields)])
                ]))
    }

    private var read: [UInt8] {
        coder.encodeFetchRecordsRequest(
            FetchRecordsRequest(database: .public, zones: [.init(zone: .defaultZone, names: ["r"])]))
    }

    /// Four devices of one account, each with a call that changes 900 KB, ten times; the journal stands still.
    private func flood(_ server: SteppedServer) throws -> [(peer: FramePeer, stream: UInt32)] {
        let eves = try (0..<4).map { try server.connect(account: "a", device: UInt8($0 + 1)) }
        try eves[0].save(["r"]) { _ in ["body": .bytes([])] }
        let calls = (0..<40).map { (eves[$0 % 4], eves[$0 % 4].start(.recordsModify, save("r\($0)"))) }
        for _ in 0..<10 { server.turn() }
        return calls
    }

    /// Whether the call's record was saved: a conflict is an answer, too.
    private func isSaved(_ outcome: Result<[UInt8], ServiceError>?) -> Bool {
        guard case .success(let answer)? = outcome,
            let results = try? answer.withUnsafeBytes({ try coder.decodeModifyRecordsResponse($0) }),
            case .record? = results.first?.saves.first?.outcome
        else { return false }
        return true
    }

    private func succeeded(_ calls: [(peer: FramePeer, stream: UInt32)]) -> Int {
        calls.count { peer, stream in isSaved(peer.outcome(stream)) }
    }

    @Test(
        "changes of another account wait for a few of somebody who floods the disk, of whom nothing is refused",
        arguments: [1, 3])
    func turns(loopCount: Int) throws {
        let server = try SteppedServer { $0.loopCount = loopCount }
        let loops = [1, 2].map { server.loopOfPrivateDatabase(ofAccount: $0) }
        try #require(loopCount == 1 || loops[0] != loops[1], "the accounts' databases are on one loop")
        let ada = try server.connect(account: "b", device: 99)
        try ada.save(["r"])
        let calls = try flood(server)
        let other = ada.start(.recordsModify, save("other"))
        let reading = ada.start(.recordsFetch, read)
        server.turn()
        #expect(ada.isAnswered(reading), "the loop waits for nobody")
        while !ada.isAnswered(other) {
            server.stepJournal()
            server.turn()
        }
        #expect(succeeded(calls) <= ServiceLimits.undurableTurnBytes / 900_000 + 1)
        #expect(isSaved(ada.outcome(other)), "another account's save was refused")
        server.settle()
        #expect(succeeded(calls) == 40)
    }

    @Test("calls that waited for a database wait for the disk like any others")
    func afterLoad() throws {
        let disk = SimulatedDisk()
        var server = try SteppedServer(disk: disk)
        let writer = try server.connect(account: "a")
        try writer.save(["r"]) { _ in ["body": .bytes([])] }
        server.snapshot()
        writer.disconnect()
        server.settle()
        disk.endProcess()
        server = try SteppedServer(disk: disk) { $0.shortLoadBytes = 0 }
        // Others write as well.
        let known = try server.connect(account: "b")
        try known.save(["r"], database: .public)
        server.isLoaderHeld = true
        let eve = try server.connect(account: "a")
        let calls = (0..<10).map { (peer: eve, stream: eve.start(.recordsModify, save("r\($0)"))) }
        server.settle()
        server.isLoaderHeld = false
        for _ in 0..<40 { server.turn() }
        // The journal stood still; now it writes once what it has.
        server.stepJournal()
        server.turn()
        #expect((1...ServiceLimits.undurableTurnBytes / 900_000 + 1).contains(succeeded(calls)))
        for _ in 0..<10 {
            server.turn(after: ServiceLimits.diskLookMilliseconds * 1_000_000)
            server.settle()
        }
        #expect(succeeded(calls) == 10)
    }

    @Test(
        "who waited for the disk leaves it to others for as long again, but for no longer than its bytes take",
        arguments: [(8, 8), (400, 18)] as [(UInt64, UInt64)])
    func rest(milliseconds: UInt64, rest: UInt64) throws {
        let server = try SteppedServer()
        let eve = try server.connect(account: "a", device: 1)
        let ada = try server.connect(account: "b", device: 99)
        try eve.save(["r"]) { _ in ["body": .bytes([])] }
        try ada.save(["r"])
        let calls = (0..<3).map { (peer: eve, stream: eve.start(.recordsModify, save("r\($0)"))) }
        server.turn()
        // The disk takes so long for the first two.
        server.turn(after: milliseconds * 1_000_000)
        server.stepJournal()
        server.turn()
        #expect(succeeded(calls) == 2)
        for _ in 0..<3 {
            server.turn(after: rest * 1_000_000 / 4)
            server.stepJournal()
            server.turn()
        }
        #expect(succeeded(calls) == 2, "the third one has not begun")
        let other = ada.start(.recordsModify, save("other"))
        server.turn()
        server.stepJournal()
        server.turn()
        #expect(isSaved(ada.outcome(other)))
        server.turn(after: rest * 1_000_000 / 4 + 2_000_000)
        server.turn()
        server.stepJournal()
        server.turn()
        #expect(succeeded(calls) == 3)
    }

    /// Three accounts beside that of ``flood(_:)``, which have each saved something.
    private func others(_ server: SteppedServer) throws -> [FramePeer] {
        try ["b", "c", "d"].enumerated().map { index, account in
            let peer = try server.connect(account: account, device: UInt8(90 + index))
            try peer.save(["r"]) { _ in ["body": .bytes([])] }
            return peer
        }
    }

    @Test("who writes beside accounts that only stay connected has as much on its way to the disk as alone")
    func beside() throws {
        let server = try SteppedServer()
        let others = try others(server)
        try server.connect(account: "a", device: 1).save(["first"])
        server.turn(after: DiskSharing.nanoseconds)
        let calls = try flood(server)
        for _ in 0..<5 {
            server.turn(after: 20_000_000)
            server.stepJournal()
            server.turn()
        }
        let expected = 4 * (ServiceLimits.undurableTurnBytesAlone / 900_000)
        #expect(succeeded(calls) >= expected, "\(succeeded(calls)) after five times 20 ms")
        server.settle()
        #expect(succeeded(calls) == 40)
        withExtendedLifetime(others) {}
    }

    @Test("while three accounts that waited for the disk leave it to others, each save of a fourth one begins at once")
    func besideRest() throws {
        let server = try SteppedServer()
        let busy = try server.connect(account: "a", device: 1)
        try busy.save(["r"]) { _ in ["body": .bytes([])] }
        let resting = try others(server).flatMap { peer in
            (0..<3).map { (peer: peer, stream: peer.start(.recordsModify, save("r\($0)"))) }
        }
        server.turn()
        // The disk takes so long for the first two of each, which then rest for 18 ms.
        server.turn(after: 400_000_000)
        server.stepJournal()
        server.turn()
        #expect(succeeded(resting) == 6)
        for index in 0..<100 {
            let small = RecordSave<DecodedFields>(name: "small\(index)", type: "Note", fields: [:])
            let request = ModifyRecordsRequest<DecodedFields>(
                database: .private, zones: [ZoneModification(zone: .defaultZone, saves: [small])])
            let call = busy.start(.recordsModify, coder.encodeModifyRecordsRequest(request))
            server.turn(after: 100_000)
            server.stepJournal()
            server.turn()
            #expect(isSaved(busy.outcome(call)), "save \(index) waited for the rest of others")
        }
        #expect(succeeded(resting) == 6, "they have rested until now")
        server.turn(after: 10_000_000)
        server.settle()
        #expect(succeeded(resting) == 9)
    }

    @Test("who writes alone has four times as much on its way to the disk, and rests never")
    func alone() throws {
        let server = try SteppedServer()
        let calls = try flood(server)
        // The users' records are commits of nobody.
        for _ in 0..<5 {
            server.turn(after: 20_000_000)
            server.stepJournal()
            server.turn()
        }
        let expected = 4 * (ServiceLimits.undurableTurnBytesAlone / 900_000)
        #expect(succeeded(calls) >= expected, "\(succeeded(calls)) after five times 20 ms")
        server.settle()
        #expect(succeeded(calls) == 40)
    }

    @Test("nothing waits for a disk that is full: what changes something is refused, and reads are answered")
    func fullDisk() throws {
        let disk = SimulatedDisk()
        let server = try SteppedServer(disk: disk) { $0.journalSegmentBytes = 65_536 }
        let ada = try server.connect(account: "b", device: 99)
        try ada.save(["r"])
        let calls = try flood(server)
        let reading = calls[0].peer.start(.recordsFetch, read)
        disk.faults.capacityBytes = 0
        for _ in 0..<20 {
            server.stepJournal()
            server.turn(after: 20_000_000)
        }
        #expect(calls[0].peer.isAnswered(reading))
        #expect(succeeded(calls) == 0)
        let refusals = calls.count { peer, stream in
            if case .failure(let error)? = peer.outcome(stream) { error == .diskFull } else { false }
        }
        #expect(refusals >= 40 - ServiceLimits.undurableTurnBytes / 900_000 - 1)
        // A backup asks for snapshots first, and hears why there are none.
        let snapshots = server.administer(.snapshot)
        for _ in 0..<5 { server.turn() }
        #expect(snapshots.error == .diskFull)
        disk.faults.capacityBytes = nil
        server.settle()
        #expect(succeeded(calls) + refusals == 40, "what had begun is durable when there is room")
    }
}
