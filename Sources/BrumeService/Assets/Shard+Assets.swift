internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// What transfers of assets ask of the database that has the records. They stand on the loops of their clients.
extension Shard {
    /// Seconds of the process's clock, by which assets are kept.
    var nowSeconds: UInt32 { UInt32(clamping: loop.nowNanoseconds / 1_000_000_000) }

    /// Opens a transfer for a client of this loop.
    func openTransfer(_ request: StreamRequest, to responder: Responder) throws(ServiceError) -> any ServiceStream {
        guard let store = server.blobs, server.configuration.assetLimitBytes > 0 else {
            throw ServiceError(
                .serverRejectedRequest,
                """
                this server keeps no assets; ask its operator (brume serve --asset-limit), or store small contents as \
                bytes
                """)
        }
        try server.beginTransfer(of: responder.client.share)
        let transfer: Transfer
        switch request {
        case .upload(let request): transfer = AssetUpload(request, to: responder, on: self, in: store)
        case .download(let request): transfer = AssetDownload(request, to: responder, on: self, in: store)
        case .notifications: preconditionFailure("notifications are no transfer")
        }
        transfer.begin()
        return transfer
    }

    // MARK: On the loop of the database

    /// What an upload is for, and the room that is kept for it.
    ///
    /// An upload that is counted already gets none: its client comes back before the server has noticed that it went,
    /// or did not get the answer. It has to be counted (``count(_:for:in:caller:)``) before more of it is taken.
    func reserve(
        _ request: UploadRequest, for client: Client, in loaded: LoadedDatabase, caller: Caller
    ) throws(ServiceError) -> UploadReservation {
        if let refusal = writeRefusal { throw refusal }
        let limit = min(server.configuration.assetLimitBytes, StoreLimits.assetBytes)
        guard request.byteCount <= limit else {
            throw ServiceError(
                .limitExceeded, "an asset has \(request.byteCount) bytes; the limit of this server is \(limit)")
        }
        if let refusal = loaded.database.refusal(ofUploadTo: request.zone, by: caller) { throw refusal }
        let reservation = UploadReservation(request, by: caller.user, in: loaded, of: self)
        if loaded.uploads.holds(request.id, of: caller.user, in: loaded.database.blobs) { return reservation }
        do throws(ServiceError) {
            try count(reservation, request, for: client, in: loaded, caller: caller)
        } catch {
            reservation.release()
            throw error
        }
        return reservation
    }

    /// Counts the bytes of an upload that gets more content. Throws `quotaExceeded` when there is no room for them.
    func count(
        _ reservation: UploadReservation, _ request: UploadRequest, for client: Client, in loaded: LoadedDatabase,
        caller: Caller
    ) throws(ServiceError) {
        let quota = server.quota(of: loaded, for: client.identity, client.share.key)
        let rules = UploadQuota(quota, of: loaded.database.id.scope, caller, server.configuration.assetLimitBytes)
        if let refusal = rules.refusal(unneededByteCount: loaded.database.blobs.unneededByteCount) { throw refusal }
        let others = loaded.uploads.byteCount(exceptOf: loaded.database.id.owner, in: loaded.database.blobs)
        if let refusal = rules.refusal(ofOthers: others, and: request.byteCount) { throw refusal }
        let limit = rules.limit(of: loaded.database)
        let hasRoom = loaded.uploads.hasRoom(
            for: request.byteCount, of: caller.user, limit: limit, in: loaded.database.blobs)
        // Counted before it is looked, so that of two uploads at a time to databases on different loops one sees the
        // other.
        reservation.count()
        let now = server.quota(of: loaded, for: client.identity, client.share.key)
        let refusal = now.flatMap { rules.refusal(of: request.byteCount, usedBytes: loaded.usedBytes, of: $0) }
        if let refusal = refusal ?? (hasRoom ? nil : rules.uploadsAreFull) {
            reservation.uncount()
            throw refusal
        }
    }

    /// A copy of a content that an upload becomes, so that there are not two; nil for none. It is kept until the upload
    /// has become it.
    func copy(of checksum: AssetChecksum, in loaded: LoadedDatabase) -> BlobPin? {
        guard let name = loaded.database.blobs.copy(of: checksum) else { return nil }
        return BlobPin(name, in: loaded, of: self)
    }

    /// A name for a new copy of a content, which no other one has or had.
    func newBlobName(of checksum: AssetChecksum, in loaded: LoadedDatabase) -> BlobName {
        blobCount += 1
        let number = blobNumbers.number(UInt64(loaded.database.run), blobCount << 8 | UInt64(index))
        return BlobName(checksum: checksum, generation: number)
    }

