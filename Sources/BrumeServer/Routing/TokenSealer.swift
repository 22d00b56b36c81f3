package import BrumeModel
internal import BrumeSystem

/// Turns change tokens into opaque bytes and back.
///
/// ```
/// 0   1  version, 3
/// 1   1  kind
/// 2   4  epoch: the run of the server that wrote the place in history (numbers are big-endian)
/// 6   8  incarnation
/// 14  8  position
/// 22  8  head of the history when the first fetch that the token is part of began, or 0
/// 30  8  end of the history when the page was made that the token ends, or 0
/// 38  8  digest of the scope: container, environment, database, owner, zone
/// 46  16 MAC over bytes 0 to 45 (HMAC-SHA256, its first half)
/// ```
///
/// Version 2 has no bytes 30 to 37, version 1 no bytes 22 to 37. Their tokens are still opened.
///
/// The digest is keyed, so a token reveals nothing about its scope. A wrong MAC means a token that this server did not
/// make; a right one with another digest belongs elsewhere, which a client sees as an expired token
/// (Documentation/CloudKit.md, Change feeds).
package struct TokenSealer {
    private static let version: UInt8 = 3
    private static let scopeByteCount = 8
    private static let authenticationByteCount = 16
    private static let byteCount = 62
    private let authentication: MessageAuthentication

    package init(key: [UInt8]) {
        authentication = MessageAuthentication(key: key)
    }

    /// The scope that a token of a zone, or with a nil zone of a database, is bound to.
    package func scope(_ database: DatabaseID, zone: String?) -> [UInt8] {
        var message = Array("scope".utf8)
        for part in [database.container, database.owner, zone ?? ""] {
            withUnsafeBytes(of: UInt32(part.utf8.count).bigEndian) { message.append(contentsOf: $0) }
            message.append(contentsOf: part.utf8)
        }
        message += [database.environment.rawValue, database.scope.rawValue, zone == nil ? 0 : 1]
        return Array(authentication.authenticate(message).prefix(8))
    }

    package func seal(_ token: ChangeToken, scope: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [Self.version, token.kind.rawValue]
        bytes.reserveCapacity(Self.byteCount)
        withUnsafeBytes(of: token.epoch.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: token.incarnation.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: token.position.rawValue.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: token.firstFetchHead.rawValue.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: token.pageHead.rawValue.bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: scope)
        bytes.append(contentsOf: authentication.authenticate(bytes).prefix(Self.authenticationByteCount))
        return bytes
    }

    /// The token in `bytes`, or nil when there are none.
    package func open(_ bytes: [UInt8], kind: ChangeToken.Kind, scope: [UInt8]) throws(ServiceError) -> ChangeToken? {
        if bytes.isEmpty { return nil }
        let body = Array(bytes.dropLast(Self.authenticationByteCount))
        guard 1...Self.version ~= bytes[0], bytes.count == Self.byteCount - 8 * Int(Self.version - bytes[0]),
            ConstantTime.isEqual(
                Array(authentication.authenticate(body).prefix(Self.authenticationByteCount)),
                Array(bytes.suffix(Self.authenticationByteCount)))
        else {
            throw ServiceError(
                .invalidArguments,
                "the token was not made by this server; use one from an earlier answer, or none to start over")
        }
        guard body[1] == kind.rawValue, Array(body.suffix(Self.scopeByteCount)) == scope else {
            throw ServiceError(
                .changeTokenExpired,
                "the token belongs to another zone or database; fetch without a token to start over")
        }
        func number<Number: FixedWidthInteger>(at offset: Int, _: Number.Type) -> Number {
            body.withUnsafeBytes { Number(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
        }
        return ChangeToken(
            kind: kind, epoch: number(at: 2, UInt32.self), incarnation: number(at: 6, UInt64.self),
            position: ChangePosition(rawValue: number(at: 14, UInt64.self)),
            firstFetchHead: body[0] < 2 ? .start : ChangePosition(rawValue: number(at: 22, UInt64.self)),
            pageHead: body[0] < 3 ? .start : ChangePosition(rawValue: number(at: 30, UInt64.self)))
    }
}
