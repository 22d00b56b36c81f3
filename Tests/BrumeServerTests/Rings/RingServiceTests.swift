import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeServer
@testable import BrumeService

/// Who has keys of a zone, as the server takes and gives it.
@Suite("Rings at the server", .timeLimit(.minutes(1)))
struct RingServiceTests {
    private typealias Identity = BrumeEncryption.Identity

    private let disk = SimulatedDisk()
    private let coder = MessageCoder()
    private let notes = ZoneID(name: "notes")

    /// The identity of whoever is connected, which the server knows.
    private func identity(of peer: FramePeer) throws -> Identity {
        let (identity, signed) = try Identity.first(
            scope: IdentityScope(account: peer.user, container: SteppedServer.container, environment: "development"),
            device: KeyPairs(seed: .random()).publicKeys, deviceName: "phone", code: RecoveryCode())
        try append(statement: signed, by: peer)
        return identity
    }

    private func append(statement: SignedStatement, inPlaceOf hash: [UInt8] = [], by peer: FramePeer) throws {
        let request = AppendStatementRequest(statement: SharedBytes(statement.bytes), replacedHash: hash)
        _ = try peer.call(.statementsAppend, coder.encodeAppendStatementRequest(request))
    }

    private func author(_ identity: Identity) -> RingAuthor {
        var statements = StatementDirectory()
        statements.add(identity.chain)
        return RingAuthor(user: identity.statement.scope.account, identity: identity.keys, statements: statements)
    }

    private func owner(_ identity: Identity) -> RingMember {
        RingMember(user: identity.statement.scope.account, statementHash: identity.statement.hash, role: .owner)
    }

    /// A ring that begins.
    private func begin(
        by identity: Identity, zone: String = "notes", root: String? = nil, ringID: UInt8 = 1, isPerZone: Bool = false,
        hasPlainAssets: Bool = false, zoneKey: UInt32? = nil
    ) throws -> RingChain {
        let scope = identity.statement.scope
        let place = try Place(
            container: scope.container, environment: scope.environment, owner: scope.account, zone: zone,
            ringID: [UInt8](repeating: ringID, count: Place.ringIDBytes))
        var draft = RingDraft(members: [owner(identity)])
        draft.zoneKeyNumber = zoneKey ?? (root == nil ? 0 : 1)
        return try author(identity).begin(
            RingName(place: place, root: root), isPerZone: isPerZone, hasPlainAssets: hasPlainAssets, draft)
    }

    /// The same with the next entry.
    private func next(_ chain: RingChain, by identity: Identity) throws -> RingChain {
        try author(identity).next(
            after: chain, keys: chain.keys(of: identity), RingDraft(members: [owner(identity)]))
    }

    private func append(_ chain: RingChain, to zone: ZoneID? = nil, by peer: FramePeer) throws {
        try append(bytes: chain.entries.last!.bytes, to: zone, by: peer)
    }

    private func append(bytes: [UInt8], to zone: ZoneID? = nil, by peer: FramePeer) throws {
        let request = AppendRingEntryRequest(zone: zone ?? notes, entry: SharedBytes(bytes))
        _ = try peer.call(.ringsAppend, coder.encodeAppendRingEntryRequest(request))
    }

    private func refusal(_ body: () throws -> Void) -> ErrorCode? {
        let error = #expect(throws: ServiceError.self) { try body() }
        #expect(error.map { !$0.message.isEmpty } ?? false)
        return error?.code
    }

    private func page(
        of peer: FramePeer, _ zone: ZoneID? = nil, root: String = "", after number: UInt32 = 0
    ) throws -> RingPage {
        let request = FetchRingRequest(zone: zone ?? notes, root: root, after: number)
        return try peer.call(.ringsFetch, coder.encodeFetchRingRequest(request)).decoded(coder.decodeFetchRingResponse)
    }

    private func bytes(_ chain: RingChain) -> [SharedBytes] { chain.entries.map { SharedBytes($0.bytes) } }

