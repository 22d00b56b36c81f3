package import BrumeModel
internal import BrumeRecord

/// The fields of a record after a save: the stored ones, with what was sent in their place. Nothing is copied until the
/// record is encoded, and the merge itself is never copied: every save makes one.
package struct FieldMerge: ~Copyable {
    /// Neighbouring fields of one source, their tags included.
    private enum Piece {
        case stored(Range<Int>)
        case sent(Range<Int>)
    }

    /// The older version; empty for a new record.
    private let stored: SharedBytes
    private let sent: EncodedFields
    /// In the order of keys; nil when the record has what was sent, and nothing else.
    private var pieces: [Piece]?
    /// Where the fields of the older version begin.
    private var storedFieldsStart = 0
    /// Where the older version says who made the record, and when.
    private var storedCreation = 0..<0
    /// Where the older version has its stamp: the field of it, and the stamp alone.
    private var storedStamp = (field: 0..<0, content: 0..<0)

    /// Fields of the record.
    package private(set) var count: Int

    /// Fields of the older version.
    package private(set) var readCount = 0

    /// Whether a field differs from the older version.
    package private(set) var isChanged: Bool

    /// Whether a field that holds references differs from the older version. Set only where `watchesReferences` was
    /// asked.
    package private(set) var changesReferences = false

    private let watchesReferences: Bool

    /// Whether a field that is encrypted in the older version is removed, or gets a value that is not. Set only where
    /// `watchesEncrypted` was asked.
    package private(set) var losesEncrypted = false

    private let watchesEncrypted: Bool

    /// The fields of a newer version of `stored`, or of a new record. Those that were sent stand in the order of their
    /// keys, as all ``EncodedFields`` do. Throws `internalError` for bytes that are no record.
    ///
    /// - Parameters:
    ///   - watchesReferences: Whether ``changesReferences`` is of interest: it costs a look at each field that changes.
    ///   - watchesEncrypted: The same for ``losesEncrypted``.
    package init(
        _ fields: borrowing CheckedFields, over stored: consuming SharedBytes?, watchesReferences: Bool = false,
        watchesEncrypted: Bool = false
    ) throws(ServiceError) {
        sent = fields.puts
        self.watchesReferences = watchesReferences
        self.watchesEncrypted = watchesEncrypted
        guard let stored else {
            self.stored = SharedBytes()
            (count, isChanged) = (sent.count, true)
            return
        }
        self.stored = stored
        (count, isChanged) = (0, false)
        let removals = fields.removals.isEmpty ? [] : fields.removals.sorted { $0 < $1 }
        guard merge(removals: removals) else { throw StoredRecord.damaged("it is no protobuf message") }
    }

    /// Returns false when the older version is no protobuf message.
    private mutating func merge(removals: [String]) -> Bool {
        let (stored, sent) = (stored, sent.bytes)
        return stored.withUnsafeBytes { stored in
            sent.withUnsafeBytes { sent in
                do throws(WireReader.Damage) {
                    try merge(stored, sent, removals: removals)
                    return true
                } catch {
                    return false
                }
            }
        }
    }

    /// Walks the older version's fields beside those that were sent: both are in the order of their keys.
    private mutating func merge(
        _ stored: UnsafeRawBufferPointer, _ sent: UnsafeRawBufferPointer, removals: [String]
    ) throws(WireReader.Damage) {
        var reader = WireReader(stored)
        var sentReader = WireReader(sent)
        var nextSent = try sentReader.next()
        var nextSentKey = try StoredRecord.key(ofNext: nextSent)
        var nextRemoval = 0
        while let element = try reader.next() {
            guard element.number == UInt64(StoredRecord.fieldsNumber) else {
                storedFieldsStart = element.range.upperBound
                // The two are neighbours: fields stand in the order of their numbers.
                if element.number == 4 { storedCreation = element.range }
                if element.number == 5 {
                    let start = storedCreation.isEmpty ? element.range.lowerBound : storedCreation.lowerBound
                    storedCreation = start..<element.range.upperBound
                }
                if element.number == UInt64(StoredRecord.stampNumber) {
                    let end = element.range.upperBound
                    storedStamp = (element.range, end - element.content.count..<end)
                }
                continue
            }
            guard element.isLengthDelimited else { throw WireReader.Damage() }
            readCount += 1
            let key = try StoredRecord.key(ofField: element.content)
            var order = 1
            while let field = nextSent {
                order = ByteOrder.compare(nextSentKey, key)
                if order > 0 { break }
                // It replaces this field, or is a new one before it.
                if !isChanged, order < 0 || !ByteOrder.isEqual(field.content, element.content) { isChanged = true }
                if watchesReferences {
                    try watch(field.content, inPlaceOf: order == 0 ? element.content : nil)
                }
                if watchesEncrypted, order == 0 { try watchEncrypted(field.content, inPlaceOf: element.content) }
                append(sent: field.range)
                nextSent = try sentReader.next()
                nextSentKey = try StoredRecord.key(ofNext: nextSent)
                if order == 0 { break }
            }
            if order == 0 { continue }
            while nextRemoval < removals.count, ByteOrder.compare(removals[nextRemoval], key) < 0 { nextRemoval += 1 }
            if nextRemoval < removals.count, ByteOrder.compare(removals[nextRemoval], key) == 0 {
                isChanged = true
                if watchesReferences { try watch(nil, inPlaceOf: element.content) }
                if watchesEncrypted { try watchEncrypted(nil, inPlaceOf: element.content) }
            } else {
                append(stored: element.range, behind: nextSent?.range.lowerBound ?? sent.count)
            }
        }
        while let field = nextSent {
            isChanged = true
            if watchesReferences { try watch(field.content, inPlaceOf: nil) }
            append(sent: field.range)
            nextSent = try sentReader.next()
        }
    }

    /// Notes whether references are added, removed or changed with a field.
    private mutating func watch(
        _ newer: UnsafeRawBufferPointer?, inPlaceOf older: UnsafeRawBufferPointer?
    ) throws(WireReader.Damage) {
        if changesReferences { return }
        if let newer, let older, ByteOrder.isEqual(newer, older) { return }
        if let newer, try StoredRecord.holdsReferences(field: newer) { changesReferences = true }
        if let older, try StoredRecord.holdsReferences(field: older) { changesReferences = true }
    }

    /// Notes whether a field is encrypted no more.
    private mutating func watchEncrypted(
        _ newer: UnsafeRawBufferPointer?, inPlaceOf older: UnsafeRawBufferPointer
    ) throws(WireReader.Damage) {
        guard !losesEncrypted, try StoredRecord.isEncrypted(field: older) else { return }
        if let newer, try StoredRecord.isEncrypted(field: newer) { return }
        losesEncrypted = true
    }

    private mutating func append(sent range: Range<Int>) {
        count += 1
        guard let last = pieces?.indices.last else { return }
        // No field that was sent is left out, so that two of them without another between them are neighbours.
        if case .sent(let before) = pieces![last] {
            pieces![last] = .sent(before.lowerBound..<range.upperBound)
        } else {
            pieces!.append(.sent(range))
        }
    }

    /// - Parameter sentEnd: The end of the sent fields that come before this one.
    private mutating func append(stored range: Range<Int>, behind sentEnd: Int) {
        count += 1
        if pieces == nil { pieces = sentEnd == 0 ? [] : [.sent(0..<sentEnd)] }
        if case .stored(let before)? = pieces!.last, before.upperBound == range.lowerBound {
            pieces![pieces!.count - 1] = .stored(before.lowerBound..<range.upperBound)
        } else {
            pieces!.append(.stored(range))
        }
    }

    /// Whether the record has the fields that were sent, and no other.
    package var isWhatWasSent: Bool { pieces == nil }

    /// The older version's bytes without its fields.
    package var storedSystemFields: SharedBytes { stored.part(0..<storedFieldsStart) }

    /// Whether the older version has a stamp.
    package var hasStoredStamp: Bool { !storedStamp.field.isEmpty }

    /// Whether the older version has this stamp.
    package func isStoredStamp(_ stamp: [UInt8]) -> Bool {
        stored.withUnsafeBytes { stored in
            stamp.withUnsafeBytes {
                ByteOrder.isEqual(UnsafeRawBufferPointer(rebasing: stored[storedStamp.content]), $0)
            }
        }
    }

    /// Appends the record's bytes, and returns how many of them stand before its fields: alone they are the record
    /// without any.
    ///
    /// - Parameters:
    ///   - bytes: The array to append to. An empty one grows by what the record needs, and no more.
    ///   - changeTag: Its text in UTF-8.
    ///   - user: The user who saves, and who makes the record if it is new.
    ///   - savedMilliseconds: The server's clock, since 1970.
    ///   - parent: The name of the parent record, or empty.
    ///   - stamp: Whence the record has its stamp.
    ///   - sharing: What the record says of sharing; nil for nothing.
    func encode(
        into bytes: inout [UInt8], name: String, type: String, changeTag: [UInt8], user: String,
        savedMilliseconds: Int64, parent: String, stamp: MergedStamp = .stored, sharing: SharingPart? = nil
    ) -> Int {
        let saved = UInt64(bitPattern: savedMilliseconds)
        let isNew = stored.isEmpty
        let savingBytes = WireSize.data(user.utf8.count) + WireSize.integer(saved)
        let systemByteCount =
            WireSize.data(name.utf8.count) + WireSize.data(type.utf8.count)
            + WireSize.data(changeTag.count) + (isNew ? savingBytes : storedCreation.count) + savingBytes
            + WireSize.data(parent.utf8.count) + byteCount(of: stamp) + (sharing?.byteCount ?? 0)
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
            sharing?.appendFront(to: &filler)
            append(stamp, to: &filler)
            sharing?.appendRest(to: &filler)
            appendFields(to: &filler)
        }
        return systemByteCount
    }

    private func byteCount(of stamp: MergedStamp) -> Int {
        switch stamp {
        case .none: 0
        case .stored: storedStamp.field.count
        case .sent(let bytes): WireSize.data(bytes.count)
        }
    }

    private func append(_ stamp: MergedStamp, to filler: inout WireFiller) {
        switch stamp {
        case .none: break
        case .stored:
            stored.withUnsafeBytes { filler.append(UnsafeRawBufferPointer(rebasing: $0[storedStamp.field])) }
        case .sent(let bytes): filler.data(StoredRecord.stampNumber, bytes)
        }
    }

    private var fieldsByteCount: Int {
        guard let pieces else { return sent.bytes.count }
        return pieces.reduce(0) { count, piece in
            switch piece {
            case .stored(let range), .sent(let range): count + range.count
            }
        }
    }

    private func appendFields(to filler: inout WireFiller) {
        sent.bytes.withUnsafeBytes { sent in
            guard let pieces else { return filler.append(sent) }
            stored.withUnsafeBytes { stored in
                for piece in pieces {
                    switch piece {
                    case .stored(let range): filler.append(UnsafeRawBufferPointer(rebasing: stored[range]))
                    case .sent(let range): filler.append(UnsafeRawBufferPointer(rebasing: sent[range]))
                    }
                }
            }
        }
    }
}
