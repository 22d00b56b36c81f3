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

    /// The keys that an entry hands on; nil where they don't open, or are not what the entries of their numbers
    /// committed to.
    static func openEarlier(
        _ entry: RingEntry, before: RingEntry?, key: SecretKey, entryNumbered: (UInt32) -> RingEntry?
    ) -> Earlier? {
        guard
            var plain = try? Seal.open(
                entry.earlierKeys[...], data: data(.earlierKeys, entry.ring, entry.number).bytes,
                key: Digest.deriveKey(key, .earlierKeysKey))
        else { return nil }
        defer { Sodium.wipe(&plain) }
        guard var reader = try? PartReader(plain, .earlier),
            let ringKeys = try? reader.readKeysByNumber(below: entry.number),
            // A tree has keys of its own from while it was private alone.
            let treeKeys = try? reader.readKeysByNumber(
                below: before == nil || before!.isClosed ? UInt64(entry.zoneKeyNumber) + 1 : 1),
            (try? reader.end()) != nil,
            ringKeys.allSatisfy({ number, key in entryNumbered(number).map { commits($0, to: key) } == true })
        else { return nil }
        return Earlier(ringKeys: ringKeys, treeKeys: treeKeys)
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
            var bytes = try? reader.readBytes(exactly: SecretKey.byteCount)
        else { return nil }
        defer { Sodium.wipe(&bytes) }
        guard (try? reader.end()) != nil else { return nil }
        let key = SecretKey(copying: bytes, isLocked: false)
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
    fileprivate mutating func readKeysByNumber(below limit: some BinaryInteger) throws(EncryptionRefusal) -> [UInt32:
        SecretKey]
    {
        var keys: [UInt32: SecretKey] = [:]
        var last: UInt32 = 0
        for _ in 0..<(try readCount(0...Limits.earlierKeys)) {
            let number = try readU32()
            var bytes = try readBytes(exactly: SecretKey.byteCount)
            defer { Sodium.wipe(&bytes) }
            guard number > last, number < limit else { throw .damaged }
            keys[number] = SecretKey(copying: bytes, isLocked: false)
            last = number
        }
        return keys
    }
}
