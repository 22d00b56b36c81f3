package import BrumeKit
internal import BrumeModel
internal import BrumeProtocol

extension ClientSession {
    /// Gives an account keys, and each of some zones of its a ring: no other zone takes what is encrypted.
    package nonisolated func makeRings(in zones: [String], container: String = "iCloud.brume") async throws {
        let user = try await welcome().userRecordName
        var keys = try SampleKeys(user: user ?? "", container: container)
        let statement = AppendStatementRequest(statement: SharedBytes(keys.statement))
        try await request(
            .statementsAppend, effect: .onceByOperationID, { $0.encodeAppendStatementRequest(statement) },
            { (_, _) throws(ServiceError) in })
        for zone in zones {
            let entry = SharedBytes(try keys.nextEntry(of: zone))
            let append = AppendRingEntryRequest(zone: ZoneID(name: zone), entry: entry)
            try await request(
                .ringsAppend, effect: .onceByOperationID, { $0.encodeAppendRingEntryRequest(append) },
                { (_, _) throws(ServiceError) in })
        }
    }
}
