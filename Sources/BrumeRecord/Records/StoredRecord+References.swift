package import BrumeModel

/// A record's references to others, read without decoding the rest of it.
extension StoredRecord {
    /// The records that a record is deleted with: the targets of its `deleteSelf` references.
    package struct Cascades: Equatable, Sendable {
        /// Their names, one for each reference, in the order of the fields.
        package var targets: [String] = []
        /// The weight of all references: one each, and more for long names, which cost more to look up.
        package var weight = 0
        /// Fields, and references of whatever kind, that were looked at.
        package var steps = 0

        package init() {}

        /// The targets of references that the request's budget covers already.
        package init(of targets: [String]) {
            self.targets = targets
        }

        /// What may be read.
        package struct Room: Sendable {
            package var weight: Int
            package var steps: Int

            package init(weight: Int, steps: Int) {
                self.weight = weight
                self.steps = steps
            }

            package static let unlimited = Room(weight: .max, steps: .max)
        }

        package func fits(_ room: Room) -> Bool { weight <= room.weight && steps <= room.steps }

        /// Bytes of a name that count as much as a reference does.
        private static let bytesPerWeight = 128

        fileprivate mutating func add(_ name: UnsafeRawBufferPointer) {
            targets.append(String(decoding: name, as: UTF8.self))
            weight += 1 + name.count / Cascades.bytesPerWeight
        }
    }

    /// The `deleteSelf` references of a record, or of a part of it that begins at the start of a field.
    ///
    /// Throws `internalError` for bytes that are not a record.
    ///
    /// - Parameter room: Reading stops as soon as either count exceeds this. The result is then incomplete, and does
    ///   not fit into `room`.
    package static func cascades(
        of bytes: UnsafeRawBufferPointer, within room: Cascades.Room = .unlimited
    ) throws(ServiceError) -> Cascades {
        var cascades = Cascades()
        var reader = WireReader(bytes)
        do throws(WireReader.Damage) {
            while cascades.fits(room), let element = try reader.next() {
                cascades.steps += 1
                if element.number == UInt64(fieldsNumber) {
                    try append(ofField: element.content, to: &cascades, within: room)
                }
            }
        } catch {
            throw damaged("it is no protobuf message")
        }
        return cascades
    }

    package static func append(
        ofField bytes: UnsafeRawBufferPointer, to cascades: inout Cascades, within room: Cascades.Room = .unlimited
    ) throws(WireReader.Damage) {
        var reader = WireReader(bytes)
        while let element = try reader.next() {
            if element.number == 2 { try append(ofValue: element.content, to: &cascades, within: room) }
        }
    }

    package static func append(
        ofValue bytes: UnsafeRawBufferPointer, to cascades: inout Cascades, within room: Cascades.Room = .unlimited
    ) throws(WireReader.Damage) {
        var value = WireReader(bytes)
        while let kind = try value.next() {
            if kind.number == 7 { try append(kind.content, to: &cascades) }
            guard kind.number == 14 else { continue }
            var list = WireReader(kind.content)
            while cascades.fits(room), let reference = try list.next() {
                try append(reference.content, to: &cascades)
            }
        }
    }

    private static func append(
        _ reference: UnsafeRawBufferPointer, to cascades: inout Cascades
    ) throws(WireReader.Damage) {
        cascades.steps += 1
        var name = UnsafeRawBufferPointer(start: nil, count: 0)
        var deletesSelf = false
        var reader = WireReader(reference)
        while let element = try reader.next() {
            if element.number == 1 { name = element.content }
            if element.number == 2 { deletesSelf = element.scalar == 1 }
        }
        if deletesSelf { cascades.add(name) }
    }

    /// Whether an encoded field holds a reference or a list of them.
    package static func holdsReferences(field bytes: UnsafeRawBufferPointer) throws(WireReader.Damage) -> Bool {
        var reader = WireReader(bytes)
        while let element = try reader.next() {
            guard element.number == 2 else { continue }
            var value = WireReader(element.content)
            while let kind = try value.next() {
                if kind.number == 7 || kind.number == 14 { return true }
            }
        }
        return false
    }

    /// The name of a record's parent, in place; empty when there is none.
    ///
    /// - Complexity: O(1): it comes before the fields.
    package static func parent(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        systemText(8, of: bytes)
    }

    /// The user record name of a record's creator, in place; empty when the record names none.
    package static func creator(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        systemText(4, of: bytes)
    }

    /// A text among the system fields, which stand in the order of their numbers.
    private static func systemText(_ number: UInt64, of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var reader = WireReader(bytes)
        while let element = try? reader.next(), element.number <= number {
            if element.number == number { return element.content }
        }
        return UnsafeRawBufferPointer(start: nil, count: 0)
    }
}
