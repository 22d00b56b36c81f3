internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// A download: pieces of a blob, one after the other as fast as the client takes them.
///
/// Whether the client may have the content is asked before the first piece and again from time to time: when a grant
/// ends, or the record names another asset, running downloads end too.
final class AssetDownload: Transfer, @unchecked Sendable {
    private let request: DownloadRequest
    private var pin: BlobPin?
    private var blob: (any StoredBlob)?
    /// The first byte that has not been sent, and the end of what is wanted.
    private var offset: UInt64 = 0
    private var end: UInt64 = 0
    /// The piece that is being sent, and what of it was sent.
    private var piece: [UInt8] = []
    private var sentOfPiece = 0
    private var isReading = false
    /// The bytes that the account's output counts for the piece.
    private var heldByteCount = 0
    /// From which byte on it has to be asked again.
    private var askedUpTo: UInt64 = 0

    init(_ request: DownloadRequest, to responder: Responder, on shard: Shard, in store: any BlobStore) {
        self.request = request
        super.init(to: responder, on: shard, in: store)
    }

    override func begin() {
        super.begin()
        ask { [self] asset, pin, database in
            self.pin = pin
            let name = pin.name
            store.open(
                name, of: database, for: account,
                then: onLoop { [self] result in
                    switch result {
                    case .success(let blob): opened(blob, asset)
                    case .failure(.failed(let problem)): notOpened(problem)
                    case .failure(let failure): unreadable(failure)
                    }
                })
        }
    }

    private func ask(_ then: @escaping (Asset, BlobPin, DatabaseID) -> Void) {
        let request = request
        shard.ask(
            request.database, request.zone, for: responder, keepsEmpty: false,
            { (shard, loaded, caller) throws(ServiceError) in
                try shard.find(request, in: loaded, caller: caller)
            },
            then: { [self] result in
                switch result {
                case .failure(let error): fail(AssetDownload.told(error))
                case .success(let (found, database)):
                    if isClosed { return found.pin.release() }
                    then(found.asset, found.pin, database)
                }
            })
    }

    /// One answer for what is not there and for what is not for this client: nothing is told of a zone by it.
    private static func told(_ error: ServiceError) -> ServiceError {
        error.code == .zoneNotFound || error.code == .unknownItem ? Database.assetIsGone : error
    }

    private func opened(_ opened: any StoredBlob, _ asset: Asset) {
        if isClosed { return opened.close() }
        blob = opened
        guard opened.byteCount == asset.byteCount else {
            return unreadable(.damaged("the file has another size than its record says"))
        }
        guard request.offset <= opened.byteCount else {
            return fail(
                ServiceError(
                    .invalidArguments,
                    "a download begins behind the end of the asset, which has \(opened.byteCount) bytes"))
        }
        offset = request.offset
        let left = opened.byteCount - offset
        end = offset + (request.byteCount == 0 ? left : min(left, request.byteCount))
        isLarge = end - offset >= ServiceLimits.largeTransferBytes
        askedUpTo = offset + ServiceLimits.downloadBytesPerGrant
        client.door.send(responder.call, .byteCount(opened.byteCount))
        goOn()
    }

    /// That a file can't be opened may pass: a process has only so many.
    private func notOpened(_ problem: String) {
        if isClosed { return }
        shard.server.log.error("an asset can't be opened", [("reason", problem)])
        fail(
            ServiceError(
                .serviceUnavailable, "the asset can't be read just now; try again shortly",
                retryAfterMilliseconds: ServiceLimits.transferRetryMilliseconds))
    }

    private func unreadable(_ failure: BlobFailure) {
        if isClosed { return }
        pin.take()?.release(isDamaged: true)
        fail(failure, BlobName(Asset(checksum: request.checksum, byteCount: 0, generation: 0)))
    }

    // MARK: Pieces

    override func resume() {
        if !isClosed, blob != nil { goOn() }
    }

    /// Sends what may be sent, and reads the next piece when one is over.
    private func goOn() {
        while sentOfPiece < piece.count, !isClosed, client.door.maySend(responder.call) {
            let next = min(sentOfPiece + Limits.assetChunkBytes, piece.count)
            client.door.send(responder.call, .content(SharedBytes(of: piece, at: sentOfPiece..<next)))
            shard.figures.assets.downloadedBytes += UInt64(next - sentOfPiece)
            sentOfPiece = next
            noteProgress()
        }
        guard sentOfPiece == piece.count, !isReading, !isClosed else { return }
        giveBackPiece()
        guard offset < end else {
            shard.figures.assets.downloads += 1
            return responder.succeed()
        }
        // A client that takes nothing holds no piece either.
        guard client.door.maySend(responder.call) else { return }
        isReading = true
        guard offset >= askedUpTo else { return read() }
        askedUpTo = offset + ServiceLimits.downloadBytesPerGrant
        ask { [self] _, pin, _ in
            // The asset is kept already.
            pin.release()
            read()
        }
    }

    private func read() {
        blob?.read(
            at: offset,
            then: onLoop { [self] result in
                isReading = false
                if isClosed { return }
                switch result {
                case .success(let bytes):
                    piece = UInt64(bytes.count) > end - offset ? Array(bytes.prefix(Int(end - offset))) : bytes
                    sentOfPiece = 0
                    offset += UInt64(piece.count)
                    // Not what holds back the reading of the connection: the client's credit comes there.
                    heldByteCount = client.share.output.hold(piece.count)
                    goOn()
                case .failure(let failure): unreadable(failure)
                }
            })
    }

    private func giveBackPiece() {
        if piece.isEmpty { return }
        client.share.output.change(by: -heldByteCount)
        (piece, sentOfPiece, heldByteCount) = ([], 0, 0)
    }

    override func closed() {
        giveBackPiece()
        blob.take()?.close()
        pin.take()?.release()
    }
}
