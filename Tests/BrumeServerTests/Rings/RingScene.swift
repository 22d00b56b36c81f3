import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeServer
@testable import BrumeService

/// Ann shares a list of her zone with Bob and Cid, another one with Cid alone, and nothing with Dan. All have keys, the
/// zone and both lists rings with Ann alone, and the list has a link.
struct RingScene {
    private let disk = SimulatedDisk()
    let notes = ZoneID(name: "notes")
    private(set) var server: SteppedServer
    private(set) var ann: FramePeer
    private(set) var bob: FramePeer
    private(set) var cid: FramePeer
    private(set) var dan: FramePeer
    var accounts = RingAccounts()
    /// The ring of the list, as Ann's devices have it.
    var list: RingChain
    let invitation: RingInvitation
    let secret = LinkSecret()

    /// The zone as others name it.
    var theirs: ZoneID { ZoneID(name: "notes", owner: ann.user) }

    init(
        permission: Share.Permission = .readWrite, log: ScriptedLogStorage? = nil,
        adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        server = try SteppedServer(disk: disk, log: log, adjust: adjust)
        ann = try server.connect(account: "a")
        bob = try server.connect(account: "b")
        cid = try server.connect(account: "c")
        dan = try server.connect(account: "d")
        try ann.makeZone("notes")
        let url = try ann.shareRecord("list", in: "notes", with: [bob.user, cid.user], permission: permission)
        for peer in [bob, cid] { try peer.accept(url) }
        try cid.accept(try ann.shareRecord("other", in: "notes", with: [cid.user]))
        for peer in [ann, bob, cid, dan] { try accounts.begin(peer) }
        try ann.appendStatement(accounts.signed[ann.user]![0])
        invitation = try accounts.invitation(by: ann, secret: secret)
        list = try accounts.begun(by: ann, zone: "notes", root: "list", invitations: [invitation])
        for chain in [
            try accounts.begun(by: ann, zone: "notes"), list, try accounts.begun(by: ann, zone: "notes", root: "other"),
        ] { try ann.append(chain, to: notes) }
    }

    mutating func restart(run: UInt32) throws {
        server = try SteppedServer(disk: disk, run: run)
        ann = try server.connect(account: "a")
        bob = try server.connect(account: "b")
        cid = try server.connect(account: "c")
        dan = try server.connect(account: "d")
    }

    /// Ann's database, in the memory of its loop.
    func loaded() throws -> LoadedDatabase {
        var found: LoadedDatabase?
        for shard in server.core.shards {
            shard.databases.forEach { if $0.database.id.owner == ann.user { found = $0 } }
        }
        return try #require(found)
    }

    func database() throws -> Database { try loaded().database }

    /// How many commits Ann's database has.
    func sequence() throws -> UInt64 { try database().sequence }

    func proof(of peer: FramePeer) -> RingMember.Joining {
        accounts.proof(of: peer, by: invitation, secret: secret, in: list.head.ring)
    }

    /// Somebody asks for the list's key with all their statements.
    func join(_ peer: FramePeer, _ root: String = "list", by joining: RingMember.Joining? = nil) throws {
        try peer.join(root, in: theirs, statements: accounts.signed[peer.user]!, by: joining)
    }

    /// The next entry of the list, by one of its members.
    mutating func append(by peer: FramePeer, _ change: (inout RingDraft) throws -> Void = { _ in }) throws {
        let next = try accounts.next(list, by: peer, change)
        try peer.append(next, to: peer === ann ? notes : theirs)
        list = next
    }

    mutating func takeIn(_ peer: FramePeer, by author: FramePeer) throws {
        let member = accounts.member(peer)
        try append(by: author) { $0.members.append(member) }
    }

    /// Whether a value with the list's newest key is saved; false where it is refused for its key.
    func isSaved(by peer: FramePeer? = nil) throws -> Bool {
        let peer = peer ?? ann
        let tree = Tree(place: list.head.ring.place, root: "list", kind: .isShared)
        let header = EncryptedHeader(
            treeID: EncryptedHeader.TreeID(tree.id), isShared: true, keyNumber: list.head.number)
        let save = RecordSave<DecodedFields>(
            name: "list", type: "List", fields: ["e": EncryptedSamples.value(header: header)])
        let request = ModifyRecordsRequest<DecodedFields>(
            database: peer === ann ? .private : .shared, savePolicy: .allKeys,
            zones: [ZoneModification(zone: peer === ann ? notes : theirs, saves: [save])])
        guard case .failure(let error) = try peer.modify(request)[0].saves[0].outcome else { return true }
        guard error.code == .accountTemporarilyUnavailable, error.detail == .keysChanged else { throw error }
        return false
    }
}

extension FramePeer {
    func append(bytes: [UInt8], to zone: ZoneID) throws {
        let request = AppendRingEntryRequest(zone: zone, entry: SharedBytes(bytes))
        _ = try call(.ringsAppend, MessageCoder().encodeAppendRingEntryRequest(request))
    }
}
