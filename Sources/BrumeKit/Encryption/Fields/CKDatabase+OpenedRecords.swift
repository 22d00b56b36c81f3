internal import BrumeEncryption
package import BrumeModel

/// A record as the server has it, and what this device's keys make of its encrypted fields.
package struct OpenedRecord: Sendable {
    package let record: Record
    /// The values of the encrypted fields that opened, but for those with assets.
    package let values: [String: FieldValue]
    /// Why other encrypted fields did not open; and `notEncrypted` for plain assets in the place of encrypted ones.
    package let unreadable: [String: CKRecord.UnreadableReason]
    /// What opens the assets of fields, in their order.
    fileprivate let secrets: [String: [AssetSecret]]

    /// The encrypted fields whose assets can be opened (``CKDatabase/file(of:in:key:index:)``), sorted.
    package var assetKeys: [String] { secrets.keys.sorted() }

    fileprivate init(_ record: Record, _ opened: OpenedFields) {
        self.record = record
        values = opened.values
        secrets = opened.secrets
        unreadable = opened.unreadable
    }
}

/// What a zone's keys were made with, and is never changed.
package struct ZonePolicies: Equatable, Sendable {
    /// Whether its files are encrypted.
    package let encryptsAssets: Bool
    /// Whether all of it is one tree (`CKRecordZone.EncryptionScope.perZone`).
    package let isPerZone: Bool
}

/// Encrypted fields in the clear, for tools that move records as the server has them.
extension CKDatabase {
    /// Opens the encrypted fields of records of one zone of the private database, in the order of the records. Fields
    /// that don't open have a reason, which is no error.
    ///
    /// - Throws: What keeps the device from asking for keys: no connection, for one.
    package func opened(_ records: [Record], in zoneID: CKRecordZone.ID) async throws(CKError) -> [OpenedRecord] {
        guard let opened = try await opened(records.map { (zoneID, $0) }, core.account, callOptions) else {
            return records.map { OpenedRecord($0, OpenedFields()) }
        }
        return zip(records, opened).map { OpenedRecord($0, $1) }
    }

    /// An encrypted asset as the plain file, in the cache. It stays there as long as the result lives.
    ///
    /// - Parameters:
    ///   - key: One of the record's ``OpenedRecord/assetKeys``.
    ///   - index: The place in a list; 0 for a field that is none.
    /// - Throws: `assetNotAvailable` when it is damaged, gone, or the field's no more.
    package func file(
        of opened: OpenedRecord, in zoneID: CKRecordZone.ID, key: String, index: Int
    ) async throws(CKError) -> CKAsset {
        guard let asset = opened.record.fields[key]?.assets[index], let secret = opened.secrets[key]?[index],
            let content = AssetContent(asset, secret: secret)
        else { preconditionFailure("an asset is asked for that was not opened") }
        let request = DownloadRequest(
            database: try requestScope(), zone: zoneID.modelID, recordName: opened.record.system.name, field: key,
            listIndex: index, checksum: asset.checksum)
        let lease = try await file(of: content, request, core.account, callOptions) { _ in }
        return CKAsset(asset, file: AssetContents.File(url: lease.fileURL, lease: lease))
    }

    /// What a zone's ring says for good; nil where none is known. Makes no ring.
    ///
    /// - Throws: What keeps the device from asking for keys.
    package func zonePolicies(in zoneID: CKRecordZone.ID) async throws(CKError) -> ZonePolicies? {
        let (account, name) = (core.account, zoneID.zoneName)
        do throws(CKError) {
            let keys = try await account.encryptedZones.keysForReading(
                ZoneRingID(zone: name), upTo: 0, for: account, callOptions)
            if let keys { return ZonePolicies(encryptsAssets: keys.encryptsAssets, isPerZone: keys.isPerZone) }
        } catch {
            guard error.unreadableReason != nil else { throw error }
        }
        guard let encryptsAssets = try await account.encryptedZones.keptAssetPolicy(name, for: account) else {
            return nil
        }
        return ZonePolicies(
            encryptsAssets: encryptsAssets, isPerZone: await account.encryptedZones.isPerZone(name, for: account))
    }

    /// Makes the keys of a custom zone that is to be one tree; where it is, nothing changes.
    ///
    /// - Throws: `invalidArguments` where the zone has keys for records.
    package func makePerZone(_ zoneID: CKRecordZone.ID) async throws(CKError) {
        try await core.account.encryptedZones.makeKeys(
            ofZone: zoneID.zoneName, WantedPolicies(isPerZone: true), for: core.account, callOptions)
    }

    /// Whether assets that are saved in a zone now are encrypted. A zone without a ring gets one where
    /// ``BrumeConfiguration/encryptsAssets`` is on.
    ///
    /// - Throws: `accountTemporarilyUnavailable` where they have to be and this device has no keys.
    package func encryptsAssets(in zoneID: CKRecordZone.ID) async throws(CKError) -> Bool {
        try await encryptsAssets(in: zoneID, core.account, callOptions)
    }
}

extension CKRecord {
    /// Sets an encrypted field to exactly this value: numbers of a list, for one, keep their type, which
    /// ``encryptedValues`` infers.
    ///
    /// - Parameter value: One of a kind that fits an encrypted field: no reference and no asset.
    package func setEncryptedValue(_ value: FieldValue, forKey key: FieldKey) {
        precondition(FieldKind(value).fitsEncryptedField, "references and assets can't be encrypted values")
        updateState { $0.setEncrypted(value, forKey: key) }
    }
}
