internal import BrumeGeodesy
internal import BrumeModel
internal import BrumeRecord

/// The keys under which records stand in an index.
extension FieldIndex {
    /// What it costs to walk over a record's fields, which are not many however large it is
    /// (``Limits/fieldsPerRecord``).
    static func walkUnits(_ byteCount: Int) -> Int { min(byteCount / 256, 64) }

    static let sortedKeysPerUnit = 16
    private static let elementsPerUnit = 32
    private static let asciiBytesPerUnit = 64
    private static let otherBytesPerUnit = 8

    /// Reads all keys of a record: in rising order, each once.
    func readAllKeys(of record: SharedBytes?, _ keys: inout [PostingTree.Key]) {
        keys.removeAll(keepingCapacity: true)
        record?.withUnsafeBytes { bytes in
            var rest = beginKeys(of: bytes, &keys)
            var units = Int.max
            while !readKeys(&rest, &keys, &units) {}
        }
        FieldIndex.sort(&keys)
    }

    /// Puts the keys in rising order, each once.
    static func sort(_ keys: inout [PostingTree.Key]) {
        if keys.count < 2 { return }
        keys.sort()
        var count = 0
        for index in keys.indices where index == 0 || keys[index] != keys[count - 1] {
            keys[count] = keys[index]
            count += 1
        }
        keys.removeSubrange(count...)
    }

    /// Begins to read the keys of a record. They come in no order, and some perhaps several times.
    func beginKeys(of record: UnsafeRawBufferPointer, _ keys: inout [PostingTree.Key]) -> IndexKeyRest {
        lookup?.load(record)
        switch id.kind {
        case .all: keys.append(0)
        case .order:
            keys.append(SortOrder.scalar(lookup![0], from: nil).map { IndexKeys.order($0) } ?? IndexKeys.missing)
        case .equality:
            if case .scalar(let scalar) = lookup![0], let key = IndexKeys.equality(scalar) { keys.append(key) }
        case .places:
            if case .scalar(.location(let latitude, let longitude)) = lookup![0],
                let key = IndexKeys.place(.init(latitude: latitude, longitude: longitude))
            {
                keys.append(key)
            }
        case .members:
            if case .list(let list) = lookup![0] { return .elements(list, count: 0) }
        case .words(let fields): return .text(SearchableText(of: record, fields), count: 0)
        }
        return .nothing
    }

    /// Continues to read for about so many units, and always reads a little. Returns whether that was all.
    ///
    /// A record with more words or elements than the index takes in stands under ``IndexKeys/unindexed`` alone, and is
    /// not read to its end.
    func readKeys(_ rest: inout IndexKeyRest, _ keys: inout [PostingTree.Key], _ units: inout Int) -> Bool {
        switch rest {
        case .nothing: return true
        case .elements(var list, var count):
            repeat {
                for _ in 0..<FieldIndex.elementsPerUnit {
                    guard let element = list.next() else { return true }
                    count += 1
                    if count > limits.elements {
                        keys = [IndexKeys.unindexed]
                        return true
                    }
                    if let key = IndexKeys.equality(element) { keys.append(key) }
                }
                units -= 1
            } while units > 0
            rest = .elements(list, count: count)
        case .text(var text, var count):
            repeat {
                guard let part = text.next() else { return true }
                let isASCII = part.allSatisfy { $0 < 0x80 }
                units -= 1 + part.count / (isASCII ? FieldIndex.asciiBytesPerUnit : FieldIndex.otherBytesPerUnit)
                breaker.forEachWord(in: part) { word in
                    count += 1
                    if count <= limits.words { keys.append(PostingTree.Key(WordHash.of(word))) }
                }
                if count > limits.words {
                    keys = [IndexKeys.unindexed]
                    return true
                }
            } while units > 0
            rest = .text(text, count: count)
        }
        return false
    }
}
