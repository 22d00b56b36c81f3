internal import BrumeModel
internal import BrumeProtocol
internal import Foundation

/// A record of an answer, on its way to the app.
struct FetchedRecord: Sendable {
    /// The id by which the app asked for it; nil when it did not.
    let id: CKRecord.ID?
    let zoneID: CKRecordZone.ID
    var record: Record
    /// Which fields were asked for.
    let keys: Keys

    enum Keys: Sendable {
        /// Nil for all.
        case wanted([CKRecord.FieldKey]?)
        /// What a cursor knows: the fields that it gave, at least.
        case cursor
    }
}

/// Downloading the assets of records before these are handed out.
extension CKDatabase {
    /// The records of an answer with the files of their assets, in the order of the answer. Of a few at a time the
    /// assets are downloaded.
    ///
    /// - Returns: The records, and why an asset of one is not available: then that has no files.
    /// - Throws: What ends the whole operation: no connection, a transfer that broke, no room on this device, a record
    ///   that can't be shown. A page's token or cursor would leave it behind.
    func records(
        _ answer: [FetchedRecord], _ account: AccountBinding, _ options: CallOptions,
        _ progress: TransferProgress = TransferProgress()
    ) async throws(CKError) -> [(CKRecord, CKError?)] {
        let context = account.answerContext
        func make(_ fetched: FetchedRecord, _ contents: AssetContents, _ opened: OpenedFields) throws(CKError)
            -> CKRecord
        {
            let made = CKRecord.make(
                fetched.record, zoneID: fetched.zoneID, context: context, contents: contents, opened: opened)
            guard let made else { throw .malformedResponse("a record has names that none can have") }
            return made
        }
        var records: [(CKRecord, CKError?)] = []
        records.reserveCapacity(answer.count)
        for fetched in answer {
            // Names are checked before anything is asked about them.
            records.append((try make(fetched, AssetContents(), OpenedFields()), nil))
        }
        var answer = answer
        // Empty where there is nothing to open.
        var allOpened = try await opened(answer.map { ($0.zoneID, $0.record) }, account, options) ?? []
        var holders: [Int] = []
        if account.configuration.downloadsAssets {
            holders = answer.indices.filter {
                (allOpened.isEmpty ? OpenedFields() : allOpened[$0]).holdsAssets(answer[$0].record)
            }
        }
        var contents: [Int: AssetContents] = [:]
        let (outcomes, failure) = await outcomes(
            of: holders, atATime: ClientSessionLimits.transfersPerOperation,
            // What fails a record alone is its result, and no error.
            endingAt: { _ in true }
        ) { [answer, allOpened] (place) throws(CKError) in
            let opened = allOpened.isEmpty ? OpenedFields() : allOpened[place]
            return try await self.withContents(answer[place], opened, account, options, progress)
        }
        if let failure { throw failure }
        for (place, outcome) in zip(holders, outcomes) {
            guard case .success(let (fetched, opened, result))? = outcome else { continue }
            switch result {
            case .failure(let error): records[place].1 = error
            case .success(let files):
                answer[place] = fetched
                contents[place] = files
                // It may have been fetched again, and have encrypted values by now.
                if allOpened.isEmpty, !opened.isEmpty {
                    allOpened = Array(repeating: OpenedFields(), count: answer.count)
                }
                if !allOpened.isEmpty { allOpened[place] = opened }
            }
        }
        for (place, fetched) in answer.enumerated() {
            let opened = allOpened.isEmpty ? OpenedFields() : allOpened[place]
            if contents[place] == nil, opened.isEmpty { continue }
            records[place].0 = try make(fetched, contents[place] ?? AssetContents(), opened)
        }
        await showLinks(of: records.lazy.map(\.0), account)
        return records
    }

    /// The files of a record's assets. A record that names others by now is fetched again.
    private func withContents(
        _ fetched: FetchedRecord, _ opened: OpenedFields, _ account: AccountBinding, _ options: CallOptions,
        _ progress: TransferProgress
    ) async throws(CKError) -> (FetchedRecord, OpenedFields, Result<AssetContents, CKError>) {
        var (fetched, opened) = (fetched, opened)
        var attempts = 0
        while true {
            let result = try await contents(of: fetched, opened, account, options, progress)
            guard case .failure(let error) = result, error.saysAssetChanged,
                attempts < ClientSessionLimits.assetFetchesMax
            else { return (fetched, opened, result) }
            attempts += 1
            guard let newer = try await newer(fetched, account, options) else { return (fetched, opened, result) }
            fetched.record = newer
            opened = try await self.opened([(fetched.zoneID, newer)], account, options)?[0] ?? OpenedFields()
        }
    }

