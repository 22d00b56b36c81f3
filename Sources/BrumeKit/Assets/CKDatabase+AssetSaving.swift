internal import BrumeLock
internal import BrumeModel
internal import Foundation

/// Uploading the files of records before these are saved.
extension CKDatabase {
    /// A file of a record that is to be uploaded.
    private struct FileToUpload: Sendable {
        /// Where the record stands in the part.
        let zone: Int
        let save: Int
        let key: String
        /// The file's place in the field.
        let place: Int
        /// Its number among the record's files.
        let number: Int
        let url: URL
        /// What it was, when it is uploaded again.
        let expected: AssetContent?
    }

    /// The part of a modification with the files of its records uploaded, a few at a time.
    ///
    /// - Parameters:
    ///   - progress: Gets what share of a record's files the server was sent.
    ///   - known: What was uploaded of the records' files before.
    /// - Returns: The part, and the results of what is not sent: records whose files can't be uploaded, and with them
    ///   their zones, where all of a zone is saved or nothing.
    /// - Throws: What ends the whole request: no connection, or a transfer that broke. All else fails the record alone,
    ///   such as a server that keeps no assets.
    func uploadingAssets(
        of part: RecordModification.Part, _ options: CallOptions, _ progress: TransferProgress,
        _ known: [CKRecord.ID: [URL: UploadedFile]] = [:]
    ) async throws(CKError) -> (RecordModification.Part, unsent: RecordModificationResults) {
        guard part.zones.contains(where: { $0.saves.contains { !$0.sent.local.assets.isEmpty } }) else {
            return (part, ([:], [:]))
        }
        let scope = try requestScope()
        var failures: [CKRecord.ID: CKError] = [:]
        let files = part.zones.indices.flatMap { zone in
            part.zones[zone].saves.indices.flatMap { save -> [FileToUpload] in
                let outgoing = part.zones[zone].saves[save]
                let id = outgoing.record.recordID
                guard let files = outgoing.filesToUpload(encryptsAssets: part.zones[zone].encryptsAssets(of: outgoing))
                else {
                    failures[id] = OutgoingRecord.missingFile(of: id)
                    return []
                }
                progress.begin(id, files: files.map(\.url))
                return files.enumerated().map { number, file in
                    FileToUpload(
                        zone: zone, save: save, key: file.key, place: file.place, number: number, url: file.url,
                        expected: file.expected)
                }
            }
        }
        // What fails with a record is not uploaded in vain.
        let failed = Lock(Set(failures.keys))
        let account = core.account
        let (uploads, failure) = await outcomes(
            of: files, atATime: ClientSessionLimits.transfersPerOperation,
            endingAt: { $0.isOfEveryTransfer }
        ) { (file) throws(CKError) -> UploadedFile? in
            let zone = part.zones[file.zone]
            guard let encryptsAssets = zone.encryptsAssets(of: zone.saves[file.save]) else {
                preconditionFailure("files are uploaded to a zone of which it is not known whether they are encrypted")
            }
            let record = zone.saves[file.save].record
            let isLost = failed.withLock { failed in
                part.isWhole(zone)
                    ? zone.saves.contains { failed.contains($0.record.recordID) }
                    : failed.contains(record.recordID)
            }
            if isLost { return nil }
            if file.expected == nil, let uploaded = known[record.recordID]?[file.url],
                (uploaded.secret != nil) == encryptsAssets
            {
                return uploaded
            }
            do throws(CKError) {
                return try await account.upload(
                    file.url, to: zone.id.modelID, of: scope, isEncrypted: encryptsAssets,
                    expecting: file.expected, options: options
                ) { progress.moved(record.recordID, file: file.number, to: $0) }
            } catch {
                _ = failed.withLock { $0.insert(record.recordID) }
                throw error
            }
        }
        if let failure { throw failure }
        var zones = part.zones
        for (file, upload) in zip(files, uploads) {
            switch upload {
            case .success(let uploaded?)?:
                zones[file.zone].saves[file.save].uploads[file.key, default: [:]][file.place] = uploaded
            case .failure(let error)?: failures[zones[file.zone].saves[file.save].record.recordID] = error
            case .success(nil)?, nil: break
            }
        }
        let (whole, unsent) = part.with(zones, failures)
        return (whole.with(whole.zones.map { $0.takingUploads() }), unsent)
    }
}

extension CKError {
    /// Whether records without files can't be saved either. A server whose disk is nearly full, or that has too much to
    /// do, refuses uploads alone, and of keys each zone has others.
    var isOfEveryTransfer: Bool {
        isOfEveryRequest && code != .serviceUnavailable && code != .incompatibleVersion && !concernsKeys
    }
}

extension CKDatabase.RecordModification.Part {
    /// Whether all of a zone is saved, or nothing.
    func isWhole(_ zone: OutgoingZone) -> Bool { request.isAtomic && !zone.id.isDefault }

    /// The part without the records that failed, and without their zones where these are saved whole.
    func with(
        _ zones: [OutgoingZone], _ failures: [CKRecord.ID: CKError]
    ) -> (CKDatabase.RecordModification.Part, unsent: CKDatabase.RecordModificationResults) {
        var sent: [OutgoingZone] = []
        var unsent: CKDatabase.RecordModificationResults = ([:], [:])
        for var zone in zones {
            let hasFailed = zone.saves.contains { failures[$0.record.recordID] != nil }
            if hasFailed, isWhole(zone) {
                for outgoing in zone.saves {
                    let id = outgoing.record.recordID
                    unsent.saveResults[id] = .failure(failures[id] ?? CKError(.batchRequestFailed))
                }
                for id in zone.deletions { unsent.deleteResults[id] = .failure(CKError(.batchRequestFailed)) }
                continue
            }
            zone.saves.removeAll { outgoing in
                let id = outgoing.record.recordID
                if let error = failures[id] { unsent.saveResults[id] = .failure(error) }
                return failures[id] != nil
            }
            if !zone.saves.isEmpty || !zone.deletions.isEmpty { sent.append(zone) }
        }
        return (with(sent), unsent)
    }

    /// What to send again with its files uploaded anew: saves that failed because the server does not have of the
    /// record what they named, and whose files are on this device. Where a zone is saved whole, all of its files. Nil
    /// when there are none.
    func uploadingAgain(after results: CKDatabase.RecordModificationResults) -> CKDatabase.RecordModification.Part? {
        sendingAgain { zone in
            let missing = zone.saves.indices.filter { index in
                guard case .failure(let error as CKError)? = results.saveResults[zone.saves[index].record.recordID]
                else { return false }
                return error.code == .assetNotAvailable
            }
            if missing.isEmpty { return [] }
            var saves: [OutgoingRecord] = []
            for index in isWhole(zone) ? Array(zone.saves.indices) : missing {
                guard let anew = zone.saves[index].uploadingAnew(request.savePolicy) else { continue }
                // One that names no asset fails for another reason, and does so again.
                if missing.contains(index), anew.sent.local.assets.isEmpty { continue }
                saves.append(anew)
            }
            // One that stays as it was fails its zone again.
            return isWhole(zone) && saves.count < zone.saves.count ? [] : saves
        }
    }
}

extension OutgoingZone {
    /// The zone with the files of all of its records named.
    fileprivate func takingUploads() -> OutgoingZone {
        var zone = self
        for index in zone.saves.indices { zone.saves[index].takeUploads() }
        return zone
    }
}
