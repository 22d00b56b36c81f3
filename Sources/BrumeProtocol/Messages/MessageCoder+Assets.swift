package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Transfers of assets: the server's side.
extension MessageCoder {
    /// The first message of an upload.
    package func decodeUploadRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> UploadRequest {
        guard case .begin(let request) = try decodeUploadMessage(bytes) else {
            throw ServiceError(.invalidArguments, "an upload does not begin with its beginning; send it first")
        }
        return request
    }

    /// Any message of the client on an upload's stream.
    package func decodeUploadMessage(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> UploadMessage {
        let message = try request(brume__v1__upload_message__unpack, bytes)
        switch message.pointee.kind_case {
        case BRUME__V1__UPLOAD_MESSAGE__KIND_BEGIN:
            let begin = message.pointee.begin!
            guard let id = UploadID(begin.pointee.upload_id.array) else {
                throw ServiceError(
                    .invalidArguments,
                    "an upload's id has \(begin.pointee.upload_id.len) bytes; give it \(UploadID.byteCount) random ones"
                )
            }
            return .begin(
                UploadRequest(
                    database: try RequestChecks.scope(begin.pointee.database),
                    zone: try ZoneCoder.checked(begin.pointee.zone), id: id, byteCount: begin.pointee.byte_count))
        case BRUME__V1__UPLOAD_MESSAGE__KIND_CONTENT:
            let content = message.pointee.content
            guard content.len <= Limits.assetChunkBytes else {
                throw ServiceError(
                    .limitExceeded,
                    "a message holds \(content.len) bytes of an asset; the limit is \(Limits.assetChunkBytes)")
            }
            return .content(content.array)
        case BRUME__V1__UPLOAD_MESSAGE__KIND_END:
            return .end(try checksum(message.pointee.end.pointee.checksum))
        default:
            throw ServiceError(
                .invalidArguments,
                "a message of an upload has no kind that this server knows; see brume.v1.UploadMessage")
        }
    }

    package func decodeDownloadRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> DownloadRequest {
        let message = try request(brume__v1__download_request__unpack, bytes)
        return DownloadRequest(
            database: try RequestChecks.scope(message.pointee.database),
            zone: try ZoneCoder.checked(message.pointee.zone), recordName: message.pointee.record_name.lossyText,
            field: message.pointee.field.lossyText, listIndex: Int(message.pointee.list_index),
            checksum: try checksum(message.pointee.checksum), offset: message.pointee.offset,
            byteCount: message.pointee.byte_count)
    }

    private func checksum(_ data: ProtobufCBinaryData) throws(ServiceError) -> AssetChecksum {
        guard let checksum = AssetChecksum(data.rawBuffer) else {
            throw ServiceError(
                .invalidArguments, "a checksum has \(data.len) bytes; send the \(AssetChecksum.byteCount) of SHA-256")
        }
        return checksum
    }

    package func encodeUploadEvent(_ event: UploadEvent) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__upload_event__init)
            switch event {
            case .offset(let offset):
                message.pointee.kind_case = BRUME__V1__UPLOAD_EVENT__KIND_OFFSET
                message.pointee.offset = offset
            case .asset(let asset):
                message.pointee.kind_case = BRUME__V1__UPLOAD_EVENT__KIND_ASSET
                message.pointee.asset = arena.asset(asset)
            }
            return message
        }
    }

    package func encodeDownloadSize(_ byteCount: UInt64) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__download_event__init)
            message.pointee.kind_case = BRUME__V1__DOWNLOAD_EVENT__KIND_BYTE_COUNT
            message.pointee.byte_count = byteCount
            return message
        }
    }

    /// What stands before the bytes of a content, in a message that holds nothing else: so that these are copied once.
    package static func contentHeader(byteCount: Int) -> [UInt8] {
        var header: [UInt8] = []
        header.append(byteCount: WireSize.message(byteCount) - byteCount) { $0.messageHeader(2, count: byteCount) }
        return header
    }
}
