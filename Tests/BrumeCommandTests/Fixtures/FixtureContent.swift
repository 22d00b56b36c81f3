internal import BrumeKit
internal import BrumeModel
internal import Foundation
internal import Testing

@testable internal import brume

/// What the fixtures of each version of the format hold: `Tests/Fixtures/version-N`, a data folder as a killed server
/// left it, and `version-N.brume`, a backup of an earlier moment.
///
/// They stay as they are for as long as their formats are read, and so does this file. With BRUME_WRITE_FIXTURES set
/// those of ``writtenVersion`` are written anew, by the code as it is then.
enum FixtureContent {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../Fixtures"
    /// The versions that there are fixtures of.
    static let versions = 1...4
    /// The version of what today's code writes.
    static let writtenVersion = 4
    static let container = "iCloud.fixture"
    static let operationID = [UInt8](1...16)
    static let notes = ZoneID(name: "Notes")
    /// Deleted and made again.
    static let again = ZoneID(name: "Again")
    /// Deleted.
    static let gone = ZoneID(name: "Gone")
    /// From version 4 on: records of it are shared with bob.
    static let lists = ZoneID(name: "Lists")
    /// From version 3 on: made by an operation that is remembered, and deleted afterwards.
    static let remembered = ZoneID(name: "Remembered")
    static let makingRemembered = ModifyZonesRequest(
        database: .private, saves: [remembered], operationID: [UInt8](17...32))

    /// A value of every type.
    static let values: [String: FieldValue] = [
        "text": .string("a\0b \"é\" 🌫"), "emptyText": .string(""), "lowest": .int64(.min), "highest": .int64(.max),
        "double": .double(0.1), "minusZero": .double(-0.0), "bytes": .bytes(Array(0...255)), "noBytes": .bytes([]),
        "date": .date(700_000_000.123_456_7),
        "place": .location(
            Location(
                latitude: 52.52, longitude: -13.405, altitude: 0.1, horizontalAccuracy: 5, verticalAccuracy: -1,
                course: 359.9, speed: 0.3, timestamp: 700_000_000.5)),
        "up": .reference(Reference(recordName: "parent", deletesSelf: false)), "strings": .strings(["", "a\0", "ü"]),
        "int64s": .int64s([.min, 0, .max]), "doubles": .doubles([0.1, -0.0, 3]),
        "bytesList": .bytesList([[], [0, 255]]),
        "dates": .dates([0, 0.1]), "places": .locations([Location(latitude: -90, longitude: 180)]),
        "references": .references([Reference(recordName: "parent", deletesSelf: false)]), "list": .emptyList,
    ]

    /// The path of a version's data folder; its other files' paths are longer.
    static func path(version: Int) -> String { folder + "/version-\(version)" }

    /// What clients of the fixtures knew: `Tests/Fixtures/version-N.json`.
    struct Knowledge {
        /// By name: of accounts, and of changes, in base64.
        var texts: [String: String] = [:]

        static func read(version: Int) throws -> Knowledge {
            let path = FixtureContent.path(version: version) + ".json"
            let json = try JSONParser.value(
                of: String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self))
            guard case .object(let members) = json else { throw CommandError(.failed, "\(path) is no object") }
            return Knowledge(
                texts: Dictionary(
                    uniqueKeysWithValues: members.compactMap { member in
                        member.value.text.map { (member.key, $0) }
                    }))
        }

        func write() throws {
            let members = texts.sorted { $0.key < $1.key }.map { (key: $0.key, value: JSONValue.string($0.value)) }
            let path = FixtureContent.path(version: writtenVersion) + ".json"
            try Data((JSONValue.object(members).pretty + "\n").utf8).write(to: URL(fileURLWithPath: path))
        }

        subscript(name: String) -> String { get throws { try #require(texts[name], "\(name)") } }

        func token(_ name: String) throws -> [UInt8] { Array(try #require(Data(base64Encoded: self[name]), "\(name)")) }

        mutating func set(_ name: String, token: [UInt8]) { texts[name] = Data(token).base64EncodedString() }
    }
}

extension ClientSession {
    nonisolated func save(
        _ zone: ZoneID, _ saves: [RecordSave<DecodedFields>], deletions: [String] = [],
        database: BrumeModel.DatabaseScope = .private, policy: SavePolicy = .ifServerRecordUnchanged,
        operationID: [UInt8] = [], shares: [String: ShareSave] = [:]
    ) async throws -> [RecordOutcome<Record>] {
        var modification = ZoneModification(zone: zone, saves: saves, deletions: deletions)
        modification.shares = shares
        let results = try await modifyRecords(
            ModifyRecordsRequest(
                database: database, savePolicy: policy, operationID: operationID, zones: [modification]))
        for deletion in results[0].deletions { if let deletion { throw deletion } }
        return results[0].saves.map(\.outcome)
    }

    nonisolated func page(
        of zone: ZoneID, since token: [UInt8] = [], in database: BrumeModel.DatabaseScope = .private
    ) async throws(ServiceError) -> (live: [String], deleted: [String], token: [UInt8]) {
        let page = try await zoneChanges(ZoneChangesRequest(database: database, zone: zone, token: token))
        return (page.records.map(\.system.name), page.deletions.map(\.name), page.token)
    }
}

extension RecordSave<DecodedFields> {
    static func note(_ name: String, _ n: Int64 = 1, parent: ParentChange = .unchanged, tag: String = "") -> Self {
        RecordSave(name: name, type: "Note", changeTag: tag, parent: parent, fields: ["n": .some(.int64(n))])
    }
}

extension RecordOutcome<Record> {
    var record: Record? {
        if case .record(let record) = self { return record }
        return nil
    }
}
