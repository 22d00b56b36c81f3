/// Gathers which records have which keys, before they become a ``PostingTree``: keys as they come, records in rising
/// order.
///
/// Keys come in no order, and a million records have a hundred million, so what counts is to stay in the processor's
/// caches. Entries are first written one after the other, in a buffer for all keys that begin alike. A full buffer goes
/// into the hash tables of those keys, which are small: there an entry is four bytes at the end of its key's list. In
/// the end the tree is made table by table, and lists that fill a leaf become one without a copy.
final class TermTable {
    private struct Entry {
        let key: UInt64
        let ordinal: UInt32
    }

    private struct Buffer {
        var entries: UnsafeMutablePointer<Entry>?
        var capacity = 0
        var count = 0
        /// The number of entries at which it is emptied.
        var limit: Int
    }

    private struct Term {
        var key: UInt64 = 0
        /// The record that was added last; `max` in a free place.
        var last = UInt32.max
        /// Lists of a leaf's size each.
        var full: [[UInt32]] = []
        var rest: [UInt32] = []
    }

    private struct Part {
        /// Nil until the first term.
        var terms: UnsafeMutablePointer<Term>?
        var capacity = 0
        var count = 0
    }

    private static let bufferBits = 8
    private static let bufferEntries = 4096
    private static let firstCapacity = 4
    /// Where each record has a hundred keys that no other has, a part of the largest zone has a few thousand: they are
    /// sorted at once.
    private static let recordsPerPart = 16
    /// A key takes two bytes of a record at least: so with few large records a part has two thousand keys at most.
    private static let bytesPerPart = 4 * 1024

    private let partBits: Int

    private let buffers: UnsafeMutablePointer<Buffer>
    private let parts: UnsafeMutablePointer<Part>
    /// The next part to become leaves.
    private var nextPart = 0

    /// - Parameters:
    ///   - recordCount: About how many records there are.
    ///   - recordBytes: The bytes of all of them.
    init(recordCount: Int, recordBytes: Int) {
        var bits = TermTable.bufferBits
        while bits < 16, recordCount >> bits > TermTable.recordsPerPart { bits += 1 }
        while bits < 18, recordBytes >> bits > TermTable.bytesPerPart { bits += 1 }
        partBits = bits
        buffers = .allocate(capacity: 1 << TermTable.bufferBits)
        for index in 0..<1 << TermTable.bufferBits {
            // So that they are not all full at the same time.
            let first = TermTable.bufferEntries * (index + 1) >> TermTable.bufferBits
            (buffers + index).initialize(to: Buffer(limit: first))
        }
        parts = .allocate(capacity: 1 << partBits)
        parts.initialize(repeating: Part(), count: 1 << partBits)
    }

    deinit {
        for index in 0..<1 << TermTable.bufferBits { buffers[index].entries?.deallocate() }
        buffers.deallocate()
        for index in 0..<1 << partBits { TermTable.free(parts[index]) }
        parts.deallocate()
    }

    /// Adds a record under a key, once however often it is added. Records come in rising order.
    ///
    /// - Returns: The work in units beside the little that is always done.
    func add(_ key: UInt64, _ ordinal: UInt32) -> Int {
        let buffer = buffers + Int(key >> (64 - TermTable.bufferBits))
        if buffer.pointee.count == buffer.pointee.capacity { TermTable.grow(buffer) }
        buffer.pointee.entries![buffer.pointee.count] = Entry(key: key, ordinal: ordinal)
        buffer.pointee.count += 1
        return buffer.pointee.count >= buffer.pointee.limit ? empty(buffer) : 0
    }

    private static func grow(_ buffer: UnsafeMutablePointer<Buffer>) {
        let capacity = min(max(4 * buffer.pointee.capacity, 16), bufferEntries)
        let entries = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
        if let old = buffer.pointee.entries {
            entries.moveInitialize(from: old, count: buffer.pointee.count)
            old.deallocate()
        }
        buffer.pointee.entries = entries
        buffer.pointee.capacity = capacity
    }

