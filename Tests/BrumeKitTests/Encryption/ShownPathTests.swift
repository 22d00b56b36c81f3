import BrumeModel
import Testing

@testable import BrumeEncryption
@testable import BrumeKit

@Suite("The path from a record to the root of a shared tree")
struct ShownPathTests {
    let keys: RingKeys
    let path: ShownPath

    init() throws {
        let scope = IdentityScope(account: "_ada", container: "iCloud.test", environment: "development")
        keys = try Person("_ada", scope).begun(zone: "Diary")
        path = ShownPath(["note", "page", "root"], in: keys.place)
    }

    private func id(_ root: String) -> [UInt8] { keys.tree(root: root).id }

    /// A record as a server has it, with a stamp.
    private func record(
        _ name: String, below parent: String, stampedAs stamped: String? = nil, below stampedParent: String? = nil
    ) throws -> Record {
        let cipher = try #require(keys.cipher(root: "page")).record(named: stamped ?? name, type: "Page")
        return Record(
            system: SystemFields(
                name: name, type: "Page", changeTag: "1", parent: parent,
                stamp: cipher.stamp(parent: stampedParent ?? parent)), fields: [:])
    }

    private func isProved(_ index: Int, _ records: [Record], given: Set<String> = []) -> Bool {
        let byName = Dictionary(uniqueKeysWithValues: records.map { ($0.system.name, $0) })
        return path.firstUnproved(from: index, byName) {
            given.contains($0)
        } ciphers: {
            keys.ciphers($0)
        } == nil
    }

    @Test("needs no proof where what the record has encrypted is of that tree, or nothing is")
    func agreement() {
        #expect(path.firstToProve([]) == nil && path.firstToProve([id("root")]) == nil)
    }

    @Test("needs a proof from the root on whose tree the record's values are of, or from the record itself")
    func doubts() {
        #expect(path.firstToProve([id("page")]) == 1)
        #expect(path.firstToProve([id("note")]) == 0)
        #expect(path.firstToProve([id("elsewhere")]) == 0)
        #expect(path.firstToProve([id("root"), id("page")]) == 1)
        #expect(path.firstToProve([id("page"), id("elsewhere")]) == 0)
    }

    @Test("needs a proof from the first record above on that has something of another tree, whatever is below that one")
    func doubtsAbove() {
        let path = ShownPath(["note", "page", "desk", "root"], in: keys.place)
        func first(_ known: [String: Set<[UInt8]>]) -> Int? { path.firstToProveAbove { known[$0] ?? [] } }
        #expect(first([:]) == nil && first(["page": [id("root")], "desk": [id("root")]]) == nil)
        #expect(first(["page": [id("elsewhere")]]) == 1 && first(["page": [id("root"), id("page")]]) == 1)
        #expect(first(["page": [id("desk")]]) == 2 && first(["page": [id("root")], "desk": [id("elsewhere")]]) == 2)
        #expect(first(["page": [id("desk")], "desk": [id("desk")]]) == 2)
        #expect(first(["page": [id("elsewhere")], "desk": [id("desk")]]) == 1)
        // The record itself, and the root.
        #expect(first(["note": [id("elsewhere")], "root": [id("elsewhere")]]) == nil)
    }

