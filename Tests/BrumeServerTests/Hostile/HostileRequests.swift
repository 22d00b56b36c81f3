/// Encoded requests, built from proto/ by hand.
enum HostileRequests {
    static let privateScope: UInt64 = 2

    enum Method {
        static let healthCheck: UInt64 = 1
        static let zonesModify: UInt64 = 16
        static let zonesFetch: UInt64 = 17
        static let zonesList: UInt64 = 18
        static let recordsModify: UInt64 = 32
        static let recordsFetch: UInt64 = 33
        static let recordsChanges: UInt64 = 34
        static let databasesChanges: UInt64 = 48
        static let subscriptionsModify: UInt64 = 64
        static let subscriptionsFetch: UInt64 = 65
        static let subscriptionsList: UInt64 = 66
        static let notificationsOpen: UInt64 = 80
        static let adminListAccounts: UInt64 = 257
        static let adminStats: UInt64 = 268
    }

    static func zone(_ name: String, owner: String = "") -> [ProtobufField] {
        owner.isEmpty ? [.text(1, name)] : [.text(1, name), .text(2, owner)]
    }

    static func modifyZones(saves: [[ProtobufField]] = [], deletions: [[ProtobufField]] = []) -> [UInt8] {
        ProtobufField.encode(
            [.varint(1, privateScope)] + saves.map { .message(2, $0) } + deletions.map { .message(3, $0) })
    }

    static func field(_ key: String, text: [UInt8]) -> ProtobufField {
        .message(15, [.text(1, key), .message(2, [.bytes(1, text)])])
    }

    static func save(_ name: String, type: String = "Note", tag: String = "", fields: [ProtobufField] = [])
        -> ProtobufField
    {
        .message(2, [.text(1, name), .text(2, type), .text(3, tag)] + fields)
    }

    /// `items` are `save`s and deletions (field 3).
    static func modifyRecords(
        scope: UInt64 = privateScope, zone: [ProtobufField], _ items: [ProtobufField], operationID: [UInt8] = [],
        clientToken: [UInt8] = []
    ) -> [UInt8] {
        var fields: [ProtobufField] = [.varint(1, scope)]
        if !operationID.isEmpty { fields.append(.bytes(4, operationID)) }
        fields.append(.message(5, [.message(1, zone)] + items))
        if !clientToken.isEmpty { fields.append(.bytes(6, clientToken)) }
        return ProtobufField.encode(fields)
    }

    static func fetch(zone: [ProtobufField], names: [String]) -> [UInt8] {
        ProtobufField.encode([
            .varint(1, privateScope), .message(2, [.message(1, zone)] + names.map { .text(2, $0) }),
        ])
    }

    static func changes(zone: [ProtobufField], token: [UInt8] = [], limit: UInt64 = 0) -> [UInt8] {
        ProtobufField.encode([.varint(1, privateScope), .message(2, zone), .bytes(3, token), .varint(4, limit)])
    }

    static func databaseChanges(token: [UInt8] = []) -> [UInt8] {
        ProtobufField.encode([.varint(1, privateScope), .bytes(2, token)])
    }

    static func saveZoneSubscription(id: String, zone: [ProtobufField]) -> [UInt8] {
        ProtobufField.encode([
            .varint(1, privateScope), .message(2, [.text(1, id), .message(2, [.message(1, zone)])]),
        ])
    }

    static func deleteSubscription(id: String) -> [UInt8] {
        ProtobufField.encode([.varint(1, privateScope), .text(3, id)])
    }

    static func fetchSubscriptions(ids: [String]) -> [UInt8] {
        ProtobufField.encode([.varint(1, privateScope)] + ids.map { .text(2, $0) })
    }
}
