internal import BrumeEncryption

/// The bodies of the files; see ``KeyFile``.
extension KeptKeys {
    /// The bytes of a changed file; nil where it goes. Whoever takes them wipes them.
    static func encode(_ change: Change, place: KeyPlace) -> KeyFileWriter? {
        var writer: KeyFileWriter
        switch change {
        case .pending(nil), .code(nil): return nil
        case .device(let device):
            writer = KeyFileWriter(kind: change.file.kind, capacity: SecretKey.byteCount)
            writer.write(device.seed)
        case .code(let code?):
            writer = KeyFileWriter(kind: change.file.kind, capacity: RecoveryCode.secretBytes)
            writer.write(code.secret)
        case .statements(let known, let listedAs):
            writer = KeyFileWriter(kind: change.file.kind, capacity: 1024)
            writer.write(u8: known.trust.rawValue)
            writer.write(u8: listedAs == nil ? 0 : 1)
            if let listedAs {
                writer.write(listedAs.signing)
                writer.write(listedAs.box)
            }
            writer.write(u32: UInt32(known.signed.count))
            for signed in known.signed { writer.write(counted: signed.bytes) }
        case .pending(let pending?):
            let statement = pending.signed.bytes
            writer = KeyFileWriter(kind: change.file.kind, capacity: statement.count + 256)
            let replaces = !pending.replacedHash.isEmpty
            writer.write(u8: (pending.device == nil ? 0 : 1) | (pending.code == nil ? 0 : 2) | (replaces ? 4 : 0))
            if let device = pending.device { writer.write(device.seed) }
            if let code = pending.code { writer.write(code.secret) }
            writer.write(pending.replacedHash)
            writer.write(counted: statement)
        }
        writer.finish(place: place.bytes)
        return writer
    }

    /// Takes in what a file holds.
    mutating func decode(_ bytes: consuming [UInt8], _ file: KeyFile, place: KeyPlace) throws(KeyFile.Refusal) {
        var reader = try KeyFileReader(bytes, kind: file.kind, place: place.bytes)
        defer { reader.wipe() }
        switch file {
        case .device: apply(.device(KeyPairs(seed: try reader.readSecret())))
        case .code: apply(.code(try Self.readCode(&reader)))
        case .statements:
            guard let trust = KnownStatements.Trust(rawValue: try reader.readU8()) else { throw .damaged }
            let flag = try reader.readU8()
            guard flag < 2 else { throw .damaged }
            let listedAs =
                try flag == 0
                ? nil
                : PublicKeys(signing: reader.read(PublicKeys.byteCount), box: reader.read(PublicKeys.byteCount))
            let count = Int(try reader.readU32())
            guard count <= KeyLimits.statementsMax else { throw .damaged }
            var statements: [[UInt8]] = []
            for _ in 0..<count { statements.append(try reader.readCounted()) }
            let known = try Self.checked { () throws(EncryptionRefusal) in
                try KnownStatements(kept: statements, trust: trust)
            }
            guard known.chain.last.scope == place.scope else { throw .damaged }
            apply(.statements(known, listedAs: listedAs))
        case .pending:
            let flags = try reader.readU8()
            guard flags < 8 else { throw .damaged }
            let device = try flags & 1 == 0 ? nil : KeyPairs(seed: reader.readSecret())
            let code = try flags & 2 == 0 ? nil : Self.readCode(&reader)
            let replacedHash = try flags & 4 == 0 ? [] : reader.read(KeyLimits.hashBytes)
            let statement = try reader.readCounted()
            let signed = try Self.checked { () throws(EncryptionRefusal) in try SignedStatement(statement) }
            guard signed.statement.scope == place.scope else { throw .damaged }
            apply(
                .pending(
                    PendingStatement(signed: signed, replacedHash: replacedHash, device: device, code: code)))
        }
        try reader.end()
    }

    private static func readCode(_ reader: inout KeyFileReader) throws(KeyFile.Refusal) -> RecoveryCode {
        var bytes = try reader.read(RecoveryCode.secretBytes)
        defer { Sodium.wipe(&bytes) }
        return RecoveryCode(bytes: bytes)
    }

    private static func checked<Value>(
        _ body: () throws(EncryptionRefusal) -> Value
    ) throws(KeyFile.Refusal) -> Value {
        do throws(EncryptionRefusal) {
            return try body()
        } catch {
            throw error == .newer ? .newer : .damaged
        }
    }
}
