/// A value of a stored record, read in place: texts and bytes point into the record.
///
/// Trivial, so that looking at a million of them counts no references. Valid as long as the record's bytes are.
package enum StoredValue {
    case missing
    case scalar(StoredScalar)
    case list(StoredList)
    /// Assets, or what a device encrypted: nobody looks into them here, and queries take the field for missing.
    case opaque
}

/// A value that is no list.
package enum StoredScalar {
    case int64(Int64)
    case double(Double)
    /// Seconds since 2001-01-01T00:00:00Z.
    case date(Double)
    case string(UnsafeRawBufferPointer)
    case bytes(UnsafeRawBufferPointer)
    /// The latitude and longitude in degrees; queries use nothing else of a location.
    case location(latitude: Double, longitude: Double)
    /// The target's name.
    case reference(UnsafeRawBufferPointer)
}

extension StoredValue {
    /// Reads an encoded `brume.v1.Value`. Bytes that are not one are read as a missing value; no bytes can make it
    /// trap.
    package init(encoded message: UnsafeRawBufferPointer) {
        var reader = WireReader(message)
        guard let element = try? reader.next() else {
            self = .missing
            return
        }
        switch element.number {
        case 16, 17, 33...49: self = .opaque
        case 8...15 where element.isLengthDelimited:
            self = .list(StoredList(kind: UInt8(element.number), element.content))
        case 1...7:
            if let scalar = StoredScalar(kind: UInt8(element.number), element) {
                self = .scalar(scalar)
            } else {
                self = .missing
            }
        default:
            self = .missing
        }
    }
}

extension StoredScalar {
    /// Reads a field of `brume.v1.Value`, or an element of a list, whose kinds are numbered alike.
    package init?(kind: UInt8, _ element: WireReader.Element) {
        switch kind {
        case 1: self = .string(element.content)
        case 2: self = .int64(StoredScalar.signed(element.scalar))
        case 3: self = .double(Double(bitPattern: element.scalar))
        case 4: self = .bytes(element.content)
        case 5: self = .date(Double(bitPattern: element.scalar))
        case 6:
            var latitude = 0.0
            var longitude = 0.0
            var reader = WireReader(element.content)
            while let part = try? reader.next() {
                if part.number == 1 { latitude = Double(bitPattern: part.scalar) }
                if part.number == 2 { longitude = Double(bitPattern: part.scalar) }
                if part.number > 2 { break }
            }
            self = .location(latitude: latitude, longitude: longitude)
        case 7:
            var reader = WireReader(element.content)
            var name = UnsafeRawBufferPointer(start: nil, count: 0)
            if let part = try? reader.next(), part.number == 1 { name = part.content }
            self = .reference(name)
        default: return nil
        }
    }

    /// Undoes protobuf's zigzag.
    package static func signed(_ raw: UInt64) -> Int64 { Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1) }
}
