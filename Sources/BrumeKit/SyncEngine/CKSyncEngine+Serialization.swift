internal import BrumeModel
internal import Foundation

extension CKSyncEngine.State {
    /// An engine's state to keep between launches. Opaque; it encodes to JSON and to property lists.
    ///
    /// It holds names of zones and records and the account's user record name, no content. Decoding throws for a state
    /// of a newer version, and for one that no engine wrote: begin anew without one then, which fetches everything
    /// again, and add what is to be sent.
    public struct Serialization: Sendable {
        package let state: SyncEngineState

        package init(_ state: SyncEngineState) {
            self.state = state
        }
    }
}

extension CKSyncEngine.State.Serialization: Codable {
    /// The version that this code writes. It reads those up to it.
    private static let version = 1

    /// Bytes of a token at most: many times what servers give.
    private static let tokenBytesMax = 64 * 1024

    private enum Key: String, CodingKey {
        case version, account, user, databaseToken, zones, unfetchedZones, unconfirmedZones, ownDeletedZones
        case pendingZones, pendingRecords, recordsForNextZone, hasUntrackedChanges
    }

    private enum AccountKind: String, Codable {
        case undetermined, none, user
    }

    private struct ZoneName: Codable {
        var name: String
        /// Absent: the current user.
        var owner: String?

        init(_ id: CKRecordZone.ID) {
            name = id.zoneName
            owner = id.ownerName == CKCurrentUserDefaultName ? nil : id.ownerName
        }

        /// As it was written, whether a zone can have the name or not.
        var writtenID: CKRecordZone.ID {
            CKRecordZone.ID(zoneName: name, ownerName: owner ?? CKCurrentUserDefaultName)
        }

        /// Nil for a name that no zone has.
        var zoneID: CKRecordZone.ID? {
            guard name == Names.defaultZone || Names.problemWithZoneName(name) == nil, owner?.isEmpty != true,
                owner?.utf8.count ?? 0 <= Limits.nameCharacters
            else { return nil }
            return writtenID
        }
    }

    private struct ZoneToken: Codable {
        var zone: ZoneName
        var token: Data
    }

    private enum ChangeKind: String, Codable {
        case save, delete
    }

    private struct ZoneChange: Codable {
        var kind: ChangeKind
        var zone: ZoneName
        /// The raw value of its encryption scope, where it is to be saved with another one than `perRecord`.
        var scope: Int?
        /// Whether its files are encrypted, where the app says so.
        var encryptsAssets: Bool?
    }

    /// The changes of neighbouring records of one zone, which share its name.
    private struct RecordChanges: Codable {
        var kind: ChangeKind
        var zone: ZoneName
        var records: [String]
    }

    private struct ZoneRecords: Codable {
        var zone: ZoneName
        var records: [String]
    }

