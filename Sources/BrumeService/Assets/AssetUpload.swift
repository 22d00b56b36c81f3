internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// An upload: the content goes to the disk as it comes, and becomes a blob of the database that has the zone.
///
/// What is under way is bounded by the credit of the stream, which is given back for what is on the disk. Once the end
/// has come, the upload becomes a blob whether or not its client is still there: so the client finds it when it comes
/// back.
final class AssetUpload: Transfer, @unchecked Sendable {
    private let request: UploadRequest
    private var database: DatabaseID?
    private var reservation: UploadReservation?
    private var upload: (any StoredUpload)?
    /// Bytes of the content that came, in this stream or before.
    private var byteCount: UInt64 = 0
    private var hasEnd = false

    init(_ request: UploadRequest, to responder: Responder, on shard: Shard, in store: any BlobStore) {
        self.request = request
        super.init(to: responder, on: shard, in: store)
        isLarge = request.byteCount >= ServiceLimits.largeTransferBytes
    }

    private var user: String { client.identity.userRecordName }

    override func begin() {
        super.begin()
        let (request, client) = (request, client)
        shard.ask(
            request.database, request.zone, for: responder, keepsEmpty: true,
            { (shard, loaded, caller) throws(ServiceError) in
                try shard.reserve(request, for: client, in: loaded, caller: caller)
            },
            then: { [self] in reserved($0) })
    }

    private func reserved(_ result: Result<(UploadReservation, DatabaseID), ServiceError>) {
        switch result {
        case .failure(let error): fail(error)
        case .success(let (reservation, database)):
            if isClosed { return reservation.release() }
            (self.reservation, self.database) = (reservation, database)
            let identity = BlobUpload.Identity(
                id: request.id, user: user, zone: request.zone.name, byteCount: request.byteCount)
            store.beginUpload(identity, to: database, of: account, then: onLoop { [self] in begun($0) })
        }
    }

    private func begun(_ result: Result<UploadBeginning, BlobFailure>) {
        switch result {
        case .failure(let failure): fail(failure)
        case .success(.busy): fail(AssetUpload.isBusy)
        case .success(.complete(let name)):
            hasEnd = true
            if !isClosed { completed(name) }
        case .success(.open(let opened, let count)):
            if isClosed { return opened.close() }
            if reservation?.isCounted == true { return goOn(opened, from: count) }
            countLate(opened, from: count)
        }
    }

    private func goOn(_ opened: any StoredUpload, from count: UInt64) {
        (upload, byteCount) = (opened, count)
        noteProgress()
        send(.offset(count))
    }

    /// Takes room for an upload that was thought to be counted already, and gets more content all the same.
    private func countLate(_ opened: any StoredUpload, from count: UInt64) {
        guard let reservation else { preconditionFailure("an upload is open that has no reservation") }
        let (request, client) = (request, client)
        shard.ask(
            request.database, request.zone, for: responder, keepsEmpty: true,
            { (shard, loaded, caller) throws(ServiceError) in
                try shard.count(reservation, request, for: client, in: loaded, caller: caller)
            },
            then: { [self] result in
                if isClosed { return opened.close() }
                switch result {
                case .success: goOn(opened, from: count)
                case .failure(let error):
                    opened.close()
                    endReservation()
                    fail(error)
                }
            })
    }

    private static let isBusy = ServiceError(
        .zoneBusy,
        "the upload is still open in another connection, or many wait until the server knows what earlier ones left;"
            + " try again shortly", retryAfterMilliseconds: 500)

    // MARK: The content

    override func received(_ message: StreamMessage, _ credit: StreamCredit) {
        guard let upload, !hasEnd else {
            return fail(
                ServiceError(
                    .invalidArguments,
                    "an upload's content comes when the server has said where it goes on, and before its end"))
        }
        switch message {
        case .content(let bytes):
            guard UInt64(bytes.count) <= request.byteCount - byteCount else {
                return fail(
                    ServiceError(.invalidArguments, "an upload is longer than it was to be; begin with its whole size"))
            }
            byteCount += UInt64(bytes.count)
            let count = bytes.count
            upload.append(bytes, then: onLoop { [self] in appended($0, count, credit) })
        case .uploadEnd(let checksum):
            guard byteCount == request.byteCount else {
                return fail(
                    ServiceError(
                        .invalidArguments,
                        "an upload ends after \(byteCount) of \(request.byteCount) bytes; send them all first"))
            }
            hasEnd = true
            self.upload = nil
            upload.finish(then: onLoop { [self] in finished($0, upload, expected: checksum) })
        case .acknowledgement: preconditionFailure("an acknowledgement came on an upload's stream")
        }
    }

    private func appended(_ failure: BlobFailure?, _ count: Int, _ credit: StreamCredit) {
        if failure == nil { shard.figures.assets.uploadedBytes += UInt64(count) }
        if isClosed { return }
        if let failure { return fail(failure) }
        noteProgress(byteCount: count)
        responder.processed(credit)
    }

    override func clientEnded() {
        if hasEnd || isClosed { return }
        fail(ServiceError(.invalidArguments, "an upload has no end: send its checksum when all of it is sent"))
    }

    // MARK: The blob

