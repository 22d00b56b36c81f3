internal import BrumeEncryption
internal import BrumeLock
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeSystem
internal import Foundation

/// Contents of assets on their way to the server and back. A transfer that breaks begins again where it stopped.
extension AccountBinding {
    /// How a transfer is made.
    private struct Way {
        let method: BrumeProtocol.Method
        let options: CallOptions
        /// What was tried without getting any further.
        var attempts = 0
        /// How long it was waited meanwhile.
        var waitedSeconds = 0.0
    }

    // MARK: Up

    /// Uploads a file for records of a zone, when it is its turn.
    ///
    /// - Parameters:
    ///   - isEncrypted: Whether the server gets what only the secret of the result opens.
    ///   - expected: What the file has to be, where the server is to be sent all of it, whatever it has of an earlier
    ///     upload. Nil: whatever it is.
    ///   - progress: Gets how many bytes of the file the server was sent.
    func upload(
        _ url: URL, to zone: ZoneID, of database: DatabaseScope, isEncrypted: Bool = false,
        expecting expected: AssetContent? = nil, options: CallOptions, progress: (Int) -> Void
    ) async throws(CKError) -> UploadedFile {
        try await uploadTurns.run { () throws(CKError) in
            try options.checkDeadline()
            let file: AssetFile
            do throws(AssetError) {
                file = try AssetFile(url)
                if let expected, try !file.holds(expected, isCancelled: { Task.isCancelled }) {
                    throw .fileModified(file.path)
                }
            } catch {
                throw CKError(error)
            }
            if isEncrypted {
                return try await self.uploadEncrypted(
                    file, to: zone, of: database, isWhole: expected != nil, options: options, progress: progress)
            }
            let asset = try await self.upload(
                file, to: zone, of: database, isWhole: expected != nil, options: options, progress: progress)
            return UploadedFile(asset: asset, secret: nil)
        }
    }

    /// - Parameter isWhole: Whether the server is to be sent all, whatever it has of an earlier upload.
    private func upload(
        _ file: AssetFile, to zone: ZoneID, of database: DatabaseScope, isWhole: Bool, options: CallOptions,
        progress: (Int) -> Void
    ) async throws(CKError) -> Asset {
        let checksum: AssetChecksum
        do throws(AssetError) { checksum = try file.checksum(isCancelled: { Task.isCancelled }) } catch {
            throw CKError(error)
        }
        let usual = uploadID(of: checksum, byteCount: file.byteCount, to: zone, of: database)
        // Two that are under way don't wait for each other.
        let isFirst = uploadsUnderWay.withLock { $0.insert(usual).inserted }
        defer { if isFirst { _ = uploadsUnderWay.withLock { $0.remove(usual) } } }
        let id = isFirst && !isWhole ? usual : AccountBinding.newUploadID()
        let request = UploadRequest(database: database, zone: zone, id: id, byteCount: UInt64(file.byteCount))
        return try await upload(request, options) { (start, stream) throws(CKError) in
            guard let (offset, stream) = stream.map({ (start, $0) }) else { return checksum }
            return try await self.send(file, checksum, from: offset, on: stream, options, progress)
        }
    }

