package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// `Statements.Append` and `Statements.Fetch`.
extension MessageCoder {
    // MARK: The server's side

    package func decodeAppendStatementRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> AppendStatementRequest {
        let message = try request(brume__v1__append_statement_request__unpack, bytes)
        let statement = message.pointee.statement
        guard statement.len > 0 else {
            throw ServiceError(.invalidArguments, "the request has no statement; a signed one belongs there")
        }
        guard statement.len <= Limits.statementBytes else {
            throw ServiceError(
                .limitExceeded,
                "a statement has \(statement.len) bytes; the limit is \(Limits.statementBytes): remove devices that are"
                    + " not used any more")
        }
        let replacedHash = message.pointee.replaced_hash.array
        guard replacedHash.isEmpty || replacedHash.count == Self.hashBytes else {
            throw ServiceError(
                .invalidArguments, "a statement's hash has \(Self.hashBytes) bytes, not \(replacedHash.count)")
        }
        return AppendStatementRequest(statement: SharedBytes(statement.array), replacedHash: replacedHash)
    }

    private static let hashBytes = 32

    package func encodeAppendStatementResponse() -> [UInt8] { [] }

    /// Returns the number behind which the caller wants statements.
    package func decodeFetchStatementsRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> UInt32 {
        try request(brume__v1__fetch_statements_request__unpack, bytes).pointee.after
    }

    package func encodeFetchStatementsResponse(_ page: StatementsPage) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_statements_response__init)
            message.pointee.n_statements = page.statements.count
            message.pointee.statements = arena.list(page.statements)
            message.pointee.last = page.last
            return message
        }
    }

    // MARK: The client's side

    package func encodeAppendStatementRequest(_ request: AppendStatementRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__append_statement_request__init)
            message.pointee.statement = arena.data(request.statement.array)
            message.pointee.replaced_hash = arena.data(request.replacedHash)
            return message
        }
    }

    package func decodeAppendStatementResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try answer(brume__v1__append_statement_response__unpack, bytes)
    }

    package func encodeFetchStatementsRequest(after number: UInt32) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_statements_request__init)
            message.pointee.after = number
            return message
        }
    }

    package func decodeFetchStatementsResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> StatementsPage {
        let message = try answer(brume__v1__fetch_statements_response__unpack, bytes)
        return StatementsPage(
            statements: (0..<message.pointee.n_statements).map { SharedBytes(message.pointee.statements[$0].array) },
            last: message.pointee.last)
    }
}
