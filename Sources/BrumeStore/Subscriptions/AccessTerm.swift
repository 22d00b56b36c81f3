internal import BrumeModel
internal import BrumeRecord

/// What a record has to have so that a predicate can be true of it: where the predicate's subscription is filed.
///
/// Terms may hold of records that the predicate is not true of, never the other way round: candidates are evaluated.
enum AccessTerm: Hashable {
    /// The kinds of values that a range may hold: values of different kinds have no order.
    enum RangeKind: Hashable {
        case numbers, dates, texts, latitudes
    }

    /// The field, or an element of it, has this value.
    case equal(QueryKey, FieldValue)
    /// The field, or an element of it, is a text that begins with these bytes.
    case prefix(QueryKey, [UInt8])
    /// The field, or an element of it, lies between these, both included; see ``OrderedValue``.
    case range(QueryKey, RangeKind, ClosedRange<UInt64>)
}

/// A value as a number whose order is that of the values, at least where it tells them apart.
struct OrderedValue {
    let kind: AccessTerm.RangeKind
    let order: UInt64

    init?(_ value: FieldValue) {
        switch value {
        case .int64(let number): self.init(kind: .numbers, order: Self.order(of: Double(number)))
        case .double(let number):
            if number.isNaN { return nil }
            self.init(kind: .numbers, order: Self.order(of: number))
        case .date(let date): self.init(kind: .dates, order: Self.order(of: date))
        case .string(let text):
            var text = text
            self.init(kind: .texts, order: text.withUTF8 { Self.order(of: UnsafeRawBufferPointer($0)) })
        default: return nil
        }
    }

    private init(kind: AccessTerm.RangeKind, order: UInt64) {
        self.kind = kind
        self.order = order
    }

    /// Minus zero is zero.
    static func order(of number: Double) -> UInt64 {
        let bits = (number + 0).bitPattern
        return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
    }

    /// The first eight bytes.
    static func order(of text: UnsafeRawBufferPointer) -> UInt64 {
        if text.count >= 8 { return UInt64(bigEndian: text.loadUnaligned(as: UInt64.self)) }
        var order: UInt64 = 0
        for index in 0..<8 { order = order << 8 | UInt64(index < text.count ? text[index] : 0) }
        return order
    }
}
