/// Bytes as text that stands in URLs and tokens as it is (RFC 4648, section 5, without padding).
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let taken = min(3, bytes.count - index)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < taken ? UInt32(bytes[index + offset]) : 0) }
            for position in 0...taken { text.append(alphabet[Int(group >> (18 - 6 * UInt32(position)) & 63)]) }
            index += 3
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Nil for a text that ``text(_:)`` does not make.
    static func bytes(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var group: UInt32 = 0
        var count = 0
        for character in text.utf8 {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            group = group << 6 | UInt32(value)
            count += 1
            if count % 4 == 0 {
                for shift in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(shift))) }
                group = 0
            }
        }
        switch count % 4 {
        case 1: return nil
        case 2:
            guard group & 0xF == 0 else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: group >> 4))
        case 3:
            guard group & 3 == 0 else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: group >> 10))
            bytes.append(UInt8(truncatingIfNeeded: group >> 2))
        default: break
        }
        return bytes
    }
}
