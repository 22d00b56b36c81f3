import BrumeEncryption
import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeKit

@Suite("The file of a zone's ring")
struct RingFileTests {
    let folder: TestFolder
    let desk = RingDesk()
    let phone: RingDevice

    init() throws {
        folder = try TestFolder()
        phone = RingDevice("phone", at: desk, stateFolder: folder.file("phone"))
    }

    private var place: KeyPlace { phone.folder.place }

    /// A ring of some entries.
    private func ring(_ count: Int) throws -> KnownRing {
        for _ in 0..<count {
            _ = try phone.sealed("word")
            _ = try phone.keys.code(.replaceCode)
            phone.restart()
        }
        return try #require(try phone.kept().known)
    }

    /// A ring of which the owner ended a branch.
    private func joined() throws -> KnownRing {
        var known = try ring(3)
        try phone.lookAtKeys()
        let identity = try #require(phone.identity)
        var statements = StatementDirectory()
        statements.add(identity.chain)
        let before = RingChain(kept: Array(known.chain.entries.prefix(1)))
        var draft = RingDraft(after: before.head, statements: statements)
        draft.otherBranch = known.chain.head.hash
        let author = RingAuthor(user: desk.scope.account, identity: identity.keys, statements: statements)
        let other = try author.next(after: before, keys: before.keys(of: identity), draft)
        #expect(try known.meet(other.entries, statements: statements) == .joined)
        return known
    }

    /// All that a device can know of a zone.
    private func states() throws -> [KeptRing] {
        let ring = try joined()
        let id = ring.chain.head.ring.place.ringID
        let others = (1...3).map { [UInt8](repeating: $0, count: Place.ringIDBytes) }
        return [
            KeptRing(), KeptRing(isOver: true), KeptRing(isOver: true, wasDeletedHere: true),
            KeptRing(removals: [PendingRemoval(id: 7, users: .staying(["_bob"]))]), KeptRing(link: LinkSecret()),
            KeptRing(lives: ZoneLives(ringIDs: others)),
            KeptRing(known: ring, lives: ZoneLives(ringIDs: [id])),
            KeptRing(known: ring, lives: ZoneLives(ringIDs: others + [id]), isOver: true),
            KeptRing(
                known: ring,
                lives: ZoneLives(ringIDs: [[UInt8]](repeating: id, count: KeyLimits.zoneLivesMax))),
        ]
    }

    private func encoded(_ kept: KeptRing) -> [UInt8] {
        RingFile.encode(kept, ring: phone.ring, place: place).bytes
    }

    private func refusal(_ bytes: [UInt8]) -> KeyFile.Refusal? {
        do throws(KeyFile.Refusal) {
            _ = try RingFile.decode(bytes, ring: phone.ring, place: place)
            return nil
        } catch {
            return error
        }
    }

    @Test("gives back what was put into it, ended branches and earlier lives included")
    func roundTrip() throws {
        for kept in try states() {
            let bytes = encoded(kept)
            let read = try RingFile.decode(bytes, ring: phone.ring, place: place)
            #expect(read.lives == kept.lives && read.isOver == kept.isOver && read.removals == kept.removals)
            #expect(read.wasDeletedHere == kept.wasDeletedHere)
            #expect(read.known?.chain.entries == kept.known?.chain.entries)
            #expect(read.known?.endedBranches.map(\.entries) == kept.known?.endedBranches.map(\.entries))
            #expect(encoded(read) == bytes)
        }
    }

    @Test("is damaged with any byte flipped, cut or added")
    func damage() throws {
        let ring = try ring(1)
        let lives = ZoneLives(ringIDs: [ring.chain.head.ring.place.ringID])
        for kept in [KeptRing(), KeptRing(known: ring, lives: lives), KeptRing(link: LinkSecret())] {
            let whole = encoded(kept)
            for index in whole.indices {
                var bytes = whole
                bytes[index] ^= 1 << (index % 8)
                #expect(refusal(bytes) == (index == 0 ? .newer : .damaged), "byte \(index)")
                #expect(refusal(Array(whole.prefix(index))) == .damaged, "\(index) bytes")
            }
            #expect(refusal(whole + [0]) == .damaged)
        }
    }