    /// The receipt for an asset that somebody has uploaded.
    func receipt(for asset: Asset, inZone zone: String, of database: DatabaseID, user: String) -> Asset {
        let good = wallClockMilliseconds + Int64(server.configuration.receiptSeconds) * 1_000
        let binding = receiptSealer.binding(user: user, database: database, zone: zone)
        var asset = asset
        asset.receipt = receiptSealer.seal(asset, until: good, binding: binding)
        return asset
    }

    /// The asset that a download is for, kept until the download ends.
    func find(
        _ request: DownloadRequest, in loaded: LoadedDatabase, caller: Caller
    ) throws(ServiceError) -> (asset: Asset, pin: BlobPin) {
        let asset = try loaded.database.asset(of: request, for: caller)
        guard let pin = BlobPin(BlobName(asset), in: loaded, of: self) else { throw Database.assetIsGone }
        return (asset, pin)
    }

    // MARK: Asking

    /// What a transfer asks on the loop of a database.
    typealias Question<Answer> =
        @Sendable (_ shard: Shard, _ loaded: LoadedDatabase, _ caller: Caller) throws(ServiceError) -> Answer

    /// Asks something of the database that has a zone, on its loop, as the client may. `then` gets the answer on this
    /// loop when all that it shows is durable.
    ///
    /// - Parameter keepsEmpty: Whether a database that has no commit stays in memory for what is noted in it.
    func ask<Answer: Sendable>(
        _ scope: DatabaseScope, _ zone: ZoneID, for responder: Responder, keepsEmpty: Bool,
        _ question: @escaping Question<Answer>,
        then: @escaping (Result<(Answer, DatabaseID), ServiceError>) -> Void
    ) {
        let client = responder.client
        let identity = client.identity
        let own: DatabaseID
        switch Authorisation.database(for: scope, of: identity) {
        case .failure(let error): return then(.failure(error))
        case .success(let id): own = id
        }
        func ask(_ id: DatabaseID, on owner: Shard) {
            self.ask(
                id, on: owner, for: client, isShared: scope == .shared, keepsEmpty: keepsEmpty && !client.isAnonymous,
                question, then: then)
        }
        guard scope == .shared else { return ask(own, on: server.shard(at: identity.placement(of: own))) }
        // The user's own database lists the zones of others in which they take part. It is on this loop.
        databases.withDatabase(own, of: client.share.key, keepsEmpty: false) { [self] outcome in
            switch outcome {
            case .failure(let error): then(.failure(error))
            case .success(let home):
                let owner = zone.owner.isEmpty || zone.owner == Names.currentUser ? identity.userRecordName : zone.owner
                guard home.database.sharedZones.zone(ZoneID(name: zone.name, owner: owner)) != nil else {
                    return then(.failure(Database.noPartInZone))
                }
                let id = own.privateDatabase(of: owner)
                ask(id, on: server.shard(of: id))
            }
        }
    }

    private func ask<Answer: Sendable>(
        _ id: DatabaseID, on owner: Shard, for client: Client, isShared: Bool, keepsEmpty: Bool,
        _ question: @escaping Question<Answer>, then: @escaping (Result<(Answer, DatabaseID), ServiceError>) -> Void
    ) {
        let go = OnLoop(then)
        let giveBack: @Sendable (Result<(Answer, DatabaseID), ServiceError>) -> Void = { result in
            self.loop.execute {
                client.farTaskEnded()
                go.body(result)
            }
        }
        client.farTaskBegan()
        owner.loop.execute {
            owner.takeFarTurn(of: client, refuse: { giveBack(.failure($0)) }) {
                owner.answer(id, for: client, isShared: isShared, keepsEmpty: keepsEmpty, question, giveBack)
            }
        }
    }

    private func answer<Answer: Sendable>(
        _ id: DatabaseID, for client: Client, isShared: Bool, keepsEmpty: Bool,
        _ question: @escaping Question<Answer>,
        _ giveBack: @escaping @Sendable (Result<(Answer, DatabaseID), ServiceError>) -> Void
    ) {
        let identity = client.identity
        databases.withDatabase(id, of: client.share.key, keepsEmpty: keepsEmpty) { [self] outcome in
            guard server.isStillValid(identity) else { return giveBack(.failure(ServerCore.revokedToken)) }
            let result: Result<Answer, ServiceError>
            let loaded: LoadedDatabase
            switch outcome {
            case .failure(let error): return giveBack(.failure(error))
            case .success(let database): loaded = database
            }
            do throws(ServiceError) {
                let caller =
                    isShared
                    ? try Authorisation.grantOfShared(in: id, to: identity)
                    : try Authorisation.grant(in: id, to: identity, access: access(of: identity, to: id))
                result = .success(try question(self, loaded, caller))
            } catch {
                result = .failure(error)
            }
            gate.whenDurable(loaded.lastPosition, of: loaded) { lost in
                giveBack(lost.map { .failure($0) } ?? result.map { ($0, id) })
            }
        }
    }
}
