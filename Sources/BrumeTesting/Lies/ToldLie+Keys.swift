internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol

/// Lies about keys, in the answers to the calls that are about them.
extension ToldLie {
    // MARK: Rings

    /// Other entries of a ring.
    static func toldRing(
        _ keys: ToldKeys, _ ring: ToldRing, _ answer: ServerAnswer, to call: AnsweredCall
    ) throws(ServiceError) -> ServerAnswer? {
        let coder = MessageCoder()
        switch (call.method, answer) {
        case (.ringsFetch, .message(let bytes)):
            let request = try decode(call.request, coder.decodeFetchRingRequest)
            guard ring.isIn(request.zone), request.root == ring.root else { return nil }
            var page = try decode(bytes, coder.decodeFetchRingResponse)
            (page.entries, page.last) = keys.page(after: request.after, (page.entries, page.last))
            return .message(coder.encodeFetchRingResponse(page))
        case (.ringsAppend, _):
            let request = try decode(call.request, coder.decodeAppendRingEntryRequest)
            guard ring.isIn(request.zone), ring.hasEntry(request.entry), keys.takes(request.entry) else { return nil }
            return .message(coder.encodeAppendRingEntryResponse())
        default: return nil
        }
    }

    /// Other users who come to a ring, or leave it.
    static func toldNews(
        _ news: ToldNews, _ ring: ToldRing, _ answer: ServerAnswer, to call: AnsweredCall
    ) throws(ServiceError) -> ServerAnswer? {
        let coder = MessageCoder()
        guard call.method == .ringsFetch, case .message(let bytes) = answer else { return nil }
        let request = try decode(call.request, coder.decodeFetchRingRequest)
        guard ring.isIn(request.zone), request.root == ring.root,
            let page = news.told(try decode(bytes, coder.decodeFetchRingResponse))
        else { return nil }
        return .message(coder.encodeFetchRingResponse(page))
    }

    /// A refusal of what the account says of its keys.
    static func toldJoining(_ ring: ToldRing, to call: AnsweredCall) throws(ServiceError) -> ServerAnswer? {
        guard call.method == .ringsJoin else { return nil }
        let request = try decode(call.request, MessageCoder().decodeJoinRingRequest)
        guard ring.isIn(request.zone), request.root == ring.root else { return nil }
        return .failure(ServiceError(.invalidArguments, "the ring has no statement of the user; send the user's own"))
    }

    /// Records that are said to be encrypted in another tree than theirs.
    static func toldMisplaced(_ ids: [CKRecord.ID], to call: AnsweredCall) throws(ServiceError) -> ServerAnswer? {
        guard call.method == .ringsListMisplaced else { return nil }
        let coder = MessageCoder()
        let request = try decode(call.request, coder.decodeListMisplacedRecordsRequest)
        let names = ids.filter { ToldRing($0.zoneID).isIn(request.zone) }.map(\.recordName)
        return .message(coder.encodeListMisplacedRecordsResponse(MisplacedRecordsPage(names: names)))
    }

    // MARK: Statements

    /// Other statements of a user beside the rings of a zone.
    static func toldStatements(
        _ keys: ToldKeys, of user: String, _ zone: ToldRing, _ answer: ServerAnswer, to call: AnsweredCall
    ) throws(ServiceError) -> ServerAnswer? {
        let coder = MessageCoder()
        guard call.method == .ringsFetchStatements, case .message(let bytes) = answer else { return nil }
        let request = try decode(call.request, coder.decodeFetchRingStatementsRequest)
        guard zone.isIn(request.zone), request.user == user else { return nil }
        let page = try decode(bytes, coder.decodeFetchRingStatementsResponse)
        let (statements, last) = keys.page(after: request.after, (page.statements, page.last))
        return .message(coder.encodeFetchRingStatementsResponse(StatementsPage(statements: statements, last: last)))
    }

    /// Other statements of the account.
    static func toldStatements(
        _ keys: ToldKeys, _ answer: ServerAnswer, to call: AnsweredCall
    ) throws(ServiceError) -> ServerAnswer? {
        let coder = MessageCoder()
        switch (call.method, answer) {
        case (.statementsFetch, .message(let bytes)):
            let number = try decode(call.request, coder.decodeFetchStatementsRequest)
            let page = try decode(bytes, coder.decodeFetchStatementsResponse)
            let (statements, last) = keys.page(after: number, (page.statements, page.last))
            return .message(coder.encodeFetchStatementsResponse(StatementsPage(statements: statements, last: last)))
        case (.statementsAppend, _):
            let request = try decode(call.request, coder.decodeAppendStatementRequest)
            return keys.takes(request.statement) ? .message(coder.encodeAppendStatementResponse()) : nil
        default: return nil
        }
    }
}
