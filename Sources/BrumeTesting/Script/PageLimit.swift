internal import BrumeModel
internal import BrumeProtocol

/// Requests for pages, as of a client that wants small ones.
enum PageLimit {
    /// The request with a limit of so many items; nil for what asks for no page, or has such a limit already.
    static func limited(_ method: Method, _ payload: UnsafeRawBufferPointer, itemCount: Int) -> [UInt8]? {
        let coder = MessageCoder()
        func isLarger(_ limit: Int) -> Bool { limit == 0 || limit > itemCount }
        do throws(ServiceError) {
            switch method {
            case .recordsChanges:
                var request = try coder.decodeZoneChangesRequest(payload)
                guard isLarger(request.resultsLimit) else { return nil }
                request.resultsLimit = itemCount
                return coder.encodeZoneChangesRequest(request)
            case .databasesChanges:
                var request = try coder.decodeDatabaseChangesRequest(payload)
                guard isLarger(request.resultsLimit) else { return nil }
                request.resultsLimit = itemCount
                return coder.encodeDatabaseChangesRequest(request)
            case .recordsQuery:
                var request = try coder.decodeQueryRequest(payload)
                guard isLarger(request.resultsLimit) else { return nil }
                request.resultsLimit = itemCount
                return coder.encodeQueryRequest(request)
            default: return nil
            }
        } catch {
            return nil
        }
    }
}
