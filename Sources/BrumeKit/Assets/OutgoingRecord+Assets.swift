internal import BrumeModel
internal import Foundation

/// The files of a record that is being saved.
extension OutgoingRecord {
    /// The files to upload, by fields and their places there; nil when one is not on this device.
    var filesToUpload: [(key: String, place: Int, url: URL)]? {
        let id = record.recordID
        var files: [(key: String, place: Int, url: URL)] = []
        for (key, field) in sent.local.assets.sorted(by: { $0.key < $1.key }) {
            for (place, asset) in field.assets.enumerated() where asset.kept(by: id, sent.base) == nil {
                guard let url = asset.fileURL else { return nil }
                files.append((key, place, url))
            }
        }
        return files
    }

    static func missingFile(of id: CKRecord.ID) -> CKError {
        CKError(
            .assetFileNotFound,
            message: "\(id) holds an asset whose file is not on this device; fetch the record that it comes from with "
                + "this key, and set the field anew")
    }

    /// Names what was uploaded: all files of the record.
    mutating func takeUploads() {
        if sent.local.assets.isEmpty { return }
        sentBeforeUpload = sentBeforeUpload ?? sent
        for (key, field) in sent.local.assets {
            var named: [Asset] = []
            for (place, asset) in field.assets.enumerated() {
                if let uploaded = uploads[key]?[place] {
                    named.append(uploaded)
                    if let url = asset.fileURL {
                        sent.contents[uploaded] = AssetContents.File(url: url, lease: asset.lease)
                    }
                } else if let kept = asset.kept(by: record.recordID, sent.base) {
                    // What this record names on the server it may keep without its content.
                    named.append(kept)
                } else {
                    preconditionFailure("a record is saved whose files were not uploaded")
                }
            }
            receipts[key] = field.isList ? .assets(named) : .asset(named[0])
            sent.uploaded(named.map(\.withoutReceipt), isList: field.isList, forKey: key)
        }
        uploads = [:]
    }

    // MARK: What the server has no more

    /// The files of fields that the save sends without their contents; nil when there are none, or one is not on this
    /// device.
    func keptFiles(_ policy: SavePolicy) -> [String: LocalFields.Assets]? {
        var kept: [String: LocalFields.Assets] = [:]
        for (key, value) in save(policy: policy).fields {
            guard let value, !value.assets.isEmpty, receipts[key] == nil else { continue }
            var files: [CKAsset] = []
            for asset in value.assets {
                guard let file = sent.contents[asset] else { return nil }
                files.append(CKAsset(fileURL: file.url))
            }
            let isList = if case .assets = value { true } else { false }
            kept[key] = LocalFields.Assets(assets: files, isList: isList)
        }
        return kept.isEmpty ? nil : kept
    }

    mutating func turnKeptAssetsIntoFiles(_ policy: SavePolicy) {
        sentBeforeUpload = sentBeforeUpload ?? sent
        for (key, assets) in keptFiles(policy) ?? [:] { sent.local.assets[key] = assets }
    }
}
