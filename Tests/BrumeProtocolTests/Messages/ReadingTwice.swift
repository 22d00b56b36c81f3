import BrumeModel

/// What a reader made of bytes, so that two ways of reading can be compared.
func outcome<Value>(_ body: () throws -> Value) throws -> Result<Value, ServiceError> {
    do {
        return .success(try body())
    } catch let error as ServiceError {
        return .failure(error)
    }
}
