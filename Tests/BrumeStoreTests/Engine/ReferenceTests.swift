import BrumeModel
import BrumeStore
import Testing

@Suite("References")
struct ReferenceTests {
    let desk = Desk()

    @Test("a parent must exist, be it in the batch, whatever the order")
    func parents() throws {
        #expect(desk.modify(saves: [.of("child", parent: .set("none"))]).result.saveCodes == [.referenceViolation])
        #expect(
            desk.modify(saves: [.of("child", parent: .set("mother")), .of("mother")]).result.saveCodes == [nil, nil])
        #expect(desk.record("child")?.system.parent == "mother")
        #expect(desk.modify(saves: [.of("self", parent: .set("self"))]).result.saveCodes == [.invalidArguments])
    }

    @Test("without atomicity orphans fail with the parent that failed, and their children too")
    func orphansItemByItem() {
        let result = desk.modify(
            isAtomic: false,
            saves: [.of("c", parent: .set("b")), .of("b", parent: .set("a")), .of("a", tag: "7-1"), .of("d")]
        ).result
        #expect(result.saveCodes == [.referenceViolation, .referenceViolation, .unknownItem, nil])
        #expect(desk.record("c") == nil && desk.record("d") != nil)
    }

    @Test("in an atomic batch the child of a failed new parent is innocent")
    func innocentChild() {
        let result = desk.modify(saves: [.of("child", parent: .set("mother")), .of("mother", tag: "7-1")]).result
        #expect(result.saveCodes == [.batchRequestFailed, .unknownItem])
    }

    @Test("a parent goes only with its children in the batch, or when they let it go")
    func deletingParents() throws {
        try desk.save("mother")
        let tag = try desk.save("child", parent: .set("mother"))
        #expect(desk.modify(deletions: ["mother"]).result.deletionCodes == [.referenceViolation])
        let kept = desk.modify(
            isAtomic: false, saves: [.of("child", ["n": .int64(1)], tag: tag)], deletions: ["mother"])
        #expect(kept.result.saveCodes == [nil] && kept.result.deletionCodes == [.referenceViolation])
        #expect(desk.modify(deletions: ["mother", "child"]).result.deletionCodes == [nil, nil])
        try desk.save("mother")
        let again = try desk.save("child", parent: .set("mother"))
        let released = desk.modify(saves: [.of("child", tag: again, parent: .removed)], deletions: ["mother"]).result
        #expect(released.saveCodes == [nil] && released.deletionCodes == [nil])
        #expect(desk.record("child")?.system.parent == nil)
    }

    @Test("a new child of a parent that is deleted in the same batch keeps the parent")
    func childOfADeletedParent() throws {
        try desk.save("mother")
        let atomic = desk.modify(saves: [.of("child", parent: .set("mother"))], deletions: ["mother"]).result
        #expect(atomic.saveCodes == [.batchRequestFailed] && atomic.deletionCodes == [.referenceViolation])
        let single = desk.modify(isAtomic: false, saves: [.of("child", parent: .set("mother"))], deletions: ["mother"])
            .result
        #expect(single.saveCodes == [nil] && single.deletionCodes == [.referenceViolation])
    }

    @Test("a deletion cascades over references, lists and cycles, and the feed tells of all")
    func cascade() throws {
        try desk.save("list")
        try desk.save("item", ["list": Reference.cascading(to: "list")])
        try desk.save(
            "tag",
            [
                "items": .references([
                    Reference(recordName: "x", deletesSelf: false), Reference(recordName: "item", deletesSelf: true),
                ])
            ])
        try desk.save("one", ["other": Reference.cascading(to: "two"), "tag": Reference.cascading(to: "tag")])
        try desk.save("two", ["other": Reference.cascading(to: "one")])
        try desk.save("weak", ["list": .reference(Reference(recordName: "list", deletesSelf: false))])
        let token = try desk.changes(since: nil).token
        let (result, commit) = desk.modify(deletions: ["list"])
        #expect(result.deletionCodes == [nil])
        #expect(commit?.entry.changes.count == 5)
        let changes = try desk.changes(since: token)
        #expect(Set(changes.deleted) == ["list", "item", "tag", "one", "two"])
        #expect(try desk.changes(since: nil).live == ["weak"])
    }

    @Test("a record that is saved and falls to a cascade in one batch is saved, then deleted")
    func savedAndCascaded() throws {
        try desk.save("list")
        let tag = try desk.save("item", ["list": Reference.cascading(to: "list")])
        let result = desk.modify(
            saves: [.of("item", ["n": .int64(1)], tag: tag), .of("new", ["list": Reference.cascading(to: "list")])],
            deletions: ["list"]
        ).result
        #expect(result.saveCodes == [nil, nil] && result.deletionCodes == [nil])
        #expect(desk.record("item") == nil && desk.record("new") == nil)
        let dangling = desk.modify(saves: [.of("late", ["list": Reference.cascading(to: "list")])]).result
        #expect(dangling.saveCodes == [nil])
        try desk.save("list")
        let freed = try #require(desk.record("late")).system.changeTag
        let kept = desk.modify(saves: [.of("late", ["list": nil], tag: freed)], deletions: ["list"]).result
        #expect(kept.deletionCodes == [nil])
        #expect(desk.record("late") != nil)
    }

    @Test("a cascade never takes the parent of a record that stays")
    func cascadeAndParent() throws {
        try desk.save("top")
        try desk.save("middle", ["top": Reference.cascading(to: "top")])
        try desk.save("child", parent: .set("middle"))
        try desk.save("free")
        let atomic = desk.modify(deletions: ["top", "free"]).result
        #expect(atomic.deletionCodes == [.referenceViolation, .batchRequestFailed])
        let single = desk.modify(isAtomic: false, deletions: ["top", "free"]).result
        #expect(single.deletionCodes == [.referenceViolation, nil])
        #expect(desk.record("middle") != nil)
        #expect(desk.modify(deletions: ["top", "child"]).result.deletionCodes == [nil, nil])
        #expect(desk.record("middle") == nil)
    }

    @Test("a refused deletion keeps what it would have taken, and what that needs")
    func refusedDeletionsSpread() throws {
        // Deleting `a` takes `b`, which is the parent of `c` that stays; so `a` stays. Then `d`, the parent of `b`,
        // stays too.
        try desk.save("a")
        try desk.save("d")
        try desk.save("b", ["a": Reference.cascading(to: "a")], parent: .set("d"))
        try desk.save("c", parent: .set("b"))
        let result = desk.modify(isAtomic: false, deletions: ["a", "d"]).result
        #expect(result.deletionCodes == [.referenceViolation, .referenceViolation])
        #expect(["a", "b", "c", "d"].allSatisfy { desk.record($0) != nil })
    }

    @Test("the 751st deleteSelf reference to a record is refused")
    func cascadeLimit() throws {
        let limit = Limits.cascadeReferencesPerTarget
        let many = FieldValue.references(
            [Reference](repeating: Reference(recordName: "top", deletesSelf: true), count: limit - 1))
        try desk.save("many", ["all": many])
        let tag = try desk.save("last", ["top": Reference.cascading(to: "top")])
        #expect(
            desk.modify(saves: [.of("more", ["top": Reference.cascading(to: "top")])]).result.saveCodes
                == [.limitExceeded])
        try desk.save("last", ["n": .int64(1)], tag: tag)
        let swap = desk.modify(saves: [.of("more", ["top": Reference.cascading(to: "top")])], deletions: ["last"])
            .result
        #expect(swap.saveCodes == [nil] && swap.deletionCodes == [nil])
        let two = desk.modify(
            isAtomic: false,
            saves: [
                .of("p", ["top": Reference.cascading(to: "free")]), .of("q", ["top": Reference.cascading(to: "top")]),
            ]
        ).result
        #expect(two.saveCodes == [nil, .limitExceeded])
    }

    @Test(
        "a deletion that would take more records than there is room for is refused, and the rest of the request is not")
    func cascadeRoom() throws {
        // Two levels: each record of the first has as many that go with it as the limit lets one have.
        try desk.save("root")
        let width = Limits.cascadeReferencesPerTarget
        let middle = (0...Limits.cascadesPerRequest / width).map { "m\($0)" }
        let saves = middle.map { RecordSave<CheckedFields>.of($0, ["up": Reference.cascading(to: "root")]) }
        #expect(desk.modify(saves: saves).result.saveCodes.allSatisfy { $0 == nil })
        for name in middle {
            for half in 0..<2 {
                let saves = (0..<width / 2).map {
                    RecordSave<CheckedFields>.of("\(name).\(half).\($0)", ["up": Reference.cascading(to: name)])
                }
                #expect(desk.modify(saves: saves).result.saveCodes.allSatisfy { $0 == nil })
            }
        }
        let result = desk.modify(isAtomic: false, saves: [.of("fine")], deletions: ["root"]).result
        #expect(result.saveCodes == [nil] && result.deletionCodes == [.limitExceeded])
        #expect(desk.record("root") != nil && desk.record("m0") != nil)
        // What goes with them first, then the rest.
        for name in middle.dropFirst() { #expect(desk.modify(deletions: [name]).result.deletionCodes == [nil]) }
        #expect(desk.modify(deletions: ["root"]).result.deletionCodes == [nil])
        #expect(desk.database.recordCount == 1)
    }
}