    private func finished(
        _ result: Result<AssetChecksum, BlobFailure>, _ upload: any StoredUpload, expected: AssetChecksum
    ) {
        noteProgress()
        switch result {
        case .failure(let failure):
            upload.close()
            end(failure)
        case .success(let checksum) where checksum != expected:
            upload.discard()
            endReservation()
            fail(AssetUpload.isModified)
        case .success(let checksum): name(checksum, upload)
        }
    }

    private static let isModified = ServiceError(
        .assetFileModified, "the content that came is not the one of its checksum: the file changed; upload it again")

    /// Asks the database once more whether the user may upload there, and which blob the upload becomes: a copy of the
    /// content that is there, or a new one.
    ///
    /// Copies are for the owner of a private database alone: by the time that it takes, or by the name, others would
    /// learn which contents it has.
    private func name(_ checksum: AssetChecksum, _ upload: any StoredUpload) {
        let zone = request.zone
        shard.ask(
            request.database, zone, for: responder, keepsEmpty: true,
            { (shard, loaded, caller) throws(ServiceError) -> (BlobPin?, BlobName) in
                if let refusal = loaded.database.refusal(ofUploadTo: zone, by: caller) { throw refusal }
                return (
                    caller.isOwner ? shard.copy(of: checksum, in: loaded) : nil,
                    shard.newBlobName(of: checksum, in: loaded)
                )
            },
            then: { [self] result in
                switch result {
                case .success(let ((copy?, name), _)): end(as: copy, orElse: name, upload)
                case .success(let ((nil, name), _)): become(name, upload)
                case .failure(let error):
                    // What may be tried again shortly need not be sent again.
                    if error.retryAfterMilliseconds > 0 { upload.close() } else { upload.discard() }
                    endReservation()
                    fail(error)
                }
            })
    }

    private func end(as copy: BlobPin, orElse name: BlobName, _ upload: any StoredUpload) {
        upload.end(
            as: copy.name,
            then: onLoop { [self] failure in
                defer { copy.release(isDamaged: failure == .missing) }
                switch failure {
                case nil: stored(copy.name)
                case .missing: become(name, upload)
                case .some(let failure):
                    upload.close()
                    end(failure)
                }
            })
    }

    private func become(_ name: BlobName, _ upload: any StoredUpload) {
        upload.become(
            name,
            then: onLoop { [self] failure in
                if let failure {
                    upload.close()
                    return end(failure)
                }
                stored(name)
            })
    }

    /// The blob is durable: the database learns of it, and the client gets the asset.
    private func stored(_ name: BlobName) {
        let reservation = reservation
        inDatabase(
            { _ in reservation?.became(name) ?? false },
            then: { [self] isThere in
                endReservation()
                if isThere { answer(name) } else { fail(AssetUpload.isBusy) }
            })
    }

    /// The upload has become a blob in an earlier stream, maybe in an earlier life of the server.
    ///
    /// The database learns of it before anybody looks for its file: from then on no sweep takes it. It may have been
    /// taken just before.
    private func completed(_ name: BlobName) {
        guard let database else { return }
        let reservation = reservation
        inDatabase(
            { _ in reservation?.became(name) ?? false },
            then: { [self] isThere in
                guard isThere else {
                    endReservation()
                    return fail(AssetUpload.isBusy)
                }
                store.find([name], of: database, for: account, then: onLoop { [self] in found($0, name) })
            })
    }

    private func found(_ result: Result<[BlobName: UInt64], BlobFailure>, _ name: BlobName) {
        endReservation()
        switch result {
        case .success(let found) where found[name] == request.byteCount: answer(name)
        case .success: inDatabase({ $0.database.blobs.markDamaged(name) }, then: { [self] in fail(AssetUpload.isBusy) })
        case .failure(let failure): fail(failure)
        }
    }

    private func answer(_ name: BlobName) {
        shard.figures.assets.uploads += 1
        guard let database, !isClosed else { return }
        let asset = Asset(checksum: name.checksum, byteCount: request.byteCount, generation: name.generation)
        send(.asset(shard.receipt(for: asset, inZone: request.zone.name, of: database, user: user)))
        responder.succeed()
    }

    private func end(_ failure: BlobFailure) {
        endReservation()
        fail(failure)
    }

    private func endReservation() { reservation.take()?.release() }

    /// Does something on the loop of the database, also when the client has gone, and goes on here.
    private func inDatabase<Answer: Sendable>(
        _ body: @escaping @Sendable (LoadedDatabase) -> Answer, then: @escaping (Answer) -> Void
    ) {
        guard let database else { preconditionFailure("an upload is stored before its database is known") }
        let owner = shard.server.shard(of: database)
        let account = account
        let done = onLoop { [self] (result: Result<Answer, ServiceError>) in
            switch result {
            case .success(let answer): then(answer)
            case .failure(let error):
                endReservation()
                fail(error)
            }
        }
        owner.loop.execute {
            owner.databases.withDatabase(database, of: account, keepsEmpty: true) { outcome in
                switch outcome {
                case .success(let loaded): done(.success(body(loaded)))
                case .failure(let error): done(.failure(error))
                }
            }
        }
    }

    private func send(_ event: UploadEvent) { client.door.send(responder.call, event) }

    override func closed() {
        // What is on its way to become a blob goes on.
        if hasEnd { return }
        upload.take()?.close()
        endReservation()
    }
}
