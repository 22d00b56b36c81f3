/// What a ring's key commits to and seals: the keys before it, and itself for whoever has the zone's key.
enum RingKeySeals {
    struct Earlier {
        var ringKeys: [UInt32: SecretKey] = [:]
        /// A tree's own keys from while it was private, by the number of the zone's key.
        var treeKeys: [UInt32: SecretKey] = [:]
    }

    private static let keyBytes = 4 + 4 + SecretKey.byteCount
    static let earlierKeysBytes =
        4 + Label.earlier.text.utf8.count + 2 * (4 + Limits.earlierKeys * keyBytes) + Seal.overheadBytes
    static let closedKeyBytes = 4 + Label.closed.text.utf8.count + 4 + SecretKey.byteCount + Seal.overheadBytes

    static func commitment(ring: RingName, number: UInt32, key: SecretKey) -> [UInt8] {
        var message = data(.ringKey, ring, number)
        defer { message.wipe() }
        key.withBytes { message.write(bytes: $0) }
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
                key.withBytes { plain.write(bytes: $0) }
            }
        }
        return Seal.seal(
            plain.bytes, data: data(.earlierKeys, ring, number).bytes, key: Digest.deriveKey(key, .earlierKeysKey))
    }

    static func openEarlier(_ entry: RingEntry, key: SecretKey) throws(EncryptionRefusal) -> Earlier {
        var plain = try Seal.open(
            entry.earlierKeys[...], data: data(.earlierKeys, entry.ring, entry.number).bytes,
            key: Digest.deriveKey(key, .earlierKeysKey))
        defer { Sodium.wipe(&plain) }
        var reader = try PartReader(plain, .earlier)
        let earlier = Earlier(ringKeys: try reader.readKeysByNumber(), treeKeys: try reader.readKeysByNumber())
        try reader.end()
        return earlier
    }

    static func sealClosed(ring: RingName, number: UInt32, key: SecretKey, zoneKey: SecretKey) -> [UInt8] {
        var plain = PartWriter(.closed)
        defer { plain.wipe() }
        key.withBytes { plain.write(bytes: $0) }
        return Seal.seal(plain.bytes, data: data(.closedData, ring, number).bytes, key: closedKey(ring, zoneKey))
    }

    /// The key of an entry that closed a ring, for whoever has the zone's key; nil where that is another one's.
    static func openClosed(_ entry: RingEntry, zoneKey: SecretKey) -> SecretKey? {
        guard
            var plain = try? Seal.open(
                entry.closedKey[...], data: data(.closedData, entry.ring, entry.number).bytes,
                key: closedKey(entry.ring, zoneKey))
        else { return nil }
        defer { Sodium.wipe(&plain) }
        guard var reader = try? PartReader(plain, .closed),
            var bytes = try? reader.readBytes(exactly: SecretKey.byteCount), (try? reader.end()) != nil
        else { return nil }
        defer { Sodium.wipe(&bytes) }
        let key = SecretKey(copying: bytes)
        return commits(entry, to: key) ? key : nil
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
    fileprivate mutating func readKeysByNumber() throws(EncryptionRefusal) -> [UInt32: SecretKey] {
        var keys: [UInt32: SecretKey] = [:]
        let count = try readCount(0...Limits.earlierKeys)
        for _ in 0..<count {
            let number = try readU32()
            var bytes = try readBytes(exactly: SecretKey.byteCount)
            defer { Sodium.wipe(&bytes) }
            guard number > 0, keys.updateValue(SecretKey(copying: bytes), forKey: number) == nil else { throw .damaged }
        }
        return keys
    }
}
