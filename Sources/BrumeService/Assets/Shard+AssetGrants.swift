internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Saves that name assets which no record names yet: by receipts of their uploads.
///
/// A receipt alone is no proof that the asset is still there. What the database does not know (since the start, say)
/// is looked for in the store first; then the save is decided like any other, in one turn.
extension Shard {
    /// Runs a request now, or when the assets are looked for that its receipts are for.
    func runWithAssets(
        _ request: DataRequest, in loaded: LoadedDatabase, identity: Identity, share: ClientShare,
        _ give: @escaping TreeWork.Give
    ) {
        let unknown = unknownAssets(of: request, in: loaded, identity: identity)
        guard !unknown.isEmpty, let store = server.blobs else {
            return runWithTrees(request, in: loaded, identity: identity, share: share, give)
        }
        loaded.slicedWorkCount += 1
        let decide = OnLoop<Result<[BlobName: UInt64], BlobFailure>> { [self] result in
            loaded.slicedWorkCount -= 1
            if loaded.isLost { return give(.failure(.databaseLost), loaded.lastPosition) }
            guard server.isStillValid(identity) else {
                return give(.failure(ServerCore.unknownToken), loaded.lastPosition)
            }
            switch result {
            case .success(let found):
                for asset in unknown where found[BlobName(asset)] == asset.byteCount {
                    loaded.database.blobs.found(BlobName(asset), byteCount: asset.byteCount, now: nowSeconds)
                }
            case .failure(let failure):
                server.log.error("assets can't be looked for", [("reason", "\(failure)")])
            }
            runWithTrees(request, in: loaded, identity: identity, share: share, give)
        }
        let loop = loop
        store.find(unknown.map { BlobName($0) }, of: loaded.database.id, for: share.key) { result in
            loop.execute { [self] in takeTurn(of: share.key) { decide.body(result) } }
        }
    }

    private func unknownAssets(of request: DataRequest, in loaded: LoadedDatabase, identity: Identity) -> [Asset] {
        guard case .modifyRecords(let modification) = request, !modification.receipts.isEmpty else { return [] }
        var unknown = Set<Asset>()
        forEachReceipt(of: modification, in: loaded, identity: identity) { asset, _ in
            if loaded.database.blobs.isUnknown(BlobName(asset)) { unknown.insert(asset) }
        }
        // In an order that is always the same.
        return unknown.sorted { ($0.generation, $0.byteCount) < ($1.generation, $1.byteCount) }
    }

    /// The assets that a request may name by its receipts, of those that are there.
    func grants(
        of request: ModifyRecordsRequest<CheckedFields>, in loaded: LoadedDatabase, identity: Identity
    ) -> AssetGrants {
        var grants = AssetGrants()
        if request.receipts.isEmpty { return grants }
        forEachReceipt(of: request, in: loaded, identity: identity) { asset, zone in
            if loaded.database.blobs.mayBeNamed(BlobName(asset)) { grants.add(asset, inZone: zone) }
        }
        return grants
    }

    /// Visits the receipts that are good, with the zone of the request that each is for.
    private func forEachReceipt(
        of request: ModifyRecordsRequest<CheckedFields>, in loaded: LoadedDatabase, identity: Identity,
        _ visit: (Asset, _ zone: String) -> Void
    ) {
        let user = identity.userRecordName
        var zones: [[UInt8]: String] = [:]
        for zone in request.zones {
            zones[receiptSealer.binding(user: user, database: loaded.database.id, zone: zone.zone.name)] =
                zone.zone.name
        }
        let now = wallClockMilliseconds
        for receipt in request.receipts {
            guard let (asset, binding) = receiptSealer.open(receipt, nowMilliseconds: now), let zone = zones[binding]
            else { continue }
            visit(asset, zone)
        }
    }
}
