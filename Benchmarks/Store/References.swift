internal import BrumeModel
internal import BrumeRecord
internal import BrumeStore

/// The costliest requests that the limits on references let through: each is one piece of work of its loop.
struct References {
    private let database: Database
    private let caller: Caller
    private let zone: ZoneID

    private init(scope: DatabaseScope) {
        let owner = scope == .private ? "_owner" : ""
        database = Database(
            id: DatabaseID(container: "iCloud.bench", environment: .development, scope: scope, owner: owner), epoch: 7)
        caller = Caller(user: "_owner", isOwner: scope == .private)
        zone = scope == .private ? Subject.zone : .defaultZone
        if scope == .private {
            _ = database.modifyZones(
                ModifyZonesRequest(database: .private, saves: [zone]), caller: caller, nowMilliseconds: 1000)
        }
    }

    static func run() {
        for length in [36, 127] { changes(nameLength: length) }
        plainReferences()
        cascades(.private)
        cascades(.public)
        for isParent in [true, false] { chain(isParent: isParent) }
    }

    private func save(_ name: String, _ fields: [String: FieldValue], parent: ParentChange = .unchanged)
        -> RecordSave<CheckedFields>
    {
        let puts = fields.map { StoredRecord.encodeField(key: $0.key, value: $0.value) }
        return RecordSave(
            name: name, type: "Note", changeTag: "", parent: parent, fields: CheckedFields(puts: EncodedFields(puts)))
    }

    /// The processor time of a request, in nanoseconds.
    @discardableResult
    private func modify(
        _ saves: [RecordSave<CheckedFields>] = [], deletions: [String] = [], by user: String = "_owner",
        isAtomic: Bool = false
    ) -> UInt64 {
        let request = ModifyRecordsRequest<CheckedFields>(
            database: database.id.scope, savePolicy: .changedKeys, isAtomic: isAtomic,
            zones: [ZoneModification(zone: zone, saves: saves, deletions: deletions)])
        let began = processorNanoseconds()
        let decision = database.modifyRecords(
            request, caller: Caller(user: user, isOwner: caller.isOwner), nowMilliseconds: 2000)
        withExtendedLifetime(decision) {}
        return processorNanoseconds() - began
    }

    private static func name(_ number: Int, length: Int) -> String {
        let text = Subject.name(number)
        return text + String(repeating: "x", count: max(0, length - text.utf8.count))
    }

    /// Records turn from all that they refer to to something else.
    private static func changes(nameLength: Int) {
        let subject = References(scope: .private)
        let perRecord = Limits.cascadeReferencesPerRecord
        let count = Limits.cascadeReferencesPerRequest / 2 / perRecord
        var times: [UInt64] = []
        for round in 0..<40 {
            let saves = (0..<count).map { record in
                let first = (round * count + record) * perRecord
                return subject.save(
                    "r\(record)",
                    [
                        "all": .references(
                            (first..<first + perRecord).map {
                                Reference(recordName: name($0, length: nameLength), deletesSelf: true)
                            })
                    ])
            }
            let time = subject.modify(saves)
            if round > 0 { times.append(time) }
        }
        report("20,000 references come and go, names of \(nameLength) bytes", times)
    }

    /// Two records of a megabyte hold nothing but references that delete nobody, and one that does.
    private static func plainReferences() {
        let subject = References(scope: .private)
        var times: [UInt64] = []
        for round in 0..<10 {
            let list = (0..<140_000).map { Reference(recordName: String($0 % 10), deletesSelf: $0 == round) }
            times.append(subject.modify([subject.save("r", ["all": .references(list)])]))
        }
        report("140,000 references of one record change", times)
    }

    /// As many records fall as one request may take.
    private static func cascades(_ scope: DatabaseScope) {
        var times: [UInt64] = []
        for _ in 0..<5 {
            let subject = References(scope: scope)
            subject.modify([subject.save("root", [:])])
            let users = scope == .public ? 40 : 1
            let middle = (0..<6).map { "m\($0)" }
            func refer(_ names: [String], to target: String, by user: String) {
                for start in stride(from: 0, to: names.count, by: 400) {
                    let saves = names[start..<min(start + 400, names.count)].map {
                        subject.save(
                            $0, ["up": .reference(Reference(recordName: target, deletesSelf: true)), "n": .int64(1)])
                    }
                    subject.modify(saves, by: user)
                }
            }
            refer(middle, to: "root", by: "_owner")
            for name in middle { refer((0..<680).map { name + Subject.name($0) }, to: name, by: "_owner") }
            for user in 1..<users {
                refer((0..<740).map { "u\(user)" + Subject.name($0) }, to: "root", by: "_u\(user)")
            }
            times.append(subject.modify(deletions: ["root"]))
        }
        report("4,086 records and more fall in the \(scope) database", times)
    }

    /// Items that fail for each other, one after the other.
    private static func chain(isParent: Bool) {
        let subject = References(scope: .private)
        let limit = Limits.cascadeReferencesPerTarget
        if !isParent {
            for index in 0...400 {
                let many = [Reference](
                    repeating: Reference(recordName: "t\(index)", deletesSelf: true), count: limit - 1)
                subject.modify([
                    subject.save("many\(index)", ["all": .references(many)]),
                    subject.save(
                        "m\(index)", ["to": .reference(Reference(recordName: "t\(index)", deletesSelf: true))]),
                ])
            }
        }
        let saves = (0..<400).map { index in
            isParent
                ? subject.save("c\(index)", [:], parent: .set(index == 0 ? "missing" : "c\(index - 1)"))
                : subject.save(
                    "m\(index)", ["to": .reference(Reference(recordName: "t\(index + 1)", deletesSelf: true))])
        }
        report(
            isParent ? "400 saves fail for a missing parent" : "400 saves fail for each other's references",
            (0..<5).map { _ in subject.modify(saves) })
    }
}
