internal import CSQLite
internal import Foundation

/// What SQLite said that went wrong.
struct SQLiteError: Error, CustomStringConvertible {
    let description: String
}

/// A value in a row.
enum SQLiteValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob(Data)
}

/// One database file. One thread at a time uses it.
final class SQLiteConnection {
    private var handle: OpaquePointer?

    /// Opens the file, which is made when it is missing.
    init(path: String) throws {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK else {
            let error = self.error("opening \(path)")
            sqlite3_close_v2(handle)
            throw error
        }
        sqlite3_busy_timeout(handle, 5_000)
        try run("PRAGMA journal_mode = WAL")
        try run("PRAGMA synchronous = FULL")
    }

    deinit { sqlite3_close_v2(handle) }

    /// Runs a statement, and gives its rows.
    @discardableResult
    func run(_ sql: String, _ values: [SQLiteValue] = []) throws -> [[SQLiteValue]] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw error(sql) }
        defer { sqlite3_finalize(statement) }
        for (index, value) in values.enumerated() { try bind(value, Int32(index + 1), statement, sql) }
        var rows: [[SQLiteValue]] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                rows.append((0..<sqlite3_column_count(statement)).map { Self.value($0, of: statement) })
            case SQLITE_DONE: return rows
            default: throw error(sql)
            }
        }
    }

    /// Runs the body as one change: all of it, or nothing when it throws.
    func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try run("BEGIN IMMEDIATE")
        do {
            let value = try body()
            try run("COMMIT")
            return value
        } catch {
            _ = try? run("ROLLBACK")
            throw error
        }
    }

    private func bind(_ value: SQLiteValue, _ index: Int32, _ statement: OpaquePointer?, _ sql: String) throws {
        // SQLite copies what it is given before the call ends.
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        let status: Int32 =
            switch value {
            case .null: sqlite3_bind_null(statement, index)
            case .integer(let number): sqlite3_bind_int64(statement, index, number)
            case .real(let number): sqlite3_bind_double(statement, index, number)
            case .text(let text): sqlite3_bind_text(statement, index, text, Int32(text.utf8.count), copies)
            case .blob(let data):
                data.withUnsafeBytes {
                    // A null pointer would be a null, also with no bytes behind it.
                    $0.isEmpty
                        ? sqlite3_bind_zeroblob(statement, index, 0)
                        : sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count), copies)
                }
            }
        guard status == SQLITE_OK else { throw error(sql) }
    }

    private static func value(_ column: Int32, of statement: OpaquePointer?) -> SQLiteValue {
        let count = Int(sqlite3_column_bytes(statement, column))
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, column))
        case SQLITE_TEXT:
            let bytes = UnsafeRawBufferPointer(start: sqlite3_column_text(statement, column), count: count)
            return .text(String(decoding: bytes, as: UTF8.self))
        case SQLITE_BLOB:
            return .blob(sqlite3_column_blob(statement, column).map { Data(bytes: $0, count: count) } ?? Data())
        default: return .null
        }
    }

    private func error(_ what: String) -> SQLiteError {
        SQLiteError(description: "\(what): \(String(cString: sqlite3_errmsg(handle)))")
    }
}
