/// Bytes as text for URLs, without padding (RFC 4648, section 5).
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func text(_ bytes: [UInt8]) -> String {
        var characters: [UInt8] = []
        var held = 0
        var heldCount = 0
        for byte in bytes {
            held = held << 8 | Int(byte)
            heldCount += 8
            while heldCount >= 6 {
                heldCount -= 6
                characters.append(alphabet[held >> heldCount])
                held &= 1 << heldCount - 1
            }
        }
        if heldCount > 0 { characters.append(alphabet[held << (6 - heldCount)]) }
        return String(decoding: characters, as: UTF8.self)
    }

    /// The bytes of a text; nil for another alphabet, and for bits behind the last byte: each text is another one's.
    static func bytes(_ text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var held = 0
        var heldCount = 0
        for character in text {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            held = held << 6 | value
            heldCount += 6
            if heldCount >= 8 {
                heldCount -= 8
                bytes.append(UInt8(held >> heldCount))
                held &= 1 << heldCount - 1
            }
        }
        return held == 0 && heldCount < 6 ? bytes : nil
    }
}
