package import BrumeModel
internal import BrumeRecord

/// A record with values of every kind and every extreme.
package enum RecordSamples {
    private static let plainValues: [FieldValue] = [
        .string(""), .string("a\0b"), .string("é 🍎\n"), .string(String(repeating: "x", count: 300)),
        .int64(.min), .int64(.max), .int64(0), .int64(-1), .double(-0.0), .double(.greatestFiniteMagnitude),
        .double(.infinity), .double(.leastNonzeroMagnitude), .bytes([]), .bytes([0, 1, 255]), .date(0), .date(-0.0),
        .date(-62_135_769_600), .date(1e15), .location(Location(latitude: -90, longitude: 180)),
        .location(
            Location(
                latitude: 48.2, longitude: 16.37, altitude: 171.5, horizontalAccuracy: 5, verticalAccuracy: 3,
                course: 359.9, speed: 1.25, timestamp: 8e8)),
        .reference(Reference(recordName: "target", deletesSelf: true)),
        .reference(Reference(recordName: userName, deletesSelf: false)), .strings(["", "a\0", "b"]),
        .int64s([.min, 0, .max]), .doubles([-0.0, 1.5]), .bytesList([[], [1]]), .dates([0, -1.5]),
        .locations([Location(latitude: 0, longitude: 0), Location(latitude: 1, longitude: 2)]),
        .references([Reference(recordName: "a", deletesSelf: false), Reference(recordName: "b", deletesSelf: true)]),
        .emptyList, .asset(asset(1, byteCount: 0)),
        .assets([asset(2, byteCount: 1), asset(255, byteCount: 64 * 1024 * 1024 * 1024)]),
    ]

    package static let values =
        plainValues + EncryptedSamples.kinds.map { EncryptedSamples.value($0) } + [
            EncryptedSamples.asset(asset(3, byteCount: 136)),
            EncryptedSamples.assets([asset(4, byteCount: 136)]),
            EncryptedSamples.assets((5...7).map { asset($0, byteCount: 65_536) }),
            EncryptedSamples.value(.bytes, contentBytes: 20_000),
            EncryptedSamples.value(header: EncryptedSamples.header(isShared: true, keyNumber: Limits.keysPerRing)),
        ]

    /// An asset that no server keeps.
    package static func asset(_ number: UInt8, byteCount: UInt64) -> Asset {
        let checksum = AssetChecksum([UInt8](repeating: number, count: AssetChecksum.byteCount))
        return Asset(checksum: checksum!, byteCount: byteCount, generation: .max - UInt64(number))
    }

    package static let userName = "_0123456789abcdef0123456789abcdef"

    package static var fields: [String: FieldValue] {
        Dictionary(uniqueKeysWithValues: values.enumerated().map { ("field_\($0.offset)", $0.element) })
    }

    package static let system = SystemFields(
        name: "record-1", type: "Note", changeTag: "1-2x", creator: userName, createdMilliseconds: 1_700_000_000_000,
        modifier: userName, modifiedMilliseconds: -1, parent: "parent-1", stamp: EncryptedSamples.stamp())

    package static var encodedFields: [EncodedField] {
        fields.sorted { $0.key < $1.key }.map { StoredRecord.encodeField(key: $0.key, value: $0.value) }
    }

    package static var recordBytes: [UInt8] { StoredRecord.encode(system, fields: encodedFields) }
    package static var storedRecord: SharedBytes { SharedBytes(recordBytes) }

    package static var record: Record { Record(system: system, fields: fields) }
}
