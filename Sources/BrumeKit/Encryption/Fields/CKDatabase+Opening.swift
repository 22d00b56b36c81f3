internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol

/// Looking up the keys of encrypted values that an answer holds.
extension CKDatabase {
    /// What opens the encrypted values of an answer's records; nil where they have none.
    ///
    /// A value whose key is not here is no error: the record is handed out without it.
    ///
    /// - Throws: What keeps from asking for keys: no connection, for one. The answer is asked for again.
    func opener(
        for records: [(zoneID: CKRecordZone.ID, record: Record)], _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> FieldOpener? {
        guard databaseScope == .private else { return nil }
        let zones = account.encryptedZones
        var byZone: [String: [Record]] = [:]
        for (zoneID, record) in records where record.holdsEncryptedValues {
            byZone[zoneID.zoneName, default: []].append(record)
        }
        var opener = FieldOpener(acceptsPlainAssets: account.configuration.acceptsPlainAssets)
        var plain: Set<String> = []
        for (zoneID, record) in records
        where record.holdsPlainAssets && byZone[zoneID.zoneName] == nil && plain.insert(zoneID.zoneName).inserted {
            if try await mayEncryptAssets(in: zoneID, account, options) { byZone[zoneID.zoneName] = [] }
        }
        if byZone.isEmpty {
            if zones.isInUse { learn(records, account) }
            return nil
        }
        for (name, encrypted) in byZone.sorted(by: { $0.key < $1.key }) {
            // Plain assets alone are a reason to look whether there is a ring.
            let newest = encrypted.map(\.newestKeyNumber).max() ?? 1
            var zone = FieldOpener.Zone()
            do throws(CKError) {
                zone.keys = try await zones.keysForReading(zone: name, upTo: newest, for: account, options)
            } catch {
                guard let reason = error.unreadableReason else { throw error }
                // What is known opens, whatever the server makes of the rest.
                zone.keys = zones.knownKeys(zone: name)
                zone.reason = reason
            }
            if zone.keys == nil {
                zone.keptEncryptsAssets = (try? await zones.keptAssetPolicy(name, for: account)) == true
            }
            opener.zones[name] = zone
        }
        learn(records, account)
        return opener
    }

    /// The encrypted values of an answer's records, opened.
    ///
    /// Where some of a zone don't open, the server is asked for its ring: the zone may have been made anew, or its ring
    /// have gone on otherwise. As long as that is not known nobody is told that the values are damaged.
    ///
    /// - Throws: The same.
    func opened(
        _ records: [(zoneID: CKRecordZone.ID, record: Record)], _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> [OpenedFields]? {
        guard var opener = try await opener(for: records, account, options) else { return nil }
        var opened = records.map { opener.open($0.record, in: $0.zoneID) }
        let vain = Set(
            zip(records, opened).filter { $1.unreadable.values.contains(.damaged) }.map { $0.0.zoneID.zoneName })
        for zone in vain.sorted() {
            guard let before = opener.zones[zone]?.keys else { continue }
            let keys: ZoneKeys?
            do throws(CKError) {
                keys = try await account.encryptedZones.keysForReading(
                    zone: zone, upTo: 1, isOpenVain: true, for: account, options)
            } catch {
                guard let reason = error.unreadableReason else { throw error }
                // The zone may have other keys, which nobody could ask for: an app that was told of damage would take
                // the values for lost.
                for place in opened.indices where records[place].zoneID.zoneName == zone {
                    opened[place].keysMayBeMissing(for: reason)
                }
                continue
            }
            guard let keys, keys.place != before.place || keys.newest != before.newest else { continue }
            opener.zones[zone]?.keys = keys
            for (place, (zoneID, record)) in records.enumerated() where zoneID.zoneName == zone {
                opened[place] = opener.open(record, in: zoneID)
            }
        }
        return opened
    }

    /// Remembers whose parents the records have.
    private func learn(_ records: [(zoneID: CKRecordZone.ID, record: Record)], _ account: AccountBinding) {
        var parents: [String: [(record: String, parent: String?)]] = [:]
        for (zoneID, record) in records {
            parents[zoneID.zoneName, default: []].append((record.system.name, record.system.parent))
        }
        for (zone, parents) in parents { account.encryptedZones.learn(parents, zone: zone) }
    }

    /// Asks the server for the parents of records, and remembers them. One that is not there counts as a root.
    func fetchParents(
        of names: [String], zone: String, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        var rest = names[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Limits.itemsPerRequest))
            rest = rest.dropFirst(part.count)
            let records = try await fetchRaw(part, zone: zone, desiredKeys: [], account, options)
            account.encryptedZones.learn(part.map { ($0, records[$0]?.system.parent) }, zone: zone)
        }
    }

    /// Records of a zone as the server has them, by name, without their files and with nothing opened; those that
    /// can't be had are left out.
    func fetchRaw(
        _ names: [String], zone: String, desiredKeys: [String]?, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> [String: Record] {
        var records: [String: Record] = [:]
        var missing = names
        while !missing.isEmpty {
            let request = FetchRecordsRequest(
                database: try requestScope(),
                zones: [FetchRecordsRequest.ZoneFetch(zone: ZoneID(name: zone), names: missing)],
                desiredKeys: desiredKeys)
            let answers = try await account.call(
                .recordsFetch, options: options, encode: { coder in coder.encodeFetchRecordsRequest(request) },
                decode: { (coder, bytes) throws(ServiceError) in try coder.decodeFetchRecordsResponse(bytes) })
            guard answers.count == 1, answers[0].count == missing.count else {
                throw .malformedResponse("its results are not those of the records asked for")
            }
            var deferred: [String] = []
            for (name, outcome) in zip(missing, answers[0]) {
                switch outcome {
                case .record(let record) where record.system.name == name: records[name] = record
                case .record, .failure: break
                case .deferred: deferred.append(name)
                }
            }
            guard deferred.count < missing.count else {
                throw .malformedResponse("it puts off every record that was asked for")
            }
            missing = deferred
        }
        return records
    }
}

extension Record {
    fileprivate var holdsEncryptedValues: Bool {
        fields.values.contains { if case .encrypted = $0 { true } else { false } }
    }

    fileprivate var holdsPlainAssets: Bool {
        fields.values.contains { value in
            if case .encrypted = value { false } else { !value.assets.isEmpty }
        }
    }

    /// The number of the newest key that its encrypted values name; 0 where none can be read.
    fileprivate var newestKeyNumber: UInt32 {
        var newest: UInt32 = 0
        for case .encrypted(let value) in fields.values {
            if let header = try? ValueHeader(of: value.bytes) { newest = max(newest, header.keyNumber) }
        }
        return newest
    }
}

extension CKError {
    /// Why values stay closed after keys were asked for in vain; nil for what the whole operation fails with.
    var unreadableReason: CKRecord.UnreadableReason? {
        switch code {
        case .accountTemporarilyUnavailable, .unknownItem: .noKeys
        // The device's files, or the server's answer, are not what they should be: the status says more.
        case .internalError, .zoneNotFound, .userDeletedZone, .zoneBusy, .limitExceeded: .keyMissing
        case .incompatibleVersion: .newerVersion
        default: nil
        }
    }
}
