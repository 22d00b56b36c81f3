internal import BrumeEncryption
internal import BrumeModel
internal import BrumeRecord

/// Opens the encrypted values of some records of an answer, with keys that were looked up before.
struct FieldOpener: Sendable {
    /// What opens the values of one zone.
    struct Zone: Sendable {
        /// Those that are known: the zone's own, and those of shared trees in it.
        var rings: [RingKeys] = []
        /// Why no others could be had; nil where the server was not asked, or has no more.
        var reason: CKRecord.UnreadableReason?
        /// Whether the zone's files are encrypted as far as this device has kept its ring, where its keys can't be had,
        /// or any of another's zone.
        var keptEncryptsAssets = false
    }

    /// By the zones' own rings.
    var zones: [ZoneRingID: Zone] = [:]
    /// Whether assets that nobody encrypted are handed out where they should be.
    var acceptsPlainAssets = false

    /// What keys make of a record's encrypted values: none is wrong, and those that don't open have a reason.
    func open(_ record: Record, in zone: CKRecordZone.ID) -> OpenedFields {
        var opened = OpenedFields()
        guard let zone = zones[zone.ringID] else { return opened }
        let coder = ValueCoder()
        let encryptsAssets =
            (zone.keptEncryptsAssets || zone.rings.first?.encryptsAssets == true) && !acceptsPlainAssets
            && record.system.type != Names.shareType
        var ciphers: [ValueHeader: [RecordCipher]] = [:]
        // Mostly all values of a record have one.
        var last: (header: ValueHeader, ciphers: [RecordCipher])?
        opened.values.reserveCapacity(
            record.fields.count { if case .encrypted(let value) = $0.value { value.assets.isEmpty } else { false } })
        for (key, field) in record.fields {
            guard case .encrypted(let value) = field else {
                // Whoever has no key could have put it there.
                if encryptsAssets, !field.assets.isEmpty { opened.unreadable[key] = .notEncrypted }
                continue
            }
            if zone.rings.isEmpty {
                opened.unreadable[key] = zone.reason ?? .noKeys
                continue
            }
            do throws(EncryptionRefusal) {
                let header = try ValueHeader(of: value.bytes)
                let fitting: [RecordCipher]
                if let last, last.header == header {
                    fitting = last.ciphers
                } else {
                    fitting =
                        ciphers[header]
                        ?? zone.rings.flatMap { $0.ciphers(header) }.map {
                            $0.record(named: record.system.name, type: record.system.type)
                        }
                    ciphers[header] = fitting
                    last = (header, fitting)
                }
                if fitting.isEmpty { throw .keyMissing }
                if value.assets.isEmpty {
                    opened.values[key] = try Self.open(value, field: key, with: fitting) {
                        bytes throws(EncryptionRefusal) in
                        guard let plain = coder.decode(bytes), FieldKind(plain) == value.kind else { throw .damaged }
                        return plain
                    }
                } else {
                    opened.secrets[key] = try Self.open(value, field: key, with: fitting) {
                        bytes throws(EncryptionRefusal) in try Self.secrets(bytes, of: value)
                    }
                }
            } catch {
                opened.unreadable[key] =
                    switch error {
                    case .newer: .newerVersion
                    case .keyMissing, .wrongTree: zone.reason == .newerVersion ? .newerVersion : .keyMissing
                    default: .damaged
                    }
            }
        }
        if !opened.secrets.isEmpty { Self.closeAmbiguous(record, &opened) }
        return opened
    }

    /// Closes assets that the record names with two secrets, or with one and without: the server has put one content in
    /// the place of another, whose secret is of the same size.
    private static func closeAmbiguous(_ record: Record, _ opened: inout OpenedFields) {
        var known: [Asset: AssetSecret?] = [:]
        var ambiguous: Set<Asset> = []
        for (key, value) in record.fields {
            let secrets = opened.secrets[key]
            if secrets == nil, case .encrypted = value { continue }
            for (place, asset) in value.assets.enumerated() {
                let secret = secrets?[place]
                guard let before = known.updateValue(secret, forKey: asset) else { continue }
                let isSame =
                    switch (before, secret) {
                    case (nil, nil): true
                    case (let before?, let secret?): before.isSame(as: secret)
                    default: false
                    }
                if !isSame { ambiguous.insert(asset) }
            }
        }
        if ambiguous.isEmpty { return }
        for (key, value) in record.fields where opened.secrets[key] != nil && !ambiguous.isDisjoint(with: value.assets)
        {
            opened.secrets[key] = nil
            opened.unreadable[key] = .damaged
        }
    }

    /// What opens the assets of a value: of each what is of its size.
    private static func secrets(_ bytes: [UInt8], of value: EncryptedValue) throws(EncryptionRefusal) -> [AssetSecret] {
        let secrets =
            value.kind == .asset
            ? [try AssetSecret(bytes)] : try AssetSecret.list(bytes, blobCount: value.assets.count)
        for (asset, secret) in zip(value.assets, secrets) where AssetContent(asset, secret: secret) == nil {
            throw .damaged
        }
        return secrets
    }

    private static func open<Plain>(
        _ value: EncryptedValue, field: String, with ciphers: [RecordCipher],
        _ read: ([UInt8]) throws(EncryptionRefusal) -> Plain
    ) throws(EncryptionRefusal) -> Plain {
        var refusal = EncryptionRefusal.damaged
        for cipher in ciphers {
            do throws(EncryptionRefusal) {
                var bytes = try cipher.open(value.bytes, field: field, valueType: value.plainTypeText)
                defer { Sodium.wipe(&bytes) }
                return try read(bytes)
            } catch {
                refusal = error
            }
        }
        throw refusal
    }
}
