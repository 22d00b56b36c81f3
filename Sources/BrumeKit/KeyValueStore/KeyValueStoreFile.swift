internal import BrumeSystem
internal import Foundation

/// The file that a store's contents are kept in.
///
/// ```
/// 0   8  "BRUMEKVS"
/// 8   4  format version, 1 (little-endian, like all numbers here)
/// 12  32 SHA-256 of the body
/// 44     body: flags (1: has fetched; 2: a token follows), last number (8), token (counted) when there is one,
///        values: count (4), each key (counted) and value (counted);
///        writes: count (4), each key (counted), flags (1: has a value; 2: provisional), number (8), value when there
///        is one
/// ```
/// `counted` is a length (4) and that many bytes.
enum KeyValueStoreFile {
    private static let magic = Array("BRUMEKVS".utf8)
    private static let headerByteCount = 44

    static func encode(_ contents: KeyValueStoreContents) -> [UInt8] {
        var body: [UInt8] = []
        func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.littleEndian) { body.append(contentsOf: $0) }
        }
        func append(counted bytes: some Collection<UInt8>) {
            append(UInt32(bytes.count))
            body.append(contentsOf: bytes)
        }
        body.append((contents.hasFetched ? 1 : 0) | (contents.token == nil ? 0 : 2))
        append(contents.lastNumber)
        if let token = contents.token { append(counted: token) }
        append(UInt32(contents.values.count))
        for (key, value) in contents.values.sorted(by: { $0.key < $1.key }) {
            append(counted: key.utf8)
            append(counted: value)
        }
        append(UInt32(contents.writes.count))
        for (key, write) in contents.writes.sorted(by: { $0.key < $1.key }) {
            append(counted: key.utf8)
            body.append((write.value == nil ? 0 : 1) | (write.isProvisional ? 2 : 0))
            append(write.number)
            if let value = write.value { append(counted: value) }
        }
        var file = magic
        withUnsafeBytes(of: UInt32(1).littleEndian) { file.append(contentsOf: $0) }
        return file + SHA256.digest(body) + body
    }

    /// Nil: the bytes are no such file, or a damaged one.
    static func decode(_ bytes: [UInt8]) -> KeyValueStoreContents? {
        guard bytes.count > headerByteCount, bytes.starts(with: magic), Array(bytes[8..<12]) == [1, 0, 0, 0] else {
            return nil
        }
        let body = bytes[headerByteCount...]
        guard SHA256.digest(Array(body)) == Array(bytes[12..<headerByteCount]) else { return nil }
        var reader = Reader(rest: body)
        return reader.contents()
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func contents() -> KeyValueStoreContents? {
            var contents = KeyValueStoreContents()
            guard let flags = rest.popFirst(), flags < 4, let lastNumber = number(UInt64.self) else { return nil }
            contents.hasFetched = flags & 1 != 0
            contents.lastNumber = lastNumber
            if flags & 2 != 0 {
                guard let token = counted() else { return nil }
                contents.token = Array(token)
            }
            guard let valueCount = number(UInt32.self) else { return nil }
            for _ in 0..<valueCount {
                guard let key = key(), let value = counted() else { return nil }
                contents.values[key] = Array(value)
            }
            guard let writeCount = number(UInt32.self) else { return nil }
            for _ in 0..<writeCount {
                guard let key = key(), let flags = rest.popFirst(), flags < 4, let number = number(UInt64.self),
                    number <= lastNumber
                else { return nil }
                var write = KeyValueStoreContents.Write(value: nil, number: number, isProvisional: flags & 2 != 0)
                if flags & 1 != 0 {
                    guard let value = counted() else { return nil }
                    write.value = Array(value)
                }
                contents.writes[key] = write
            }
            return rest.isEmpty ? contents : nil
        }

        private mutating func key() -> String? {
            counted().flatMap { String(validating: $0, as: UTF8.self) }
        }

        private mutating func counted() -> ArraySlice<UInt8>? {
            guard let count = number(UInt32.self), Int(count) <= rest.count else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return rest.prefix(Int(count))
        }

        private mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
            let count = MemoryLayout<Number>.size
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
        }
    }
}
