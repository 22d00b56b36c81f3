internal import BrumeModel
internal import BrumeWire

/// What a pattern asks of a call: which kind, and what it names. Decoded only as far as a pattern asks for it.
struct CallRequest {
    let kind: CallPattern.Kind
    private let method: Method
    private let payload: UnsafeRawBufferPointer

    /// Nil for what is no call of an app's.
    init?(_ method: Method, _ payload: UnsafeRawBufferPointer) {
        switch method {
        case .recordsModify: kind = .modifyRecords
        case .recordsFetch: kind = .fetchRecords
        case .recordsQuery: kind = .query
        case .recordsChanges: kind = .fetchZoneChanges
        case .databasesChanges: kind = .fetchDatabaseChanges
        case .zonesModify: kind = .modifyZones
        case .zonesFetch, .zonesList: kind = .fetchZones
        case .subscriptionsModify: kind = .modifySubscriptions
        case .subscriptionsFetch, .subscriptionsList: kind = .fetchSubscriptions
        case .notificationsOpen: kind = .listen
        default: return nil
        }
        self.method = method
        self.payload = payload
    }

    func matches(_ pattern: CallPattern) -> Bool {
        guard pattern.kind == kind || (pattern.kind == .any && kind != .listen) else { return false }
        if pattern.zone == nil, pattern.recordType == nil, pattern.recordName == nil { return true }
        let names = self.names
        if let zone = pattern.zone, !names.zones.contains(zone) { return false }
        if let type = pattern.recordType, !names.recordTypes.contains(type) { return false }
        if let name = pattern.recordName, !names.recordNames.contains(name) { return false }
        return true
    }

    private struct Names {
        var zones: Set<String> = []
        var recordTypes: Set<String> = []
        var recordNames: Set<String> = []
    }

    /// Of a request that can't be decoded, none: the server will refuse it.
    private var names: Names {
        let coder = MessageCoder()
        var names = Names()
        do throws(ServiceError) {
            switch method {
            case .recordsModify:
                for zone in try coder.decodeModifyRecordsRequest(payload).zones {
                    names.zones.insert(zone.zone.name)
                    names.recordTypes.formUnion(zone.saves.map(\.type))
                    names.recordNames.formUnion(zone.saves.map(\.name) + zone.deletions)
                }
            case .recordsFetch:
                for zone in try coder.decodeFetchRecordsRequest(payload).zones {
                    names.zones.insert(zone.zone.name)
                    names.recordNames.formUnion(zone.names)
                }
            case .recordsQuery:
                let request = try coder.decodeQueryRequest(payload)
                if let zone = request.zone { names.zones.insert(zone.name) }
                names.recordTypes.insert(request.query.recordType)
            case .recordsChanges: names.zones.insert(try coder.decodeZoneChangesRequest(payload).zone.name)
            case .zonesModify:
                let request = try coder.decodeModifyZonesRequest(payload)
                names.zones.formUnion((request.saves + request.deletions).map(\.name))
            case .zonesFetch: names.zones.formUnion(try coder.decodeFetchZonesRequest(payload).1.map(\.name))
            default: break
            }
        } catch {
            return Names()
        }
        return names
    }

    /// The change token that a fetch of changes carries and what it is of; nil for all else.
    var tokenUse: TokenExpiry.Use? {
        let coder = MessageCoder()
        do throws(ServiceError) {
            switch method {
            case .recordsChanges:
                let request = try coder.decodeZoneChangesRequest(payload)
                return TokenExpiry.Use(database: request.database, zone: request.zone.name, token: request.token)
            case .databasesChanges:
                let request = try coder.decodeDatabaseChangesRequest(payload)
                return TokenExpiry.Use(database: request.database, zone: nil, token: request.token)
            default: return nil
            }
        } catch {
            return nil
        }
    }
}