    @Test("are given to every device of the account, also after a restart and from a snapshot, and to nobody else")
    func keeping() throws {
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        let identity = try identity(of: peer)
        #expect(refusal { _ = try page(of: peer) } == .zoneNotFound)
        try peer.makeZone("notes")
        #expect(try page(of: peer) == RingPage(entries: [], last: 0))
        let one = try begin(by: identity)
        try append(one, by: peer)
        let two = try next(one, by: identity)
        try append(two, by: peer)
        #expect(try page(of: peer) == RingPage(entries: bytes(two), last: 2))
        #expect(try page(of: peer, after: 1).entries == [bytes(two)[1]] && page(of: peer, after: 2).entries.isEmpty)
        #expect(try page(of: peer, .defaultZone).last == 0)
        let stranger = try server.connect(account: "b")
        let theirs = ZoneID(name: "notes", owner: peer.user)
        #expect(refusal { _ = try page(of: stranger, theirs) } == .zoneNotFound)
        #expect(refusal { try append(two, to: theirs, by: stranger) } != nil)
        for run in 2...3 as ClosedRange<UInt32> {
            if run == 3 { server.snapshot() }
            server = try SteppedServer(disk: disk, run: run)
            peer = try server.connect(account: "a", device: 5)
            #expect(try page(of: peer) == RingPage(entries: bytes(two), last: 2))
        }
        try append(try next(two, by: identity), by: peer)
    }

    @Test("are one entry behind the other: of two devices the first wins, and sending again has no other effect")
    func order() throws {
        let server = try SteppedServer(disk: disk)
        let (phone, laptop) = (try server.connect(account: "a"), try server.connect(account: "a", device: 5))
        let identity = try identity(of: phone)
        let one = try begin(by: identity, zone: Names.defaultZone)
        try append(one, to: .defaultZone, by: phone)
        let other = try begin(by: identity, zone: Names.defaultZone, ringID: 2)
        #expect(refusal { try append(other, to: .defaultZone, by: laptop) } == .serverRecordChanged)
        let two = try next(one, by: identity)
        let three = try next(two, by: identity)
        #expect(refusal { try append(three, to: .defaultZone, by: laptop) } == .serverRecordChanged)
        try append(two, to: .defaultZone, by: laptop)
        for chain in [one, two] { try append(chain, to: .defaultZone, by: phone) }
        #expect(try page(of: laptop, .defaultZone).entries == bytes(two))
        let late = try next(next(other, by: identity), by: identity)
        #expect(refusal { try append(late, to: .defaultZone, by: phone) } == .invalidArguments, "of another branch")
    }

    @Test("are boxed to the newest statement of the account, or fetched and made anew")
    func statements() throws {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        try peer.makeZone("notes")
        let identity = try identity(of: peer)
        let one = try begin(by: identity)
        try append(one, by: peer)
        let (renewed, signed) = try identity.replacingKeys()
        try append(statement: signed, by: peer)
        #expect(refusal { try append(try next(one, by: identity), by: peer) } == .serverRecordChanged)
        let two = try next(one, by: renewed)
        try append(two, by: peer)
        let (_, added) = try renewed.adding(device: KeyPairs(seed: .random()).publicKeys, deviceName: "")
        try append(statement: added, by: peer)
        try append(try next(two, by: renewed), by: peer)
        #expect(try page(of: peer).last == 3, "a device was added, and the keys are the same")
    }

    @Test("of names that no record can have are refused, since no server could read them again")
    func names() throws {
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        try peer.makeZone("notes")
        let identity = try identity(of: peer)
        try append(try begin(by: identity), by: peer)
        for root in ["_x", "é", String(repeating: "x", count: 300)] {
            #expect(refusal { try append(try begin(by: identity, root: root), by: peer) } == .invalidArguments)
        }
        let longest = String(repeating: "x", count: 255)
        try append(try begin(by: identity, root: longest), by: peer)
        for run in 2...3 as ClosedRange<UInt32> {
            if run == 3 { server.snapshot() }
            server = try SteppedServer(disk: disk, run: run)
            peer = try server.connect(account: "a")
            #expect(try page(of: peer, root: longest).last == 1)
        }
    }

    @Test("that came are answered again, however full the disk is")
    func retries() throws {
        let server = try SteppedServer(log: ScriptedLogStorage())
        let peer = try server.connect(account: "a")
        let identity = try identity(of: peer)
        let one = try begin(by: identity, zone: Names.defaultZone)
        try append(one, to: .defaultZone, by: peer)
        server.log?.isFull = true
        try append(one, to: .defaultZone, by: peer)
        let two = try next(one, by: identity)
        #expect(refusal { try append(two, to: .defaultZone, by: peer) } == .serviceUnavailable)
    }

