/// What a key-value store knows for one account, and keeps across launches: the server's values, and the writes that
/// the server has not acknowledged.
package struct KeyValueStoreContents: Equatable, Sendable {
    /// A write that waits for the server, or is on its way.
    package struct Write: Equatable, Sendable {
        /// Nil: the key was removed.
        package var value: [UInt8]?
        /// Counts writes, so that an acknowledgement is told from one for an earlier write.
        package var number: UInt64
        /// Made before anything was fetched for the account: gives way to a value that the server has.
        package var isProvisional: Bool
    }

    /// As the server had them at the token, and what it acknowledged since.
    package var values: [String: [UInt8]] = [:]
    package var writes: [String: Write] = [:]
    /// Where the next fetch begins; nil: with everything.
    package var token: [UInt8]?
    /// Whether the account's values were ever fetched.
    package var hasFetched = false
    package var lastNumber: UInt64 = 0

    package init() {}

    /// The value that the app sees.
    package subscript(key: String) -> [UInt8]? {
        if let write = writes[key] { write.value } else { values[key] }
    }

    /// The keys that the app sees.
    package var keys: Set<String> {
        var keys = Set(values.keys)
        for (key, write) in writes {
            if write.value == nil { keys.remove(key) } else { keys.insert(key) }
        }
        return keys
    }

    /// Bytes of all keys and values that the app sees.
    var byteCount: Int {
        keys.reduce(0) { $0 + $1.utf8.count + (self[$1]?.count ?? 0) }
    }

    var isWithinLimits: Bool {
        keys.count <= KeyValueStoreLimits.keysMax && byteCount <= KeyValueStoreLimits.bytesMax
    }

    mutating func write(_ value: [UInt8]?, forKey key: String) {
        lastNumber += 1
        writes[key] = Write(value: value, number: lastNumber, isProvisional: !hasFetched)
    }

    /// Takes over what was set before the account was there: for keys that the account has no value for.
    mutating func adopt(_ other: KeyValueStoreContents) {
        for key in other.keys.sorted() where self[key] == nil && writes[key] == nil {
            lastNumber += 1
            writes[key] = Write(value: other[key], number: lastNumber, isProvisional: true)
        }
    }

    /// The keys that look different to the app, sorted.
    func changes(from before: KeyValueStoreContents) -> [String] {
        keys.union(before.keys).filter { self[$0] != before[$0] }.sorted()
    }
}
