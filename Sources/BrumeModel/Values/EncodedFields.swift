/// Fields as a record holds them: sorted by key, each in the canonical encoding of its `brume.v1.Field` message, behind the tag and
/// the length with which it stands in the record.
///
/// One array for all of them, because every save makes them: what a record is made of is copied as it is. `BrumeWire` makes them and
/// takes them apart.
package struct EncodedFields: Equatable, Sendable {
    package var bytes: [UInt8] = []
    /// How many they are.
    package var count = 0

    /// None.
    package init() {}
}
