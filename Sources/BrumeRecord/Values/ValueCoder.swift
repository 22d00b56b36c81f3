package import BrumeModel
internal import CBrumeProto

/// `brume.v1.Value` by itself, which is what devices encrypt (Documentation/EncryptionFormats.md, section 4).
///
/// One coder serves many values, one after the other.
package struct ValueCoder: ~Copyable {
    private let arena = MessageArena(bytesLimit: MessageArena.defaultBytesLimit)

    package init() {}

    /// The canonical encoding of a value.
    package func encode(_ value: FieldValue) -> [UInt8] {
        defer { arena.reset() }
        return packed(arena.value(value))
    }

    /// Nil for bytes that are no value of a kind that this version knows.
    package func decode(_ bytes: [UInt8]) -> FieldValue? {
        defer { arena.reset() }
        return bytes.withUnsafeBytes { bytes in
            arena.unpack(brume__v1__value__unpack, bytes).flatMap { FieldValue($0) }
        }
    }
}
