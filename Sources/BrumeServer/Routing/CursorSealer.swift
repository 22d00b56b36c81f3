package import BrumeModel
internal import BrumeSystem

/// Turns places in a query's matches into opaque cursors and back.
///
/// ```
/// 0   1  version, 1
/// 1   8  digest of what the cursor goes with: caller, database, zone or all zones, record type, predicate, sort keys
/// 9   n  the place: the last match's sort keys, and where its creation stands
/// 9+n 16 MAC over all before (HMAC-SHA256, its first half)
/// ```
///
/// Cursors are short, since at most 1,024 bytes of a text count when records are sorted: ``Limits/queryCursorBytes``
/// holds the longest.
///
/// The codes are computed over messages that begin with a word of their own, so no change token passes for a cursor,
/// though both use the same key.
package struct CursorSealer {
    private static let version: UInt8 = 1
    private static let digestByteCount = 8
    private static let authenticationByteCount = 16
    private let authentication: MessageAuthentication

    package init(key: [UInt8]) {
        authentication = MessageAuthentication(key: key)
    }

    /// What a cursor is bound to.
    ///
    /// - Parameters:
    ///   - zone: Nil for all zones of the database.
    ///   - caller: The user record name; empty without an account.
    ///   - query: The canonical encoding of the query.
    package func binding(_ database: DatabaseID, zone: String?, caller: String, query: [UInt8]) -> [UInt8] {
        var message = Array("cursor's query".utf8)
        func append(_ part: some Collection<UInt8>) {
            withUnsafeBytes(of: UInt32(part.count).bigEndian) { message.append(contentsOf: $0) }
            message.append(contentsOf: part)
        }
        for text in [database.container, database.owner, caller, zone ?? ""] { append(text.utf8) }
        append([database.environment.rawValue, database.scope.rawValue, zone == nil ? 0 : 1])
        append(query)
        return Array(authentication.authenticate(message).prefix(Self.digestByteCount))
    }

    package func seal(_ place: QueryCursor, binding: [UInt8]) -> [UInt8] {
        let bytes = [Self.version] + binding + Self.encode(place)
        return bytes + code(bytes)
    }

    /// The place that a cursor marks; nil when there is none.
    package func open(_ cursor: [UInt8], binding: [UInt8]) throws(ServiceError) -> QueryCursor? {
        if cursor.isEmpty { return nil }
        let body = cursor.dropLast(Self.authenticationByteCount)
        guard body.count > Self.digestByteCount, body.first == Self.version,
            ConstantTime.isEqual(code(Array(body)), Array(cursor.suffix(Self.authenticationByteCount)))
        else {
            throw ServiceError(
                .invalidArguments,
                "the query's cursor was not made by this server; use one from an earlier answer, or none to start over")
        }
        guard Array(body.dropFirst().prefix(Self.digestByteCount)) == binding else {
            throw ServiceError(
                .invalidArguments,
                "the cursor belongs to another query, zone, database or account; give it back with the query that it came from"
            )
        }
        guard let place = Self.decode(body.dropFirst(1 + Self.digestByteCount)) else {
            throw ServiceError(
                .invalidArguments, "the query's cursor is of another version of this server; start without a cursor")
        }
        return place
    }

    private func code(_ body: [UInt8]) -> [UInt8] {
        Array(authentication.authenticate(Array("cursor".utf8) + body).prefix(Self.authenticationByteCount))
    }
}
