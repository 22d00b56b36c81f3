import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

/// What references cost is bounded for each request, and linear in what it changes. The times are those of a debug
/// build, and far from what a product of two numbers would take.
@Suite("The cost of references", .timeLimit(.minutes(5)))
struct ReferenceCostTests {
    let desk = Desk()

    private func expectQuick(
        _ what: String, within limit: Duration = .seconds(5), sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () throws -> Void
    ) rethrows {
        let took = try ProcessorTime.of(body)
        #expect(took < limit, "\(what) took \(took)", sourceLocation: sourceLocation)
    }

    private static func list(_ count: Int, _ prefix: String, deletesSelf: Bool = true) -> FieldValue {
        .references((0..<count).map { Reference(recordName: "\(prefix)\($0)", deletesSelf: deletesSelf) })
    }

    @Test("records of many references that are saved again with others cost what they bring and take away")
    func otherTargets() throws {
        // Eleven names that many records refer to, and records that turn from some of them to others.
        let names = (0..<11).map { "r\($0)" }
        for (round, prefix) in ["a", "b", "a"].enumerated() {
            expectQuick("round \(round)") {
                let saves = names.map {
                    RecordSave<CheckedFields>.of($0, ["all": Self.list(450, prefix)])
                }
                #expect(desk.modify(policy: .changedKeys, saves: saves).result.saveCodes.allSatisfy { $0 == nil })
            }
        }
    }

    @Test("a chain of parents whose first one is missing fails as a whole, quickly")
    func chainOfOrphans() {
        let saves = (0..<400).map {
            RecordSave<CheckedFields>.of("c\($0)", parent: .set($0 == 0 ? "missing" : "c\($0 - 1)"))
        }
        expectQuick("the chain") {
            for saves in [saves, saves.reversed()] {
                let codes = desk.modify(isAtomic: false, saves: saves).result.saveCodes
                #expect(codes.allSatisfy { $0 == .referenceViolation })
            }
        }
        #expect(desk.database.recordCount == 0)
    }

    @Test("saves that fail for each other, one after the other, end quickly")
    func chainOfLimits() throws {
        // Each record lets the target before it go and takes the next one, which has room only if the next record lets
        // it go.
        let limit = Limits.cascadeReferencesPerTarget
        let count = 40
        for index in 0...count { try desk.save("full\(index)", ["all": Self.list(1, "t\(index)", deletesSelf: true)]) }
        for index in 0..<count {
            let many = FieldValue.references(
                [Reference](repeating: Reference(recordName: "t\(index)0", deletesSelf: true), count: limit - 2))
            try desk.save("many\(index)", ["all": many])
            try desk.save("m\(index)", ["to": Reference.cascading(to: "t\(index)0")])
        }
        try desk.save(
            "last",
            [
                "all": .references(
                    [Reference](
                        repeating: Reference(recordName: "t\(count)0", deletesSelf: true), count: limit - 1))
            ])
        let saves = (0..<count).map {
            RecordSave<CheckedFields>.of("m\($0)", ["to": Reference.cascading(to: "t\($0 + 1)0")])
        }
        expectQuick("the chain") {
            let codes = desk.modify(policy: .changedKeys, isAtomic: false, saves: saves).result.saveCodes
            #expect(codes.allSatisfy { $0 == .limitExceeded }, "the last target is full, so that nobody can move up")
        }
    }

    @Test("a record has a bounded number of references, and a request brings and takes a bounded number")
    func limits() throws {
        let perRecord = Limits.cascadeReferencesPerRecord
        #expect(
            desk.modify(saves: [.of("much", ["all": Self.list(perRecord + 1, "t")])]).result.saveCodes
                == [.limitExceeded])
        let plain = desk.modify(saves: [.of("plain", ["all": Self.list(perRecord + 1, "t", deletesSelf: false)])])
        #expect(plain.result.saveCodes == [nil])
        let count = Limits.cascadeReferencesPerRequest / perRecord
        let saves = (0...count).map { RecordSave<CheckedFields>.of("r\($0)", ["all": Self.list(perRecord, "t")]) }
        // Atomically nothing is saved, and the one that is too much says why.
        let atomic = desk.modify(saves: saves).result
        #expect(atomic.saveCodes.dropLast().allSatisfy { $0 == .batchRequestFailed })
        #expect(atomic.saveCodes.last == .limitExceeded)
        let single = desk.modify(isAtomic: false, saves: Array(saves.prefix(count))).result
        #expect(single.saveCodes.allSatisfy { $0 == nil })
        // References that a save leaves alone cost nothing.
        let untouched = desk.modify(
            policy: .changedKeys, saves: (0..<count).map { .of("r\($0)", ["n": .int64(1)]) })
        #expect(untouched.result.saveCodes.allSatisfy { $0 == nil })
        // What goes counts like what comes: each record by itself always has room.
        for name in (0..<count).map({ "r\($0)" }) {
            #expect(desk.modify(deletions: [name]).result.deletionCodes == [nil])
        }
    }

    @Test("references that are left alone stay, and go with their record's parent alone")
    func untouchedReferences() throws {
        try desk.save("top")
        try desk.save("mother")
        var tag = try desk.save("item", ["top": Reference.cascading(to: "top")], parent: .set("mother"))
        tag = try desk.save("item", ["n": .int64(1)], tag: tag)
        #expect(desk.modify(deletions: ["mother"]).result.deletionCodes == [.referenceViolation])
        tag = try desk.save("item", tag: tag, parent: .removed)
        #expect(desk.modify(deletions: ["mother"]).result.deletionCodes == [nil])
        #expect(desk.modify(deletions: ["top"]).result.deletionCodes == [nil])
        #expect(desk.record("item") == nil)
        let audit = desk.database.audit()
        #expect(audit.kept == audit.recounted)
    }
}
