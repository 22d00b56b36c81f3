package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Transfers of assets: the client's side.
extension MessageCoder {
    package func encodeUploadMessage(_ message: UploadMessage) -> [UInt8] {
        encode { arena in
            let encoded = arena.make(brume__v1__upload_message__init)
            switch message {
            case .begin(let request):
                let begin = arena.make(brume__v1__upload_begin__init)
                begin.pointee.database = Brume__V1__DatabaseScope(UInt32(request.database.rawValue))
                begin.pointee.zone = arena.zoneID(request.zone)
                begin.pointee.upload_id = arena.data(request.id.bytes)
                begin.pointee.byte_count = request.byteCount
                encoded.pointee.kind_case = BRUME__V1__UPLOAD_MESSAGE__KIND_BEGIN
                encoded.pointee.begin = begin
            case .content(let bytes):
                encoded.pointee.kind_case = BRUME__V1__UPLOAD_MESSAGE__KIND_CONTENT
                encoded.pointee.content = arena.data(bytes)
            case .end(let checksum):
                let end = arena.make(brume__v1__upload_end__init)
                end.pointee.checksum = arena.data(checksum.bytes)
                encoded.pointee.kind_case = BRUME__V1__UPLOAD_MESSAGE__KIND_END
                encoded.pointee.end = end
            }
            return encoded
        }
    }

    package func decodeUploadEvent(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> UploadEvent {
        let message = try answer(brume__v1__upload_event__unpack, bytes)
        switch message.pointee.kind_case {
        case BRUME__V1__UPLOAD_EVENT__KIND_OFFSET: return .offset(message.pointee.offset)
        case BRUME__V1__UPLOAD_EVENT__KIND_ASSET:
            guard let asset = Asset(message.pointee.asset) else {
                throw Self.unreadableAnswer("an asset has no checksum")
            }
            return .asset(asset)
        default: throw Self.unreadableAnswer("an event of an upload has no kind that this client knows")
        }
    }

    package func encodeDownloadRequest(_ request: DownloadRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__download_request__init)
            message.pointee.database = Brume__V1__DatabaseScope(UInt32(request.database.rawValue))
            message.pointee.zone = arena.zoneID(request.zone)
            message.pointee.record_name = arena.data(request.recordName)
            message.pointee.field = arena.data(request.field)
            message.pointee.list_index = UInt32(request.listIndex)
            message.pointee.checksum = arena.data(request.checksum.bytes)
            message.pointee.offset = request.offset
            message.pointee.byte_count = request.byteCount
            return message
        }
    }

    package func decodeDownloadEvent(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> DownloadEvent {
        let message = try answer(brume__v1__download_event__unpack, bytes)
        switch message.pointee.kind_case {
        case BRUME__V1__DOWNLOAD_EVENT__KIND_BYTE_COUNT: return .byteCount(message.pointee.byte_count)
        case BRUME__V1__DOWNLOAD_EVENT__KIND_CONTENT: return .content(SharedBytes(message.pointee.content.array))
        default: throw Self.unreadableAnswer("an event of a download has no kind that this client knows")
        }
    }
}
