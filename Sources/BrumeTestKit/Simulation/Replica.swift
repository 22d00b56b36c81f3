internal import BrumeModel

/// What a device keeps of its account's private database.
struct Replica {
    struct Zone {
        var token: [UInt8] = []
        /// Tags by record name, as the feed gave them.
        var records: [String: String] = [:]
    }

    var databaseToken: [UInt8] = []
    /// Zones, as the database's feed reported them.
    var zoneNames: Set<String> = []
    /// By zone.
    var zones: [String: Zone] = [:]
    /// The tags that the device would save with; not always the latest.
    var tags: [String: [String: String]] = [:]
    /// The numbers of the newest keys of zones, as far as the device was told.
    var keyNumbers: [String: UInt32] = [:]
    /// The hashes of the last entries of the zones' rings, from where the device knows these numbers.
    var ringEntryHashes: [String: [UInt8]] = [:]
    /// By zone and root, the newest keys of shared trees, as far as the device was told: as headers of values.
    var treeKeys: [String: [String: EncryptedHeader]] = [:]
    /// What the device was told of its account's keys.
    var statements: [SharedBytes] = []
    /// Tokens of earlier times, with their zones.
    var oldTokens: [(zone: String, token: [UInt8])] = []
}
