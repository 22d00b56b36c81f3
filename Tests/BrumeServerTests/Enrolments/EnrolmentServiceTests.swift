import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// Enrolments as a server's clients use them.
@Suite("Enrolments at the server", .timeLimit(.minutes(1)))
struct EnrolmentServiceTests {
    private let disk = SimulatedDisk()
    private let coder = MessageCoder()
    private let id = EnrolmentScene.id(7)

    private func post(_ step: Int = 1, _ message: [UInt8] = [1], of id: [UInt8]? = nil, by peer: FramePeer) throws {
        let request = PostEnrolmentRequest(id: id ?? self.id, step: step, message: message)
        try peer.call(.enrolmentsPost, coder.encodePostEnrolmentRequest(request))
            .decoded(coder.decodePostEnrolmentResponse)
    }

    private func fetch(_ id: [UInt8]? = nil, by peer: FramePeer) throws -> [RelayedEnrolment] {
        try peer.call(.enrolmentsFetch, coder.encodeFetchEnrolmentsRequest(id))
            .decoded(coder.decodeFetchEnrolmentsResponse)
    }

    private func end(_ id: [UInt8]? = nil, wrongCode: Bool = false, by peer: FramePeer) throws {
        let request = EndEnrolmentRequest(id: id ?? self.id, isForWrongCode: wrongCode)
        try peer.call(.enrolmentsEnd, coder.encodeEndEnrolmentRequest(request))
            .decoded(coder.decodeEndEnrolmentResponse)
    }

    private func refusal(_ body: () throws -> Void) -> ServiceError? {
        #expect(throws: ServiceError.self) { try body() }
    }

    @Test("pass messages from one device of an account to another and back, and to nobody else", arguments: [1, 3])
    func passing(loopCount: Int) throws {
        let server = try SteppedServer { $0.loopCount = loopCount }
        let (old, new) = (try server.connect(account: "a"), try server.connect(account: "a", device: 5))
        #expect(try fetch(by: old).isEmpty)
        for step in 1...4 {
            let (sender, receiver) = step % 2 == 1 ? (new, old) : (old, new)
            try post(step, [UInt8(step), 0], by: sender)
            let messages = (1...step).map { [UInt8($0), 0] }
            #expect(try fetch(by: receiver) == [.init(7, messages, millisecondsLeft: 600_000)])
            #expect(try fetch(id, by: sender) == fetch(by: receiver))
        }
        for other in [
            try server.connect(account: "b"), try server.connect(account: "a", container: "iCloud.other"),
            try server.connect(account: "a", environment: .production),
        ] {
            #expect(try fetch(by: other).isEmpty && fetch(id, by: other).isEmpty)
            #expect(refusal { try post(2, by: other) }?.code == .unknownItem)
            try end(by: other)
        }
        #expect(try fetch(by: new).map(\.messages.count) == [4])
        try end(by: new)
        #expect(try fetch(by: old).isEmpty)
    }

    @Test("are for accounts alone")
    func withoutAccount() throws {
        let server = try SteppedServer()
        let nobody = try server.connect(account: nil)
        for body in [
            { try post(by: nobody) }, { _ = try fetch(by: nobody) }, { try end(wrongCode: true, by: nobody) },
        ] {
            #expect(refusal(body)?.code == .notAuthenticated)
        }
    }

    @Test("are over after ten minutes of the server's clock")
    func tenMinutes() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        try post(by: peer)
        server.turn(after: 599_000_000_000)
        #expect(try fetch(by: peer) == [.init(7, [[1]], millisecondsLeft: 1_000)])
        server.turn(after: 1_000_000_000)
        #expect(try fetch(by: peer).isEmpty)
        #expect(refusal { try post(2, by: peer) }?.code == .unknownItem)
    }

    @Test("and wrong codes are forgotten by a restart, which leaves nothing of them on the disk")
    func restart() throws {
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        server.settle()
        let usedBytes = disk.usedBytes
        for number in 1...3 as ClosedRange<UInt8> {
            try post(of: EnrolmentScene.id(number), by: peer)
            try end(EnrolmentScene.id(number), wrongCode: true, by: peer)
        }
        let error = refusal { try post(by: peer) }
        #expect(error?.code == .requestRateLimited && error?.retryAfterMilliseconds == 3_600_000)
        server.settle()
        #expect(disk.usedBytes == usedBytes)
        server = try SteppedServer(disk: disk, run: 2)
        peer = try server.connect(account: "a")
        #expect(try fetch(by: peer).isEmpty && refusal { try post(2, by: peer) }?.code == .unknownItem)
        try post(by: peer)
        #expect(try fetch(by: peer).count == 1)
    }

    @Test("wait for no disk, neither for one that is slow nor for one that is full, and count into no quota")
    func disks() throws {
        let server = try SteppedServer(log: ScriptedLogStorage()) { $0.quotaBytes = 1 }
        let peer = try server.connect(account: "a")
        server.isDurabilityHeld = true
        let zones = ModifyZonesRequest(database: .private, saves: [ZoneID(name: "z")])
        let save = peer.start(.zonesModify, coder.encodeModifyZonesRequest(zones))
        try post(by: peer)
        server.log?.isFull = true
        try post(2, by: peer)
        #expect(try fetch(by: peer).map(\.messages.count) == [2])
        try end(by: peer)
        #expect(try fetch(by: peer).isEmpty && !peer.isAnswered(save))
    }

    @Test("make no container, whatever a client asks of them there")
    func containers() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a", container: "iCloud.new")
        _ = try fetch(by: peer)
        try post(by: peer)
        try end(by: peer)
        #expect(server.recordCount(ofAccount: 1, container: "iCloud.new") ?? 0 == 0)
        #expect(!server.core.knownContainers.contains("iCloud.new"))
        try peer.save(["x"])
        #expect(server.core.knownContainers.contains("iCloud.new"))
    }

    @Test("end when the account's tokens are revoked, and others go on", arguments: [1, 3])
    func revocation(loopCount: Int) throws {
        let server = try SteppedServer { $0.loopCount = loopCount }
        let (former, other) = (try server.connect(account: "a"), try server.connect(account: "b"))
        try post(by: former)
        try post(by: other)
        _ = server.administer(.revokeTokens(name: "a"))
        let creation = server.administer(.createToken(name: "a"))
        server.settle()
        guard case .success(.tokenCreated(let token)) = creation.outcome else {
            throw TestFailure("no token was made: \(String(describing: creation.error))")
        }
        let new = try server.connect(token: token)
        #expect(try !former.isOpen && fetch(by: new).isEmpty && fetch(by: other).count == 1)
    }

    @Test("go with the account", arguments: [false, true])
    func removal(deletesData: Bool) throws {
        let server = try SteppedServer()
        let (peer, other) = (try server.connect(account: "a"), try server.connect(account: "b"))
        try post(by: peer)
        try post(by: other)
        let removal = server.administer(.removeAccount(name: "a", deletesData: deletesData))
        server.settle()
        #expect(removal.error == nil && removal.isAnswered)
        #expect(server.core.shards[0].enrolments.openCount == 1)
    }
}