    /// Encrypts a file, and uploads that. The key is new, and kept as long as the upload takes: one that goes on sends
    /// the same bytes as before, also after the app was ended.
    private func uploadEncrypted(
        _ file: AssetFile, to zone: ZoneID, of database: DatabaseScope, isWhole: Bool, options: CallOptions,
        progress: (Int) -> Void
    ) async throws(CKError) -> UploadedFile {
        guard let layout = AssetLayout(length: UInt64(file.byteCount)) else {
            throw CKError(.limitExceeded, message: "\(file.path) is larger than an asset can be")
        }
        var usual: UploadID?
        if !isWhole, file.byteCount >= KeptUpload.fileByteCountMin {
            do throws(AssetError) {
                let checksum = try file.checksum(isCancelled: { Task.isCancelled })
                usual = uploadID(of: checksum, byteCount: file.byteCount, to: zone, of: database)
            } catch {
                throw CKError(error)
            }
        }
        // Two that are under way have keys of their own.
        if let id = usual, !uploadsUnderWay.withLock({ $0.insert(id).inserted }) { usual = nil }
        defer { if let usual { _ = uploadsUnderWay.withLock { $0.remove(usual) } } }
        let name = usual?.bytes.hexadecimal
        let kept = await keptUpload(name, options)
        let encryption = FileEncryption(file, key: kept.key, layout: layout)
        let request = UploadRequest(
            database: database, zone: zone, id: AccountBinding.uploadID(kept.id), byteCount: layout.blobByteCount)
        let asset = try await upload(request, options) { (start, stream) throws(CKError) in
            try await self.send(encryption, of: file, from: start, on: stream, options, progress)
        }
        if let name, let folder = try? await keyFolders.folder(of: self, options) {
            _ = try? await keyFolders.use(folder) { () throws(KeyFolderProblem) in try folder.forgetUpload(name) }
        }
        return UploadedFile(asset: asset, secret: encryption.finish().secret)
    }

    /// The upload that is kept under a name, or a new one. Where the device can't keep it, it begins anew once the app
    /// was ended.
    private func keptUpload(_ name: String?, _ options: CallOptions) async -> KeptUpload {
        guard let name, let folder = try? await keyFolders.folder(of: self, options) else { return KeptUpload() }
        let kept = try? await keyFolders.use(folder) { () throws(KeyFolderProblem) in try folder.keptUpload(name) }
        return kept ?? KeptUpload()
    }

    /// Carries an upload to its end, on as many streams as it takes.
    ///
    /// - Parameter send: Sends the content from an offset on, with its end, and gives its checksum; nil when the server
    ///   has something to say first. Without a stream the server has all: then the checksum alone is wanted.
    private func upload(
        _ request: UploadRequest, _ options: CallOptions,
        send: (_ start: Int, TransferStream?) async throws(CKError) -> AssetChecksum?
    ) async throws(CKError) -> Asset {
        let opening = CoderPool.with { $0.encodeUploadMessage(.begin(request)) }
        func checked(_ asset: Asset, _ checksum: AssetChecksum?) throws(CKError) -> Asset {
            guard asset.checksum == checksum, asset.byteCount == request.byteCount else {
                throw .malformedResponse("an upload ends with another asset")
            }
            return asset
        }
        // What the server had when an upload went on.
        var stored = 0
        return try await repeating(Way(method: .assetsUpload, options: options), opening: { opening }) {
            (stream, hasMoved) throws(CKError) in
            switch try await self.uploadEvent(of: stream) {
            case .asset(let asset):
                // An earlier stream broke when the server had all of it.
                return try checked(asset, try await send(Int(clamping: request.byteCount), nil))
            case .offset(let start):
                guard let offset = Int(exactly: start), start <= request.byteCount else {
                    throw .malformedResponse("an upload goes on behind the end of its file")
                }
                if offset > stored { hasMoved() }
                stored = max(stored, offset)
                let checksum = try await send(offset, stream)
                guard case .asset(let asset) = try await self.uploadEvent(of: stream) else {
                    throw .malformedResponse("an upload does not end with its asset")
                }
                return try checked(asset, checksum)
            }
        }
    }

    /// An upload's id, by which it goes on after the connection was lost, and after the app was ended and started
    /// again: the same for the same content, zone and device, so that nothing of it needs to be kept here. Two devices
    /// don't wait for each other.
    private func uploadID(
        of checksum: AssetChecksum, byteCount: Int, to zone: ZoneID, of database: DatabaseScope
    ) -> UploadID {
        let device = try? DeviceIdentity.load(
            folder: configuration.resolvedStateFolder(), token: configuration.token)
        // Without an id of the device the first call fails, and says why.
        guard let device else { return AccountBinding.newUploadID() }
        var source = device + checksum.bytes
        source += Array("\(byteCount)\n\(database.rawValue)\n\(zone.owner)\n\(zone.name)".utf8)
        return AccountBinding.uploadID(Array(SHA256.digest(source).prefix(16)))
    }

