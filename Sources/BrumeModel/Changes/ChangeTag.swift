/// A record's version: the epoch and the sequence of the commit that wrote it.
///
/// The epoch tells tags from the lost future of a restored backup from new ones with the same sequence. As text a tag
/// is `epoch-sequence` in base 36; clients treat it as opaque.
package struct ChangeTag: Hashable, Sendable {
    package let epoch: UInt32
    package let sequence: UInt64

    package init(epoch: UInt32, sequence: UInt64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// The tag that `text` spells, or nil for text that no server of ours made.
    package init?(_ text: String) {
        if text.isEmpty { return nil }
        guard let tag = text.withUTF8Bytes({ ChangeTag(utf8: $0.assumingMemoryBound(to: UInt8.self)) }) else {
            return nil
        }
        self = tag
    }

    /// The tag that a text's bytes spell, without the text.
    package init?(utf8 bytes: UnsafeBufferPointer<UInt8>) {
        guard let dash = bytes.firstIndex(of: UInt8(ascii: "-")),
            let epoch: UInt32 = Self.number(bytes[..<dash]), let sequence: UInt64 = Self.number(bytes[(dash + 1)...])
        else {
            // Signs and capitals, which other spellings of a number may have, are rare.
            self.init(unusual: String(decoding: bytes, as: UTF8.self))
            return
        }
        self.init(epoch: epoch, sequence: sequence)
    }

    private init?(unusual text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = UInt32(parts[0], radix: 36), let sequence = UInt64(parts[1], radix: 36)
        else {
            return nil
        }
        self.init(epoch: epoch, sequence: sequence)
    }

    /// The number that digits of base 36 spell. Returns nil for anything else, and for more digits than the type ever
    /// needs.
    private static func number<Number: FixedWidthInteger>(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Number? {
        guard !digits.isEmpty, digits.count <= Number.bitWidth / 6 + 2 else { return nil }
        var number: Number = 0
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: 36)
            let (sum, isStillTooLarge) = product.addingReportingOverflow(Number(value))
            if isTooLarge || isStillTooLarge { return nil }
            number = sum
        }
        return number
    }

    /// Epoch and sequence in base 36, with a dash between them: what clients hold.
    package var text: String { String(decoding: utf8, as: UTF8.self) }

    /// ``text`` in UTF-8.
    package var utf8: [UInt8] {
        // Made for every save: the standard library's conversion takes a microsecond for each of the numbers.
        withUnsafeTemporaryAllocation(byteCount: Self.textBytesMax, alignment: 1) { room in
            var start = room.count
            Self.prepend(sequence, to: room, &start)
            start -= 1
            room[start] = UInt8(ascii: "-")
            Self.prepend(UInt64(epoch), to: room, &start)
            return [UInt8](UnsafeRawBufferPointer(rebasing: room[start...]))
        }
    }

    /// Digits of the largest numbers, and the dash.
    private static let textBytesMax = 7 + 1 + 13

    /// Writes the digits before `start`, the last one first.
    private static func prepend(_ number: UInt64, to room: UnsafeMutableRawBufferPointer, _ start: inout Int) {
        var rest = number
        repeat {
            let digit = UInt8(truncatingIfNeeded: rest % 36)
            start -= 1
            room[start] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            rest /= 36
        } while rest > 0
    }
}
