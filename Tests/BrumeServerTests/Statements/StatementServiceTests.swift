import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeServer
@testable import BrumeService

/// What an account says of its keys and devices, as the server takes and gives it.
@Suite("Statements at the server", .timeLimit(.minutes(1)))
struct StatementServiceTests {
    private let disk = SimulatedDisk()
    private let coder = MessageCoder()

    /// An identity of whoever is connected, on a device of its own.
    private func identity(
        of peer: FramePeer, container: String = SteppedServer.container, environment: String = "development"
    ) throws -> (identity: BrumeEncryption.Identity, signed: SignedStatement) {
        try BrumeEncryption.Identity.first(
            scope: IdentityScope(account: peer.user, container: container, environment: environment),
            device: KeyPairs(seed: .random()).publicKeys, deviceName: "phone", code: RecoveryCode())
    }

    /// The same statement with other boxes, as whoever has its keys can make it.
    private func sealedAgain(
        _ signed: SignedStatement, by identity: BrumeEncryption.Identity
    ) throws -> SignedStatement {
        let boxes = Array(signed.boxes.reversed())
        let message = SignedStatement.ownMessage(signed.statement, anchor: signed.anchor, boxes: boxes)
        return SignedStatement(
            statement: signed.statement, ownSignature: identity.keys.sign(message), previousSignature: [],
            anchor: signed.anchor, boxes: boxes)
    }

    private func append(_ bytes: [UInt8], inPlaceOf replacedHash: [UInt8] = [], by peer: FramePeer) throws {
        let request = AppendStatementRequest(statement: SharedBytes(bytes), replacedHash: replacedHash)
        _ = try peer.call(.statementsAppend, coder.encodeAppendStatementRequest(request))
    }

    private func refusal(_ bytes: [UInt8], inPlaceOf replacedHash: [UInt8] = [], by peer: FramePeer) -> ErrorCode? {
        let error = #expect(throws: ServiceError.self) { try append(bytes, inPlaceOf: replacedHash, by: peer) }
        #expect(error.map { !$0.message.isEmpty } ?? false)
        return error?.code
    }

    private func page(of peer: FramePeer, after number: UInt32 = 0) throws -> StatementsPage {
        try peer.call(.statementsFetch, coder.encodeFetchStatementsRequest(after: number))
            .decoded(coder.decodeFetchStatementsResponse)
    }

    private func fetch(_ peer: FramePeer, after number: UInt32 = 0) throws -> [[UInt8]] {
        try page(of: peer, after: number).statements.map(\.array)
    }

    @Test("are given to every device of the account, also after a restart and from a snapshot, and to nobody else")
    func keeping() throws {
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        #expect(try page(of: peer) == StatementsPage(statements: [], last: 0))
        let one = try identity(of: peer)
        try append(one.signed.bytes, by: peer)
        let two = try one.identity.adding(device: KeyPairs(seed: .random()).publicKeys, deviceName: "")
        try append(two.signed.bytes, by: peer)
        #expect(try fetch(peer) == [one.signed.bytes, two.signed.bytes] && fetch(peer, after: 1) == [two.signed.bytes])
        #expect(try page(of: peer, after: 2) == StatementsPage(statements: [], last: 2))
        #expect(try fetch(server.connect(account: "a", device: 5)) == [one.signed.bytes, two.signed.bytes])
        #expect(try fetch(server.connect(account: "b")).isEmpty)
        #expect(try fetch(server.connect(account: "a", container: "iCloud.other")).isEmpty)
        #expect(try fetch(server.connect(account: "a", environment: .production)).isEmpty)

        for run in 2...3 as ClosedRange<UInt32> {
            if run == 3 { server.snapshot() }
            server = try SteppedServer(disk: disk, run: run)
            peer = try server.connect(account: "a")
            #expect(try fetch(peer) == [one.signed.bytes, two.signed.bytes])
        }
        let three = try two.identity.replacingKeys(code: RecoveryCode())
        try append(three.signed.bytes, by: peer)
        #expect(try fetch(peer, after: 2) == [three.signed.bytes])
    }