    @Test("are refused where devices would refuse them, whoever has the account's token")
    func strangers() throws {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        try peer.makeZone("notes")
        try peer.makeZone("other")
        let stranger = try Identity.first(
            scope: IdentityScope(account: peer.user, container: SteppedServer.container, environment: "development"),
            device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode()
        ).identity
        #expect(refusal { try append(try begin(by: stranger), by: peer) } == .invalidArguments, "without a statement")
        let identity = try identity(of: peer)
        #expect(refusal { try append(try begin(by: stranger), by: peer) } == .serverRecordChanged)
        #expect(refusal { try append(try begin(by: identity, zone: "other"), by: peer) } == .invalidArguments)
        let elsewhere = try Identity.first(
            scope: IdentityScope(account: peer.user, container: "iCloud.other", environment: "development"),
            device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode()
        ).identity
        #expect(refusal { try append(try begin(by: elsewhere), by: peer) } == .invalidArguments)
        #expect(refusal { try append(bytes: [1, 2, 3], by: peer) } == .invalidArguments)
        #expect(refusal { try append(bytes: [], by: peer) } == .invalidArguments)
        let large = [UInt8](repeating: 1, count: Limits.ringEntryBytes + 1)
        #expect(refusal { try append(bytes: large, by: peer) } == .limitExceeded)
        let one = try begin(by: identity)
        let good = one.entries[0].bytes
        for index in stride(from: 0, to: good.count, by: 11) {
            var flipped = good
            flipped[index] ^= 1
            let code = refusal { try append(bytes: flipped, by: peer) }
            #expect(code == .invalidArguments || code == .serverRecordChanged, "byte \(index)")
        }
        #expect(try page(of: peer).last == 0)
        try append(one, by: peer)
        let nobody = try server.connect(account: nil)
        #expect(refusal { _ = try page(of: nobody) } == .notAuthenticated)
    }

    @Test("of trees belong to the ring of their zone")
    func trees() throws {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        try peer.makeZone("notes")
        let identity = try identity(of: peer)
        let tree = try begin(by: identity, root: "list")
        #expect(refusal { try append(tree, by: peer) } == .invalidArguments, "the zone has no ring")
        try append(try begin(by: identity), by: peer)
        for wrong in [
            try begin(by: identity, root: "list", ringID: 2), try begin(by: identity, root: "list", zoneKey: 2),
            try begin(by: identity, root: "list", hasPlainAssets: true),
        ] {
            #expect(refusal { try append(wrong, by: peer) } == .invalidArguments)
        }
        try append(tree, by: peer)
        #expect(try page(of: peer, root: "list").entries == bytes(tree) && page(of: peer).last == 1)
        try peer.makeZone("whole")
        let whole = ZoneID(name: "whole")
        try append(try begin(by: identity, zone: "whole", isPerZone: true), to: whole, by: peer)
        let inWhole = try begin(by: identity, zone: "whole", root: "list")
        #expect(refusal { try append(inWhole, to: whole, by: peer) } == .invalidArguments, "the zone is one tree")
    }

    @Test("go with their zones, and a zone of the same name begins another")
    func zones() throws {
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        let identity = try identity(of: peer)
        try peer.makeZone("notes")
        try append(try begin(by: identity), by: peer)
        try peer.deleteZone("notes")
        try peer.makeZone("notes")
        let other = try begin(by: identity, ringID: 2)
        for run in 2...4 as ClosedRange<UInt32> {
            #expect(try page(of: peer).entries == (run == 2 ? [] : bytes(other)))
            if run == 2 { try append(other, by: peer) }
            if run == 3 { server.snapshot() }
            server = try SteppedServer(disk: disk, run: run)
            peer = try server.connect(account: "a")
        }
    }

