/// Characters that a person reads from one place and types into another: five bits each, without letters that look
/// like digits.
enum TypedCharacters {
    static let bits = 5
    /// What may stand anywhere between the others.
    private static let passedOver = Array("- \t\r\n".utf8)
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// What was typed; nil where a character means nothing.
    static func values(_ text: String) -> [UInt8]? {
        var values: [UInt8] = []
        values.reserveCapacity(text.utf8.count)
        for character in text.utf8 where !passedOver.contains(character) {
            let isSmall = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character)
            let digit =
                switch isSmall ? character - 32 : character {
                case UInt8(ascii: "I"), UInt8(ascii: "L"): UInt8(ascii: "1")
                case UInt8(ascii: "O"): UInt8(ascii: "0")
                case let other: other
                }
            guard let value = alphabet.firstIndex(of: digit) else { return nil }
            values.append(UInt8(value))
        }
        return values
    }

    static func text(_ values: [UInt8]) -> String { String(decoding: values.map { alphabet[Int($0)] }, as: UTF8.self) }
}

/// Numbers of some bits each, the first ones first, from groups of five bits.
struct BitReader {
    private var values: [UInt8]
    private var index = 0
    private var held = 0
    private var heldCount = 0

    init(_ values: [UInt8]) { self.values = values }

    mutating func wipe() { Sodium.wipe(&values) }

    /// - Precondition: So many bits are left.
    mutating func take(_ count: Int) -> Int {
        while heldCount < count {
            held = held << TypedCharacters.bits | Int(values[index])
            index += 1
            heldCount += TypedCharacters.bits
        }
        heldCount -= count
        defer { held &= 1 << heldCount - 1 }
        return held >> heldCount
    }
}

/// Groups of five bits from numbers of some bits each.
struct BitWriter {
    private(set) var values: [UInt8] = []
    private var held = 0
    private var heldCount = 0

    init() { values.reserveCapacity(32) }

    mutating func wipe() { Sodium.wipe(&values) }

    mutating func write(_ number: Int, count: Int) {
        held = held << count | number
        heldCount += count
        while heldCount >= TypedCharacters.bits {
            heldCount -= TypedCharacters.bits
            values.append(UInt8(held >> heldCount))
            held &= 1 << heldCount - 1
        }
    }
}
