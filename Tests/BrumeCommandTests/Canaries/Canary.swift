internal import BrumeRandom
internal import Foundation

/// A value that nothing else has, in the forms in which it could lie somewhere.
struct Canary {
    let name: String
    /// What is looked for, by the form's name.
    let forms: [(name: String, bytes: [UInt8])]

    /// A text: its beginning, which a log may have cut off behind, in each form; its end as it is.
    init(_ name: String, text: String) {
        precondition(text.utf8.count >= 24, "a shorter text may be somewhere by chance")
        let head = Array(text.utf8.prefix(16))
        let units = Array(text.prefix(16).utf16)
        self.init(
            name,
            Self.forms(of: head) + [
                ("its end", Array(text.utf8.suffix(16))),
                ("UTF-16", units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }),
                ("UTF-16, big-endian", units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }),
            ])
    }

    /// Bytes, such as a key.
    init(_ name: String, bytes: [UInt8]) {
        precondition(bytes.count >= 16, "fewer bytes may be somewhere by chance")
        self.init(name, Self.forms(of: Array(bytes.prefix(16))) + [("its end", Array(bytes.suffix(16)))])
    }

    /// A number, of 64 random bits: as protobuf writes it, plain and zigzag, and as text.
    init(_ name: String, number: Int64) {
        let zigzag = UInt64(bitPattern: (number << 1) ^ (number >> 63))
        self.init(
            name,
            Self.fixed(UInt64(bitPattern: number)) + [
                ("varint", Self.varint(UInt64(bitPattern: number))), ("zigzag varint", Self.varint(zigzag)),
                ("digits", Array(String(number).utf8)),
            ])
    }

    /// A number with a fraction of many digits.
    init(_ name: String, number: Double) {
        self.init(name, Self.fixed(number.bitPattern) + [("digits", Array(String(number).utf8))])
    }

    private init(_ name: String, _ forms: [(name: String, bytes: [UInt8])]) {
        (self.name, self.forms) = (name, forms)
    }

    /// 60 letters and digits.
    static func text(_ generator: inout SeededGenerator) -> String {
        String((0..<60).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement(using: &generator)! })
    }

    private static func forms(of bytes: [UInt8]) -> [(String, [UInt8])] {
        let digits = bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
        var forms = [
            ("as it is", bytes), ("hex", Array(digits.utf8)), ("capital hex", Array(digits.uppercased().utf8)),
        ]
        for offset in 0..<3 {
            let encoded = base64(bytes, behind: offset)
            forms.append(("base64 behind \(offset)", encoded))
            let url = encoded.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? 95 : $0 }
            if url != encoded { forms.append(("base64url behind \(offset)", url)) }
        }
        return forms
    }

    /// The characters of base64 that say nothing but the bytes, behind so many others.
    private static func base64(_ bytes: [UInt8], behind offset: Int) -> [UInt8] {
        let characters = Array(Data([UInt8](repeating: 0, count: offset) + bytes).base64EncodedString().utf8)
        let first = (offset * 8 + 5) / 6
        return Array(characters[first..<(offset + bytes.count) * 8 / 6])
    }

    private static func fixed(_ bits: UInt64) -> [(String, [UInt8])] {
        let bytes = withUnsafeBytes(of: bits.littleEndian) { Array($0) }
        return [("as it is", bytes), ("big-endian", bytes.reversed())]
    }

    private static func varint(_ value: UInt64) -> [UInt8] {
        var (rest, bytes) = (value, [UInt8]())
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7F | 0x80))
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }
}
