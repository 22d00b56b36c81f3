/// A count of bytes as an operator writes it: `512MiB`, `2GiB`, `65536`.
struct ByteSize: Equatable {
    let bytes: Int

    init(bytes: Int) {
        self.bytes = bytes
    }

    /// What ``init(_:)`` reads, for a message.
    static let form = "a size such as 512MiB or 2GiB, in KiB, MiB, GiB, TiB or, without a unit, bytes"

    /// The size in the largest unit of which it is a whole multiple, in a form that ``init(_:)`` reads.
    var text: String {
        let units: [(suffix: String, bytes: Int)] = [
            ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
        ]
        for unit in units where bytes >= unit.bytes && bytes % unit.bytes == 0 {
            return "\(bytes / unit.bytes)\(unit.suffix)"
        }
        return "\(bytes)"
    }

    /// The size for people, who compare it with other figures: `1500KiB (1,536,000 bytes)`, `100 bytes`.
    var figures: String {
        let count = CountText.grouped(bytes) + (bytes == 1 ? " byte" : " bytes")
        return text == String(bytes) ? count : "\(text) (\(count))"
    }

    /// The size for a sentence, to a tenth of its unit: `1.5 MiB`, `100 bytes`.
    var rounded: String {
        let units: [(suffix: String, bytes: Int)] = [
            ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
        ]
        guard let unit = units.first(where: { bytes >= $0.bytes }) else { return CountText.text(bytes, "byte") }
        return "\(bytes / unit.bytes).\(bytes % unit.bytes * 10 / unit.bytes) \(unit.suffix)"
    }

    /// Reads a whole number with KiB, MiB, GiB, TiB or no unit. Returns nil for anything else, and for a size that
    /// overflows.
    init?(_ text: String) {
        let units: [(suffix: String, bytes: Int)] = [
            ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("", 1),
        ]
        for unit in units where text.hasSuffix(unit.suffix) {
            let digits = text.dropLast(unit.suffix.count)
            guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits)
            else { return nil }
            let (bytes, overflow) = number.multipliedReportingOverflow(by: unit.bytes)
            if overflow { return nil }
            self.bytes = bytes
            return
        }
        return nil
    }
}
