package import BrumeModel

/// The place that a cursor marks, as bytes: what its codes are computed over.
///
/// ```
/// 8 position of the change that created the record (numbers are big-endian)
/// then for each sort key 1 byte that says what follows:
///   0 nothing: the record has no such value
///   1 an int64, 2 a double, 3 a date: 8
///   4 the beginning of a text, 5 of bytes, 6 a reference's name: 2 bytes of length, and as many
/// ```
extension CursorSealer {
    package static func encode(_ place: QueryCursor) -> [UInt8] {
        var bytes: [UInt8] = []
        func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        }
        func append(_ kind: UInt8, _ text: [UInt8]) {
            bytes.append(kind)
            append(UInt16(text.count))
            bytes += text
        }
        append(place.created.rawValue)
        for value in place.values {
            switch value {
            case .missing: bytes.append(0)
            case .int64(let number):
                bytes.append(1)
                append(number)
            case .double(let number):
                bytes.append(2)
                append(number.bitPattern)
            case .date(let seconds):
                bytes.append(3)
                append(seconds.bitPattern)
            case .string(let text): append(4, text)
            case .bytes(let text): append(5, text)
            case .reference(let name): append(6, name)
            }
        }
        return bytes
    }

    /// Decodes a place; returns nil if the bytes are none.
    package static func decode(_ bytes: some Collection<UInt8>) -> QueryCursor? {
        var rest = bytes[...]
        func take(_ count: Int) -> [UInt8]? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
            take(MemoryLayout<Number>.size)?.reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
        }
        func text() -> [UInt8]? { number(UInt16.self).flatMap { take(Int($0)) } }

        guard let created = number(UInt64.self) else { return nil }
        var values: [QueryCursor.SortValue] = []
        while let kind = take(1)?[0] {
            let value: QueryCursor.SortValue? =
                switch kind {
                case 0: .missing
                case 1: number(Int64.self).map { .int64($0) }
                case 2: number(UInt64.self).map { .double(Double(bitPattern: $0)) }
                case 3: number(UInt64.self).map { .date(Double(bitPattern: $0)) }
                case 4: text().map { .string($0) }
                case 5: text().map { .bytes($0) }
                case 6: text().map { .reference($0) }
                default: nil
                }
            guard let value else { return nil }
            values.append(value)
        }
        return QueryCursor(values: values, created: ChangePosition(rawValue: created))
    }
}
