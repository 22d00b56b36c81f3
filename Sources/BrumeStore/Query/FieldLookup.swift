internal import BrumeModel
internal import BrumeRecord

/// Finds the values of some keys in a record, in one walk over it that stops after the last of them.
///
/// Values point into the record: they are valid as long as its bytes are, and until the next look-up.
final class FieldLookup {
    private struct Name {
        let bytes: UnsafeRawBufferPointer
        let index: Int
    }

    private let arena = ByteArena()
    /// In the order of their bytes, which is that of fields in a record.
    private let names: UnsafeMutableBufferPointer<Name>
    private let values: UnsafeMutableBufferPointer<StoredValue>
    /// The number of fields that the last look-up passed.
    @exclusivity(unchecked) private(set) var fieldsRead = 0
    private var recordID = -1
    private var creationDate = -1
    private var modificationDate = -1
    private var creator = -1
    private var modifier = -1
    private var parent = -1
    /// Whether the caller does not own the records: the parents of shared roots are not theirs to see, and a share
    /// changed when its participants were last shown that it did.
    var isGuests = false
    /// The names of the shares that the caller manages, and is shown as they are.
    var managedShares: Set<String> = []

    /// - Parameter keys: The keys, each once; a key's value is asked for by its index.
    init(_ keys: [QueryKey]) {
        var names: [Name] = []
        for (index, key) in keys.enumerated() {
            switch key {
            case .field(let name): names.append(Name(bytes: arena.copy(name), index: index))
            case .recordID: recordID = index
            case .creationDate: creationDate = index
            case .modificationDate: modificationDate = index
            case .creatorUserRecordID: creator = index
            case .lastModifiedUserRecordID: modifier = index
            case .parent: parent = index
            }
        }
        names.sort { ByteOrder.compare($0.bytes, $1.bytes) < 0 }
        self.names = .allocate(capacity: names.count)
        _ = self.names.initialize(from: names)
        values = .allocate(capacity: keys.count)
        values.initialize(repeating: .missing)
    }

    deinit {
        names.deallocate()
        values.deallocate()
    }

    subscript(index: Int) -> StoredValue { values[index] }

    func load(_ record: UnsafeRawBufferPointer) {
        values.update(repeating: .missing)
        let shown = isGuests && (modifier >= 0 || modificationDate >= 0) ? shownChange(of: record) : nil
        var reader = StoredRecordReader(record)
        var next = 0
        var count = 0
        defer { fieldsRead = count }
        while let element = reader.next() {
            switch element {
            case .field(let key, let field):
                count += 1
                while next < names.count {
                    let order = ByteOrder.compare(names[next].bytes, key)
                    if order > 0 { break }
                    if order == 0 { values[names[next].index] = StoredRecordReader.value(ofField: field) }
                    next += 1
                    if order == 0 { break }
                }
                if next == names.count { return }
            case .name(let name): set(recordID, reference: name)
            case .creator(let name): set(creator, reference: name)
            case .modifier(let name): set(modifier, reference: shown?.modifier ?? name)
            case .parent(let name):
                if parent < 0 || isGuests && !StoredRecord.rootedShare(of: record).isEmpty { break }
                set(parent, reference: name)
            case .createdMilliseconds(let milliseconds): set(creationDate, milliseconds: milliseconds)
            case .modifiedMilliseconds(let milliseconds):
                set(modificationDate, milliseconds: shown?.modifiedMilliseconds ?? milliseconds)
            case .type: break
            }
        }
    }

    private func shownChange(
        of record: UnsafeRawBufferPointer
    ) -> (modifier: UnsafeRawBufferPointer, modifiedMilliseconds: Int64)? {
        guard let change = StoredRecord.shownChange(of: record) else { return nil }
        let isManaged = managedShares.contains(String(decoding: StoredRecord.head(of: record).name, as: UTF8.self))
        return isManaged ? nil : change
    }

    private func set(_ index: Int, reference name: UnsafeRawBufferPointer) {
        if index >= 0, name.count > 0 { values[index] = .scalar(.reference(name)) }
    }

    /// Computed as a client does it, to the last bit, so that a search for a record's own date finds it.
    private func set(_ index: Int, milliseconds: Int64) {
        if index >= 0 { values[index] = .scalar(.date(Double(milliseconds) / 1000 - 978_307_200)) }
    }
}
