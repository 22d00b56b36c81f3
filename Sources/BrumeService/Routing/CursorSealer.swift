package import BrumeModel
internal import BrumeSystem

/// Turns places in a query's matches into opaque cursors and back.
///
/// ```
/// 0   1  version, 2
/// 1   16 code over all else (``DeterministicSeal``)
/// 17     encrypted from here on:
///     8  digest of what the cursor goes with: caller, database, zone or all zones, record type, predicate, sort keys
///     n  the place: the last match's sort keys, and where its creation stands
/// ```
///
/// Encrypted, since where a record's creation stands says how much was written before it. Cursors of version 1, which
/// were not encrypted, are refused: a query is begun anew within minutes.
///
/// Cursors are short, since at most 1,024 bytes of a text count when records are sorted: ``Limits/queryCursorBytes``
/// holds the longest.
package struct CursorSealer {
    private static let version: UInt8 = 2
    private static let digestByteCount = 8
    private let authentication: MessageAuthentication
    private let cursors: DeterministicSeal

    package init(key: [UInt8]) {
        authentication = MessageAuthentication(key: key)
        cursors = DeterministicSeal(secret: key, label: "query cursors")
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
        cursors.seal(binding + Self.encode(place), version: Self.version)
    }

    /// The place that a cursor marks; nil when there is none.
    package func open(_ cursor: [UInt8], binding: [UInt8]) throws(ServiceError) -> QueryCursor? {
        if cursor.isEmpty { return nil }
        guard cursor[0] == Self.version, let body = cursors.open(cursor),
            body.count >= Self.digestByteCount
        else {
            throw ServiceError(
                .invalidArguments,
                "the query's cursor was not made by this server; use one from an earlier answer, or none to start over")
        }
        guard Array(body.prefix(Self.digestByteCount)) == binding else {
            throw ServiceError(
                .invalidArguments,
                "the cursor belongs to another query, zone, database or account; give it back with the query that it came from"
            )
        }
        guard let place = Self.decode(body.dropFirst(Self.digestByteCount)) else {
            throw ServiceError(
                .invalidArguments, "the query's cursor is of another version of this server; start without a cursor")
        }
        return place
    }
}