    /// Returns the work in units.
    private func empty(_ buffer: UnsafeMutablePointer<Buffer>) -> Int {
        let count = buffer.pointee.count
        for index in 0..<count { insert(buffer.pointee.entries![index]) }
        buffer.pointee.count = 0
        buffer.pointee.limit = TermTable.bufferEntries
        return count / 32
    }

    private static func places(_ capacity: Int) -> UnsafeMutablePointer<Term> {
        let terms = UnsafeMutablePointer<Term>.allocate(capacity: capacity)
        terms.initialize(repeating: Term(), count: capacity)
        return terms
    }

    private static func free(_ part: Part) {
        part.terms?.deinitialize(count: part.capacity)
        part.terms?.deallocate()
    }

    private func insert(_ entry: Entry) {
        let part = parts + Int(entry.key >> (64 - UInt64(partBits)))
        var place = Int(truncatingIfNeeded: entry.key) & (part.pointee.capacity - 1)
        while let terms = part.pointee.terms {
            let term = terms + place
            if term.pointee.last == .max { break }
            if term.pointee.key == entry.key {
                if term.pointee.last == entry.ordinal { return }
                term.pointee.last = entry.ordinal
                if term.pointee.rest.count == PostingTree.leafCapacity {
                    term.pointee.full.append(term.pointee.rest)
                    term.pointee.rest = []
                    term.pointee.rest.reserveCapacity(PostingTree.leafCapacity)
                }
                term.pointee.rest.append(entry.ordinal)
                return
            }
            place = (place + 1) & (part.pointee.capacity - 1)
        }
        if part.pointee.count * 4 >= part.pointee.capacity * 3 {
            grow(part)
            return insert(entry)
        }
        part.pointee.count += 1
        let term = part.pointee.terms! + place
        term.pointee.key = entry.key
        term.pointee.last = entry.ordinal
        term.pointee.rest = [entry.ordinal]
    }

    private func grow(_ part: UnsafeMutablePointer<Part>) {
        let old = part.pointee
        let capacity = max(2 * old.capacity, TermTable.firstCapacity)
        let terms = TermTable.places(capacity)
        for index in 0..<old.capacity where old.terms![index].last != .max {
            var place = Int(truncatingIfNeeded: old.terms![index].key) & (capacity - 1)
            while terms[place].last != .max { place = (place + 1) & (capacity - 1) }
            swap(&terms[place], &old.terms![index])
        }
        TermTable.free(old)
        part.pointee.terms = terms
        part.pointee.capacity = capacity
    }

    /// Drops one part. Returns false when none was left.
    func dropPart() -> Bool {
        guard nextPart < 1 << partBits else { return false }
        TermTable.free(parts[nextPart])
        parts[nextPart] = Part()
        nextPart += 1
        return true
    }

    /// Appends the keys of one part after all that the tree has, and drops them.
    ///
    /// - Returns: The work in units, or nil when there was none left.
    func movePart(to tree: inout PostingTree) -> Int? {
        guard nextPart < 1 << partBits else { return nil }
        let part = parts + nextPart
        var work = 1 + empty(buffers + nextPart >> (partBits - TermTable.bufferBits))
        nextPart += 1
        let terms = UnsafeMutableBufferPointer(start: part.pointee.terms, count: part.pointee.capacity)
        let order = terms.indices.filter { terms[$0].last != .max }.sorted { terms[$0].key < terms[$1].key }
        for index in order {
            let key = PostingTree.Key(terms[index].key)
            for leaf in terms[index].full { tree.append(key, leaf) }
            tree.append(key, terms[index].rest)
            work += 1 + terms[index].full.count
        }
        TermTable.free(part.pointee)
        part.pointee.terms = nil
        part.pointee.capacity = 0
        return work
    }
}