    @Test("are one behind the other: of two devices the first wins, and sending again has no other effect")
    func order() throws {
        let server = try SteppedServer(disk: disk)
        let (phone, laptop) = (try server.connect(account: "a"), try server.connect(account: "a", device: 5))
        let (one, other) = (try identity(of: phone), try identity(of: laptop))
        try append(one.signed.bytes, by: phone)
        #expect(refusal(other.signed.bytes, by: laptop) == .serverRecordChanged)
        let two = try one.identity.adding(device: KeyPairs(seed: .random()).publicKeys, deviceName: "")
        let three = try two.identity.replacingKeys()
        #expect(refusal(three.signed.bytes, by: laptop) == .serverRecordChanged, "one is missing between them")
        try append(two.signed.bytes, by: laptop)
        for signed in [one.signed, two.signed] { try append(signed.bytes, by: phone) }
        #expect(try fetch(phone) == [one.signed.bytes, two.signed.bytes])
        #expect(
            refusal(try one.identity.replacingKeys().signed.bytes, by: phone) == .serverRecordChanged,
            "what was made before the other one was known")
    }

    @Test("are refused where other devices would refuse them, whoever has the account's token")
    func strangers() throws {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        let one = try identity(of: peer)
        for stranger in [
            try identity(of: server.connect(account: "b")), try identity(of: peer, container: "iCloud.other"),
            try identity(of: peer, environment: "production"),
        ] {
            #expect(refusal(stranger.signed.bytes, by: peer) == .invalidArguments, "of another account or place")
        }
        try append(one.signed.bytes, by: peer)
        let thief = try identity(of: peer)
        let theirs = try thief.identity.adding(device: KeyPairs(seed: .random()).publicKeys, deviceName: "")
        // Another format behind the label of a signed statement and the length of what is signed.
        var newer = one.signed.bytes
        newer[4 + "brume/1/signed-statement".utf8.count + 4 + 4 + "brume/1/statement".utf8.count] = 2
        let error = #expect(throws: ServiceError.self) { try append(newer, by: peer) }
        #expect(error?.code == .invalidArguments && error?.message.contains("update") == true)
        #expect(refusal(theirs.signed.bytes, by: peer) == .invalidArguments, "which follows another first one")
        let two = try one.identity.replacingKeys()
        for index in stride(from: 0, to: two.signed.bytes.count, by: 7) {
            var flipped = two.signed.bytes
            flipped[index] ^= 1
            // A number that was flipped is one that is taken, or not yet the next.
            let code = refusal(flipped, by: peer)
            #expect(code == .invalidArguments || code == .serverRecordChanged, "byte \(index)")
        }
        #expect(try fetch(peer) == [one.signed.bytes])
        try append(two.signed.bytes, by: peer)
    }

    @Test("are refused in words for what is none, for one that is too large, and to whoever has no account")
    func requests() throws {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        #expect(refusal([], by: peer) == .invalidArguments && refusal([1, 2, 3], by: peer) == .invalidArguments)
        #expect(refusal([UInt8](repeating: 1, count: Limits.statementBytes), by: peer) == .invalidArguments)
        #expect(refusal([UInt8](repeating: 1, count: Limits.statementBytes + 1), by: peer) == .limitExceeded)
        let nobody = try server.connect(account: nil)
        #expect(refusal([1], by: nobody) == .notAuthenticated)
        let error = #expect(throws: ServiceError.self) { try fetch(nobody) }
        #expect(error?.code == .notAuthenticated)
    }

    @Test("are told to nobody before they are durable, and wait for a log that is full")
    func durability() throws {
        let server = try SteppedServer(log: ScriptedLogStorage())
        let (phone, laptop) = (try server.connect(account: "a"), try server.connect(account: "a", device: 5))
        let signed = try identity(of: phone).signed
        let request = coder.encodeAppendStatementRequest(
            AppendStatementRequest(statement: SharedBytes(signed.bytes)))
        server.log?.isFull = true
        let error = #expect(throws: ServiceError.self) { try append(signed.bytes, by: phone) }
        #expect(error?.code == .serviceUnavailable && error?.retryAfterMilliseconds ?? 0 > 0)
        server.log?.isFull = false

        server.isDurabilityHeld = true
        let calls = [
            (phone, phone.start(.statementsAppend, request)), (phone, phone.start(.statementsAppend, request)),
            (laptop, laptop.start(.statementsFetch, coder.encodeFetchStatementsRequest(after: 0))),
        ]
        server.settle()
        for (peer, stream) in calls { #expect(!peer.isAnswered(stream)) }
        server.isDurabilityHeld = false
        server.settle()
        for (peer, stream) in calls { _ = try #require(peer.outcome(stream)).get() }
        #expect(try fetch(laptop) == [signed.bytes])
        server.log?.isFull = true
        try append(signed.bytes, by: laptop)
    }

    @Test("give their place to a first one that names the last of them, which has one effect however often it comes")
    func replacing() throws {
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        let (one, anew, other) = (try identity(of: peer), try identity(of: peer), try identity(of: peer))
        let hash = one.signed.statement.hash
        #expect(refusal(anew.signed.bytes, inPlaceOf: hash, by: peer) == .serverRecordChanged, "there is none")
        try append(one.signed.bytes, by: peer)
        let two = try one.identity.replacingKeys()
        try append(two.signed.bytes, by: peer)
        #expect(refusal(anew.signed.bytes, inPlaceOf: hash, by: peer) == .serverRecordChanged, "it is not the last")
        let last = two.signed.statement.hash
        let next = try two.identity.replacingKeys()
        #expect(refusal(next.signed.bytes, inPlaceOf: last, by: peer) == .invalidArguments, "which is no first one")
        let stranger = try identity(of: server.connect(account: "b"))
        #expect(refusal(stranger.signed.bytes, inPlaceOf: last, by: peer) == .invalidArguments)
        #expect(refusal(anew.signed.bytes, inPlaceOf: [1], by: peer) == .invalidArguments)
        #expect(try fetch(peer) == [one.signed.bytes, two.signed.bytes])

        try append(anew.signed.bytes, inPlaceOf: last, by: peer)
        let second = try anew.identity.adding(device: KeyPairs(seed: .random()).publicKeys, deviceName: "")
        try append(second.signed.bytes, by: peer)
        try append(anew.signed.bytes, inPlaceOf: last, by: peer)
        #expect(refusal(other.signed.bytes, inPlaceOf: last, by: peer) == .serverRecordChanged, "it is the second")
        #expect(refusal(next.signed.bytes, by: peer) == .invalidArguments, "which follows what was replaced")
        for run in 2...3 as ClosedRange<UInt32> {
            #expect(try fetch(peer) == [anew.signed.bytes, second.signed.bytes])
            if run == 3 { server.snapshot() }
            server = try SteppedServer(disk: disk, run: run)
            peer = try server.connect(account: "a")
        }
        #expect(try fetch(peer) == [anew.signed.bytes, second.signed.bytes])
        try append(try second.identity.replacingKeys().signed.bytes, by: peer)
    }

    @Test("that were replaced never come back, with other boxes neither, nor after a restart or from a snapshot")
    func goingBack() throws {
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        let (one, anew) = (try identity(of: peer), try identity(of: peer))
        try append(one.signed.bytes, by: peer)
        // Whoever has the first one's keys can seal its boxes again.
        let again = try sealedAgain(one.signed, by: one.identity)
        #expect(again.statement.hash == one.signed.statement.hash && again.bytes != one.signed.bytes)
        #expect(refusal(again.bytes, inPlaceOf: one.signed.statement.hash, by: peer) == .invalidArguments)
        try append(anew.signed.bytes, inPlaceOf: one.signed.statement.hash, by: peer)
        for run in 2...4 as ClosedRange<UInt32> {
            for former in [one.signed, again] {
                let hash = anew.signed.statement.hash
                #expect(refusal(former.bytes, inPlaceOf: hash, by: peer) == .invalidArguments)
            }
            #expect(
                refusal(anew.signed.bytes, inPlaceOf: [UInt8](repeating: 1, count: 32), by: peer)
                    == .serverRecordChanged, "what it took the place of is another one")
            try append(anew.signed.bytes, inPlaceOf: one.signed.statement.hash, by: peer)
            #expect(try fetch(peer) == [anew.signed.bytes])
            if run == 3 { server.snapshot() }
            server = try SteppedServer(disk: disk, run: run)
            peer = try server.connect(account: "a")
        }
    }

    @Test("can be replaced where the signature of the last is damaged")
    func replacingDamaged() throws {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        let (one, anew) = (try identity(of: peer), try identity(of: peer))
        let damaged = SignedStatement(
            statement: one.signed.statement, ownSignature: [UInt8](repeating: 7, count: 64), previousSignature: [],
            anchor: one.signed.anchor, boxes: one.signed.boxes)
        _ = try database(server).append(statement: SharedBytes(damaged.bytes), number: 1, nowMilliseconds: 1)
        try append(anew.signed.bytes, inPlaceOf: one.signed.statement.hash, by: peer)
        #expect(try fetch(peer) == [anew.signed.bytes])
    }

    // MARK: What no device would have put there

    /// The first account's database in the server's memory.
    private func database(_ server: SteppedServer) throws -> Database {
        let owner = server.userRecordName(ofAccount: 1)
        return try #require(server.stepwise.loaded.first { $0.database.id.owner == owner }).database
    }

    /// Something in the place of the next statements.
    private func put(_ count: Int, bytes: Int, into database: Database) throws {
        for _ in 0..<count {
            _ = try database.append(
                statement: SharedBytes([UInt8](repeating: 1, count: bytes)), number: database.statements.last + 1,
                nowMilliseconds: 1)
        }
    }

    /// A statement of a number, which follows nothing.
    private func statement(_ number: UInt32, of peer: FramePeer) throws -> [UInt8] {
        let made = try identity(of: peer)
        let first = made.signed.statement
        let statement = Statement(
            scope: first.scope, number: number, previousHash: first.hash, keys: first.keys, codeKey: first.codeKey,
            devices: first.devices)
        return SignedStatement(
            statement: statement, ownSignature: made.signed.ownSignature, previousSignature: made.signed.ownSignature,
            anchor: [], boxes: made.signed.boxes
        ).bytes
    }

    @Test("have an end, which is told before anything else is looked at")
    func end() throws {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        try put(Limits.statementsPerAccount, bytes: 1, into: database(server))
        #expect(refusal(try statement(1_025, of: peer), by: peer) == .limitExceeded)
    }

    @Test("are kept however much of the quota is used up: a stolen device has to be removed")
    func quota() throws {
        let server = try SteppedServer(disk: disk) { $0.quotaBytes = 1 }
        let peer = try server.connect(account: "a")
        #expect(throws: ServiceError.self) { try peer.save(["note"]) }
        try append(try identity(of: peer).signed.bytes, by: peer)
    }

    @Test("that are not as they were are the server's fault, and its health says so")
    func damage() throws {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        try put(1, bytes: 100, into: database(server))
        #expect(!server.core.health(at: server.nowNanoseconds).isDamageFound)
        #expect(refusal(try statement(2, of: peer), by: peer) == .internalError)
        #expect(server.core.health(at: server.nowNanoseconds).isDamageFound)
    }

    @Test("are all read for whoever has the keys of the last, and for nobody else")
    func costs() throws {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        let one = try identity(of: peer)
        let two = try one.identity.replacingKeys()
        let database = try database(server)
        try put(1, bytes: 100, into: database)
        _ = try database.append(statement: SharedBytes(two.signed.bytes), number: 2, nowMilliseconds: 1)
        let thief = try identity(of: peer)
        let last = two.signed.statement
        let statement = Statement(
            scope: last.scope, number: 3, previousHash: last.hash, keys: thief.signed.statement.keys,
            codeKey: last.codeKey, devices: last.devices)
        let theirs = SignedStatement(
            statement: statement, ownSignature: thief.signed.ownSignature,
            previousSignature: thief.signed.ownSignature, anchor: [], boxes: two.signed.boxes)
        #expect(refusal(theirs.bytes, by: peer) == .invalidArguments)
        #expect(!server.core.health(at: server.nowNanoseconds).isDamageFound, "the first one was not looked at")
        #expect(refusal(try two.identity.replacingKeys().signed.bytes, by: peer) == .internalError)
        #expect(server.core.health(at: server.nowNanoseconds).isDamageFound)
    }

    @Test("go with the account")
    func removal() throws {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        try append(try identity(of: peer).signed.bytes, by: peer)
        let database = try database(server)
        try #require(database.statements.last == 1)
        let removal = server.beginRemoving(account: "a")
        server.settle()
        #expect(removal.error == nil && removal.isAnswered && database.statements.isEmpty)
    }
}
