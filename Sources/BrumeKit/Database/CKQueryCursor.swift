internal import BrumeModel
internal import BrumeProtocol
public import Foundation

/// Where a page of a query's matches ended: what gives the next one. Used as `CKQueryOperation.Cursor`.
///
/// It holds the query, as it was when its first page was asked for, and the zone. It marks a place among the matches,
/// not a copy of them: matches that come or go meanwhile are seen or not, and no other match comes twice or is left
/// out. Limits and desired keys may change from page to page. It does not expire; in an archive it outlives the app and
/// the server.
///
/// Immutable, so it may be passed between threads. Equal when query, zone and place are.
///
/// Differs from CloudKit: the class stands at top level, because Foundation on Linux archives top-level classes alone.
public final class CKQueryCursor: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The request for the next page, but for its limit and keys.
    let request: QueryRequest

    init(_ request: QueryRequest) {
        self.request = request
    }

    /// Whether both lead to the same page.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKQueryCursor else { return false }
        return self === other || request == other.request
    }

    /// Equal for equal cursors.
    public override var hash: Int { request.cursor.hashValue }

    /// Says no more than the type that is queried and the cursor's length: its bytes are the server's business.
    public override var description: String {
        "<CKQueryOperation.Cursor: recordType=\(request.query.recordType), \(request.cursor.count) bytes>"
    }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the cursor into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKQueryCursor.self)
        let bytes = CoderPool.with { $0.encodeQueryRequest(request) }
        coder.encode(Data(bytes) as NSData, forKey: "QueryCursorData")
    }

    /// Reads an archived cursor; nil when the archive holds none.
    public init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKQueryCursor.self)
        guard let data = coder.dataIfPresent(forKey: "QueryCursorData") else { return nil }
        // An archive may come from anywhere: it is checked as the server checks a request.
        let decoded = CoderPool.with { messages in
            data.withUnsafeBytes { bytes in try? messages.decodeQueryRequest(bytes) }
        }
        guard let decoded, !decoded.cursor.isEmpty else { return nil }
        request = decoded
    }
}