    /// The record as the server has it now, with the same fields; nil when it is gone.
    private func newer(
        _ fetched: FetchedRecord, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Record? {
        let name = fetched.record.system.name
        let keys =
            switch fetched.keys {
            case .wanted(let keys): keys
            case .cursor: fetched.record.fields.keys.sorted()
            }
        let request = FetchRecordsRequest(
            database: try requestScope(),
            zones: [FetchRecordsRequest.ZoneFetch(zone: fetched.zoneID.modelID, names: [name])],
            desiredKeys: keys)
        let answers = try await account.call(
            .recordsFetch, options: options, encode: { coder in coder.encodeFetchRecordsRequest(request) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeFetchRecordsResponse(bytes) })
        guard answers.count == 1, answers[0].count == 1 else {
            throw .malformedResponse("its results are not those of the record asked for")
        }
        guard case .record(let record) = answers[0][0], record.system.name == name else { return nil }
        return record
    }

    /// The files of a record's assets: from the cache, or from the server.
    ///
    /// - Throws: What ends a whole operation: no connection, a transfer that broke, no room on this device.
    /// - Returns: The files, or `assetNotAvailable` where an asset is damaged, gone, or the record's no more.
    private func contents(
        of fetched: FetchedRecord, _ opened: OpenedFields, _ account: AccountBinding, _ options: CallOptions,
        _ progress: TransferProgress
    ) async throws(CKError) -> Result<AssetContents, CKError> {
        let record = fetched.record
        let id = fetched.id ?? CKRecord.ID(recordName: record.system.name, zoneID: fetched.zoneID)
        var contents = AssetContents()
        progress.begin(id, byteCount: opened.assetByteCount(record))
        var number = 0
        for (key, value) in record.fields.sorted(by: { $0.key < $1.key }) {
            for (index, content) in opened.contents(of: value, key).enumerated()
            where contents[content.asset] == nil {
                let asset = content.asset
                let request = DownloadRequest(
                    database: try requestScope(), zone: fetched.zoneID.modelID, recordName: record.system.name,
                    field: key, listIndex: index, checksum: asset.checksum)
                number += 1
                do throws(CKError) {
                    let lease = try await file(of: content, request, account, options) { [number] in
                        progress.moved(id, file: number, to: $0)
                    }
                    contents[asset] = AssetContents.File(url: lease.fileURL, lease: lease)
                    progress.moved(id, file: number, to: Int(clamping: asset.byteCount))
                } catch {
                    guard error.code == .assetNotAvailable else { throw error }
                    return .failure(error)
                }
            }
        }
        return .success(contents)
    }

    /// The file of a content: from the cache, or from the server.
    func file(
        of content: AssetContent, _ request: DownloadRequest, _ account: AccountBinding, _ options: CallOptions,
        _ progress: (Int) -> Void
    ) async throws(CKError) -> AssetCacheLease {
        let (cache, location) = try account.assetCache(for: request, scope: databaseScope)
        var isSecondAttempt = false
        while true {
            do throws(AssetError) {
                if let lease = try cache.file(of: content, in: location, isCancelled: { Task.isCancelled }) {
                    return lease
                }
            } catch {
                throw CKError(error)
            }
            // A part has a file open, and room in the cache: it is taken in turn.
            let result = try await account.downloadTurns.run { () throws(CKError) -> PartResult in
                try options.checkDeadline()
                let start: AssetCache.DownloadStart
                do throws(AssetError) {
                    start = try cache.part(for: content, in: location, isCancelled: { Task.isCancelled })
                } catch {
                    throw CKError(error)
                }
                switch start {
                case .cached(let lease): return .content(lease)
                case .beingWritten: return .isBeingWritten
                case .part(let part):
                    let isContinued = part.receivedByteCount > 0
                    if !part.isComplete || content.asset.byteCount == 0 {
                        try await account.download(request, into: part, options: options, progress: progress)
                    }
                    do throws(AssetError) { return .content(try part.finish()) } catch {
                        // What was there from before may have been wrong.
                        guard error == .damaged, isContinued, !isSecondAttempt else { throw CKError(error) }
                        return .wasDamaged
                    }
                }
            }
            switch result {
            case .content(let lease): return lease
            case .wasDamaged: isSecondAttempt = true
            case .isBeingWritten:
                // Another task, or another process, downloads it.
                do { try await Task.sleep(nanoseconds: 50_000_000) } catch { throw CKError(AssetError.cancelled) }
            }
        }
    }

    private enum PartResult {
        case content(AssetCacheLease)
        case isBeingWritten
        /// Its beginning, which was here from before, was not the asset's.
        case wasDamaged
    }
}

extension OpenedFields {
    /// The assets of a record's field of which this device can have the files.
    fileprivate func contents(of value: FieldValue, _ key: String) -> [AssetContent] {
        if unreadable[key] != nil { return [] }
        guard case .encrypted(let encrypted) = value else { return value.assets.map { .plain($0) } }
        return zip(encrypted.assets, secrets[key] ?? []).compactMap { AssetContent($0, secret: $1) }
    }

    fileprivate func holdsAssets(_ record: Record) -> Bool {
        record.fields.contains { !$1.assets.isEmpty && !contents(of: $1, $0).isEmpty }
    }

    /// The bytes of a record's assets on their way, each content once.
    fileprivate func assetByteCount(_ record: Record) -> Int {
        let assets = Set(record.fields.flatMap { contents(of: $1, $0).map(\.asset) })
        return assets.reduce(0) { sum, asset in
            let (total, overflow) = sum.addingReportingOverflow(Int(clamping: asset.byteCount))
            return overflow ? .max : total
        }
    }
}

extension AccountBinding {
    /// Where the contents of a database's assets are kept on this device.
    fileprivate func assetCache(
        for request: DownloadRequest, scope: CKDatabase.Scope
    ) throws(CKError) -> (AssetCache, AssetCache.Location) {
        let user = currentUser ?? ""
        let owner =
            switch scope {
            case .public: ""
            case .private: user
            case .shared: request.zone.owner
            }
        // Nobody has answered for this account yet.
        if scope != .public, owner.isEmpty { throw CKError(ServiceError.accountChanged) }
        do throws(ConfigurationProblem) {
            let key = try configuration.sessionKey()
            let cache = AssetCache.shared(stateFolder: try configuration.resolvedStateFolder())
            let database = DatabaseID(
                container: key.container, environment: Environment(rawValue: key.environment) ?? .production,
                scope: scope == .public ? .public : .private, owner: owner)
            return (cache, AssetCache.Location(account: user.isEmpty ? nil : user, database: database))
        } catch {
            throw CKError(.internalError, message: error.message)
        }
    }
}