    @Test("is proved by a stamp of each record on it, for its name and its parent, or by the app")
    func proofs() throws {
        let (note, page) = (try record("note", below: "page"), try record("page", below: "root"))
        #expect(isProved(0, [note, page]) && isProved(1, [page]))
        #expect(!isProved(0, [note]) && !isProved(0, [page]) && !isProved(0, []))
        #expect(isProved(0, [page], given: ["note"]) && isProved(0, [], given: ["note", "page"]))
        for other in [
            try record("page", below: "note"), try record("page", below: "root", stampedAs: "note"),
            try record("page", below: "root", below: "note"), try record("page", below: "note", below: "root"),
        ] { #expect(!isProved(1, [other])) }
        var cut = page
        cut.system.stamp.removeLast()
        var none = page
        none.system.stamp = []
        #expect(!isProved(1, [cut]) && !isProved(1, [none]))
    }

    // MARK: What is encrypted anew

    /// Stamps of a record, by the tree whose key makes them: a private one's, or that of the shared tree.
    private func stamped(_ name: String, below parent: String, in root: String, isShared: Bool = false) throws -> Record
    {
        let tree = Tree(place: keys.place, root: root, kind: isShared ? .isShared : .isPrivate)
        let cipher = TreeCipher(tree: tree, key: Self.key, number: 1).record(named: name, type: "Page")
        return Record(
            system: SystemFields(
                name: name, type: "Page", changeTag: "1", parent: parent, stamp: cipher.stamp(parent: parent)),
            fields: [:])
    }

    private static let key = SecretKey.random()

    private func isProvedAnew(
        _ records: [Record], _ trees: Set<[UInt8]>, moved: [String: String] = [:], left: [[UInt8]] = [],
        believesStamps: Bool = false
    ) -> Bool {
        let byName = Dictionary(uniqueKeysWithValues: records.map { ($0.system.name, $0) })
        return path.firstUnprovedAnew(
            trees, byName, moved: moved.mapValues { Move(parent: $0, formerTreeIDs: left) },
            believesStamps: believesStamps
        ) { header in
            [TreeCipher(tree: Tree(place: keys.place, header), key: Self.key, number: header.keyNumber)]
        } == nil
    }

    @Test("is proved for what is encrypted anew by stamps that guests can't make, up to the record that has moved")
    func anew() throws {
        let note = try stamped("note", below: "page", in: "desk")
        let page = try stamped("page", below: "root", in: "root", isShared: true)
        #expect(isProvedAnew([note, page], [id("desk")], moved: ["page": "root"]))
        #expect(!isProvedAnew([note, page], [id("desk")]), "guests can make the stamp of the page")
        #expect(isProvedAnew([note, page], [id("desk")], believesStamps: true))
        #expect(!isProvedAnew([note, page], [id("desk")], moved: ["page": "other"]))
        // Something without keys has moved it since, and back.
        var moved = page
        moved.system.stamp = []
        #expect(!isProvedAnew([note, moved], [id("desk")], moved: ["page": "root"]))
        #expect(!isProvedAnew([note], [id("desk")], moved: [:], believesStamps: true))
        #expect(!isProvedAnew([page], [id("desk")], moved: ["page": "root"], believesStamps: true))
        // An older stamp of a record whose values are of another tree by now, or one of the share's own.
        #expect(!isProvedAnew([note, page], [id("elsewhere")], moved: ["page": "root"], believesStamps: true))
        let forged = try stamped("note", below: "page", in: "root", isShared: true)
        #expect(!isProvedAnew([forged, page], [id("desk")], moved: ["page": "root"]))
        let before = try stamped("note", below: "page", in: "root")
        #expect(!isProvedAnew([before, page], [id("desk")], moved: ["page": "root"]))
        // The record has moved itself, with another policy.
        #expect(isProvedAnew([note, page], [id("note")], moved: ["note": "page"]))
        #expect(!isProvedAnew([try stamped("note", below: "root", in: "desk")], [id("note")], moved: ["note": "page"]))
    }

    @Test(
        "is proved for what came into a share before, and kept its stamp, where the record above it has left that one")
    func anewAgain() throws {
        let note = try stamped("note", below: "page", in: "desk")
        let page = try stamped("page", below: "root", in: "root", isShared: true)
        let moved = ["page": "root"]
        #expect(isProvedAnew([note, page], [id("other")], moved: moved, left: [id("third"), id("other")]))
        #expect(isProvedAnew([note, page], [id("other"), id("root")], moved: moved, left: [id("other")]))
        #expect(!isProvedAnew([note, page], [id("other")], moved: moved, left: [id("third")]))
        #expect(!isProvedAnew([note, page], [id("other"), id("third")], moved: moved, left: [id("other")]))
        // Nor where guests can have made the stamp, or nothing has moved.
        for root in ["root", "other"] {
            let forged = try stamped("note", below: "page", in: root, isShared: true)
            #expect(
                isProvedAnew([forged, page], [id("other")], moved: moved, left: [id("other")]) == (root == "other"))
        }
        let before = try stamped("note", below: "page", in: "root")
        #expect(!isProvedAnew([before, page], [id("other")], moved: moved, left: [id("other")]))
        #expect(!isProvedAnew([note, page], [id("other")], moved: ["page": "desk"], left: [id("other")]))
    }

    @Test("is proved below a record that was shared in the midst of a tree by stamps of that tree alone")
    func anewInTheMidst() throws {
        let (note, page) = (
            try stamped("note", below: "page", in: "desk"), try stamped("page", below: "root", in: "desk")
        )
        #expect(isProvedAnew([note, page], [id("desk")]))
        // What was encrypted in another share says so itself.
        let other = try stamped("note", below: "page", in: "other", isShared: true)
        #expect(isProvedAnew([other, page], [id("other")]))
        #expect(!isProvedAnew([other, page], [id("desk")]))
        #expect(!isProvedAnew([note, try stamped("page", below: "root", in: "other", isShared: true)], [id("desk")]))
    }
}
