package import BrumeSystem
internal import Foundation

/// A file of a record that a sync engine uploads before it sends the record.
package struct AssetUpload: Hashable, Sendable {
    package let url: URL
    /// The file as it was when the delegate gave the record; nil: it was missing.
    package let version: FileVersion?

    package init(url: URL, version: FileVersion?) {
        self.url = url
        self.version = version
    }

    /// The files to upload for the records of a batch. A record that can't be saved, or that has an asset without a
    /// file, has none here: its save fails, and says why. One of whose files is missing has them all: its upload fails
    /// beside all else, while its save would first upload the others.
    static func files(of batch: CKSyncEngine.RecordZoneChangeBatch) -> [CKRecord.ID: [AssetUpload]] {
        var files: [CKRecord.ID: [AssetUpload]] = [:]
        for record in batch.recordsToSave where record.mayHoldFiles {
            let outgoing = record.outgoing()
            guard outgoing.refusal == nil, let found = outgoing.filesToUpload(), !found.isEmpty
            else { continue }
            files[record.recordID] = found.map { file in
                AssetUpload(url: file.url, version: (try? FileSystem.status(file.url.path))?.version)
            }
        }
        return files
    }
}

extension CKRecord {
    /// Whether there may be files to upload before the record can be saved.
    fileprivate var mayHoldFiles: Bool { !snapshot.local.assets.isEmpty }
}

extension CKSyncEngine.RecordZoneChangeBatch {
    /// Whether there may be files to upload for some of its records.
    var mayHoldFiles: Bool { recordsToSave.contains(where: \.mayHoldFiles) }

    /// Its items, those to save first.
    var itemIDs: [CKRecord.ID] { recordsToSave.map(\.recordID) + recordIDsToDelete }

    /// Its changes, those that save first.
    var changes: [CKSyncEngine.PendingRecordZoneChange] {
        recordsToSave.map { .saveRecord($0.recordID) } + recordIDsToDelete.map { .deleteRecord($0) }
    }

    /// Whether the changes of a zone happen all or not at all. The default zone has no such batches.
    func isWhole(_ zoneID: CKRecordZone.ID) -> Bool { atomicByZone && !zoneID.isDefault }

    /// The batch with some of its items alone.
    func filtered(_ isIncluded: (CKRecord.ID) -> Bool) -> Self {
        var batch = self
        batch.recordsToSave.removeAll { !isIncluded($0.recordID) }
        batch.recordIDsToDelete.removeAll { !isIncluded($0) }
        return batch
    }
}
