import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeServer
@testable import BrumeService

/// Records in shared trees with encrypted values of others.
@Suite("Misplaced records", .timeLimit(.minutes(1)))
struct MisplacedRecordTests {
    private let scene: RingScene

    init() throws { scene = try RingScene() }

    private var ann: FramePeer { scene.ann }

    /// Saves records with a value that is encrypted in the private tree of a root, or with a plain one.
    private func save(
        _ names: [String], _ parent: ParentChange = .unchanged, encryptedBelow root: String?, key: UInt32 = 1,
        in zone: ZoneID? = nil, at ring: RingChain? = nil
    ) throws {
        let place = (ring ?? scene.list).head.ring.place
        for part in stride(from: 0, to: names.count, by: Limits.itemsPerRequest) {
            let saves = names[part...].prefix(Limits.itemsPerRequest).map { name in
                var fields: DecodedFields = [:]
                if let root {
                    let id = EncryptedHeader.TreeID(Tree(place: place, root: root, kind: .isPrivate).id)
                    fields = [
                        "e": EncryptedSamples.value(header: EncryptedSamples.header(tree: id, keyNumber: key)),
                        "plain": .int64(1),
                    ]
                }
                return RecordSave<DecodedFields>(name: name, type: "List", parent: parent, fields: fields)
            }
            let request = ModifyRecordsRequest<DecodedFields>(
                database: .private, savePolicy: .allKeys,
                zones: [ZoneModification(zone: zone ?? scene.notes, saves: saves)])
            for result in try ann.modify(request)[0].saves {
                if case .failure(let error) = result.outcome { throw error }
            }
        }
    }

    private func page(
        _ start: UInt32 = 0, of zone: ZoneID? = nil, for peer: FramePeer? = nil
    ) throws -> MisplacedRecordsPage {
        let request = ListMisplacedRecordsRequest(zone: zone ?? scene.notes, start: start)
        let coder = MessageCoder()
        return try (peer ?? ann).call(.ringsListMisplaced, coder.encodeListMisplacedRecordsRequest(request))
            .decoded(coder.decodeListMisplacedRecordsResponse)
    }

    @Test("are those below what came into a shared tree, until they are encrypted anew or leave it")
    func moves() throws {
        try save(["board"], encryptedBelow: "board")
        try save(["card"], .set("board"), encryptedBelow: "board")
        try save(["plain"], .set("board"), encryptedBelow: nil)
        #expect(try page() == MisplacedRecordsPage())
        try save(["board"], .set("list"), encryptedBelow: nil)
        #expect(try page().names == ["board", "card"])
        #expect(try page(of: scene.theirs).names == ["board", "card"], "the zone by its owner's name")
        try save(["board"], .removed, encryptedBelow: nil)
        #expect(try page() == MisplacedRecordsPage())
        // Among those that are shared with nobody it is all the same.
        try save(["desk"], encryptedBelow: "desk")
        try save(["board"], .set("desk"), encryptedBelow: nil)
        #expect(try page() == MisplacedRecordsPage())
        try save(["board"], .set("list"), encryptedBelow: nil)
        #expect(try page().names == ["board", "card"])
    }

    @Test("are those below a record that was shared in the midst of a tree")
    func middle() throws {
        try save(["board"], encryptedBelow: "board")
        try save(["lane"], .set("board"), encryptedBelow: "board")
        try save(["card"], .set("lane"), encryptedBelow: "board")
        try ann.shareRecord("lane", in: "notes", with: [scene.dan.user])
        #expect(try page().names == ["lane", "card"])
    }

    @Test("are those of a shared tree that were encrypted while it was private, with keys that its ring keeps")
    func later() throws {
        let zone = ZoneID(name: "more")
        try ann.makeZone("more")
        let first = try scene.accounts.begun(by: ann, zone: "more")
        try ann.append(first, to: zone)
        try save(["list"], encryptedBelow: "list", in: zone, at: first)
        try ann.append(try scene.accounts.next(first, by: ann), to: zone)
        try ann.shareRecord("list", in: "more", with: [scene.dan.user])
        try save(["card"], .set("list"), encryptedBelow: "list", key: 2, in: zone, at: first)
        #expect(try page(of: zone) == MisplacedRecordsPage(), "there is no ring yet")
        try ann.append(try scene.accounts.begun(by: ann, zone: "more", root: "list", zoneKey: 2), to: zone)
        #expect(try page(of: zone).names == ["card"])
    }

    @Test("are found part by part where many trees of theirs have rings")
    func manyRings() throws {
        let names = (0..<70).map { "r\($0)" }
        for name in names {
            try save([name], encryptedBelow: name)
            try ann.shareRecord(name, in: "notes", with: [scene.dan.user])
            try ann.append(try scene.accounts.begun(by: ann, zone: "notes", root: name), to: scene.notes)
        }
        let first = try page()
        #expect(first.names.count == 64 && first.next > 0)
        #expect(try first.names + page(first.next).names == names)
        // What was read is known.
        #expect(try page() == MisplacedRecordsPage(names: names))
    }

    @Test("are listed for their zone's owner alone")
    func others() throws {
        #expect(try scene.bob.code { _ = try page(of: scene.theirs, for: scene.bob) } == .permissionFailure)
        #expect(try scene.dan.code { _ = try page(of: scene.theirs, for: scene.dan) } == .zoneNotFound)
        #expect(try ann.code { _ = try page(of: ZoneID(name: "missing")) } == .zoneNotFound)
        #expect(try page(of: .defaultZone) == MisplacedRecordsPage(), "it has no ring")
        #expect(try page(.max) == MisplacedRecordsPage(), "there is nothing so far behind")
    }

    @Test("are found part by part: a call names few, and looks at few")
    func parts() throws {
        let count = Limits.itemsPerRequest + 1
        try save(["board"], encryptedBelow: "board")
        try save((0..<count).map { "m\($0)" }, .set("board"), encryptedBelow: "board")
        try save(["board"], .set("list"), encryptedBelow: nil)
        let first = try page()
        #expect(first.names == ["board"] + (0..<count - 2).map { "m\($0)" } && first.next > 0)
        let rest = ["m\(count - 2)", "m\(count - 1)"]
        #expect(try page(first.next) == MisplacedRecordsPage(names: rest))
        try save((0..<StoreLimits.encryptedRecordSteps).map { "p\($0)" }, encryptedBelow: nil)
        var (next, names, calls) = (first.next, [String](), 0)
        repeat {
            let page = try page(next)
            #expect(page.next == 0 || page.next > next)
            (next, names, calls) = (page.next, names + page.names, calls + 1)
        } while next > 0
        #expect(names == rest && calls == 2)
    }

    @Test("are none in a zone that is one tree")
    func perZone() throws {
        let whole = ZoneID(name: "whole")
        try ann.makeZone("whole")
        try ann.append(try scene.accounts.begun(by: ann, zone: "whole", isPerZone: true), to: whole)
        try save(["a"], encryptedBelow: "whatever", in: whole)
        #expect(try page(of: whole) == MisplacedRecordsPage())
    }
}
