internal import BrumeModel

/// How much of a snapshot may be loaded by a thread that has others waiting for it.
///
/// The file's size alone says little, because what is in it is compressed: the counts of its header and the sizes that
/// its blocks say are looked at as well, before anything is decompressed.
package struct ShortLoadLimits: Equatable, Sendable {
    package var fileBytes: Int
    /// Zones, records and deleted records.
    package var items: Int
    /// All blocks, decompressed.
    package var contentBytes: Int

    package init(fileBytes: Int, items: Int, contentBytes: Int) {
        self.fileBytes = fileBytes
        self.items = items
        self.contentBytes = contentBytes
    }

    func allow(_ header: SnapshotHeader) -> Bool {
        var left = UInt64(max(0, items))
        for count in [header.zoneCount, header.recordCount, header.tombstoneCount] {
            if count > left { return false }
            left -= count
        }
        return true
    }
}