    /// A file of which the checksum is right, as a bug or another version could write it.
    private func file(_ write: (inout KeyFileWriter) -> Void) -> [UInt8] {
        var bytes = place.bytes
        withUnsafeBytes(of: UInt32(desk.zone.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
        var writer = KeyFileWriter(kind: RingFile.kind, capacity: 1024)
        write(&writer)
        writer.finish(place: bytes + desk.zone.utf8)
        return writer.bytes
    }

    @Test("with more than a device keeps, or entries that are no ring, is damaged")
    func limits() throws {
        let ring = try joined()
        let entries = ring.chain.entries.map(\.bytes)
        func file(
            flag: UInt8 = 0, lives: UInt32 = 0, branches: UInt32? = nil, count: UInt32? = nil,
            _ chains: [[[UInt8]]] = []
        ) -> [UInt8] {
            self.file { writer in
                writer.write(u8: flag)
                writer.write(u32: lives)
                writer.write(u32: branches ?? UInt32(chains.count))
                for chain in chains {
                    writer.write(u32: count ?? UInt32(chain.count))
                    for entry in chain { writer.write(counted: entry) }
                }
            }
        }
        #expect(refusal(file()) == nil && refusal(file([entries])) == nil)
        #expect(refusal(file([entries, ring.endedBranches[0].entries.map(\.bytes)])) == nil)
        let bad = [
            file(flag: 2), file(flag: 8), file(lives: UInt32(KeyLimits.zoneLivesMax) + 1), file(lives: .max),
            file(branches: UInt32(KeyLimits.ringBranchesMax) + 1), file(branches: .max), file(branches: 1),
            file(count: UInt32(KeyLimits.ringEntriesMax) + 1, [entries]), file(count: 1, [entries]),
            file([[]]), file([Array(entries.reversed())]), file([[entries[1]]]), file([[entries[0], entries[0]]]),
            file([[[1]]]), file([entries, []]),
        ]
        for (index, bytes) in bad.enumerated() { #expect(refusal(bytes) == .damaged, "file \(index)") }
    }

    @Test("has what the app decided about those with whom it shares")
    func removals() throws {
        for isOver in [false, true] {
            let removals = [
                PendingRemoval(id: .max, users: .staying([])), PendingRemoval(id: 2, users: .going(["_dan"])),
                PendingRemoval(id: 1, users: .staying(["_bob", "_eve"]), endedLinks: [[1], []], closesLink: true),
            ]
            let kept = KeptRing(known: try ring(1), isOver: isOver, removals: removals)
            let bytes = RingFile.encode(kept, ring: phone.ring, place: place).bytes
            let read = try RingFile.decode(bytes, ring: phone.ring, place: place)
            #expect(read.removals == removals && read.isOver == isOver)
            #expect(read.known?.chain.entries == kept.known?.chain.entries)
        }
    }

    @Test("of a ring of another zone, owner or tree is damaged, whatever its checksum says")
    func otherRing() throws {
        let kept = KeptRing(known: try ring(1))
        let places = [("other", "development"), ("iCloud.test", "production")].map { container, environment in
            KeyPlace(
                server: place.server,
                scope: IdentityScope(account: "_ada", container: container, environment: environment))
        }
        let rings = [
            RingPlace(owner: "_ada", zone: "Other"), RingPlace(owner: "_bob", zone: desk.zone),
            RingPlace(owner: "_ada", zone: desk.zone, root: "page"),
        ]
        for (ring, place) in places.map({ (phone.ring, $0) }) + rings.map({ ($0, place) }) {
            let bytes = RingFile.encode(kept, ring: ring, place: place).bytes
            #expect(throws: KeyFile.Refusal.damaged) { try RingFile.decode(bytes, ring: ring, place: place) }
        }
    }

    @Test("holds the ring of a tree in another account's zone, and takes no name that only looks the same")
    func treeOfAnother() throws {
        let bob = try Person("_bob", desk.scope)
        let ring = RingPlace(owner: "_bob", zone: "Caf\u{e9}", root: "page\u{e9}")
        let known = try bob.begin(ring)
        let kept = KeptRing(known: known, lives: ZoneLives(ringIDs: [known.chain.head.ring.place.ringID]))
        let read = try RingFile.decode(
            RingFile.encode(kept, ring: ring, place: place).bytes, ring: ring, place: place)
        #expect(read.known?.chain.entries == known.chain.entries && read.lives == kept.lives)
        for other in [
            RingPlace(owner: "_bob", zone: "Cafe\u{301}", root: ring.root),
            RingPlace(owner: "_bob", zone: ring.zone, root: "pagee\u{301}"),
            RingPlace(owner: "_bob", zone: ring.zone), RingPlace(owner: "_ada", zone: ring.zone, root: ring.root),
        ] {
            let bytes = RingFile.encode(kept, ring: other, place: place).bytes
            #expect(throws: KeyFile.Refusal.damaged) { try RingFile.decode(bytes, ring: other, place: place) }
        }
    }

    @Test("of the account's own zone is where it always was, with the checksum that it always had")
    func earlierFiles() throws {
        let ring = RingPlace(owner: "_ada", zone: "Diary")
        #expect(RingFile.path(ring, place: place) == "rings/cc28a1aeaef7a360e9df9e8e60aab311")
        #expect(
            RingFile.encode(KeptRing(isOver: true), ring: ring, place: place).bytes.hexadecimal
                == "0105ceeb26bc38566318a8187b45cc17ba0f8f085367ed1e17c32e552b6c5e232df0010000000000000000")
    }
}
