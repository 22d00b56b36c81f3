internal import BrumeModel

/// Checks in place whether a field's value is valid and encoded as it will be stored, which is what protobuf-c writes.
///
/// Such a value is kept as it came. Any other has to be decoded, checked by ``FieldChecker`` and packed again, which
/// costs hundreds of nanoseconds for each location or reference of a list.
package enum CanonicalValue {
    /// Whether a value is valid and canonical. False for values with references or assets: they are read when a record
    /// is stored.
    package static func isCanonical(_ value: UnsafeRawBufferPointer) -> Bool {
        var reader = WireReader(value)
        guard let element = try? reader.next(), element.range.upperBound == value.count else { return false }
        switch element.number {
        case 2:
            // The last of ten bytes has room for one bit.
            return value[0] == 2 << 3
                && value.count == 1 + WireSize.varint(Int(bitPattern: UInt(element.scalar)))
                && (value.count < 11 || value[10] == 1)
        case 3: return value[0] == 3 << 3 | 1
        case 5: return value[0] == 5 << 3 | 1 && Double(bitPattern: element.scalar).isFinite
        default: return isShortest(element) && isCanonical(element.number, element.content)
        }
    }

    /// The number of locations and references in lists, and of assets, of a field, valid or not
    /// (``Limits/listMessagesPerRequest``). What opens encrypted assets counts as one more.
    package static func listMessages(inField field: UnsafeRawBufferPointer) -> Int {
        var count = 0
        var fieldReader = WireReader(field)
        while let part = try? fieldReader.next() {
            guard part.number == 2, part.isLengthDelimited else { continue }
            var valueReader = WireReader(part.content)
            while let list = try? valueReader.next() {
                switch list.number {
                case 16: count += 1
                case 13, 14, 17, 48, 49:
                    var listReader = WireReader(list.content)
                    while (try? listReader.next()) != nil { count += 1 }
                default: continue
                }
            }
        }
        return count
    }

    /// Whether the tag and the length of a length-delimited field have the shortest form. The tag takes a second byte
    /// from number 16 on; no message of ours has numbers that need a third.
    package static func isShortest(_ element: WireReader.Element) -> Bool {
        element.isLengthDelimited
            && element.range.count == WireSize.message(element.content.count) + (element.number < 16 ? 0 : 1)
    }

    // MARK: Texts, bytes and lists

    private static func isCanonical(_ kind: UInt64, _ content: UnsafeRawBufferPointer) -> Bool {
        switch kind {
        case 1: isText(content)
        case 4: true
        case 6: isPlace(content)
        case 8: areElements(content, isText)
        case 9: isPacked(content, areShortestVarints)
        case 10: isPacked(content) { $0.count % 8 == 0 }
        case 11: areElements(content) { _ in true }
        case 12: isPacked(content, areDates)
        case 13: areElements(content, isPlace)
        // A list without elements has no element type.
        case 15: content.isEmpty
        default: isEncrypted(kind, content)
        }
    }

    private static func isEncrypted(_ kind: UInt64, _ content: UnsafeRawBufferPointer) -> Bool {
        guard let kind = FieldKind(number: kind), kind.isEncrypted, !kind.namesAssets else { return false }
        return (try? EncryptedHeader(ofValue: content)) != nil
    }

    private static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        (try? UTF8Span(validating: bytes.assumingMemoryBound(to: UInt8.self).span)) != nil
    }

    /// Whether a list that isn't packed has elements, all of them valid.
    private static func areElements(
        _ list: UnsafeRawBufferPointer, _ isRight: (UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        var reader = WireReader(list)
        while true {
            guard let next = try? reader.next() else { break }
            guard next.number == 1, isShortest(next), isRight(next.content) else { return false }
            if next.range.upperBound == list.count { return true }
        }
        return false
    }

    /// Whether a list of numbers has elements, all in one packed run.
    private static func isPacked(
        _ list: UnsafeRawBufferPointer, _ areRight: (UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        var reader = WireReader(list)
        guard let element = try? reader.next(), element.number == 1, isShortest(element),
            element.range.upperBound == list.count, !element.content.isEmpty
        else { return false }
        return areRight(element.content)
    }

    private static func areShortestVarints(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var length = 0
        for byte in bytes {
            length += 1
            if byte >= 0x80 {
                if length == 10 { return false }
                continue
            }
            // A last byte of nothing but zeros adds nothing; that of ten has room for one bit.
            if length > 1, byte == 0 || length == 10 && byte != 1 { return false }
            length = 0
        }
        return length == 0
    }

    private static func areDates(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count % 8 == 0 else { return false }
        for offset in stride(from: 0, to: bytes.count, by: 8) {
            let bits = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            guard Double(bitPattern: bits).isFinite else { return false }
        }
        return true
    }

    /// Whether the bytes are a location in canonical encoding, in which numbers that are 0 are left out.
    private static func isPlace(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count % 9 == 0 else { return false }
        var last: UInt8 = 0
        for offset in stride(from: 0, to: bytes.count, by: 9) {
            let tag = bytes[offset]
            let bits = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 1, as: UInt64.self))
            let number = Double(bitPattern: bits)
            guard tag & 7 == 1, tag > last, (1...8).contains(tag >> 3), number.isFinite, number != 0 else {
                return false
            }
            if tag >> 3 == 1, abs(number) > 90 { return false }
            if tag >> 3 == 2, abs(number) > 180 { return false }
            last = tag
        }
        return true
    }
}
