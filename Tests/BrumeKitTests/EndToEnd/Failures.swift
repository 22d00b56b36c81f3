import BrumeKit

/// What a call of the SDK fails with; nil when it succeeds.
func failure<Value>(_ body: () async throws -> Value) async -> CKError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? CKError
    }
}

func code<Value>(_ body: () async throws -> Value) async -> CKError.Code? { await failure(body)?.code }