    /// Writes the state.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(Self.version, forKey: .version)
        switch state.account {
        case .undetermined: try container.encode(AccountKind.undetermined, forKey: .account)
        case .none: try container.encode(AccountKind.none, forKey: .account)
        case .user(let name):
            try container.encode(AccountKind.user, forKey: .account)
            try container.encode(name, forKey: .user)
        }
        try container.encodeIfPresent(state.databaseToken.map { Data($0.bytes) }, forKey: .databaseToken)
        let tokens = state.zoneTokens.sorted {
            ($0.key.zoneName, $0.key.ownerName) < ($1.key.zoneName, $1.key.ownerName)
        }
        try container.encode(
            tokens.map { ZoneToken(zone: ZoneName($0.key), token: Data($0.value.bytes)) }, forKey: .zones)
        try container.encode(state.unfetchedZones.list.map(ZoneName.init), forKey: .unfetchedZones)
        try container.encode(state.unconfirmedZones.list.map(ZoneName.init), forKey: .unconfirmedZones)
        try container.encode(state.ownDeletedZones.list.map(ZoneName.init), forKey: .ownDeletedZones)
        let zoneChanges = state.unsentZoneChanges.map { change in
            switch change {
            case .saveZone(let zone):
                ZoneChange(
                    kind: .save, zone: ZoneName(zone.zoneID),
                    scope: zone.encryptionScope == .perRecord ? nil : zone.encryptionScope.rawValue,
                    encryptsAssets: zone.wantedEncryptsAssets)
            case .deleteZone(let id): ZoneChange(kind: .delete, zone: ZoneName(id))
            }
        }
        try container.encode(zoneChanges, forKey: .pendingZones)
        try container.encode(Self.runs(state.unsentRecordChanges), forKey: .pendingRecords)
        let forNextZone = Dictionary(grouping: state.recordsForNextZone, by: \.zoneID)
            .map { ZoneRecords(zone: ZoneName($0), records: $1.map(\.recordName).sorted()) }
            .sorted { $0.zone.name < $1.zone.name }
        try container.encode(forNextZone, forKey: .recordsForNextZone)
        try container.encode(state.hasUntrackedChanges, forKey: .hasUntrackedChanges)
    }

    private static func runs(_ changes: [CKSyncEngine.PendingRecordZoneChange]) -> [RecordChanges] {
        var runs: [RecordChanges] = []
        var lastZone: CKRecordZone.ID?
        for change in changes {
            let kind: ChangeKind
            switch change {
            case .saveRecord: kind = .save
            case .deleteRecord: kind = .delete
            }
            if runs.last?.kind != kind || lastZone != change.recordID.zoneID {
                lastZone = change.recordID.zoneID
                runs.append(RecordChanges(kind: kind, zone: ZoneName(change.recordID.zoneID), records: []))
            }
            runs[runs.count - 1].records.append(change.recordID.recordName)
        }
        return runs
    }

    /// Reads a state.
    ///
    /// - Throws: `DecodingError` for a state of a newer version, and for one that no engine wrote.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func refuse(_ key: Key, _ reason: String) -> DecodingError {
            DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: reason)
        }
        let version = try container.decode(Int.self, forKey: .version)
        guard (1...Self.version).contains(version) else {
            throw refuse(
                .version,
                "the sync engine's state has version \(version), and this one reads up to \(Self.version); update the app, "
                    + "or begin without a state")
        }
        func zoneID(_ name: ZoneName, _ key: Key) throws -> CKRecordZone.ID {
            guard let id = name.zoneID else { throw refuse(key, "\"\(name.name)\" is no zone's name") }
            return id
        }
        func token(_ data: Data, _ key: Key) throws -> CKServerChangeToken {
            guard !data.isEmpty, data.count <= Self.tokenBytesMax else {
                throw refuse(key, "a change token has \(data.count) bytes")
            }
            return CKServerChangeToken(bytes: [UInt8](data))
        }
        func zones(_ key: Key) throws -> UniqueZones {
            var zones = UniqueZones()
            for name in try container.decode([ZoneName].self, forKey: key) {
                let id = try zoneID(name, key)
                guard !zones.contains(id) else { throw refuse(key, "a zone comes twice") }
                zones.insert(id)
            }
            return zones
        }

        var state = SyncEngineState()
        switch try container.decode(AccountKind.self, forKey: .account) {
        case .undetermined: state.account = .undetermined
        case .none: state.account = .none
        case .user:
            let name = try container.decode(String.self, forKey: .user)
            guard CKRecord.ID.problem(withName: name) == nil else { throw refuse(.user, "no user has this name") }
            state.account = .user(name)
        }
        if let data = try container.decodeIfPresent(Data.self, forKey: .databaseToken) {
            state.databaseToken = try token(data, .databaseToken)
        }
        for entry in try container.decode([ZoneToken].self, forKey: .zones) {
            let id = try zoneID(entry.zone, .zones)
            guard state.zoneTokens.updateValue(try token(entry.token, .zones), forKey: id) == nil else {
                throw refuse(.zones, "a zone comes twice")
            }
        }
        state.unfetchedZones = try zones(.unfetchedZones)
        // States of before there were any have none.
        if container.contains(.unconfirmedZones) { state.unconfirmedZones = try zones(.unconfirmedZones) }
        for part in try container.decodeIfPresent([ZoneRecords].self, forKey: .recordsForNextZone) ?? [] {
            for name in part.records {
                state.recordsForNextZone.insert(CKRecord.ID(recordName: name, zoneID: part.zone.writtenID))
            }
        }
        state.ownDeletedZones = try zones(.ownDeletedZones)
        // What is to be sent has the names that the app gave it. One that nothing can have is no reason to refuse the
        // state, with all that it holds besides: the change is sent, and fails by itself.
        for change in try container.decode([ZoneChange].self, forKey: .pendingZones) {
            let id = change.zone.writtenID
            guard !state.zoneChanges.contains(id) else { throw refuse(.pendingZones, "a zone comes twice") }
            let zone = CKRecordZone(zoneID: id)
            zone.encryptionScope = change.scope.flatMap(CKRecordZone.EncryptionScope.init) ?? .perRecord
            zone.encryptsAssets = change.encryptsAssets
            let pending: CKSyncEngine.PendingDatabaseChange = change.kind == .save ? .saveZone(zone) : .deleteZone(id)
            state.zoneChanges.add(pending, id: id, stamp: 0)
        }
        for run in try container.decode([RecordChanges].self, forKey: .pendingRecords) {
            let zone = run.zone.writtenID
            for name in run.records {
                let id = CKRecord.ID(recordName: name, zoneID: zone)
                guard !state.recordChanges.contains(id) else { throw refuse(.pendingRecords, "a record comes twice") }
                state.recordChanges.add(run.kind == .save ? .saveRecord(id) : .deleteRecord(id), id: id, stamp: 0)
            }
        }
        state.hasUntrackedChanges = try container.decode(Bool.self, forKey: .hasUntrackedChanges)
        self.init(state)
    }
}
