internal import BrumeModel
internal import BrumeStore

/// The databases in a shard's memory, in the order of their use, and about how many bytes they take.
struct LoadedDatabases: ~Copyable {
    /// What is kept for one of them, in the database itself.
    struct Entry {
        /// Whether it is among those that ``LoadedDatabases/measureSome(_:)`` measures next.
        fileprivate var isUnmeasured = false
        fileprivate var databaseBytes = 0
        fileprivate var backlogBytes = 0
        fileprivate var assetBytes = AssetBytes()
        /// Neighbours in the order of use. Unowned, because ``LoadedDatabases`` owns all databases and unlinks each one
        /// before it releases it.
        fileprivate unowned(unsafe) var newer: LoadedDatabase?
        fileprivate unowned(unsafe) var older: LoadedDatabase?

        /// What is counted for it.
        var bytes: Int { databaseBytes + backlogBytes }
    }

    /// Bytes of contents of assets, on the disk.
    struct AssetBytes {
        var named: UInt64 = 0
        var pending: UInt64 = 0
        var unneeded: UInt64 = 0

        init() {}

        init(_ blobs: borrowing BlobIndex) {
            named = blobs.referencedByteCount
            pending = blobs.pendingByteCount
            unneeded = blobs.unneededByteCount
        }

        /// Sizes that damaged records give may come to anything.
        mutating func change(from former: AssetBytes, to current: AssetBytes) {
            named = named &- former.named &+ current.named
            pending = pending &- former.pending &+ current.pending
            unneeded = unneeded &- former.unneeded &+ current.unneeded
        }
    }

    private var byID: [DatabaseID: LoadedDatabase] = [:]
    private unowned(unsafe) var newest: LoadedDatabase?
    private unowned(unsafe) var oldest: LoadedDatabase?
    /// The sum of what was counted.
    private(set) var bytes = 0
    /// The part of ``bytes`` without the events that are kept for devices.
    private(set) var databaseBytes = 0
    private(set) var assetBytes = AssetBytes()
    /// Databases that changed since they were measured, each once; some may be gone.
    private var unmeasured: [DatabaseID] = []

    var count: Int { byID.count }

    /// Returns the database if it is loaded, without counting that as a use.
    func known(_ id: DatabaseID) -> LoadedDatabase? { byID[id] }

    /// Returns the database if it is loaded, and makes it the most recently used one.
    mutating func use(_ id: DatabaseID) -> LoadedDatabase? {
        guard let loaded = byID[id] else { return nil }
        use(loaded)
        return loaded
    }

    mutating func use(_ loaded: LoadedDatabase) {
        if newest === loaded { return }
        unlink(loaded)
        link(loaded)
    }

    /// Adds a database that is not loaded yet, as the most recently used one.
    mutating func insert(_ loaded: LoadedDatabase) {
        let former = byID.updateValue(loaded, forKey: loaded.database.id)
        precondition(former == nil, "a database is loaded twice")
        link(loaded)
        bytes += loaded.entry.bytes
        databaseBytes += loaded.entry.databaseBytes
        assetBytes.change(from: AssetBytes(), to: loaded.entry.assetBytes)
    }

    mutating func remove(_ loaded: LoadedDatabase) {
        unlink(loaded)
        bytes -= loaded.entry.bytes
        databaseBytes -= loaded.entry.databaseBytes
        assetBytes.change(from: loaded.entry.assetBytes, to: AssetBytes())
        byID[loaded.database.id] = nil
    }

    /// Counts the bytes that the database takes now. Returns by how many they have grown.
    mutating func measure(_ loaded: LoadedDatabase) -> Int {
        let growth = loaded.approximateBytes - loaded.entry.databaseBytes
        loaded.entry.databaseBytes += growth
        bytes += growth
        databaseBytes += growth
        let assets = AssetBytes(loaded.database.blobs)
        assetBytes.change(from: loaded.entry.assetBytes, to: assets)
        loaded.entry.assetBytes = assets
        return growth + measureBacklog(loaded)
    }

    /// Notes that the database changed. It is measured later: its size matters only when the figures are asked for.
    mutating func noteUnmeasured(_ loaded: LoadedDatabase) {
        if loaded.entry.isUnmeasured { return }
        loaded.entry.isUnmeasured = true
        unmeasured.append(loaded.database.id)
    }

    /// Measures up to `limit` of those databases; returns whether there are more.
    mutating func measureSome(_ limit: Int) -> Bool {
        for _ in 0..<limit {
            guard let id = unmeasured.popLast() else { return false }
            guard let loaded = byID[id] else { continue }
            loaded.entry.isUnmeasured = false
            _ = measure(loaded)
        }
        return !unmeasured.isEmpty
    }

    /// Counts the bytes of the events that the database keeps for devices. Returns by how many they have grown.
    mutating func measureBacklog(_ loaded: LoadedDatabase) -> Int {
        let growth = loaded.hub.approximateBytes - loaded.entry.backlogBytes
        loaded.entry.backlogBytes += growth
        bytes += growth
        return growth
    }

    /// Up to `limit` databases, least recently used first.
    func leastRecentlyUsed(_ limit: Int) -> [LoadedDatabase] {
        var found: [LoadedDatabase] = []
        var next = oldest
        while let loaded = next, found.count < limit {
            found.append(loaded)
            next = loaded.entry.newer
        }
        return found
    }

    /// Calls `body` with each database, least recently used first: an order that is the same in every run.
    func forEach(_ body: (LoadedDatabase) -> Void) {
        var next = oldest
        while let loaded = next {
            next = loaded.entry.newer
            body(loaded)
        }
    }

    private mutating func link(_ loaded: LoadedDatabase) {
        loaded.entry.newer = nil
        loaded.entry.older = newest
        newest?.entry.newer = loaded
        newest = loaded
        if oldest == nil { oldest = loaded }
    }

    private mutating func unlink(_ loaded: LoadedDatabase) {
        if let newer = loaded.entry.newer {
            newer.entry.older = loaded.entry.older
        } else {
            newest = loaded.entry.older
        }
        if let older = loaded.entry.older {
            older.entry.newer = loaded.entry.newer
        } else {
            oldest = loaded.entry.newer
        }
        loaded.entry.newer = nil
        loaded.entry.older = nil
    }
}
