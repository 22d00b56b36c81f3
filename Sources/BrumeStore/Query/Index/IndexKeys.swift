internal import BrumeModel
internal import BrumeRecord

/// The keys of records in indexes. Equal values have equal keys; where different values share a key, the record has to
/// be read.
enum IndexKeys {
    typealias Key = PostingTree.Key

    /// The key of records with more words or elements than an index takes in (``IndexLimits``), whatever these are. It
    /// comes after all hashes.
    static let unindexed: Key = 1 << 64

    // MARK: Order

    /// The number of a text's bytes that a key holds; texts that share them are one group of an order.
    static let textBytes = 14

    /// The key of records without a value; it comes after all values.
    static let missing: Key = 0xFF << 120

    /// A key that is not above that of any larger value: the type, and 64 bits of a number or 14 bytes of a text.
    static func order(_ scalar: StoredScalar) -> Key {
        let rank = Key(ScalarOrder.rank(scalar)) << 120
        switch scalar {
        case .int64(let number): return rank | order(Double(number))
        case .double(let number), .date(let number): return rank | order(number)
        case .string(let text): return rank | prefix(text)
        case .bytes(let bytes): return rank | prefix(bytes)
        case .reference(let name): return rank | prefix(name)
        case .location: return missing
        }
    }

    /// The keys of all values of a type.
    static func all(like scalar: StoredScalar) -> ClosedRange<Key> {
        let rank = Key(ScalarOrder.rank(scalar)) << 120
        return rank...rank | (1 << 120 - 1)
    }

    /// The key of NaN in the order of a type; nil for a type without it.
    static func notANumber(like scalar: StoredScalar) -> Key? {
        switch scalar {
        case .int64, .double, .date: Key(ScalarOrder.rank(scalar)) << 120 | Key(UInt64.max) << 56
        case .string, .bytes, .reference, .location: nil
        }
    }

    /// Whether all texts under the keys of ``beginning(with:)`` do begin with `text`: a key holds only the first bytes
    /// of a longer one, and at its end it does not tell NUL from nothing.
    static func isExact(beginning text: UnsafeRawBufferPointer) -> Bool {
        text.count <= textBytes && text.last != 0
    }

    /// The keys of all texts that begin with `text`.
    static func beginning(with text: UnsafeRawBufferPointer) -> ClosedRange<Key> {
        let first = order(.string(text)) & ~0xFF
        let open = max(0, textBytes - text.count) * 8 + 8
        return first...first | (1 << Key(open) - 1)
    }

    private static func order(_ number: Double) -> Key {
        if number.isNaN { return Key(UInt64.max) << 56 }
        // Minus zero is zero.
        let bits = (number + 0).bitPattern
        let ordered = bits >> 63 == 1 ? ~bits : bits | 1 << 63
        return Key(ordered) << 56
    }

    /// The first 14 bytes, and the length; 15 stands for any longer one.
    private static func prefix(_ bytes: UnsafeRawBufferPointer) -> Key {
        var key: Key = 0
        for index in 0..<textBytes { key = key << 8 | Key(index < bytes.count ? bytes[index] : 0) }
        return key << 8 | Key(min(bytes.count, 15))
    }

    /// Whether all values under the key of an order are equal.
    static func isExact(_ key: Key) -> Bool {
        switch UInt8(key >> 120) {
        // Integers beyond 2^53 share the doubles that they are rounded to.
        case 0: order(-9e15) < key && key < order(9e15)
        case 1, 0xFF: true
        default: UInt8(truncatingIfNeeded: key) < 15
        }
    }

    /// The value that all records under the key of an order are sorted by, if the key holds all of it. Returns nil when
    /// the record has to be read.
    static func exactScalar(_ key: Key) -> ExactScalar? {
        if key == missing { return ExactScalar(scalar: nil) }
        let ordered = UInt64(truncatingIfNeeded: key >> 56)
        let number = Double(bitPattern: ordered >> 63 == 1 ? ordered ^ 1 << 63 : ~ordered)
        switch UInt8(key >> 120) {
        case 0: return isExact(key) ? ExactScalar(scalar: .double(number)) : nil
        case 1: return ExactScalar(scalar: .date(number))
        default: return nil
        }
    }

    struct ExactScalar {
        /// Nil when there is no value.
        let scalar: StoredScalar?
    }

    // MARK: Equality

    /// The key of a value as a whole. Returns nil for NaN, which equals nothing.
    static func equality(_ scalar: StoredScalar) -> Key? {
        var hasher = Hasher()
        hasher.combine(ScalarOrder.rank(scalar))
        switch scalar {
        case .int64(let number): hasher.combine(Double(number) + 0)
        case .double(let number), .date(let number):
            if number.isNaN { return nil }
            hasher.combine(number + 0)
        case .string(let bytes), .bytes(let bytes), .reference(let bytes): hasher.combine(bytes: bytes)
        case .location(let latitude, let longitude):
            hasher.combine(latitude + 0)
            hasher.combine(longitude + 0)
        }
        return Key(UInt64(bitPattern: Int64(hasher.finalize())))
    }

    /// Whether all values that share this value's key equal it. The key is that of the order for numbers and dates,
    /// else that of the whole value.
    static func isEqualityExact(_ scalar: StoredScalar) -> Bool {
        switch scalar {
        case .int64, .double: isExact(order(scalar))
        case .date(let date): !date.isNaN
        case .string, .bytes, .reference: true
        case .location: false
        }
    }
}
