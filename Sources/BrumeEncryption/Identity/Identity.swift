/// An account's identity on a device that has its keys: what it takes to make statements.
package struct Identity: Sendable {
    package let keys: KeyPairs
    /// The account's statements, to which the next one is added.
    package let chain: StatementChain

    package var statement: Statement { chain.last }

    /// - Precondition: The keys are the last statement's, as ``SignedStatement/openIdentity(as:)`` gives them.
    package init(keys: KeyPairs, chain: StatementChain) {
        precondition(keys.publicKeys == chain.last.keys, "an identity has the keys of its last statement")
        self.keys = keys
        self.chain = chain
    }

    /// Makes an account's first identity, for its first device and with a recovery code.
    package static func first(
        scope: IdentityScope, device: PublicKeys, deviceName: String, code: RecoveryCode
    ) throws(EncryptionRefusal) -> (identity: Identity, signed: SignedStatement) {
        let keys = KeyPairs(seed: .random())
        let statement = Statement(
            scope: scope, number: 1, previousHash: Statement.noHash, keys: keys.publicKeys,
            codeKey: code.paperKey(scope).publicKey,
            devices: [.init(keys: device, name: DeviceName.seal(deviceName, of: device, identity: keys))])
        let signed = try sign(
            statement, by: keys, before: nil, anchor: code.anchor(statementHash: statement.hash))
        return (Identity(keys: keys, chain: try StatementChain(first: signed, of: scope)), signed)
    }

    /// The next statement, with one more device.
    package func adding(
        device: PublicKeys, deviceName: String
    ) throws(EncryptionRefusal) -> (identity: Identity, signed: SignedStatement) {
        let name = DeviceName.seal(deviceName, of: device, identity: keys)
        return try next(keys: keys, devices: statement.devices + [.init(keys: device, name: name)], code: nil)
    }

    /// The next statement without some devices, or with another recovery code. It has new keys, which those devices,
    /// or whoever has the old code, don't get; names stay readable for those that stay.
    package func replacingKeys(
        withoutDevices removed: Set<PublicKeys> = [], code: RecoveryCode? = nil
    ) throws(EncryptionRefusal) -> (identity: Identity, signed: SignedStatement) {
        let newKeys = KeyPairs(seed: .random())
        let devices = statement.devices.filter { !removed.contains($0.keys) }.map { device in
            let name = DeviceName.open(device.name, of: device.keys, identity: keys)
            return Statement.Device(
                keys: device.keys, name: name.map { DeviceName.seal($0, of: device.keys, identity: newKeys) } ?? [])
        }
        return try next(keys: newKeys, devices: devices, code: code)
    }

    private func next(
        keys newKeys: KeyPairs, devices: [Statement.Device], code: RecoveryCode?
    ) throws(EncryptionRefusal) -> (identity: Identity, signed: SignedStatement) {
        let next = Statement(
            scope: statement.scope, number: statement.number + 1, previousHash: statement.hash,
            keys: newKeys.publicKeys, codeKey: code?.paperKey(statement.scope).publicKey ?? statement.codeKey,
            devices: devices,
            earlierSeed: newKeys.publicKeys == keys.publicKeys
                ? [] : EarlierSeed.seal(keys, for: newKeys, behind: statement.hash))
        let signed = try Self.sign(
            next, by: newKeys, before: keys, anchor: code?.anchor(statementHash: next.hash) ?? [])
        // What others would refuse is not made: a chain that has it would end there.
        var longer = chain
        try longer.append(signed)
        return (Identity(keys: newKeys, chain: longer), signed)
    }

    private static func sign(
        _ statement: Statement, by keys: KeyPairs, before: KeyPairs?, anchor: [UInt8]
    ) throws(EncryptionRefusal) -> SignedStatement {
        var seed = PartWriter(.identityBox)
        defer { seed.wipe() }
        seed.write(keys.seed)
        var boxes: [[UInt8]] = []
        for key in statement.boxKeys { boxes.append(try BoxPair.box(seed, to: key)) }
        let signed = SignedStatement(
            statement: statement,
            ownSignature: keys.sign(SignedStatement.ownMessage(statement, anchor: anchor, boxes: boxes)),
            previousSignature: before?.sign(SignedStatement.nextMessage(statement)) ?? [], anchor: anchor, boxes: boxes)
        return try SignedStatement(signed.bytes)
    }
}
