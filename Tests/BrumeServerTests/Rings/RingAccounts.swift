import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeServer
@testable import BrumeService

/// Accounts with keys, as their devices have them, and the rings that these make.
struct RingAccounts {
    typealias Identity = BrumeEncryption.Identity

    private(set) var identities: [String: Identity] = [:]
    /// The signed statements of each account's chain, the first in front.
    private(set) var signed: [String: [SharedBytes]] = [:]
    private(set) var statements = StatementDirectory()

    subscript(_ peer: FramePeer) -> Identity { identities[peer.user]! }

    /// Gives an account a first identity, or another one as after a reset.
    mutating func begin(_ peer: FramePeer) throws { try begin(user: peer.user) }

    mutating func begin(user: String) throws {
        let scope = IdentityScope(account: user, container: SteppedServer.container, environment: "development")
        let (identity, signed) = try Identity.first(
            scope: scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "phone", code: RecoveryCode())
        self.signed[user] = []
        take(identity, signed, of: user)
    }

    /// Gives an account new keys, as when a device is lost.
    mutating func replaceKeys(of peer: FramePeer) throws {
        let (identity, signed) = try self[peer].replacingKeys()
        take(identity, signed, of: peer.user)
    }

    mutating func addDevice(to peer: FramePeer) throws {
        let (identity, signed) = try self[peer].adding(
            device: KeyPairs(seed: .random()).publicKeys, deviceName: "laptop")
        take(identity, signed, of: peer.user)
    }

    private mutating func take(_ identity: Identity, _ signed: SignedStatement, of user: String) {
        identities[user] = identity
        self.signed[user]!.append(SharedBytes(signed.bytes))
        statements.add(identity.chain)
    }

    /// Has the devices know statements of somebody who is none of these accounts.
    mutating func meet(_ statements: [Statement]) { self.statements.add(StatementChain(kept: statements)) }

    func newestHash(of peer: FramePeer) -> [UInt8] { self[peer].statement.hash }

    // MARK: Rings

    func member(_ peer: FramePeer, _ role: RingRole = .writer, joining: RingMember.Joining? = nil) -> RingMember {
        RingMember(user: peer.user, statementHash: newestHash(of: peer), role: role, joining: joining)
    }

    func ring(of owner: FramePeer, zone: String, root: String? = nil) throws -> RingName {
        let scope = self[owner].statement.scope
        return try RingName(
            place: Place(
                container: scope.container, environment: scope.environment, owner: owner.user, zone: zone,
                ringID: [UInt8](repeating: 7, count: Place.ringIDBytes)), root: root)
    }

    /// A ring that begins, with its owner and others.
    func begun(
        by owner: FramePeer, zone: String, root: String? = nil, with others: [RingMember] = [],
        invitations: [RingInvitation] = [], isPerZone: Bool = false, zoneKey: UInt32 = 1
    ) throws -> RingChain {
        let draft = RingDraft(
            members: [member(owner, .owner)] + others, invitations: invitations,
            zoneKeyNumber: root == nil ? 0 : zoneKey)
        return try author(owner).begin(ring(of: owner, zone: zone, root: root), isPerZone: isPerZone, draft)
    }

    /// The chain with the next entry by somebody, changed as `change` says.
    func next(
        _ chain: RingChain, by peer: FramePeer, _ change: (inout RingDraft) throws -> Void = { _ in }
    ) throws -> RingChain {
        var draft = RingDraft(after: chain.head, statements: statements)
        try change(&draft)
        return try author(peer).next(after: chain, keys: chain.keys(of: self[peer]), draft)
    }

    func invitation(by owner: FramePeer, secret: LinkSecret) throws -> RingInvitation {
        try RingInvitation.make(
            maker: owner.user, makerKeys: nil, owner: self[owner].keys.publicKeys, role: .writer,
            isForOneGuest: false, isOpen: false, secret: secret)
    }

    /// What proves that somebody had a link.
    func proof(
        of peer: FramePeer, by invitation: RingInvitation, secret: LinkSecret, in ring: RingName
    ) -> RingMember.Joining {
        RingMember.Joining(
            invitationID: invitation.id,
            proof: secret.joinProof(
                ring: ring, invitationID: invitation.id, guest: peer.user, statementHash: newestHash(of: peer)))
    }

    private func author(_ peer: FramePeer) -> RingAuthor {
        RingAuthor(user: peer.user, identity: self[peer].keys, statements: statements)
    }
}

/// What devices ask of rings.
extension FramePeer {
    private var coder: MessageCoder { MessageCoder() }

    /// A zone of this account's, as others name it.
    func theirs(_ zone: String) -> ZoneID { ZoneID(name: zone, owner: user) }

    func appendStatement(_ bytes: SharedBytes) throws {
        _ = try call(
            .statementsAppend, coder.encodeAppendStatementRequest(AppendStatementRequest(statement: bytes)))
    }

    func append(_ chain: RingChain, to zone: ZoneID, with statements: [SharedBytes] = []) throws {
        let entry = SharedBytes(chain.entries[chain.entries.count - 1].bytes)
        let request = AppendRingEntryRequest(zone: zone, entry: entry, statements: statements)
        _ = try call(.ringsAppend, coder.encodeAppendRingEntryRequest(request))
    }

    func join(
        _ root: String = "", in zone: ZoneID, statements: [SharedBytes] = [], by joining: RingMember.Joining? = nil
    ) throws {
        let request = JoinRingRequest(
            zone: zone, root: root, statements: statements, invitationID: joining?.invitationID ?? [],
            proof: joining?.proof ?? [])
        _ = try call(.ringsJoin, coder.encodeJoinRingRequest(request))
    }

    func ring(_ root: String = "", of zone: ZoneID, after number: UInt32 = 0) throws -> RingPage {
        let request = FetchRingRequest(zone: zone, root: root, after: number)
        return try call(.ringsFetch, coder.encodeFetchRingRequest(request)).decoded(coder.decodeFetchRingResponse)
    }

    func ringStatements(
        of user: String, beside zone: ZoneID, after number: UInt32 = 0
    ) throws -> StatementsPage {
        let request = FetchRingStatementsRequest(zone: zone, user: user, after: number)
        return try call(.ringsFetchStatements, coder.encodeFetchRingStatementsRequest(request))
            .decoded(coder.decodeFetchRingStatementsResponse)
    }

    /// The roots of trees of a zone whose ids are those of roots that are asked for.
    func ringRoots(_ roots: [String], of zone: ZoneID, at place: Place) throws -> [String] {
        let ids = roots.map { Tree(place: place, root: $0, kind: .isShared).id }
        let request = FindRingRootsRequest(zone: zone, treeIDs: ids)
        return try call(.ringsFindRoots, coder.encodeFindRingRootsRequest(request))
            .decoded(coder.decodeFindRingRootsResponse)
    }

    /// The code that a call fails with; nil where it succeeds.
    func code(_ body: () throws -> Void) throws -> ErrorCode? {
        do {
            try body()
            return nil
        } catch let error as ServiceError {
            #expect(error.message.contains(" "))
            return error.code
        }
    }
}
