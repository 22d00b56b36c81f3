/// Fields as a record holds them: sorted by key, each in the canonical encoding of its `brume.v1.Field` message, after
/// the tag and the length that precede it in the record.
///
/// They are in one piece, because every save makes them: fields that the request already has in this form are copied
/// into the record as they are. `BrumeRecord` makes them and takes them apart.
package struct EncodedFields: Equatable, Sendable {
    package let bytes: SharedBytes
    /// How many they are.
    package let count: Int

    package init(_ bytes: SharedBytes, count: Int) {
        self.bytes = bytes
        self.count = count
    }

    /// None.
    package init() { self.init(SharedBytes(), count: 0) }
}
