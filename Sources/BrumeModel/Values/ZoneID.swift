/// A zone as a request names it.
package struct ZoneID: Hashable, Sendable {
    package var name: String
    /// The owner's user record name; empty or `__defaultOwner__` for the caller.
    package var owner: String

    package init(name: String, owner: String = "") {
        self.name = name
        self.owner = owner
    }

    package static let defaultZone = ZoneID(name: Names.defaultZone)

    package var isDefault: Bool { name == Names.defaultZone }
}

/// What a zone can do: raw values of `CKRecordZone.Capabilities`.
package struct ZoneCapabilities: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let fetchChanges = ZoneCapabilities(rawValue: 1)
    package static let atomic = ZoneCapabilities(rawValue: 2)
    package static let sharing = ZoneCapabilities(rawValue: 4)
    package static let zoneWideSharing = ZoneCapabilities(rawValue: 8)
    /// Every custom zone of a private database.
    package static let custom: ZoneCapabilities = [.fetchChanges, .atomic, .sharing, .zoneWideSharing]
}

/// Why a zone was deleted. Raw values are those of the protocol.
package enum ZoneDeletionReason: UInt8, Sendable {
    case deleted = 0
    case purged = 1
    case encryptedDataReset = 2
}
