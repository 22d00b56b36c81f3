internal import BrumeModel
internal import BrumeProtocol

/// What tests of encrypted values have clients do: before a zone takes one it needs a ring.
extension FramePeer {
    /// Begins the account's statements.
    package func makeKeys() throws -> SampleKeys {
        let keys = try SampleKeys(user: user, container: SteppedServer.container)
        try append(statementOf: keys)
        return keys
    }

    /// Appends the last statement, or puts it in the place of all behind which it does not stand.
    package func append(statementOf keys: SampleKeys, inPlaceOf hash: [UInt8] = []) throws {
        let request = AppendStatementRequest(statement: SharedBytes(keys.statement), replacedHash: hash)
        _ = try call(.statementsAppend, coder.encodeAppendStatementRequest(request))
    }

    /// Appends the next entry of a ring, or its first.
    package func appendEntry(
        of zone: String, root: String = "", closes: Bool = false, hasPlainAssets: Bool = false,
        _ keys: inout SampleKeys
    ) throws {
        let entry = try keys.nextEntry(of: zone, root: root, closes: closes, hasPlainAssets: hasPlainAssets)
        let request = AppendRingEntryRequest(zone: ZoneID(name: zone), entry: SharedBytes(entry))
        _ = try call(.ringsAppend, coder.encodeAppendRingEntryRequest(request))
    }

    /// Gives an account keys, and each of some zones of its a ring.
    @discardableResult
    package func makeRings(in zones: String...) throws -> SampleKeys {
        var keys = try makeKeys()
        for zone in zones { try appendEntry(of: zone, &keys) }
        return keys
    }
}
