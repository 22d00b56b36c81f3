package import BrumeModel
internal import BrumeRecord

/// Reads and writes records in a snapshot's block in place: most of a block is records, and loading has to be quick.
extension StoreCoder {
    /// A record in a block's content.
    package struct SnapshotItem {
        package var zone: UInt64 = 0
        package var position = ChangePosition.start
        /// The position of the change that created the record.
        package var created = ChangePosition.start
        /// The number of the shared tree that it is in; 0 for none.
        package var tree: UInt32 = 0
        /// Where it came into the tree, if neither its creation nor the tree's beginning says it.
        package var entered = ChangePosition.start
        /// Where the encoded record stands in the content.
        package var record = 0..<0
    }

    /// Walks the content of a block: returns its records, and decodes everything else.
    package static func readSnapshotBlock(
        _ content: UnsafeRawBufferPointer
    ) throws(StoreCodingError) -> (records: [SnapshotItem], rest: SnapshotBlock) {
        var records: [SnapshotItem] = []
        var rest: [UInt8] = []
        do throws(WireReader.Damage) {
            var reader = WireReader(content)
            while let element = try reader.next() {
                if element.number == recordsNumber, element.isLengthDelimited {
                    records.append(try item(element.content, in: content))
                } else {
                    rest.append(contentsOf: content[element.range])
                }
            }
        } catch {
            throw StoreCodingError("a snapshot's block is not the protobuf message that it should be")
        }
        if rest.isEmpty { return (records, SnapshotBlock()) }
        let decoded: Result<SnapshotBlock, StoreCodingError> = rest.withUnsafeBytes { rest in
            Result { () throws(StoreCodingError) in try decodeSnapshotBlock(rest) }
        }
        return (records, try decoded.get())
    }

    private static let recordsNumber: UInt64 = 2

    private static func item(
        _ message: UnsafeRawBufferPointer, in content: UnsafeRawBufferPointer
    ) throws(WireReader.Damage) -> SnapshotItem {
        var item = SnapshotItem()
        var reader = WireReader(message)
        while let element = try reader.next() {
            switch (element.number, element.wireType) {
            case (1, 0): item.zone = element.scalar
            case (2, 0): item.position = ChangePosition(rawValue: element.scalar)
            case (3, 2):
                guard let start = element.content.baseAddress else { throw WireReader.Damage() }
                let offset = start - content.baseAddress!
                item.record = offset..<offset + element.content.count
            case (4, 0): item.created = ChangePosition(rawValue: element.scalar)
            case (5, 0): item.tree = UInt32(truncatingIfNeeded: element.scalar)
            case (6, 0): item.entered = ChangePosition(rawValue: element.scalar)
            case (1...6, _): throw WireReader.Damage()
            default: break
            }
        }
        if item.created == .start { item.created = item.position }
        return item
    }

    /// Appends a record to the content of a block.
    package static func appendSnapshotRecord(
        zone: UInt64, position: ChangePosition, created: ChangePosition, record: UnsafeRawBufferPointer,
        tree: UInt32 = 0, entered: ChangePosition = .start, to content: inout [UInt8]
    ) {
        let created = created == position ? 0 : created.rawValue
        let count =
            WireSize.integer(zone) + WireSize.integer(position.rawValue)
            + WireSize.message(record.count) + WireSize.integer(created) + WireSize.integer(UInt64(tree))
            + WireSize.integer(entered.rawValue)
        content.append(byteCount: WireSize.message(count)) { filler in
            filler.messageHeader(UInt8(recordsNumber), count: count)
            filler.integer(1, zone)
            filler.integer(2, position.rawValue)
            filler.messageHeader(3, count: record.count)
            filler.append(record)
            filler.integer(4, created)
            filler.integer(5, UInt64(tree))
            filler.integer(6, entered.rawValue)
        }
    }
}
