internal import BrumeModel
internal import Foundation

/// Downloading the assets of records before these are handed out.
extension CKDatabase {
    /// A record of an answer, with the files of its assets; nil for one with names that none can have.
    ///
    /// - Returns: The record, and why an asset of it is not available: then it has no files.
    func record(
        _ record: Record, in zoneID: CKRecordZone.ID, _ account: AccountBinding, _ context: AnswerContext,
        _ options: CallOptions
    ) async throws(CKError) -> (CKRecord?, CKError?) {
        // Names are checked before anything is asked about them.
        guard let made = CKRecord.make(record, zoneID: zoneID, context: context) else { return (nil, nil) }
        if !record.fields.values.contains(where: { !$0.assets.isEmpty }) { return (made, nil) }
        switch try await contents(of: record, in: zoneID, account, options) {
        case .success(let contents):
            return (CKRecord.make(record, zoneID: zoneID, context: context, contents: contents), nil)
        case .failure(let error): return (made, error)
        }
    }

    /// The files of a record's assets: from the cache, or from the server.
    ///
    /// - Throws: What ends a whole operation: no connection, a transfer that broke, no room on this device.
    /// - Returns: The files, or `assetNotAvailable` where an asset is damaged, gone, or the record's no more.
    private func contents(
        of record: Record, in zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Result<AssetContents, CKError> {
        var contents = AssetContents()
        for (key, value) in record.fields.sorted(by: { $0.key < $1.key }) {
            for (index, asset) in value.assets.enumerated() where contents[asset] == nil {
                let request = DownloadRequest(
                    database: try requestScope(), zone: zoneID.modelID, recordName: record.system.name, field: key,
                    listIndex: index, checksum: asset.checksum)
                do throws(CKError) {
                    let lease = try await content(asset, request, account, options)
                    contents[asset] = AssetContents.File(url: lease.fileURL, lease: lease)
                } catch {
                    guard error.code == .assetNotAvailable else { throw error }
                    return .failure(error)
                }
            }
        }
        return .success(contents)
    }

    private func content(
        _ asset: Asset, _ request: DownloadRequest, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> AssetCacheLease {
        let (cache, location) = try account.assetCache(for: request, scope: databaseScope)
        var isSecondAttempt = false
        while true {
            let start: AssetCache.DownloadStart
            do throws(AssetError) {
                if let lease = try cache.content(
                    asset.checksum, byteCount: asset.byteCount, in: location, isCancelled: { Task.isCancelled })
                {
                    return lease
                }
                start = try cache.part(
                    for: asset.checksum, byteCount: asset.byteCount, in: location, isCancelled: { Task.isCancelled })
            } catch {
                throw CKError(error)
            }
            switch start {
            case .cached(let lease): return lease
            case .beingWritten:
                // Another task, or another process, downloads it.
                do { try await Task.sleep(nanoseconds: 50_000_000) } catch { throw CKError(AssetError.cancelled) }
            case .part(let part):
                let isContinued = part.receivedByteCount > 0
                if part.receivedByteCount < part.byteCount || part.byteCount == 0 {
                    try await account.download(request, into: part, options: options)
                }
                do throws(AssetError) { return try part.finish() } catch {
                    // What was there from before may have been wrong.
                    guard error == .damaged, isContinued, !isSecondAttempt else { throw CKError(error) }
                    isSecondAttempt = true
                }
            }
        }
    }
}

extension AccountBinding {
    /// Where the contents of a database's assets are kept on this device.
    fileprivate func assetCache(
        for request: DownloadRequest, scope: CKDatabase.Scope
    ) throws(CKError) -> (AssetCache, AssetCache.Location) {
        do throws(ConfigurationProblem) {
            let key = try configuration.sessionKey()
            let cache = AssetCache.shared(stateFolder: try configuration.resolvedStateFolder())
            let user = currentUser ?? ""
            let owner =
                switch scope {
                case .public: ""
                case .private: user
                case .shared: request.zone.owner
                }
            let database = DatabaseID(
                container: key.container, environment: Environment(rawValue: key.environment) ?? .production,
                scope: scope == .public ? .public : .private, owner: owner)
            return (cache, AssetCache.Location(account: user.isEmpty ? nil : user, database: database))
        } catch {
            throw CKError(.internalError, message: error.message)
        }
    }
}
