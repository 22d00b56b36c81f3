internal import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Reads a request to modify records in place, without unpacking its message: the server's hot path.
///
/// It reads only valid requests whose fields come in the order in which every encoder writes them. It returns nil for
/// all others, including invalid ones: ``MessageCoder/decodeModifyRecordsMessage(_:)`` then unpacks the message and
/// reports what is wrong. For what is read here, that function gives the same result, except for its memory limit,
/// which does not apply here. A field that is encoded as it will be stored is used as it is; any other field is decoded
/// and packed separately.
struct ModifyRecordsReader {
    private typealias Unusual = WireReader.Damage

    /// The request's bytes. Fields that are encoded as in a record are shared with it.
    private let storage: [UInt8]
    private let fieldArena: MessageArena
    private var itemCount = 0
    /// The number of locations and references in lists, and of assets.
    private var listMessageCount = 0
    private var receipts: [[UInt8]] = []

    static func read(
        _ bytes: UnsafeRawBufferPointer, fieldArena: MessageArena
    ) -> ModifyRecordsRequest<CheckedFields>? {
        let storage = [UInt8](bytes)
        return storage.withUnsafeBytes { bytes in
            var reader = ModifyRecordsReader(storage, fieldArena: fieldArena)
            do throws(WireReader.Damage) {
                return try reader.request(bytes)
            } catch {
                return nil
            }
        }
    }

    private init(_ storage: [UInt8], fieldArena: MessageArena) {
        self.storage = storage
        self.fieldArena = fieldArena
    }

    private mutating func request(
        _ bytes: UnsafeRawBufferPointer
    ) throws(WireReader.Damage) -> ModifyRecordsRequest<CheckedFields> {
        var database: DatabaseScope?
        var request = ModifyRecordsRequest<CheckedFields>(database: .private, zones: [])
        var reader = WireReader(bytes)
        var last: UInt64 = 0
        while let element = try reader.next() {
            guard element.number > last || element.number == 5 && last == 5 else { throw Unusual() }
            last = element.number
            switch element.number {
            case 1: database = try element.scope()
            case 2:
                guard let policy = UInt8(exactly: try element.integer()).flatMap(SavePolicy.init) else {
                    throw Unusual()
                }
                request.savePolicy = policy
            case 3: request.isAtomic = try !element.flag()
            case 4:
                request.operationID = [UInt8](try element.message())
                guard [0, 16].contains(request.operationID.count) else { throw Unusual() }
            case 5:
                guard request.zones.count < Limits.itemsPerRequest else { throw Unusual() }
                request.zones.append(try zone(try element.message()))
            case 6:
                request.clientToken = [UInt8](try element.message())
                guard request.clientToken.count <= Limits.clientTokenBytes else { throw Unusual() }
            default: throw Unusual()
            }
        }
        guard let database, (try? RequestChecks.distinctZones(request.zones, \.zone)) != nil else {
            throw Unusual()
        }
        request.database = database
        request.receipts = receipts
        return request
    }