    @Test("are lost with the account's keys: a reset deletes their zones in one commit, says why, and spares others")
    func reset() throws {
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        let identity = try identity(of: peer)
        for zone in ["notes", "plain"] { try peer.makeZone(zone) }
        try append(try begin(by: identity), by: peer)
        try append(try begin(by: identity, zone: Names.defaultZone), to: .defaultZone, by: peer)
        try peer.save(["kept"], zone: ZoneID(name: "plain"))
        try peer.save(["kept"])
        let anew = try Identity.first(
            scope: identity.statement.scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "",
            code: RecoveryCode())
        try append(statement: anew.signed, inPlaceOf: identity.statement.hash, by: peer)
        for run in 2...3 as ClosedRange<UInt32> {
            let error = #expect(throws: ServiceError.self) { try page(of: peer) }
            #expect(error?.code == .zoneNotFound && error?.detail == .encryptedDataReset)
            #expect(try page(of: peer, .defaultZone).last == 0 && page(of: peer, ZoneID(name: "plain")).last == 0)
            #expect(throws: ServiceError.self) { try peer.save(["kept"], zone: ZoneID(name: "plain")) }
            #expect(throws: ServiceError.self) { try peer.save(["kept"]) }
            if run == 3 { break }
            server = try SteppedServer(disk: disk, run: run)
            peer = try server.connect(account: "a")
        }
        try peer.makeZone("notes")
        try append(try begin(by: anew.identity, ringID: 2), by: peer)
    }

    @Test("wait for room in the quota, but for those that take keys from somebody")
    func quota() throws {
        let server = try SteppedServer(disk: disk) { $0.quotaBytes = 1_000 }
        let peer = try server.connect(account: "a")
        let identity = try identity(of: peer)
        try peer.makeZone("notes")
        let one = try begin(by: identity)
        try append(one, by: peer)
        let database = try #require(server.stepwise.loaded.first { $0.database.id.owner == peer.user }).database
        // What is beyond the allowance for overhead.
        for number in 1...UInt32(Limits.overheadAllowanceBytes / 100_000 + 1) {
            _ = try database.append(
                ringEntry: SharedBytes([UInt8](repeating: 1, count: 100_000)), number: number, root: "",
                zone: .defaultZone, quota: nil, nowMilliseconds: 1)
        }
        #expect(refusal { try append(try next(one, by: identity), by: peer) } == .quotaExceeded)
        let (renewed, signed) = try identity.replacingKeys()
        try append(statement: signed, by: peer)
        let two = try next(one, by: renewed)
        try append(two, by: peer)
        #expect(refusal { try append(try next(two, by: renewed), by: peer) } == .quotaExceeded)
    }

    @Test("are told to nobody before they are durable")
    func durability() throws {
        let server = try SteppedServer(log: ScriptedLogStorage())
        let (phone, laptop) = (try server.connect(account: "a"), try server.connect(account: "a", device: 5))
        let one = try begin(by: identity(of: phone), zone: Names.defaultZone)
        let request = coder.encodeAppendRingEntryRequest(
            AppendRingEntryRequest(zone: .defaultZone, entry: bytes(one)[0]))
        server.isDurabilityHeld = true
        let calls = [
            (phone, phone.start(.ringsAppend, request)), (phone, phone.start(.ringsAppend, request)),
            (
                laptop,
                laptop.start(.ringsFetch, coder.encodeFetchRingRequest(FetchRingRequest(zone: .defaultZone, after: 0)))
            ),
        ]
        server.settle()
        for (peer, stream) in calls { #expect(!peer.isAnswered(stream)) }
        server.isDurabilityHeld = false
        server.settle()
        for (peer, stream) in calls { _ = try #require(peer.outcome(stream)).get() }
        #expect(try page(of: laptop, .defaultZone).entries == bytes(one))
    }

    @Test("that are not as they were are the server's fault, and its health says so")
    func damage() throws {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        let one = try begin(by: identity(of: peer), zone: Names.defaultZone)
        let database = try #require(server.stepwise.loaded.first { $0.database.id.owner == peer.user }).database
        _ = try database.append(
            ringEntry: SharedBytes([1, 2, 3]), number: 1, root: "", zone: .defaultZone, quota: nil, nowMilliseconds: 1)
        let identity = try Identity.first(
            scope: IdentityScope(account: peer.user, container: SteppedServer.container, environment: "development"),
            device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode()
        ).identity
        let two = try next(begin(by: identity, zone: Names.defaultZone), by: identity)
        #expect(refusal { try append(two, to: .defaultZone, by: peer) } == .internalError)
        #expect(server.core.health(at: server.nowNanoseconds).isDamageFound && one.entries.count == 1)
    }
}
