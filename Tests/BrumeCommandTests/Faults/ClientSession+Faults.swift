internal import BrumeKit
internal import BrumeModel
internal import BrumeTestKit
internal import Foundation

/// A client of a server that is hurt.
extension ClientSession {
    static let faultZone = ZoneID(name: "Faults")

    nonisolated func makeFaultZone() async throws {
        let request = ModifyZonesRequest(database: .private, saves: [Self.faultZone])
        for result in try await modifyZones(request).saves { _ = try result.get() }
    }

    /// Makes a record that must not be there yet, so that a second effect would be a conflict. Gives its change tag.
    @discardableResult
    nonisolated func insert(_ name: String, byteCount: Int = 100) async throws -> String {
        let save = RecordSave<DecodedFields>(
            name: name, type: "T", fields: ["filler": .bytes([UInt8](repeating: 7, count: byteCount))])
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .private, savePolicy: .ifServerRecordUnchanged,
            operationID: withUnsafeBytes(of: UUID().uuid) { Array($0) },
            zones: [ZoneModification(zone: Self.faultZone, saves: [save])])
        guard let outcome = try await modifyRecords(request).first?.saves.first?.outcome else {
            throw TestFailure("a save had no outcome")
        }
        switch outcome {
        case .record(let record): return record.system.changeTag
        case .failure(let error): throw error
        case .deferred: throw TestFailure("a save was deferred")
        }
    }

    /// The zone's records in the order of their changes, behind a token, and the token behind them.
    nonisolated func changes(since token: [UInt8] = []) async throws -> (
        names: [String], tags: [String], token: [UInt8]
    ) {
        var (names, tags, token): ([String], [String], [UInt8]) = ([], [], token)
        while true {
            let page = try await zoneChanges(
                ZoneChangesRequest(database: .private, zone: Self.faultZone, token: token, desiredKeys: []))
            names += page.records.map(\.system.name)
            tags += page.records.map(\.system.changeTag)
            token = page.token
            if !page.moreComing { return (names, tags, token) }
        }
    }
}