    private static func newUploadID() -> UploadID { uploadID(ContainerCore.newOperationID()) }

    private static func uploadID(_ bytes: [UInt8]) -> UploadID {
        guard let id = UploadID(bytes) else { preconditionFailure("an id has 16 bytes") }
        return id
    }

    private func send(
        _ file: AssetFile, _ checksum: AssetChecksum, from start: Int, on stream: TransferStream,
        _ options: CallOptions, _ progress: (Int) -> Void
    ) async throws(CKError) -> AssetChecksum? {
        var offset = start
        while offset < file.byteCount {
            try options.checkDeadline()
            let count = min(Limits.assetChunkBytes, file.byteCount - offset)
            let bytes: [UInt8]
            do throws(AssetError) { bytes = try file.read(at: offset, count: count) } catch { throw CKError(error) }
            guard try await send(CoderPool.with { $0.encodeUploadMessage(.content(bytes)) }, stream) else { return nil }
            offset += count
            progress(offset)
        }
        return try await end(file, checksum, on: stream)
    }

    /// Sends a file's chunks from an offset in all of them on. Those before have to be taken in as well, since the
    /// checksum is of all.
    private func send(
        _ encryption: FileEncryption, of file: AssetFile, from start: Int, on stream: TransferStream?,
        _ options: CallOptions, _ progress: (Int) -> Void
    ) async throws(CKError) -> AssetChecksum? {
        func chunk(_ index: UInt64) throws(CKError) -> [UInt8] {
            try options.checkDeadline()
            if Task.isCancelled { throw .cancelled }
            do throws(AssetError) { return try encryption.chunk(index) } catch { throw CKError(error) }
        }
        let all = encryption.layout.chunkCount
        let first = UInt64(start / AssetLayout.chunkBytes)
        while encryption.chunkCount < min(first, all) {
            _ = try chunk(encryption.chunkCount)
            // Nothing else lets others have the thread.
            await Task.yield()
        }
        for index in min(first, all)..<all {
            let rest = try chunk(index).dropFirst(index == first ? start % AssetLayout.chunkBytes : 0)
            guard let stream, !rest.isEmpty else { continue }
            let message = CoderPool.with { $0.encodeUploadMessage(.content(Array(rest))) }
            guard try await send(message, stream) else { return nil }
            progress(encryption.fileOffset(ofChunk: index + 1))
        }
        let checksum = encryption.finish().checksum
        guard let stream else { return checksum }
        return try await end(file, checksum, on: stream)
    }

    /// Ends an upload, unless the file is another one by now.
    private func end(
        _ file: AssetFile, _ checksum: AssetChecksum, on stream: TransferStream
    ) async throws(CKError) -> AssetChecksum {
        guard file.isUnchanged() else { throw CKError(AssetError.fileModified(file.path)) }
        _ = try await send(CoderPool.with { $0.encodeUploadMessage(.end(checksum)) }, stream)
        return checksum
    }

    private func uploadEvent(of stream: TransferStream) async throws(CKError) -> UploadEvent {
        guard let bytes = try await next(stream) else {
            throw .malformedResponse("an upload ends without its asset")
        }
        do throws(ServiceError) {
            return try CoderPool.with { (coder) throws(ServiceError) in
                try bytes.decoded { (bytes) throws(ServiceError) in try coder.decodeUploadEvent(bytes) }
            }
        } catch {
            throw CKError(error)
        }
    }

    // MARK: Down

