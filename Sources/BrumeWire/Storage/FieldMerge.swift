package import BrumeModel

/// The fields that a save makes of a record: those that it has, with what was sent in their place. Nothing is copied until the
/// record is encoded, and the merge itself never is: every save makes one.
package struct FieldMerge: ~Copyable {
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
    /// Where the older version says who made the record, and when.
    private var storedCreation = 0..<0

    /// Whether a field differs from the older version.
    package private(set) var isChanged: Bool

    /// The fields of a newer version of `stored`, or of a new record. Throws `internalError` for bytes that are no record.
    package init(_ fields: CheckedFields, over stored: [UInt8]?) throws(ServiceError) {
        self.stored = stored ?? []
        sent = Self.sorted(fields.puts)
        isChanged = stored == nil
        if stored == nil { return }
        let removals = fields.removals.isEmpty ? [] : fields.removals.sorted { $0 < $1 }
        guard merge(removals: removals) else { throw StoredRecord.damaged("it is no protobuf message") }
    }

    private static func sorted(_ fields: [EncodedField]) -> [EncodedField] {
        for index in fields.indices.dropFirst() where !(fields[index - 1].key < fields[index].key) {
            return fields.sorted { $0.key < $1.key }
        }
        return fields
    }

    /// False where the older version is no protobuf message.
    private mutating func merge(removals: [String]) -> Bool {
        let stored = stored
        return stored.withUnsafeBytes { bytes in
            do throws(WireReader.Damage) {
                try merge(bytes, removals: removals)
                return true
            } catch {
                return false
            }
        }
    }

    /// Walks the older version's fields beside those that were sent: both are in the order of their keys.
    private mutating func merge(_ bytes: UnsafeRawBufferPointer, removals: [String]) throws(WireReader.Damage) {
        var reader = WireReader(bytes)
        var nextSent = 0
        var nextRemoval = 0
        while let element = try reader.next() {
            guard element.number == UInt64(StoredRecord.fieldsNumber) else {
                storedFieldsStart = element.range.upperBound
                // Neighbours: fields stand in the order of their numbers.
                if element.number == 4 { storedCreation = element.range }
                if element.number == 5 {
                    let start = storedCreation.isEmpty ? element.range.lowerBound : storedCreation.lowerBound
                    storedCreation = start..<element.range.upperBound
                }
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

    /// Fields of the record.
    package var count: Int { pieces?.count ?? sent.count }

    /// Whether the record has the fields that were sent, and no other.
    package var isWhatWasSent: Bool { pieces == nil }

    /// The older version's bytes without its fields.
    package var storedSystemFields: [UInt8] { Array(stored[..<storedFieldsStart]) }

    /// The record's bytes, and how many of them stand before its fields: alone they are the record without any.
    ///
    /// - Parameters:
    ///   - changeTag: Its text in UTF-8.
    ///   - user: Who saves, and makes the record where it is new.
    ///   - savedMilliseconds: The server's clock, since 1970.
    ///   - parent: The name of the parent record, or empty.
    package func encode(
        name: String, type: String, changeTag: [UInt8], user: String, savedMilliseconds: Int64, parent: String
    ) -> (bytes: [UInt8], systemByteCount: Int) {
        let saved = UInt64(bitPattern: savedMilliseconds)
        let isNew = stored.isEmpty
        let savingBytes = WireSize.data(user.utf8.count) + WireSize.integer(saved)
        let systemByteCount =
            WireSize.data(name.utf8.count) + WireSize.data(type.utf8.count)
            + WireSize.data(changeTag.count) + (isNew ? savingBytes : storedCreation.count) + savingBytes
            + WireSize.data(parent.utf8.count)
        var bytes: [UInt8] = []
        bytes.append(byteCount: systemByteCount + fieldsByteCount) { filler in
            filler.text(1, name)
            filler.text(2, type)
            filler.data(3, changeTag)
            if isNew {
                filler.text(4, user)
                filler.integer(5, saved)
            } else {
                stored.withUnsafeBytes { filler.append(UnsafeRawBufferPointer(rebasing: $0[storedCreation])) }
            }
            filler.text(6, user)
            filler.integer(7, saved)
            filler.text(8, parent)
            appendFields(to: &filler)
        }
        return (bytes, systemByteCount)
    }

    private var fieldsByteCount: Int {
        var count = 0
        if let pieces {
            for piece in pieces {
                switch piece {
                case .stored(let range): count += range.count
                case .sent(let index): count += WireSize.message(sent[index].bytes.count)
                }
            }
        } else {
            for index in sent.indices { count += WireSize.message(sent[index].bytes.count) }
        }
        return count
    }

    private func appendFields(to filler: inout WireFiller) {
        if let pieces {
            stored.withUnsafeBytes { stored in
                for piece in pieces {
                    switch piece {
                    case .stored(let range): filler.append(UnsafeRawBufferPointer(rebasing: stored[range]))
                    case .sent(let index): filler.message(StoredRecord.fieldsNumber, sent[index].bytes)
                    }
                }
            }
        } else {
            for index in sent.indices { filler.message(StoredRecord.fieldsNumber, sent[index].bytes) }
        }
    }
}
