internal import BrumeModel
internal import Foundation

/// The files of a record that is being saved.
extension OutgoingRecord {
    /// The files to upload, by fields and their places there; nil when one is not on this device.
    ///
    /// - Parameter encryptsAssets: Whether what the server keeps has to be encrypted: what it has otherwise is uploaded
    ///   anew. Nil where that is not known yet.
    func filesToUpload(
        encryptsAssets: Bool? = nil
    ) -> [(key: String, place: Int, url: URL, expected: AssetContent?)]? {
        var files: [(key: String, place: Int, url: URL, expected: AssetContent?)] = []
        for (key, field) in sent.local.assets.sorted(by: { $0.key < $1.key }) {
            for (place, asset) in field.assets.enumerated()
            where kept(asset, encryptsAssets: encryptsAssets) == nil {
                guard let url = asset.fileURL else { return nil }
                files.append((key, place, url, expected[key]?[place]))
            }
        }
        return files
    }

    /// What the record may name of an asset without its content; nil for one that has to be uploaded.
    private func kept(_ asset: CKAsset, encryptsAssets: Bool?) -> Asset? {
        guard let kept = asset.kept(by: record.recordID, sent.base) else { return nil }
        guard let encryptsAssets else { return kept }
        let isEncrypted = asset.secret != nil || sent.contents.secret(of: kept) != nil
        return isEncrypted == encryptsAssets ? kept : nil
    }

    /// Whether the app has set or removed assets that this device could not open when they were fetched: as with
    /// encrypted values, a device without the keys saves no change of them.
    var changesClosedAssets: Bool {
        guard let closed = sent.base?.encrypted, !closed.unreadable.isEmpty else { return false }
        return Set(sent.edits.keys).union(sent.encrypted.edits.keys).contains { closed.holdsClosedAssets($0) }
    }

    /// Whether the app has set or removed encrypted assets that this device could open, or found to be damaged.
    var replacesOpenAssets: Bool {
        guard let known = sent.base?.encrypted, !known.sealed.isEmpty else { return false }
        return sent.edits.keys.contains { known.sealed[$0]?.kind.namesAssets == true && !known.holdsClosedAssets($0) }
    }

    /// Whether the app has set assets that may have to be encrypted.
    var setsAssets: Bool {
        if record is CKShare { return false }
        return !sent.local.assets.isEmpty || sent.edits.keys.contains { sent.fields[$0]?.assets.isEmpty == false }
    }

    /// Makes files of the assets that the app has set and that the server keeps unencrypted.
    mutating func uploadPlainAssetsAgain() {
        for key in sent.edits.keys {
            guard let value = sent.fields[key], !value.assets.isEmpty, receipts[key] == nil,
                sent.contents.secrets(of: value) == nil
            else { continue }
            sentBeforeUpload = sentBeforeUpload ?? sent
            sent.uploadAgain(key, of: record.recordID)
        }
    }

    /// Whether files were uploaded for it.
    var hasUploads: Bool { !receipts.isEmpty }

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
                    named.append(uploaded.asset)
                    if let url = asset.fileURL {
                        sent.contents[uploaded.asset] = AssetContents.File(url: url, lease: asset.lease)
                    }
                    sent.contents.setSecret(uploaded.secret, of: uploaded.asset)
                } else if let kept = asset.kept(by: record.recordID, sent.base) {
                    // What this record names on the server it may keep without its content.
                    named.append(kept)
                    sent.contents.add([asset])
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

    /// The save with all of its assets as files to upload, also those that it named without their contents; as it was
    /// when it names none. Nil when one of them is not on this device.
    func uploadingAnew(_ policy: SavePolicy) -> OutgoingRecord? {
        var anew = self
        anew.sent = sentBeforeUpload ?? sent
        anew.receipts = [:]
        anew.sealed = [:]
        for (key, field) in anew.sent.local.assets {
            var files = field
            for (place, asset) in field.assets.enumerated() {
                guard let stored = asset.kept(by: record.recordID, anew.sent.base) else { continue }
                guard let url = asset.fileURL else { return nil }
                files.assets[place] = CKAsset(fileURL: url)
                anew.expected[key, default: [:]][place] = asset.content ?? anew.sent.contents.content(of: stored)
            }
            anew.sent.local.assets[key] = files
        }
        for (key, value) in anew.sent.save(name: "", type: "", policy: policy).fields {
            guard let value, !value.assets.isEmpty, anew.sent.local.assets[key] == nil else { continue }
            var files: [CKAsset] = []
            for (place, asset) in value.assets.enumerated() {
                guard let file = anew.sent.contents[asset] else { return nil }
                files.append(CKAsset(fileURL: file.url))
                anew.expected[key, default: [:]][place] = anew.sent.contents.content(of: asset)
            }
            let isList = if case .assets = value { true } else { false }
            anew.sent.local.assets[key] = LocalFields.Assets(assets: files, isList: isList)
        }
        anew.sentBeforeUpload = sentBeforeUpload ?? sent
        return anew
    }
}
