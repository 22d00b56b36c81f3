internal import BrumeModel
internal import BrumeRecord

/// The steps that take a record into an index, or that replace its older version's entries by the newer one's: a record
/// may have thousands of words or elements.
struct IndexUpdate {
    typealias Key = PostingTree.Key

    enum Phase {
        case readingOld
        case readingNew
        /// All keys are read, and stand in rising order, each once.
        case changing
    }

    let ordinal: UInt32
    /// Kept while they are read: ``rest`` points into them.
    private let old: SharedBytes?
    private let new: SharedBytes?
    private(set) var phase: Phase
    /// What is left to read of the version that is being read; nil before that begins.
    private var rest: IndexKeyRest?
    private(set) var oldKeys: [Key] = []
    private(set) var newKeys: [Key] = []
    /// How many keys of each are done.
    var left = 0
    var right = 0

    init(_ ordinal: UInt32, from old: SharedBytes?, to new: SharedBytes?) {
        self.ordinal = ordinal
        self.old = old
        self.new = new
        phase = .readingOld
    }

    /// An update of a record whose entries are known.
    init(_ ordinal: UInt32, from oldKeys: [Key], to new: SharedBytes?) {
        self.ordinal = ordinal
        self.oldKeys = oldKeys
        self.new = new
        old = nil
        phase = .readingNew
    }

    /// The keys under which the record stands now, in rising order: of what is done the new ones, of the rest the old
    /// ones, which are all larger.
    var keysInIndex: [Key] { phase == .changing ? Array(newKeys[..<right]) + oldKeys[left...] : oldKeys }

    /// Continues to read the keys of the record.
    mutating func read(for index: FieldIndex, _ units: inout Int) {
        switch phase {
        case .readingOld:
            if IndexUpdate.read(old, &rest, &oldKeys, for: index, &units) { phase = .readingNew }
        case .readingNew:
            if IndexUpdate.read(new, &rest, &newKeys, for: index, &units) { phase = .changing }
        case .changing: break
        }
    }

    /// Returns whether the version is read to its end.
    private static func read(
        _ record: SharedBytes?, _ rest: inout IndexKeyRest?, _ keys: inout [Key], for index: FieldIndex,
        _ units: inout Int
    ) -> Bool {
        units -= 1
        guard let record else { return true }
        if rest == nil {
            units -= FieldIndex.walkUnits(record.count)
            // The record does not move while the update holds it.
            rest = record.withUnsafeBytes { index.beginKeys(of: $0, &keys) }
        }
        guard index.readKeys(&rest!, &keys, &units) else { return false }
        rest = nil
        units -= keys.count / FieldIndex.sortedKeysPerUnit
        FieldIndex.sort(&keys)
        return true
    }
}

/// What is left to read of a record's keys. Points into the record.
enum IndexKeyRest {
    case nothing
    /// `count` is the number of elements that were read.
    case elements(StoredList, count: Int)
    /// `count` is the number of words that were read.
    case text(SearchableText, count: Int)
}
