internal import BrumeModel
internal import BrumeProtocol
internal import BrumeServer
internal import BrumeService
internal import BrumeStore

/// What a client has to be answered about an operation, worked out from the outcome in its commit's journal entry.
enum ExpectedAnswer {
    /// - Parameter outcome: The outcome as the entry holds it.
    /// - Returns: The answer's message; nil if the outcome can't be read.
    static func message(of outcome: [UInt8], in database: DatabaseID, coder: MessageCoder) -> [UInt8]? {
        switch try? StoreCoder.decodeOutcome(outcome) {
        case .records(let zones)?: return coder.encodeModifyRecordsResponse(zones)
        case .zones(var result, let firstFetches)?:
            let sealer = TokenSealer(key: SimulatedServer.key)
            for (index, token) in firstFetches.enumerated() {
                guard let token, case .success(var zone) = result.saves[index] else { continue }
                zone.changeToken = sealer.seal(token, scope: sealer.scope(database, zone: zone.id.name))
                result.saves[index] = .success(zone)
            }
            return coder.encodeModifyZonesResponse(result)
        case .subscriptions(let result)?: return coder.encodeModifySubscriptionsResponse(result)
        case nil: return nil
        }
    }
}
