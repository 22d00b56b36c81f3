internal import BrumeModel
internal import Foundation

/// Uploading the files of records before these are saved.
extension CKDatabase {
    /// The part of a modification with the files of its records uploaded.
    ///
    /// - Returns: The part, and the results of what is not sent: records whose files can't be uploaded, and with them
    ///   their zones, where all of a zone is saved or nothing.
    /// - Throws: What ends the whole request: no connection, or a transfer that broke. All else fails the record alone,
    ///   such as a server that keeps no assets.
    func uploadingAssets(
        of part: RecordModification.Part, _ options: CallOptions
    ) async throws(CKError) -> (RecordModification.Part, unsent: RecordModificationResults) {
        guard part.zones.contains(where: { $0.saves.contains { !$0.sent.local.assets.isEmpty } }) else {
            return (part, ([:], [:]))
        }
        var zones: [OutgoingZone] = []
        var unsent: RecordModificationResults = ([:], [:])
        for var zone in part.zones {
            var failures: [CKRecord.ID: CKError] = [:]
            for index in zone.saves.indices where !zone.saves[index].sent.local.assets.isEmpty {
                do throws(CKError) {
                    zone.saves[index] = try await uploading(zone.saves[index], options)
                } catch {
                    if error.isOfEveryRequest || error.tellsToWait { throw error }
                    failures[zone.saves[index].record.recordID] = error
                    // The other files would be uploaded in vain.
                    if part.request.isAtomic, !zone.id.isDefault { break }
                }
            }
            if !failures.isEmpty, part.request.isAtomic, !zone.id.isDefault {
                for outgoing in zone.saves {
                    let id = outgoing.record.recordID
                    unsent.saveResults[id] = .failure(failures[id] ?? CKError(.batchRequestFailed))
                }
                for id in zone.deletions { unsent.deleteResults[id] = .failure(CKError(.batchRequestFailed)) }
                continue
            }
            for (id, error) in failures { unsent.saveResults[id] = .failure(error) }
            zone.saves.removeAll { failures[$0.record.recordID] != nil }
            if !zone.saves.isEmpty || !zone.deletions.isEmpty { zones.append(zone) }
        }
        var request = part.request
        request.zones = zones.map { $0.modification(request.savePolicy) }
        return (RecordModification.Part(zones: zones, request: request), unsent)
    }

    /// A save with the files of its record uploaded.
    private func uploading(
        _ outgoing: OutgoingRecord, _ options: CallOptions
    ) async throws(CKError) -> OutgoingRecord {
        var outgoing = outgoing
        outgoing.sentBeforeUpload = outgoing.sent
        let id = outgoing.record.recordID
        let scope = try requestScope()
        for (key, field) in outgoing.sent.local.assets.sorted(by: { $0.key < $1.key }) {
            var named: [Asset] = []
            for asset in field.assets {
                // What this record names on the server it may keep without its content.
                if let stored = asset.kept(by: id, outgoing.sent.base) {
                    named.append(stored)
                    continue
                }
                guard let url = asset.fileURL else {
                    throw CKError(
                        .assetFileNotFound,
                        message: "field \"\(key)\" of \(id) holds an asset whose file is not on this device; fetch the "
                            + "record that it comes from with this key, and set the field anew")
                }
                let file: AssetFile
                do throws(AssetError) { file = try AssetFile(url) } catch { throw CKError(error) }
                let uploaded = try await core.account.upload(file, to: id.zoneID.modelID, of: scope, options: options)
                named.append(uploaded)
                outgoing.sent.contents[uploaded] = AssetContents.File(url: url, lease: asset.lease)
            }
            outgoing.receipts[key] = field.isList ? .assets(named) : .asset(named[0])
            outgoing.sent.uploaded(named.map(\.withoutReceipt), isList: field.isList, forKey: key)
        }
        return outgoing
    }
}
