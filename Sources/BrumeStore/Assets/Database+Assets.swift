package import BrumeModel
internal import BrumeRecord

/// The assets that a database's records name.
extension Database {
    /// Notes what a commit in the making makes a record name, and name no longer. Before the record is put.
    ///
    /// - Parameter existing: The slot of its older version, where that is known.
    func noteAssets(of record: SharedBytes, _ marks: RecordMarks, replacing existing: Int32?, inZoneAt index: Int) {
        let known =
            existing
            ?? record.withUnsafeBytes {
                zoneStates[index].liveSlot(of: String(decoding: StoredRecord.head(of: $0).name, as: UTF8.self))
            }
        let slots = zoneStates[index].slots
        let older = known.flatMap { slots.marks(of: $0).contains(.assets) ? slots.bytes(of: $0) : nil }
        if let older, marks.contains(.assets),
            older.withUnsafeBytes({ older in record.withUnsafeBytes { StoredRecord.haveSameAssets(older, $0) } })
        {
            return
        }
        if marks.contains(.assets) { reference(assetsOf: record) }
        if let older { assetReleases.append(older, at: sequence + 1) }
    }

    /// Notes that a commit in the making removes a zone.
    func noteAssets(ofRemovedZone zone: ZoneState) {
        if zone.assetHolderCount > 0 { assetReleases.append(zone.slots, at: sequence + 1) }
    }

    /// Counts the assets of all records that were loaded from a snapshot.
    ///
    /// - Complexity: O(records of zones with assets).
    func referenceLoadedAssets() {
        for index in zoneStates.indices where zoneStates[index].assetHolderCount > 0 {
            let slots = zoneStates[index].slots
            for slot in 0..<Int32(slots.count) where slots.marks(of: slot).contains(.assets) {
                reference(assetsOf: slots.bytes(of: slot))
            }
        }
    }

    private func reference(assetsOf record: SharedBytes) {
        Database.forEachAsset(of: record) { blobs.reference(BlobName($0), byteCount: $0.byteCount) }
    }

    /// Releases the assets that records named before commits up to a sequence, which are durable. Returns whether more
    /// is left to do for these: call it again, when others have had their turn.
    ///
    /// - Parameters:
    ///   - now: Seconds of the process's monotonic clock.
    ///   - limit: About how many assets are released, and slots of deleted zones are looked at. A record's are released
    ///     together.
    package func releaseAssets(upTo sequence: UInt64, now: UInt32, limit: Int) -> Bool {
        var looks = limit
        var released = 0
        defer { giveBackDoneZones() }
        while released < limit {
            guard let record = assetReleases.next(upTo: sequence, looks: &looks) else { return looks == 0 }
            Database.forEachAsset(of: record) {
                blobs.release(BlobName($0), now: now)
                released += 1
            }
        }
        return true
    }

    private func giveBackDoneZones() {
        for slots in assetReleases.takeDoneZones() where slots.count >= Remains.slotsMin {
            giveBack?(Remains(of: slots))
        }
    }

    /// Releases what a commit has replaced that was read again, and so is durable. When its assets ceased to be needed
    /// nobody knows: see ``BlobIndex/beginGraces(now:)``.
    func releaseReplayedAssets() {
        while releaseAssets(upTo: .max, now: 0, limit: .max) {}
    }

    /// Whether records wait for ``releaseAssets(upTo:now:limit:)``.
    package var hasAssetReleases: Bool { !assetReleases.isEmpty }

    // MARK: Transfers

    /// Why a caller may not upload an asset for records of a zone; nil if they may. Which records they may change is
    /// asked when they save one.
    package func refusal(ofUploadTo zone: ZoneID, by caller: Caller) -> ServiceError? {
        if caller.isAnonymous { return ServiceError(.notAuthenticated, "an upload needs an account; sign in") }
        switch zoneIndex(of: zone, for: caller) {
        case .failure(let error): return error
        case .success(let index):
            if id.scope == .public { return refusal(ofPublicUploadBy: caller) }
            if caller.isOwner { return nil }
            return member(caller, ofZoneAt: index)?.mayWrite == true ? nil : ZoneBatch.isReadOnly
        }
    }

    /// Those who may save no asset would fill the quota of all with what no record comes to name. In development
    /// whoever saves may make new types and fields.
    private func refusal(ofPublicUploadBy caller: Caller) -> ServiceError? {
        guard id.environment == .production, let access = caller.access, !access.maySaveAssets else { return nil }
        return ServiceError(
            .permissionFailure,
            "the caller may make or change no record type of production that has an asset: deploy a field for it, or"
                + " GRANT CREATE or WRITE to a role of theirs")
    }

    /// The asset that a field names, of a record that the caller may see. What they may not see is as good as gone.
    package func asset(of request: DownloadRequest, for caller: Caller) throws(ServiceError) -> Asset {
        let fetch = FetchRecordsRequest.ZoneFetch(zone: request.zone, names: [request.recordName])
        let outcome = fetchRecords(
            FetchRecordsRequest(database: request.database, zones: [fetch], desiredKeys: [request.field]),
            caller: caller)[0][0]
        guard case .record(let record) = outcome else { throw Database.assetIsGone }
        var assets: [Asset] = []
        Database.forEachAsset(of: record) { assets.append($0) }
        guard assets.indices.contains(request.listIndex), assets[request.listIndex].checksum == request.checksum else {
            throw ServiceError(
                .assetNotAvailable, "the record's field names this asset no more; fetch the record again",
                detail: .assetChanged)
        }
        return assets[request.listIndex]
    }

    package static let assetIsGone = ServiceError(
        .assetNotAvailable,
        "there is no such asset, or it is not shared with this user any more; fetch the record again")

    /// Bytes of the assets that a record names.
    static func assetBytes(of record: SharedBytes) -> UInt64 {
        var sum: UInt64 = 0
        // No record names so many that counted sizes overflow.
        forEachAsset(of: record) { sum += BlobIndex.counted($0.byteCount) }
        return sum
    }

    static func forEachAsset(of record: SharedBytes, _ visit: (Asset) -> Void) {
        record.withUnsafeBytes { bytes in
            do throws(ServiceError) {
                try StoredRecord.forEachAsset(of: bytes) {
                    visit($0)
                    return true
                }
            } catch {
                preconditionFailure("a stored record can't be read, though it was checked")
            }
        }
    }
}

extension BlobName {
    package init(_ asset: Asset) { self.init(checksum: asset.checksum, generation: asset.generation) }
}
