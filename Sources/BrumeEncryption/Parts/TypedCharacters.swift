/// Characters that a person reads from one place and types into another: five bits each, without letters that look
/// like digits.
enum TypedCharacters {
    static let bits = 5
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    /// What was typed; nil where a character means nothing.
    static func values(_ text: String) -> [UInt8]? {
        var values: [UInt8] = []
        values.reserveCapacity(text.utf8.count)
        for character in text.uppercased() where character != "-" && !character.isWhitespace {
            let digit: Character =
                switch character {
                case "I", "L": "1"
                case "O": "0"
                default: character
                }
            guard let value = alphabet.firstIndex(of: digit) else { return nil }
            values.append(UInt8(value))
        }
        return values
    }

    static func text(_ values: [UInt8]) -> String { String(values.map { alphabet[Int($0)] }) }
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
