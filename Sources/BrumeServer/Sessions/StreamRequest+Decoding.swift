internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService

extension StreamRequest {
    /// Decodes and checks the first message of a streaming method.
    init(_ method: Method, _ payload: UnsafeRawBufferPointer, coder: MessageCoder) throws(ServiceError) {
        switch method {
        case .notificationsOpen: self = .notifications(position: try coder.decodeNotificationsRequest(payload))
        case .assetsUpload: self = .upload(try coder.decodeUploadRequest(payload))
        case .assetsDownload: self = .download(try coder.decodeDownloadRequest(payload))
        default: preconditionFailure("method \(method.rawValue) does not stream")
        }
    }
}

extension StreamMessage {
    /// Decodes and checks a later message of a streaming method.
    init(_ method: Method, _ payload: UnsafeRawBufferPointer, coder: MessageCoder) throws(ServiceError) {
        switch method {
        case .notificationsOpen: self = .acknowledgement(position: try coder.decodeNotificationsRequest(payload))
        case .assetsUpload:
            switch try coder.decodeUploadMessage(payload) {
            case .begin: throw ServiceError(.invalidArguments, "an upload begins twice; open another stream")
            case .content(let bytes): self = .content(bytes)
            case .end(let checksum): self = .uploadEnd(checksum)
            }
        case .assetsDownload:
            throw ServiceError(.invalidArguments, "a download takes no messages but the first")
        default: preconditionFailure("method \(method.rawValue) does not stream")
        }
    }
}

extension Method {
    /// Whether messages keep coming on its calls. Others have one request and one answer.
    var isStreaming: Bool { self == .notificationsOpen || self == .assetsUpload || self == .assetsDownload }
}
