package import BrumeModel

/// The fields that a save makes of a record: those that it has, with what was sent in their place. Nothing is copied until the
/// record is encoded.
package struct FieldMerge {
    private enum Piece {
        /// A whole field of the older version, its tag included.
        case stored(Range<Int>)
        case sent(Int)
    }

    /// The older version; empty for a new record.
    private let stored: [UInt8]
    /// Sorted by key.
    private let sent: [EncodedField]
    /// In the order of keys; nil: what was sent, and nothing else.
    private var pieces: [Piece]?
    /// Where the fields of the older version begin.
    private var storedFieldsStart = 0

    /// Whether a field differs from the older version.
    package private(set) var isChanged: Bool
    /// Of the older version.
    package private(set) var creator = ""
    package private(set) var createdMilliseconds: Int64 = 0

    /// The fields of a new record.
    package init(_ fields: CheckedFields) {
        stored = []
        sent = Self.sorted(fields.puts)
        isChanged = true
    }

    /// The fields of a newer version of `stored`. Throws `internalError` for bytes that are no record.
    ///
    /// - Parameter user: Who saves: mostly who made the record, whose name needs no text of its own then.
    package init(_ fields: CheckedFields, over stored: [UInt8], user: String) throws(ServiceError) {
        self.stored = stored
        sent = Self.sorted(fields.puts)
        isChanged = false
        let removals = fields.removals.sorted { $0 < $1 }
        let isRecord = stored.withUnsafeBytes { bytes in
            do throws(WireReader.Damage) {
                try merge(bytes, removals: removals, user: user)
                return true
            } catch {
                return false
            }
        }
        guard isRecord else { throw StoredRecord.damaged("it is no protobuf message") }
    }

    private static func sorted(_ fields: [EncodedField]) -> [EncodedField] {
        for index in fields.indices.dropFirst() where !(fields[index - 1].key < fields[index].key) {
            return fields.sorted { $0.key < $1.key }
        }
        return fields
    }

    /// Walks the older version's fields beside those that were sent: both are in the order of their keys.
    private mutating func merge(
        _ bytes: UnsafeRawBufferPointer, removals: [String], user: String
    ) throws(WireReader.Damage) {
        var reader = WireReader(bytes)
        var nextSent = 0
        var nextRemoval = 0
        while let element = try reader.next() {
            guard element.number == UInt64(StoredRecord.fieldsNumber) else {
                storedFieldsStart = element.range.upperBound
                if element.number == 4 {
                    guard let name = Self.text(element.content, orSame: user) else { throw WireReader.Damage() }
                    creator = name
                }
                if element.number == 5 { createdMilliseconds = Int64(bitPattern: element.scalar) }
                continue
            }
            guard element.isLengthDelimited else { throw WireReader.Damage() }
            let key = UnsafeRawBufferPointer(try StoredRecord.key(ofField: element.content))
            var order = 1
            while nextSent < sent.count {
                order = StoredRecord.order(sent[nextSent].key, key)
                if order >= 0 { break }
                append(sent: nextSent)
                isChanged = true
                nextSent += 1
            }
            if nextSent < sent.count, order == 0 {
                if !isChanged, !sent[nextSent].bytes.withUnsafeBytes({ ByteOrder.isEqual($0, element.content) }) {
                    isChanged = true
                }
                append(sent: nextSent)
                nextSent += 1
                continue
            }
            while nextRemoval < removals.count, StoredRecord.order(removals[nextRemoval], key) < 0 { nextRemoval += 1 }
            if nextRemoval < removals.count, StoredRecord.order(removals[nextRemoval], key) == 0 {
                isChanged = true
            } else {
                if pieces == nil { pieces = (0..<nextSent).map { .sent($0) } }
                pieces!.append(.stored(element.range))
            }
        }
        if nextSent < sent.count { isChanged = true }
        while nextSent < sent.count {
            append(sent: nextSent)
            nextSent += 1
        }
    }

    private mutating func append(sent index: Int) {
        if pieces != nil { pieces!.append(.sent(index)) }
    }

    private static func text(_ bytes: UnsafeRawBufferPointer, orSame text: String) -> String? {
        if StoredRecord.order(text, bytes) == 0 { return text }
        return String(checkedUTF8: bytes.assumingMemoryBound(to: UInt8.self))
    }

    /// Fields of the record.
    package var count: Int { pieces?.count ?? sent.count }

    /// Whether the record has the fields that were sent, and no other.
    package var isWhatWasSent: Bool { pieces == nil }

    /// The older version's bytes without its fields.
    package var storedSystemFields: [UInt8] { Array(stored[..<storedFieldsStart]) }

    /// The record's bytes, and how many of them stand before its fields: alone they are the record without any.
    package func encode(_ system: SystemFields) -> (bytes: [UInt8], systemByteCount: Int) {
        var capacity = StoredRecord.systemBytesMax(system)
        if let pieces {
            for piece in pieces {
                switch piece {
                case .stored(let range): capacity += range.count
                case .sent(let index): capacity += WireWriter.messageBytes(sent[index].bytes.count)
                }
            }
        } else {
            for field in sent { capacity += WireWriter.messageBytes(field.bytes.count) }
        }
        var writer = WireWriter(capacity: capacity)
        StoredRecord.write(system, to: &writer)
        let systemByteCount = writer.bytes.count
        if let pieces {
            stored.withUnsafeBytes { bytes in
                for piece in pieces {
                    switch piece {
                    case .stored(let range): writer.append(UnsafeRawBufferPointer(rebasing: bytes[range]))
                    case .sent(let index): writer.message(StoredRecord.fieldsNumber, sent[index].bytes)
                    }
                }
            }
        } else {
            for field in sent { writer.message(StoredRecord.fieldsNumber, field.bytes) }
        }
        return (writer.bytes, systemByteCount)
    }
}
