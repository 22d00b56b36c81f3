internal import BrumeEncryption
internal import BrumeModel
internal import BrumeSystem

/// The file of what a device knows of another account, in a key folder: `people/NAME`.
///
/// ```
/// 0   34  head, as KeyFile has it, of the kind 6
/// 34  1   how the first statement is known (KnownStatements.Trust)
/// 35  4   count, then each signed statement (counted), from the first on
/// ```
/// NAME and the checksum are of the key folder's place and then the account's name (counted): the file of one account
/// is damaged in the place of another one's.
enum PersonFile {
    static let kind: UInt8 = 6

    /// The path in the key folder of an account's file: 128 bits of a hash, which is enough to tell accounts apart.
    static func path(account: String, place: KeyPlace) -> String {
        "people/\(SHA256.digest(checkedPlace(account, place)).prefix(16).hexadecimal)"
    }

    static func encode(_ known: KnownStatements, place: KeyPlace) -> KeyFileWriter {
        var writer = KeyFileWriter(kind: kind, capacity: 1024)
        writer.write(u8: known.trust.rawValue)
        writer.write(u32: UInt32(known.signed.count))
        for signed in known.signed { writer.write(counted: signed.bytes) }
        writer.finish(place: checkedPlace(known.chain.last.scope.account, place))
        return writer
    }

    static func decode(
        _ bytes: consuming [UInt8], account: String, place: KeyPlace
    ) throws(KeyFile.Refusal) -> KnownStatements {
        var reader = try KeyFileReader(bytes, kind: kind, place: checkedPlace(account, place))
        guard let trust = KnownStatements.Trust(rawValue: try reader.readU8()) else { throw .damaged }
        let count = Int(try reader.readU32())
        guard count <= KeyLimits.statementsMax else { throw .damaged }
        var statements: [[UInt8]] = []
        for _ in 0..<count { statements.append(try reader.readCounted()) }
        try reader.end()
        let known: KnownStatements
        do throws(EncryptionRefusal) {
            known = try KnownStatements(kept: statements, trust: trust)
        } catch {
            throw error == .newer ? .newer : .damaged
        }
        guard known.chain.last.scope == scope(of: account, place) else { throw .damaged }
        return known
    }

    /// The scope that an account's statements have if they belong into a place's folder.
    static func scope(of account: String, _ place: KeyPlace) -> IdentityScope {
        IdentityScope(account: account, container: place.scope.container, environment: place.scope.environment)
    }

    private static func checkedPlace(_ account: String, _ place: KeyPlace) -> [UInt8] {
        place.bytes(of: account)
    }
}