    private mutating func zone(
        _ bytes: UnsafeRawBufferPointer
    ) throws(WireReader.Damage) -> ZoneModification<CheckedFields> {
        var id: ZoneID?
        var saves: [RecordSave<CheckedFields>] = []
        var deletions: [String] = []
        var ringEntryHash: [UInt8] = []
        var reader = WireReader(bytes)
        var last: UInt64 = 0
        while let element = try reader.next() {
            let isItem = element.number == 2 || element.number == 3
            guard element.number > last || isItem && element.number == last else { throw Unusual() }
            last = element.number
            switch element.number {
            case 1: id = try .read(try element.message())
            case 2:
                saves.append(try save(try element.message()))
                if saves.count == 2 {
                    // The saves that follow are about as large.
                    let others = (bytes.count - element.range.upperBound) / element.range.count
                    saves.reserveCapacity(2 + min(others, Limits.itemsPerRequest - itemCount))
                }
            case 3: deletions.append(try element.text())
            case 4:
                ringEntryHash = [UInt8](try element.message())
                guard [0, Limits.ringEntryHashBytes].contains(ringEntryHash.count) else { throw Unusual() }
            default: throw Unusual()
            }
            if isItem { itemCount += 1 }
            guard itemCount <= Limits.itemsPerRequest else { throw Unusual() }
        }
        guard let id else { throw Unusual() }
        if saves.count + deletions.count > 1 {
            var seen = Set<String>(minimumCapacity: saves.count + deletions.count)
            for index in saves.indices {
                guard seen.insert(saves[index].name).inserted else { throw Unusual() }
            }
            for name in deletions where !seen.insert(name).inserted { throw Unusual() }
        }
        var modification = ZoneModification.distinct(in: id, saves: saves, deletions: deletions)
        modification.ringEntryHash = ringEntryHash
        return modification
    }

    private mutating func save(_ bytes: UnsafeRawBufferPointer) throws(WireReader.Damage) -> RecordSave<CheckedFields> {
        // Put together at the end: a save that grows field by field would begin as a copy of one without any.
        var (name, type, changeTag) = ("", "", "")
        // Checked before they become texts; a name or type that is not valid may still be that of a user's record.
        var (isNameRight, isTypeRight) = (false, false)
        var parent = ParentChange.unchanged
        var stamp: [UInt8] = []
        var replacesEncrypted = false
        // Adjacent fields that are encoded as in a record, to be taken together: mostly these are all fields.
        var plain = 0..<0
        var plainCount = 0
        // The fields before them, when not all are adjacent.
        var earlier = EncodedFieldsBuilder()
        var removals: [String] = []
        var (mayHoldReferences, mayHoldAssets, mayHoldEncrypted) = (false, false, false)
        var fieldCount = 0
        var lastKey = UnsafeRawBufferPointer(start: nil, count: 0)
        var reader = WireReader(bytes)
        var last: UInt64 = 0
        while let element = try reader.next() {
            guard element.number > last || element.number == 15 && last == 15 else { throw Unusual() }
            // Only one of the two fields that change the parent is allowed.
            guard element.number != 5 || last != 4 else { throw Unusual() }
            last = element.number
            switch element.number {
            case 1:
                isNameRight = Names.isRecordName(element.content)
                name = isNameRight ? String(decoding: try element.message(), as: UTF8.self) : try element.text()
            case 2:
                isTypeRight = Names.isRecordType(element.content)
                type = isTypeRight ? String(decoding: try element.message(), as: UTF8.self) : try element.text()
            case 3: changeTag = try element.text()
            case 4:
                let name = try element.text()
                guard Names.isUserRecordName(name) || Names.problemWithRecordName(name) == nil else {
                    throw Unusual()
                }
                parent = .set(name)
            case 5: parent = try element.flag() ? .removed : .unchanged
            case 6:
                let content = try element.message()
                guard FieldChecker.problem(stamp: content) == nil else { throw Unusual() }
                stamp = [UInt8](content)
            case 7: replacesEncrypted = try element.flag()
            case 15:
                fieldCount += 1
                let (key, field) = try field(try element.message(), after: lastKey)
                lastKey = key
                if case .plain(let isEncrypted) = field, isEncrypted { mayHoldEncrypted = true }
                if case .plain = field, CanonicalValue.isShortest(element) {
                    let start = plainCount == 0 ? element.range.lowerBound : plain.lowerBound
                    (plain, plainCount) = (start..<element.range.upperBound, plainCount + 1)
                    continue
                }
                earlier.append(encoded: bytes[plain], count: plainCount)
                (plain, plainCount) = (0..<0, 0)
                switch field {
                case .plain: earlier.append(element.content)
                case .packed(let packed, let kind):
                    let (namesAssets, isEncrypted) = (kind?.namesAssets == true, kind?.isEncrypted == true)
                    if namesAssets { mayHoldAssets = true }
                    if isEncrypted { mayHoldEncrypted = true }
                    if !namesAssets, !isEncrypted { mayHoldReferences = true }
                    packed.withUnsafeBytes { earlier.append($0) }
                case .removal: removals.append(String(decoding: key, as: UTF8.self))
                }
            default: throw Unusual()
            }
        }
        let puts: EncodedFields
        if earlier.isEmpty, plainCount > 0 {
            puts = EncodedFields(shared(bytes[plain]), count: plainCount)
        } else {
            earlier.append(encoded: bytes[plain], count: plainCount)
            puts = earlier.fields
        }
        guard fieldCount <= Limits.fieldsPerRecord,
            puts.bytes.count + name.utf8.count + type.utf8.count <= Limits.recordBytes,
            // A share says more than what is read here.
            isNameRight && isTypeRight
                || type != Names.shareType && MessageCoder.problem(name: name, type: type) == nil
        else { throw Unusual() }
        return .read(
            name: name, type: type, changeTag: changeTag, parent: parent, stamp: stamp,
            replacesEncrypted: replacesEncrypted, puts: puts, removals: removals,
            mayHoldReferences: mayHoldReferences, mayHoldAssets: mayHoldAssets, mayHoldEncrypted: mayHoldEncrypted)
    }

