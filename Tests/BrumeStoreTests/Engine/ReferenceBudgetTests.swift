import BrumeModel
import BrumeProtocol
import Testing

@testable import BrumeStore

/// Records are looked at for their references no further than the request's budget goes, also those that then find no
/// room.
@Suite("The budget of references")
struct ReferenceBudgetTests {
    private let desk = Desk()

    private static func list(_ count: Int, _ prefix: String, deletesSelf: Bool) -> FieldValue {
        .references((0..<count).map { Reference(recordName: "\(prefix)\($0)", deletesSelf: deletesSelf) })
    }

    /// Three of it have room, though each has one `deleteSelf` reference only.
    private static let wide: [String: FieldValue] = [
        "plain": list(StoreLimits.referenceStepsPerRequest * 2 / 7, "", deletesSelf: false),
        "owner": Reference.cascading(to: "nobody"),
    ]

    @Test("deletions after the one for which there was no room are not looked at")
    func deletions() throws {
        let wide = (0..<5).map { "wide\($0)" }
        for name in wide { try desk.save(name, Self.wide) }
        try desk.save("small", ["owner": Reference.cascading(to: "nobody")])
        try desk.save("alone")
        let codes = desk.modify(isAtomic: false, deletions: wide + ["small", "alone"]).result.deletionCodes
        #expect(codes == [nil, nil, nil, .limitExceeded, .limitExceeded, .limitExceeded, nil])
        let rest = desk.modify(isAtomic: false, deletions: [wide[3], "small"]).result.deletionCodes
        #expect(rest == [nil, nil])
    }

    @Test("saves after the one for which there was no room are not looked at")
    func saves() throws {
        let names = (0..<4).map { "r\($0)" }
        for name in names { try desk.save(name, Self.wide) }
        try desk.save("small", ["owner": Reference.cascading(to: "nobody")])
        let saves = (names + ["small"]).map {
            RecordSave<CheckedFields>.of($0, ["owner": Reference.cascading(to: "somebody")])
        }
        let codes = desk.modify(policy: .changedKeys, isAtomic: false, saves: saves).result.saveCodes
        // Both versions are looked at.
        #expect(codes == [nil, .limitExceeded, .limitExceeded, .limitExceeded, .limitExceeded])
    }

    @Test("400 ordinary records with references are deleted by one request")
    func ordinary() throws {
        let text = String(repeating: "a", count: 3_000)
        let names = (0..<Limits.itemsPerRequest).map { "r\($0)" }
        let saves = names.enumerated().map { number, name in
            RecordSave<CheckedFields>.of(
                name,
                [
                    "text": .string(text), "plain": Self.list(20, "p\(number)-", deletesSelf: false),
                    "owners": Self.list(5, "o\(number)-", deletesSelf: true),
                ])
        }
        #expect(desk.modify(saves: saves).result.saveCodes.allSatisfy { $0 == nil })
        #expect(desk.modify(deletions: names).result.deletionCodes.allSatisfy { $0 == nil })
    }

    @Test("what was to fall in one zone counts for the zones after it, also where it was too much")
    func zones() throws {
        let zones = ["one", "two"].map { ZoneID(name: $0) }
        for zone in zones { desk.makeZone(zone.name) }
        try desk.save("root", in: zones[0])
        try desk.save("root", in: zones[1])
        try desk.save("leaf", ["up": Reference.cascading(to: "root")], in: zones[1])
        for branch in 0...Limits.cascadesPerRequest / 399 {
            let twig = RecordSave<CheckedFields>.of("twig\(branch)", ["up": Reference.cascading(to: "root")])
            let leaves = (0..<399).map {
                RecordSave<CheckedFields>.of("leaf\(branch)-\($0)", ["up": Reference.cascading(to: "twig\(branch)")])
            }
            #expect(desk.modify(zones[0], saves: [twig] + leaves).result.saveCodes.allSatisfy { $0 == nil })
        }
        let results = desk.database.modifyRecords(
            ModifyRecordsRequest(
                database: .private, savePolicy: .ifServerRecordUnchanged, isAtomic: false, operationID: [],
                zones: zones.map { ZoneModification(zone: $0, saves: [], deletions: ["root"]) }),
            caller: desk.caller, nowMilliseconds: 1000
        ).answer
        #expect(results.map(\.deletionCodes) == [[.limitExceeded], [.limitExceeded]])
        #expect(desk.modify(zones[1], deletions: ["root"]).result.deletionCodes == [nil])
    }
}
