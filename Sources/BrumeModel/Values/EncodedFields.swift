/// Fields as a record holds them: sorted by key, each in the canonical encoding of its `brume.v1.Field` message, behind
/// the tag and the length with which it stands in the record.
///
/// They stand one behind the other, because every save makes them: what a record is made of is copied as it is, from
/// where the request has it if that has it so. `BrumeRecord` makes them and takes them apart.
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
