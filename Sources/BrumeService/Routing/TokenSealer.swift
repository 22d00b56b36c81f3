package import BrumeModel
internal import BrumeSystem

/// Turns change tokens into opaque bytes and back.
///
/// ```
/// 0   1  version, 4
/// 1   16 code over all else (``DeterministicSeal``)
/// 17  45 encrypted from here on:
///     1  kind
///     4  epoch: the run of the server that wrote the place in history (numbers are big-endian)
///     8  incarnation
///     8  position
///     8  head of the history when the first fetch that the token is part of began, or 0
///     8  end of the history when the page was made that the token ends, or 0
///     8  digest of the scope: container, environment, database, owner, zone
/// ```
///
/// Encrypted, since a position is the number of a commit in its database: whoever may see one zone could count by it
/// how much is written to the others. Equal tokens have equal bytes.
///
/// A wrong code means a token that this server did not make; a right one with another digest belongs elsewhere, which a
/// client sees as an expired token (Documentation/CloudKit.md, Change feeds).
///
/// Tokens in the midst of a block of what was shared with a user are of version 5, which has a place more.
///
/// Tokens of earlier versions are still opened. They are not encrypted: version 3 has the same parts after the version,
/// and then the code, HMAC-SHA256's first half; version 2 has no end of the history, version 1 no head either.
package struct TokenSealer {
    /// What the key of all tokens is derived by; see ``DeterministicSeal``.
    package static let label = "change tokens"
    private static let version: UInt8 = 4
    private static let blockVersion: UInt8 = 5
    private static let scopeByteCount = 8
    private static let authenticationByteCount = 16
    private static let byteCount = 62
    private static let blockByteCount = 70
    private let authentication: MessageAuthentication
    private let tokens: DeterministicSeal

    package init(key: [UInt8]) {
        authentication = MessageAuthentication(key: key)
        tokens = DeterministicSeal(secret: key, label: Self.label)
    }

    /// The scope that a token of a zone, or with a nil zone of a database, is bound to.
    ///
    /// - Parameter participant: The user who takes part in the zone, where its owner is another.
    package func scope(_ database: DatabaseID, zone: String?, of participant: String = "") -> [UInt8] {
        let zoneName = zone ?? ""
        var message: [UInt8] = []
        // For each request with a token: grown step by step it would be four allocations.
        message.reserveCapacity(
            20 + database.container.utf8.count + database.owner.utf8.count + zoneName.utf8.count)
        func append(_ part: String) {
            withUnsafeBytes(of: UInt32(part.utf8.count).bigEndian) { message.append(contentsOf: $0) }
            message.append(contentsOf: part.utf8)
        }
        message.append(contentsOf: "scope".utf8)
        append(database.container)
        append(database.owner)
        append(zoneName)
        message.append(database.environment.rawValue)
        message.append(database.scope.rawValue)
        message.append(zone == nil ? 0 : 1)
        if !participant.isEmpty { append(participant) }
        return Array(authentication.authenticate(message).prefix(Self.scopeByteCount))
    }

    package func seal(_ token: ChangeToken, scope: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [token.kind.rawValue]
        bytes.reserveCapacity(Self.byteCount)
        withUnsafeBytes(of: token.epoch.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: token.incarnation.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: token.position.rawValue.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: token.firstFetchHead.rawValue.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: token.pageHead.rawValue.bigEndian) { bytes.append(contentsOf: $0) }
        let isInBlock = token.blockPosition != .start
        if isInBlock {
            withUnsafeBytes(of: token.blockPosition.rawValue.bigEndian) { bytes.append(contentsOf: $0) }
        }
        bytes.append(contentsOf: scope)
        return tokens.seal(bytes, version: isInBlock ? Self.blockVersion : Self.version)
    }

    /// The token in `bytes`, or nil when there are none.
    package func open(_ bytes: [UInt8], kind: ChangeToken.Kind, scope: [UInt8]) throws(ServiceError) -> ChangeToken? {
        guard let version = bytes.first else { return nil }
        guard let body = version >= Self.version ? openBody(of: bytes) : openFormerBody(of: bytes) else {
            throw ServiceError(
                .invalidArguments,
                "the token was not made by this server for such changes; use one from an earlier answer of this kind, or"
                    + " none to start over")
        }
        guard body[0] == kind.rawValue, Array(body.suffix(Self.scopeByteCount)) == scope else {
            throw ServiceError(
                .changeTokenExpired,
                "the token belongs to another zone or database; fetch without a token to start over")
        }
        func number<Number: FixedWidthInteger>(at offset: Int, _: Number.Type) -> Number {
            body.withUnsafeBytes { Number(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
        }
        return ChangeToken(
            kind: kind, epoch: number(at: 1, UInt32.self), incarnation: number(at: 5, UInt64.self),
            position: ChangePosition(rawValue: number(at: 13, UInt64.self)),
            firstFetchHead: version < 2 ? .start : ChangePosition(rawValue: number(at: 21, UInt64.self)),
            pageHead: version < 3 ? .start : ChangePosition(rawValue: number(at: 29, UInt64.self)),
            blockPosition: version < Self.blockVersion ? .start : ChangePosition(rawValue: number(at: 37, UInt64.self)))
    }

    /// The parts after the version; nil if this server did not make the token.
    private func openBody(of bytes: [UInt8]) -> [UInt8]? {
        switch bytes[0] {
        case Self.version: bytes.count == Self.byteCount ? tokens.open(bytes) : nil
        case Self.blockVersion: bytes.count == Self.blockByteCount ? tokens.open(bytes) : nil
        default: nil
        }
    }

    private func openFormerBody(of bytes: [UInt8]) -> [UInt8]? {
        let body = Array(bytes.dropLast(Self.authenticationByteCount))
        guard 1...3 ~= bytes[0], bytes.count == Self.byteCount - 8 * Int(3 - bytes[0]),
            ConstantTime.isEqual(
                Array(authentication.authenticate(body).prefix(Self.authenticationByteCount)),
                Array(bytes.suffix(Self.authenticationByteCount)))
        else { return nil }
        return Array(body.dropFirst())
    }
}
