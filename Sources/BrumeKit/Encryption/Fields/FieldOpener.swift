internal import BrumeEncryption
internal import BrumeModel
internal import BrumeRecord

/// Opens the encrypted values of some records of an answer, with keys that were looked up before.
struct FieldOpener: Sendable {
    /// What opens the values of one zone.
    struct Zone: Sendable {
        /// Those that are known; nil where there are none.
        var keys: ZoneKeys?
        /// Why no others could be had; nil where the server was not asked, or has no more.
        var reason: CKRecord.UnreadableReason?
    }

    /// By name.
    var zones: [String: Zone] = [:]

    /// What keys make of a record's encrypted values: none is wrong, and those that don't open have a reason.
    func open(_ record: Record, in zone: CKRecordZone.ID) -> OpenedFields {
        var opened = OpenedFields()
        guard let zone = zones[zone.zoneName] else { return opened }
        let coder = ValueCoder()
        var ciphers: [ValueHeader: [RecordCipher]] = [:]
        for case (let key, .encrypted(let value)) in record.fields {
            if value.kind.namesAssets {
                opened.unreadable[key] = .newerVersion
                continue
            }
            guard let keys = zone.keys else {
                opened.unreadable[key] = zone.reason ?? .noKeys
                continue
            }
            do throws(EncryptionRefusal) {
                let header = try ValueHeader(of: value.bytes)
                let fitting =
                    ciphers[header]
                    ?? keys.ciphers(header).map { $0.record(named: record.system.name, type: record.system.type) }
                ciphers[header] = fitting
                if fitting.isEmpty { throw .keyMissing }
                opened.values[key] = try Self.open(value, field: key, with: fitting, coder)
            } catch {
                opened.unreadable[key] =
                    switch error {
                    case .newer: .newerVersion
                    case .keyMissing, .wrongTree: zone.reason == .newerVersion ? .newerVersion : .keyMissing
                    default: .damaged
                    }
            }
        }
        return opened
    }

    private static func open(
        _ value: EncryptedValue, field: String, with ciphers: [RecordCipher], _ coder: borrowing ValueCoder
    ) throws(EncryptionRefusal) -> FieldValue {
        var refusal = EncryptionRefusal.damaged
        for cipher in ciphers {
            do throws(EncryptionRefusal) {
                let bytes = try cipher.open(value.bytes, field: field, valueType: value.plainTypeText)
                guard let plain = coder.decode(bytes), FieldKind(plain) == value.kind else { throw .damaged }
                return plain
            } catch {
                refusal = error
            }
        }
        throw refusal
    }
}
