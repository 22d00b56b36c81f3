package import BrumeModel
internal import BrumeRecord

/// Which records of shared trees have encrypted values.
extension Database {
    /// Visits the records of a part of a zone that are in shared trees and have encrypted values: with a record's name,
    /// the name of the root of its tree, and the headers of its values. It ends where `visit` returns false, or
    /// after about ``StoreLimits/encryptedRecordSteps`` steps.
    ///
    /// - Parameters:
    ///   - start: Where the part starts: 0, then what the last call returned. A record keeps its place as long as it
    ///     lives.
    ///   - zone: The zone's incarnation.
    /// - Returns: Where the next part starts; 0 where there is none.
    package func visitEncryptedRecordsOfTrees<Failure>(
        from start: UInt32, inZone zone: UInt64,
        _ visit: (_ name: String, _ root: String, _ headers: Set<EncryptedHeader>) throws(Failure) -> Bool
    ) throws(Failure) -> UInt32 {
        guard let index = zoneIndexOfIncarnation[zone], !zoneStates[index].trees.isEmpty else { return 0 }
        let count = UInt32(zoneStates[index].slots.count)
        var (place, steps) = (start, 0)
        while place < count, steps < StoreLimits.encryptedRecordSteps {
            let slot = Int32(place)
            place += 1
            steps += 1
            guard !zoneStates[index].slots.isDeleted(slot), let root = rootSlot(ofTreeOver: slot, inZoneAt: index)
            else { continue }
            var headers: Set<EncryptedHeader> = []
            zoneStates[index].slots.withBytes(of: slot) { bytes in
                StoredRecord.forEachEncryptedHeader(of: bytes) { header, byteCount in
                    // A list of assets has what is encrypted behind them.
                    steps += 1 + byteCount / 1024
                    if let header { headers.insert(header) }
                }
            }
            if headers.isEmpty { continue }
            let (name, rootName) = (zoneStates[index].slots[slot].name, zoneStates[index].slots[root].name)
            if try !visit(name, rootName, headers) { break }
        }
        return place < count ? place : 0
    }
}
