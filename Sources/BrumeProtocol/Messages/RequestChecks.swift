internal import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Checks that several requests share. All throw what the whole request fails with.
enum RequestChecks {
    static func scope(_ scope: Brume__V1__DatabaseScope) throws(ServiceError) -> DatabaseScope {
        switch scope.rawValue {
        case 0:
            throw ServiceError(
                .invalidArguments, "a request names no database; set it to public (1), private (2) or shared (3)")
        case 1: return .public
        case 2: return .private
        case 3: return .shared
        default:
            throw ServiceError(
                .invalidArguments,
                "a request names the unknown database \(scope.rawValue); use public (1), private (2) or shared (3)")
        }
    }

    static func operationID(_ data: ProtobufCBinaryData) throws(ServiceError) -> [UInt8] {
        guard data.len == 0 || data.len == 16 else {
            throw ServiceError(
                .invalidArguments, "an operation id has \(data.len) bytes; give it 16 random ones or none")
        }
        return data.array
    }

    static func clientToken(_ data: ProtobufCBinaryData) throws(ServiceError) -> [UInt8] {
        guard data.len <= Limits.clientTokenBytes else {
            throw ServiceError(
                .invalidArguments,
                "a client change token has \(data.len) bytes; the limit is \(Limits.clientTokenBytes): send an id or a "
                    + "digest, and keep the rest on the device")
        }
        return data.array
    }

    static func itemCount(_ count: Int, _ kind: StaticString) throws(ServiceError) {
        guard count <= Limits.itemsPerRequest else {
            throw ServiceError(
                .limitExceeded,
                "a request has \(count) \(kind); the limit is \(Limits.itemsPerRequest): send them in several requests")
        }
    }

    /// Fails when a zone is named twice. The caller as its owner has two spellings: empty, and `__defaultOwner__`.
    static func distinctZones(_ first: [ZoneID], _ second: [ZoneID] = []) throws(ServiceError) {
        guard first.count + second.count > 1 else { return }
        var seen = Set<ZoneID>(minimumCapacity: first.count + second.count)
        for list in [first, second] {
            for zone in list {
                let key = ZoneID(name: zone.name, owner: zone.owner == Names.currentUser ? "" : zone.owner)
                guard seen.insert(key).inserted else {
                    throw ServiceError(
                        .invalidArguments,
                        "a request names the zone \"\(quoted(zone.name))\" twice; name each zone once")
                }
            }
        }
    }

    /// The same for what holds a zone each: mostly there is one, and nothing to look at.
    static func distinctZones<Item>(_ items: [Item], _ zone: (Item) -> ZoneID) throws(ServiceError) {
        if items.count > 1 { try distinctZones(items.map(zone)) }
    }

    /// Fails where two of `names` are the same.
    static func distinct(_ first: [String], _ second: [String], _ kind: StaticString) throws(ServiceError) {
        guard first.count + second.count > 1 else { return }
        var seen = Set<String>(minimumCapacity: first.count + second.count)
        for name in first where !seen.insert(name).inserted { throw twice(name, kind) }
        for name in second where !seen.insert(name).inserted { throw twice(name, kind) }
    }

    static func twice(_ name: String, _ kind: StaticString) -> ServiceError {
        ServiceError(
            .invalidArguments, "a request saves or deletes the \(kind) \"\(quoted(name))\" twice; name each one once")
    }

    /// The beginning of a name for an error's text: a name that is wrong can be long.
    private static func quoted(_ name: String) -> Substring { name.prefix(64) }

    /// The keys that a fetch wants, sorted and without duplicates, and without those that no field can have; nil when
    /// the request doesn't say.
    static func desiredKeys(_ keys: UnsafeMutablePointer<Brume__V1__DesiredKeys>?) throws(ServiceError) -> DesiredKeys?
    {
        guard let keys else { return nil }
        guard keys.pointee.n_keys <= Limits.fieldsPerRecord else {
            throw ServiceError(
                .limitExceeded,
                "a request asks for \(keys.pointee.n_keys) field keys; a record has at most \(Limits.fieldsPerRecord)")
        }
        var sorted = try texts(keys.pointee.keys, keys.pointee.n_keys, "a desired key")
        sorted.removeAll { Names.problemWithFieldKey($0, ofType: Names.shareType) != nil }
        sorted.sort()
        var last: String?
        sorted.removeAll { key in
            defer { last = key }
            return key == last
        }
        return sorted
    }
}
