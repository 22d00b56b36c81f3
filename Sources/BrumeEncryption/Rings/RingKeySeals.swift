/// What a ring's key commits to and seals: the keys before it, and itself for whoever has the zone's key.
enum RingKeySeals {
    struct Earlier {
        var ringKeys: [UInt32: SecretKey] = [:]
        /// A tree's own keys from while it was private, by the number of the zone's key.
        var treeKeys: [UInt32: SecretKey] = [:]
    }

    private static let keyBytes = 4 + 4 + SecretKey.byteCount
    /// Those of no earlier keys.
    private static let noEarlierKeysBytes = 4 + Label.earlier.text.utf8.count + 2 * 4 + Seal.overheadBytes
    static let earlierKeysBytesMax = noEarlierKeysBytes + 2 * Limits.earlierKeys * keyBytes

    static func canBeEarlierKeys(byteCount: Int) -> Bool {
        byteCount >= noEarlierKeysBytes && (byteCount - noEarlierKeysBytes) % keyBytes == 0
    }
    static let closedKeyBytes = 4 + Label.closed.text.utf8.count + 4 + SecretKey.byteCount + Seal.overheadBytes

    static func commitment(ring: RingName, number: UInt32, key: SecretKey) -> [UInt8] {
        var message = data(.ringKey, ring, number)
        defer { message.wipe() }
        message.write(key)
        return Digest.hash(message)
    }

    static func commits(_ entry: RingEntry, to key: SecretKey) -> Bool {
        key.byteCount == SecretKey.byteCount
            && Sodium.isEqual(commitment(ring: entry.ring, number: entry.number, key: key), entry.commitment)
    }

    static func seal(_ earlier: Earlier, ring: RingName, number: UInt32, key: SecretKey) -> [UInt8] {
        var plain = PartWriter(
            .earlier, capacity: 64 + (earlier.ringKeys.count + earlier.treeKeys.count) * keyBytes)
        defer { plain.wipe() }
        for keys in [earlier.ringKeys, earlier.treeKeys] {
            plain.write(u32: UInt32(keys.count))
            for (number, key) in keys.sorted(by: { $0.key < $1.key }) {
                plain.write(u32: number)
                plain.write(key)
            }
        }
        return Seal.seal(
            plain.bytes, data: data(.earlierKeys, ring, number).bytes, key: Digest.deriveKey(key, .earlierKeysKey))
    }

    /// The keys that an entry hands on.
    ///
    /// - Throws: `damaged` where they don't open, or are not what the entries of their numbers committed to.
    static func openEarlier(
        _ entry: RingEntry, before: RingEntry?, key: SecretKey, entryNumbered: (UInt32) -> RingEntry?
    ) throws(EncryptionRefusal) -> Earlier {
        let data = data(.earlierKeys, entry.ring, entry.number).bytes
        var reader = try PartReader(
            try Seal.open(entry.earlierKeys[...], data: data, key: Digest.deriveKey(key, .earlierKeysKey)), .earlier)
        defer { reader.wipe() }
        let ringKeys = try reader.readKeysByNumber(below: entry.number)
        // A tree has keys of its own from while it was private alone.
        let mayHaveTreeKeys = before?.isClosed ?? true
        let treeKeys = try reader.readKeysByNumber(below: mayHaveTreeKeys ? entry.zoneKeyNumber + 1 : 1)
        try reader.end()
        for (number, key) in ringKeys {
            guard let entry = entryNumbered(number), commits(entry, to: key) else { throw .damaged }
        }
        return Earlier(ringKeys: ringKeys, treeKeys: treeKeys)
    }

    static func sealClosed(ring: RingName, number: UInt32, key: SecretKey, zoneKey: SecretKey) -> [UInt8] {
        var plain = PartWriter(.closed)
        defer { plain.wipe() }
        plain.write(key)
        return Seal.seal(plain.bytes, data: data(.closedData, ring, number).bytes, key: closedKey(ring, zoneKey))
    }

    /// The key of an entry that closed a ring, for whoever has the zone's key.
    ///
    /// - Throws: `damaged` where that is another one's.
    static func openClosed(_ entry: RingEntry, zoneKey: SecretKey) throws(EncryptionRefusal) -> SecretKey {
        let data = data(.closedData, entry.ring, entry.number).bytes
        var reader = try PartReader(
            try Seal.open(entry.closedKey[...], data: data, key: closedKey(entry.ring, zoneKey)), .closed)
        defer { reader.wipe() }
        let key = try reader.readKey()
        try reader.end()
        guard commits(entry, to: key) else { throw .damaged }
        return key
    }

    private static func closedKey(_ ring: RingName, _ zoneKey: SecretKey) -> SecretKey {
        var message = PartWriter(.closedKey)
        message.write(ring)
        return Digest.deriveKey(zoneKey, message)
    }

    private static func data(_ label: Label, _ ring: RingName, _ number: UInt32) -> PartWriter {
        var data = PartWriter(label)
        data.write(ring)
        data.write(u32: number)
        return data
    }
}

extension PartReader {
    fileprivate mutating func readKeysByNumber(below limit: UInt32) throws(EncryptionRefusal) -> [UInt32: SecretKey] {
        var keys: [UInt32: SecretKey] = [:]
        var last: UInt32 = 0
        for _ in 0..<(try readCount(0...Limits.earlierKeys)) {
            let number = try readU32()
            guard number > last, number < limit else { throw .damaged }
            keys[number] = try readKey()
            last = number
        }
        return keys
    }
}