    /// Downloads a content into its part of the cache. Whoever does has a turn.
    ///
    /// - Parameter progress: Gets how many bytes have come.
    func download(
        _ request: DownloadRequest, into part: AssetCachePart, options: CallOptions, progress: (Int) -> Void
    ) async throws(CKError) {
        try await repeating(
            Way(method: .assetsDownload, options: options),
            opening: {
                var request = request
                request.offset = UInt64(part.streamBegins())
                return CoderPool.with { $0.encodeDownloadRequest(request) }
            },
            with: { (stream, hasMoved) throws(CKError) in
                while let message = try await self.next(stream) {
                    try options.checkDeadline()
                    guard case .content(let bytes) = try self.downloadEvent(message) else { continue }
                    let before = part.resumableByteCount
                    do throws(AssetError) { try part.append(bytes.array) } catch { throw CKError(error) }
                    if part.resumableByteCount > before { hasMoved() }
                    progress(part.receivedByteCount)
                }
            })
    }

    private func downloadEvent(_ bytes: [UInt8]) throws(CKError) -> DownloadEvent {
        do throws(ServiceError) {
            return try CoderPool.with { (coder) throws(ServiceError) in
                try bytes.decoded { (bytes) throws(ServiceError) in try coder.decodeDownloadEvent(bytes) }
            }
        } catch {
            throw CKError(error)
        }
    }

    // MARK: Streams

    /// Carries something on a stream, and on another one where that broke, or the server has no room just now: as long
    /// as it moves on, and some times where it doesn't.
    private func repeating<Result>(
        _ way: Way, opening: () -> [UInt8],
        with body: (TransferStream, _ hasMoved: () -> Void) async throws(CKError) -> Result
    ) async throws(CKError) -> Result {
        var way = way
        while true {
            let error: CKError
            do throws(CKError) {
                let stream = try await open(way, opening: opening())
                return try await body(stream, { (way.attempts, way.waitedSeconds) = (0, 0) })
            } catch let failure {
                error = failure
            }
            // While the server has no place for it, or still holds the stream that broke, it waits its turn.
            if !error.tellsToWait { way.attempts += 1 }
            guard error.isOfTransfer, way.attempts < ClientSessionLimits.transferAttempts, !isEnded else { throw error }
            // What takes longer is the app's to wait for: others want this one's turn.
            let pause = error.retryAfterSeconds ?? 0.1 * Double(max(way.attempts, 1))
            way.waitedSeconds += pause
            guard pause <= ClientSessionLimits.transferPauseSecondsMax,
                way.waitedSeconds <= Double(way.options.requestNanoseconds) / 1e9
            else { throw error }
            do { try await Task.sleep(nanoseconds: UInt64(pause * 1e9)) } catch {
                throw CKError(ServiceError.cancelled)
            }
        }
    }

    private func open(_ way: Way, opening: [UInt8]) async throws(CKError) -> TransferStream {
        let session = try openSession()
        do throws(ServiceError) {
            return try await session.openTransfer(
                way.method, opening: opening, timeoutNanoseconds: try timeout(way.options),
                patience: way.options.patience,
                owner: ObjectIdentifier(self))
        } catch {
            throw CKError(explained(error))
        }
    }

    private func timeout(_ options: CallOptions) throws(ServiceError) -> UInt64 {
        do throws(CKError) { return try options.timeoutNanoseconds() } catch {
            throw ServiceError(.networkFailure, error.localizedDescription)
        }
    }

    private func next(_ stream: TransferStream) async throws(CKError) -> [UInt8]? {
        do throws(ServiceError) { return try await stream.next() } catch { throw CKError(explained(error)) }
    }

    private func send(_ payload: [UInt8], _ stream: TransferStream) async throws(CKError) -> Bool {
        do throws(ServiceError) { return try await stream.send(payload) } catch { throw CKError(explained(error)) }
    }
}

extension CKError {
    /// Whether a transfer that ended with it is only too early.
    var tellsToWait: Bool { code == .requestRateLimited || code == .zoneBusy }

    /// Whether a transfer that ended with it may be begun again where it stopped.
    fileprivate var isOfTransfer: Bool {
        switch code {
        case .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy: true
        default: false
        }
    }
}