    /// A part of the request, which is not copied.
    private func shared(_ part: Slice<UnsafeRawBufferPointer>) -> SharedBytes {
        let part = UnsafeRawBufferPointer(rebasing: part)
        let start = storage.withUnsafeBytes { part.baseAddress! - $0.baseAddress! }
        return SharedBytes(of: storage, at: start..<start + part.count)
    }

    // MARK: Fields

    private enum Field {
        /// The field is encoded as it will be stored, and holds neither a reference nor an asset.
        case plain(isEncrypted: Bool)
        /// The field's canonical encoding, and the kind of its value.
        case packed([UInt8], FieldKind?)
        /// The field removes its key.
        case removal
    }

    private mutating func field(
        _ bytes: UnsafeRawBufferPointer, after lastKey: UnsafeRawBufferPointer
    ) throws(WireReader.Damage) -> (key: UnsafeRawBufferPointer, field: Field) {
        var reader = WireReader(bytes)
        guard let first = try reader.next(), first.number == 1, CanonicalValue.isShortest(first),
            Names.isFieldKey(first.content), ByteOrder.compare(lastKey, first.content) < 0
        else { throw Unusual() }
        guard let second = try reader.next() else { return (first.content, .removal) }
        let isPlain =
            second.number == 2 && CanonicalValue.isShortest(second) && second.range.upperBound == bytes.count
            && CanonicalValue.isCanonical(second.content)
        if !isPlain || second.content[0] == 13 << 3 | 2 {
            // Assets among them, which are never plain.
            listMessageCount += CanonicalValue.listMessages(inField: bytes)
            guard listMessageCount <= Limits.listMessagesPerRequest else { throw Unusual() }
        }
        // The tags of encrypted kinds, and of no other plain ones, have a second byte.
        if isPlain { return (first.content, .plain(isEncrypted: second.content[0] >= 0x80)) }
        // A reference, an asset, or what another encoder makes.
        fieldArena.reset()
        guard let field = fieldArena.unpack(brume__v1__field__unpack, bytes),
            ByteOrder.isEqual(field.pointee.key.rawBuffer, first.content), let value = field.pointee.value
        else { throw Unusual() }
        FieldChecker.takeReceipts(of: value, into: &receipts)
        guard receipts.count <= Limits.receiptsPerRequest else { throw Unusual() }
        guard let canonical = FieldChecker.canonicalBytes(of: field) else { throw Unusual() }
        return (first.content, .packed(canonical, FieldKind(value.pointee.kind_case)))
    }
}
