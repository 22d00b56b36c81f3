internal import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeProtocol

/// Lies about files, in the answers to the calls that carry them.
extension ToldLie {
    /// Another content.
    static func toldFile(
        _ lie: FileLie, _ field: String, of id: CKRecord.ID, _ answer: ServerAnswer, to call: AnsweredCall
    ) throws(ServiceError) -> ServerAnswer? {
        let coder = MessageCoder()
        guard call.method == .assetsDownload, case .parts(let messages) = answer else { return nil }
        let request = try decode(call.request, coder.decodeDownloadRequest)
        guard ToldRing(id.zoneID).isIn(request.zone), request.recordName == id.recordName, request.field == field else {
            return nil
        }
        var (told, isLie) = ([[UInt8]](), false)
        for message in messages {
            switch try decode(message, coder.decodeDownloadEvent) {
            case .byteCount(let count):
                call.content.state.withLock { $0.wholeByteCount = count }
                told.append(message)
            case .content(let bytes):
                let other = call.content.state.withLock { lie.told(bytes.array, from: request.offset, &$0) }
                guard let other else {
                    told.append(message)
                    continue
                }
                isLie = true
                // No message holds more than a chunk.
                for start in stride(from: 0, to: other.count, by: FileLie.chunkBytes) {
                    let part = other[start..<min(start + FileLie.chunkBytes, other.count)]
                    told.append(MessageCoder.contentHeader(byteCount: part.count) + part)
                }
            }
        }
        return isLie ? .parts(told) : nil
    }

    /// Another number of bytes that the server has of an upload.
    static func toldUpload(
        _ byteCount: UInt64, to zone: ToldRing, _ answer: ServerAnswer, to call: AnsweredCall
    ) throws(ServiceError) -> ServerAnswer? {
        let coder = MessageCoder()
        guard call.method == .assetsUpload, case .parts(let messages) = answer, messages.count == 1,
            zone.isIn(try decode(call.request, coder.decodeUploadRequest).zone),
            case .offset = try decode(messages[0], coder.decodeUploadEvent)
        else { return nil }
        return .parts([coder.encodeUploadEvent(.offset(byteCount))])
    }
}
