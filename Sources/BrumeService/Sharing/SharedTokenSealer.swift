internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Turns change tokens of shared databases into opaque bytes and back.
///
/// ```
/// 0   1  version, 1
/// 1   16 code over all else (``DeterministicSeal``)
/// 17     encrypted from here on:
///     4  run of the changes in the zones (numbers are big-endian)
///     8  sequence of the last of them
///     n  the token of which zones came and went, as ``TokenSealer`` seals it
/// ```
struct SharedTokenSealer {
    private static let version: UInt8 = 1
    private let seal: DeterministicSeal
    private let zones: TokenSealer

    init(key: [UInt8]) {
        seal = DeterministicSeal(secret: key, label: "shared change tokens")
        zones = TokenSealer(key: key)
    }

    /// The scope that a token of the shared database of a private database's owner is bound to.
    func scope(_ home: DatabaseID) -> [UInt8] { zones.scope(home, zone: nil, of: home.owner) }

    func seal(_ token: SharedDatabaseToken, scope: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        withUnsafeBytes(of: token.touchRun.bigEndian) { text.append(contentsOf: $0) }
        withUnsafeBytes(of: token.touchSequence.bigEndian) { text.append(contentsOf: $0) }
        return seal.seal(text + zones.seal(token.zones, scope: scope), version: Self.version)
    }

    /// The token in `bytes`, or nil when there are none.
    func open(_ bytes: [UInt8], scope: [UInt8]) throws(ServiceError) -> SharedDatabaseToken? {
        if bytes.isEmpty { return nil }
        guard bytes[0] == Self.version, let text = seal.open(bytes), text.count > 12 else {
            // One of another database is told as such.
            _ = try zones.open(bytes, kind: .database, scope: scope)
            throw ServiceError(
                .changeTokenExpired, "the token belongs to another database; fetch without a token to start over")
        }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        guard let token = try zones.open(Array(text[12...]), kind: .database, scope: scope) else { return nil }
        return SharedDatabaseToken(
            zones: token, touchRun: UInt32(number(text[..<4])), touchSequence: number(text[4..<12]))
    }
}
