package import BrumeModel
internal import CBrumeProto

/// Records as the server keeps them: an encoded `brume.v1.Record`, made once and copied into answers as it is.
///
/// The encoding is canonical: system fields in the order of their numbers, then the fields in the order of their keys,
/// each in its canonical encoding. Records with equal content have equal bytes. The server opens records often and
/// reads little of them, so this type reads and writes them in place; the bytes are those that protobuf-c makes of the
/// message.
@usableFromInline
package enum StoredRecord {
    /// A record taken apart, its fields not decoded.
    package struct Parts: Equatable, Sendable {
        package var system: SystemFields
        /// Sorted by key.
        package var fields: [EncodedField]

        package init(system: SystemFields, fields: [EncodedField]) {
            self.system = system
            self.fields = fields
        }
    }

    /// The number of `fields` in `brume.v1.Record`; the last one, so that the fields come after everything else.
    @inlinable package static var fieldsNumber: UInt8 { 15 }

    /// The number of `stamp` in `brume.v1.Record`.
    package static let stampNumber: UInt8 = 11

    /// The record's bytes. Fields may come in any order, each key once.
    package static func encode(
        _ system: SystemFields, sharing: SharingPart = SharingPart(), fields: [EncodedField]
    ) -> [UInt8] {
        let fields = EncodedFields(fields)
        var bytes: [UInt8] = []
        bytes.append(byteCount: byteCount(of: system) + sharing.byteCount + fields.bytes.count) { filler in
            filler.text(1, system.name)
            filler.text(2, system.type)
            filler.text(3, system.changeTag)
            filler.text(4, system.creator)
            filler.integer(5, UInt64(bitPattern: system.createdMilliseconds))
            filler.text(6, system.modifier)
            filler.integer(7, UInt64(bitPattern: system.modifiedMilliseconds))
            filler.text(8, system.parent ?? "")
            sharing.appendFront(to: &filler)
            filler.data(stampNumber, system.stamp)
            sharing.appendRest(to: &filler)
            fields.bytes.withUnsafeBytes { filler.append($0) }
        }
        return bytes
    }

    /// Bytes that the system fields take.
    private static func byteCount(of system: SystemFields) -> Int {
        WireSize.data(system.name.utf8.count) + WireSize.data(system.type.utf8.count)
            + WireSize.data(system.changeTag.utf8.count) + WireSize.data(system.creator.utf8.count)
            + WireSize.integer(UInt64(bitPattern: system.createdMilliseconds))
            + WireSize.data(system.modifier.utf8.count)
            + WireSize.integer(UInt64(bitPattern: system.modifiedMilliseconds))
            + WireSize.data(system.parent?.utf8.count ?? 0) + WireSize.data(system.stamp.count)
    }

    /// Takes a record apart. Throws `internalError` for bytes that are no record.
    package static func parts(of bytes: [UInt8]) throws(ServiceError) -> Parts { try parts(of: SharedBytes(bytes)) }

    package static func parts(of bytes: SharedBytes) throws(ServiceError) -> Parts {
        let result: Result<Parts, ServiceError> = bytes.withUnsafeBytes { bytes in
            var fields: [EncodedField] = []
            do throws(ServiceError) {
                var sharing = ShownSharing()
                let system = try walk(bytes, &sharing) { (content) throws(ServiceError) in
                    guard let keyData = try? key(ofField: content),
                        let key = String(checkedUTF8: keyData.assumingMemoryBound(to: UInt8.self))
                    else { throw damaged("a field has no readable key") }
                    fields.append(EncodedField(key: key, bytes: [UInt8](content)))
                }
                return .success(Parts(system: system, fields: fields))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Decodes a record, system fields and values.
    package static func decode(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> Record {
        let arena = MessageArena(bytesLimit: MessageArena.defaultBytesLimit)
        defer { withExtendedLifetime(arena) {} }
        return try decode(bytes, fieldArena: arena)
    }

    /// Decodes a record. The arena holds only one field at a time. A value of a kind that this version doesn't know is
    /// left out: a newer version wrote it.
    package static func decode(_ bytes: UnsafeRawBufferPointer, fieldArena: MessageArena) throws(ServiceError) -> Record
    {
        var fields: [String: FieldValue] = [:]
        var sharing = ShownSharing()
        let system = try walk(bytes, &sharing) { (content) throws(ServiceError) in
            fieldArena.reset()
            guard let field = fieldArena.unpack(brume__v1__field__unpack, content) else {
                throw damaged("a field is no protobuf message, or too large to decode")
            }
            guard let key = field.pointee.key.text else { throw damaged("a field key is not valid UTF-8") }
            guard let message = field.pointee.value else { throw damaged("a field has no value") }
            if message.pointee.kind_case == BRUME__V1__VALUE__KIND__NOT_SET { return }
            guard let value = FieldValue(message) else {
                throw damaged("the field \"\(key.prefix(64))\" has a value that is none of its kind")
            }
            fields[key] = value
        }
        fieldArena.reset()
        return Record(
            system: system, fields: fields, share: sharing.share,
            shareDetails: try sharing.details.map { (bytes) throws(ServiceError) in
                try ShareViewCoder.decode(bytes, arena: fieldArena)
            })
    }

    /// The record with only the fields of `keys`; an empty list leaves system fields only.
    ///
    /// - Complexity: O(keys + fields) where `keys` are sorted, as requests are decoded.
    package static func project(_ bytes: SharedBytes, keys: [String]) -> SharedBytes {
        var keys = keys
        if !zip(keys, keys.dropFirst()).allSatisfy({ $0 < $1 }) { keys.sort() }
        return bytes.withUnsafeBytes { source in
            var projected: [UInt8] = []
            var reader = WireReader(source)
            // The range that is kept and not copied yet: adjacent elements are copied together.
            var kept = 0..<0
            var nextKey = 0
            do throws(WireReader.Damage) {
                while let element = try reader.next() {
                    if element.number == UInt64(fieldsNumber) {
                        let key = try key(ofField: element.content)
                        while nextKey < keys.count, ByteOrder.compare(keys[nextKey], key) < 0 { nextKey += 1 }
                        guard nextKey < keys.count, ByteOrder.compare(keys[nextKey], key) == 0 else { continue }
                    }
                    if kept.upperBound != element.range.lowerBound {
                        projected.append(contentsOf: source[kept])
                        kept = element.range
                    } else {
                        kept = kept.lowerBound..<element.range.upperBound
                    }
                }
            } catch {
                preconditionFailure("a stored record is no record, though its checksum held")
            }
            projected.append(contentsOf: source[kept])
            return SharedBytes(projected)
        }
    }

    /// The kind of an encoded field's value. A field that was checked has one.
    ///
    /// - Complexity: O(1): the key is skipped, and only the value's first byte is read.
    package static func kind(of field: EncodedField) -> FieldKind {
        field.bytes.withUnsafeBytes { kind(ofField: $0) }
    }

    package static func kind(ofField bytes: UnsafeRawBufferPointer) -> FieldKind {
        var reader = WireReader(bytes)
        while let element = try? reader.next() {
            guard element.number == 2 else { continue }
            var value = WireReader(element.content)
            guard let first = try? value.next(), let kind = FieldKind(number: first.number) else { break }
            return kind
        }
        preconditionFailure("a field that was checked has no value of a known kind")
    }

    /// The canonical encoding of a field.
    package static func encodeField(key: String, value: FieldValue) -> EncodedField {
        let arena = MessageArena(bytesLimit: .max)
        return withExtendedLifetime(arena) { EncodedField(key: key, bytes: packed(arena.field(key, value))) }
    }

    /// The key of an encoded `brume.v1.Field`.
    package static func key(
        ofField bytes: UnsafeRawBufferPointer
    ) throws(WireReader.Damage) -> UnsafeRawBufferPointer {
        var reader = WireReader(bytes)
        while let element = try reader.next() {
            // Canonical fields begin with their key.
            if element.number == 1 { return element.content }
        }
        return UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// The key of the next field; empty at the end.
    package static func key(ofNext field: WireReader.Element?) throws(WireReader.Damage) -> UnsafeRawBufferPointer {
        guard let field else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return try key(ofField: field.content)
    }

    /// What a record tells a client of sharing.
    private struct ShownSharing {
        var share: String?
        /// Points into the record.
        var details: UnsafeRawBufferPointer?
    }

    /// Reads the system fields and gives each field to `visit`.
    private static func walk(
        _ bytes: UnsafeRawBufferPointer, _ sharing: inout ShownSharing,
        _ visit: (UnsafeRawBufferPointer) throws(ServiceError) -> Void
    ) throws(ServiceError) -> SystemFields {
        var system = SystemFields(name: "", type: "")
        var reader = WireReader(bytes)
        while true {
            let next: WireReader.Element?
            do throws(WireReader.Damage) { next = try reader.next() } catch {
                throw damaged("it is no protobuf message")
            }
            guard let element = next else { return system }
            switch element.number {
            case 1: system.name = try systemText(element)
            case 2: system.type = try systemText(element)
            case 3: system.changeTag = try systemText(element)
            case 4: system.creator = try systemText(element)
            case 5: system.createdMilliseconds = Int64(bitPattern: element.scalar)
            case 6: system.modifier = try systemText(element)
            case 7: system.modifiedMilliseconds = Int64(bitPattern: element.scalar)
            case 8:
                let parent = try systemText(element)
                system.parent = parent.isEmpty ? nil : parent
            case UInt64(SharingPart.shareNumber):
                let share = try systemText(element)
                sharing.share = share.isEmpty ? nil : share
            case UInt64(SharingPart.detailsNumber):
                guard element.isLengthDelimited else { throw damaged("its share has the wrong wire type") }
                sharing.details = element.content
            case UInt64(stampNumber):
                guard element.isLengthDelimited else { throw damaged("its stamp has the wrong wire type") }
                system.stamp = [UInt8](element.content)
            case UInt64(fieldsNumber):
                guard element.isLengthDelimited else { throw damaged("a field has the wrong wire type") }
                try visit(element.content)
            default: break
            }
        }
    }

    private static func systemText(_ element: WireReader.Element) throws(ServiceError) -> String {
        guard element.isLengthDelimited,
            let text = String(checkedUTF8: element.content.assumingMemoryBound(to: UInt8.self))
        else { throw damaged("a system field is not valid UTF-8") }
        return text
    }

    package static func damaged(_ reason: String) -> ServiceError {
        ServiceError(.internalError, "a record can't be read: \(reason); check that both sides run versions that fit")
    }
}
