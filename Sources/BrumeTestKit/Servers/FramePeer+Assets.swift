package import BrumeModel
internal import BrumeProtocol

/// Transfers of assets.
extension FramePeer {
    /// Begins an upload, or goes on with one; returns its stream. What the server says to it is ``uploadEvents(_:)``.
    package func beginUpload(
        _ id: UploadID, byteCount: Int, zone: ZoneID = .defaultZone, database: DatabaseScope = .private
    ) -> UInt32 {
        let request = UploadRequest(database: database, zone: zone, id: id, byteCount: UInt64(byteCount))
        return start(.assetsUpload, coder.encodeUploadMessage(.begin(request)), isLast: false)
    }

    /// Sends a part of a content, a message after the other, each when the one before has had its effect.
    package func sendContent(_ bytes: ArraySlice<UInt8>, _ stream: UInt32) {
        var rest = bytes
        while !rest.isEmpty {
            let chunk = Array(rest.prefix(Limits.assetChunkBytes))
            rest = rest.dropFirst(chunk.count)
            send(.message, stream: stream, payload: coder.encodeUploadMessage(.content(chunk)))
            server.settle()
        }
    }

    package func endUpload(_ stream: UInt32, checksum: AssetChecksum) {
        send(.message, stream: stream, isLast: true, payload: coder.encodeUploadMessage(.end(checksum)))
        server.settle()
    }

    package func uploadEvents(_ stream: UInt32) throws -> [UploadEvent] {
        try frames.filter { $0.stream == stream && $0.type == .message }
            .map { try $0.payload.decoded(coder.decodeUploadEvent) }
    }

    /// Uploads all of a content, from where the server says that it goes on.
    package func upload(
        _ content: [UInt8], checksum: AssetChecksum, id: UploadID, zone: ZoneID = .defaultZone,
        database: DatabaseScope = .private
    ) throws -> Asset {
        let stream = beginUpload(id, byteCount: content.count, zone: zone, database: database)
        server.settle()
        if case .offset(let offset)? = try uploadEvents(stream).first {
            sendContent(content[Int(offset)...], stream)
            endUpload(stream, checksum: checksum)
        }
        if case .asset(let asset)? = try uploadEvents(stream).last { return asset }
        throw try failure(of: stream)
    }

    /// Why a stream ended.
    package func failure(of stream: UInt32) throws -> any Error {
        try end(stream)?.error ?? TestFailure("a transfer has not ended")
    }

    package func beginDownload(_ request: DownloadRequest) -> UInt32 {
        start(.assetsDownload, coder.encodeDownloadRequest(request))
    }

    /// What came on a download's stream and was not taken. The server may send as much again.
    package func takeContent(_ stream: UInt32) throws -> [DownloadEvent] {
        let messages = takeMessages(stream)
        let taken = messages.reduce(StreamCredit.none) { sum, message in
            StreamCredit(messages: sum.messages + 1, bytes: sum.bytes + message.count)
        }
        if taken.messages > 0 { send(.credit, stream: stream, payload: FrameWriter.creditPayload(taken)) }
        return try messages.map { try $0.decoded(coder.decodeDownloadEvent) }
    }

    /// Downloads all that a request wants.
    package func download(_ request: DownloadRequest) throws -> [UInt8] {
        let stream = beginDownload(request)
        var content: [UInt8] = []
        while true {
            server.settle()
            let events = try takeContent(stream)
            for case .content(let bytes) in events { content += bytes.array }
            if !events.isEmpty { continue }
            if let end = try end(stream) {
                if let error = end.error { throw error }
                return content
            }
            throw TestFailure("a download stands still")
        }
    }
}
