package import BrumeModel

extension StoredRecord {
    /// The parts of a record that decisions need. Texts are UTF-8 and point into the record.
    package struct Summary {
        package var name = UnsafeRawBufferPointer(start: nil, count: 0)
        package var type = UnsafeRawBufferPointer(start: nil, count: 0)
        package var changeTag = UnsafeRawBufferPointer(start: nil, count: 0)
        /// The parent's name; empty when there is none.
        package var parent = UnsafeRawBufferPointer(start: nil, count: 0)
        package var cascades = Cascades()
        /// The name of the share whose root the record is; empty when it is none.
        package var share = UnsafeRawBufferPointer(start: nil, count: 0)
        /// The secret of the shares that the record is or was the root of; empty when it never was one.
        package var shareSecret = UnsafeRawBufferPointer(start: nil, count: 0)
        /// A share's participants, as ``ShareCoder`` writes them; empty in any other record.
        package var storedShare = UnsafeRawBufferPointer(start: nil, count: 0)
        /// Whether it names assets.
        package var holdsAssets = false
        /// Whether ``StoredRecord/head(of:)`` finds the same name, type and change tag: a canonical record begins with
        /// them.
        package var isHeadFirst = true

        /// Whether it has a parent or cascade targets.
        package var refersToOthers: Bool { !parent.isEmpty || !cascades.targets.isEmpty }

        /// Whether it is a share, or is or was the root of one.
        package var concernsSharing: Bool { !share.isEmpty || !shareSecret.isEmpty || !storedShare.isEmpty }
    }

    /// Walks a record once and checks it; allocates only what the summary holds. Throws `internalError` for bytes that
    /// are not a record.
    ///
    /// A record that passes has what later readers rely on: fields in the order of their keys, each key once, and in
    /// each field one value of a known kind.
    package static func summary(of bytes: UnsafeRawBufferPointer) throws(ServiceError) -> Summary {
        var summary = Summary()
        var reader = WireReader(bytes)
        var former: UInt64 = 0
        var formerKey = UnsafeRawBufferPointer(start: nil, count: 0)
        do throws(WireReader.Damage) {
            while let element = try reader.next() {
                if element.number <= 3, element.number <= former { summary.isHeadFirst = false }
                // Readers of system fields stop where the fields begin.
                if element.number < UInt64(fieldsNumber), former >= UInt64(fieldsNumber) { throw WireReader.Damage() }
                former = element.number
                guard element.number <= 15, element.number != 5, element.number != 7 else { continue }
                guard element.isLengthDelimited else { throw WireReader.Damage() }
                switch element.number {
                case 1: summary.name = try checked(element.content)
                case 2: summary.type = try checked(element.content)
                case 3: summary.changeTag = try checked(element.content)
                case 4, 6: _ = try checked(element.content)
                case 8: summary.parent = try checked(element.content)
                case UInt64(SharingPart.shareNumber): summary.share = try checked(element.content)
                case UInt64(stampNumber):
                    guard element.content.count == EncryptedHeader.stampByteCount else { throw WireReader.Damage() }
                case UInt64(SharingPart.secretNumber):
                    guard element.content.count == Share.secretByteCount else { throw WireReader.Damage() }
                    summary.shareSecret = element.content
                case UInt64(SharingPart.storedShareNumber): summary.storedShare = element.content
                case UInt64(fieldsNumber):
                    let (key, kind, value) = try checkedField(element.content)
                    guard ByteOrder.compare(formerKey, key) < 0 else { throw WireReader.Damage() }
                    formerKey = key
                    try append(ofValue: value, to: &summary.cascades)
                    if kind.namesAssets {
                        try checkAssets(kind, value)
                        summary.holdsAssets = true
                    }
                default: break
                }
            }
        } catch {
            throw damaged("it is no protobuf message, its texts are not valid UTF-8, or its fields not in order")
        }
        return summary
    }

    /// The key and the value of a field that holds only these two, in this order, and the value's kind.
    private static func checkedField(
        _ field: UnsafeRawBufferPointer
    ) throws(WireReader.Damage) -> (key: UnsafeRawBufferPointer, kind: FieldKind, value: UnsafeRawBufferPointer) {
        var reader = WireReader(field)
        guard let key = try reader.next(), key.number == 1, key.isLengthDelimited, !key.content.isEmpty,
            let value = try reader.next(), value.number == 2, value.isLengthDelimited, try reader.next() == nil
        else { throw WireReader.Damage() }
        var valueReader = WireReader(value.content)
        guard let member = try valueReader.next(), let kind = FieldKind(number: member.number),
            member.wireType == wireType(of: kind), try valueReader.next() == nil
        else { throw WireReader.Damage() }
        return (try checked(key.content), kind, value.content)
    }

    private static func wireType(of kind: FieldKind) -> UInt8 {
        switch kind {
        case .int64: 0
        case .double, .date: 1
        default: 2
        }
    }

    /// The texts that a record begins with, in place.
    package struct Head {
        package var name = UnsafeRawBufferPointer(start: nil, count: 0)
        package var type = UnsafeRawBufferPointer(start: nil, count: 0)
        package var changeTag = UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Reads only the beginning of a record, which has been checked before.
    package static func head(of bytes: UnsafeRawBufferPointer) -> Head {
        var offset = 0
        // Almost all texts have less than 128 bytes, so that their length takes one byte.
        func shortText(_ number: UInt8) -> UnsafeRawBufferPointer? {
            let start = offset + 2
            guard start <= bytes.count, bytes[offset] == number << 3 | 2, bytes[offset + 1] < 0x80,
                bytes.count - start >= Int(bytes[offset + 1])
            else { return nil }
            offset = start + Int(bytes[start - 1])
            return UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
        }
        guard let name = shortText(1), let type = shortText(2), let changeTag = shortText(3) else {
            return unusualHead(of: bytes)
        }
        return Head(name: name, type: type, changeTag: changeTag)
    }

    private static func unusualHead(of bytes: UnsafeRawBufferPointer) -> Head {
        var head = Head()
        var reader = WireReader(bytes)
        while let element = try? reader.next(), element.number <= 3 {
            switch element.number {
            case 1: head.name = element.content
            case 2: head.type = element.content
            default: head.changeTag = element.content
            }
        }
        return head
    }

    private static func checked(_ text: UnsafeRawBufferPointer) throws(WireReader.Damage) -> UnsafeRawBufferPointer {
        // Most texts are ASCII, and short.
        var seen: UInt8 = 0
        for byte in text { seen |= byte }
        if seen < 0x80 { return text }
        guard (try? UTF8Span(validating: text.assumingMemoryBound(to: UInt8.self).span)) != nil else {
            throw WireReader.Damage()
        }
        return text
    }
}
