internal import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Errors of items. `brume.v1.ItemError` and the server's view of it have the same encoding; the view holds the
/// server's record as bytes.
extension MessageArena {
    func itemErrorView(_ error: ServiceError) -> Pointer<Brume__Server__V1__ItemErrorView> {
        let view = make(brume__server__v1__item_error_view__init)
        view.pointee.code = error.code.rawValue
        view.pointee.message = data(error.message)
        view.pointee.retry_after_milliseconds = error.retryAfterMilliseconds
        view.pointee.detail = UInt32(error.detail.rawValue)
        if let record = error.serverRecord {
            view.pointee.optional_server_record_case =
                BRUME__SERVER__V1__ITEM_ERROR_VIEW__OPTIONAL_SERVER_RECORD_SERVER_RECORD
            view.pointee.server_record = data(record)
        }
        return view
    }

    /// An item's error in answers about zones and subscriptions, which never hold a server record.
    func itemError(_ error: ServiceError) -> Pointer<Brume__V1__ItemError> {
        let message = make(brume__v1__item_error__init)
        message.pointee.code = error.code.rawValue
        message.pointee.message = data(error.message)
        message.pointee.retry_after_milliseconds = error.retryAfterMilliseconds
        message.pointee.detail = UInt32(error.detail.rawValue)
        return message
    }

    func deletionResult(_ error: ServiceError?) -> Pointer<Brume__V1__DeletionResult> {
        let result = make(brume__v1__deletion_result__init)
        if let error { result.pointee.error = itemError(error) }
        return result
    }
}

extension ServiceError {
    init(_ view: UnsafeMutablePointer<Brume__Server__V1__ItemErrorView>) {
        let hasRecord =
            view.pointee.optional_server_record_case
            == BRUME__SERVER__V1__ITEM_ERROR_VIEW__OPTIONAL_SERVER_RECORD_SERVER_RECORD
        self.init(
            ErrorCode(rawValue: view.pointee.code), view.pointee.message.lossyText,
            retryAfterMilliseconds: view.pointee.retry_after_milliseconds,
            serverRecord: hasRecord ? view.pointee.server_record.array : nil, detail: Detail(wire: view.pointee.detail))
    }

    init(_ error: UnsafeMutablePointer<Brume__V1__ItemError>) {
        self.init(
            ErrorCode(rawValue: error.pointee.code), error.pointee.message.lossyText,
            retryAfterMilliseconds: error.pointee.retry_after_milliseconds, detail: Detail(wire: error.pointee.detail))
    }
}

extension ServiceError.Detail {
    /// Reads a detail. One that only a newer peer knows is dropped: the code is meaningful without it.
    init(wire number: UInt32) { self = UInt8(exactly: number).flatMap(Self.init) ?? .none }
}
