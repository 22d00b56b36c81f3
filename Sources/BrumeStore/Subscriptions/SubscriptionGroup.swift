internal import BrumeModel
internal import BrumeRecord

/// The query subscriptions of one record type in one zone, or in all zones, each filed under what a record must have to
/// fire it.
///
/// A record finds its candidates by looking up its own values: subscriptions to other values cost it nothing.
final class SubscriptionGroup {
    /// What is filed under one field.
    private final class Field {
        /// Tells the field's values from those of others.
        let number: Int
        var termCount = 0
        var equalCount = 0
        var prefixes = PrefixIndex()
        var ranges: [AccessTerm.RangeKind: IntervalIndex] = [:]

        init(number: Int) { self.number = number }
    }

    private var fields: [UInt64: Field] = [:]
    private var lastFieldNumber = 0
    /// Terms about what the server keeps for every record.
    private var systemTermCount = 0
    private var equal: [UInt64: SubscriptionPostings] = [:]
    /// The terms under which each is filed. Those without are residual.
    private var filed: [Int32: [AccessTerm]] = [:]
    /// Those that have to be evaluated for every record.
    private var residual = SubscriptionPostings()
    private var owners: [String: Int] = [:]

    var isEmpty: Bool { owners.isEmpty }

    /// The owners of the subscriptions here.
    var ownerNames: Dictionary<String, Int>.Keys { owners.keys }

    // MARK: Subscriptions

    func add(_ query: QuerySubscription, owner: String, slot: Int32) {
        owners[owner, default: 0] += 1
        let posting = SubscriptionPosting(slot: slot, reasons: query.options.intersection(.reasons))
        guard let access = SubscriptionAccess(query.predicate, load: load) else {
            residual.insert(posting)
            return
        }
        // A predicate may say the same twice; it is filed, and later removed, once.
        var distinct = Set<AccessTerm>(minimumCapacity: access.terms.count)
        let terms = access.terms.filter { distinct.insert($0).inserted }
        filed[slot] = terms
        for term in terms {
            let field = field(of: term)
            field.termCount += 1
            if !term.key.isOfApp { systemTermCount += 1 }
            switch term {
            case .equal(_, let value):
                field.equalCount += 1
                equal[SubscriptionHash.of(value, key: field.number), default: SubscriptionPostings()].insert(posting)
            case .prefix(_, let prefix): field.prefixes.insert(posting, prefix)
            case .range(_, let kind, let range): field.ranges[kind, default: IntervalIndex()].insert(posting, range)
            }
        }
    }

    func remove(owner: String, slot: Int32) {
        owners[owner]! -= 1
        if owners[owner] == 0 { owners[owner] = nil }
        guard let terms = filed.removeValue(forKey: slot) else {
            return residual.remove(slot)
        }
        for term in terms {
            let field = field(of: term)
            switch term {
            case .equal(_, let value):
                field.equalCount -= 1
                equal.remove(slot, under: SubscriptionHash.of(value, key: field.number))
            case .prefix(_, let prefix): field.prefixes.remove(slot, prefix)
            case .range(_, let kind, let range):
                field.ranges[kind]!.remove(slot, range)
                if field.ranges[kind]!.isEmpty { field.ranges[kind] = nil }
            }
            field.termCount -= 1
            let key = term.key
            if field.termCount == 0 { fields[Self.hash(of: key)] = nil }
            if !key.isOfApp { systemTermCount -= 1 }
        }
    }

    /// How many subscriptions are filed under an equality.
    private func load(_ term: AccessTerm) -> Int {
        guard case .equal(let key, let value) = term, let field = fields[Self.hash(of: key)] else { return 0 }
        return equal[SubscriptionHash.of(value, key: field.number)]?.count ?? 0
    }

    /// The field that a term is about, which may be new: then its count of terms is 0.
    private func field(of term: AccessTerm) -> Field {
        let hash = Self.hash(of: term.key)
        if let known = fields[hash] { return known }
        lastFieldNumber += 1
        let field = Field(number: lastFieldNumber)
        fields[hash] = field
        return field
    }

    private static func hash(of key: QueryKey) -> UInt64 {
        var name = key.schemaName
        return name.withUTF8 { SubscriptionHash.of(UnsafeRawBufferPointer($0)) }
    }

    // MARK: Records

    /// Calls `body` with the subscriptions that the record may fire. One may come several times.
    ///
    /// - Parameter meter: Charged for fields and for elements of lists; the body charges for what it is given, and does
    ///   nothing once it is spent.
    /// - Returns: False when the meter was spent before all were given.
    func forEachCandidate(
        of record: UnsafeRawBufferPointer, _ meter: CostMeter, _ body: (SubscriptionPosting) -> Void
    ) -> Bool {
        residual.forEach(body)
        if fields.isEmpty { return true }
        var reader = StoredRecordReader(record)
        while let element = reader.next() {
            if meter.isSpent { return false }
            switch element {
            case .field(let key, let content):
                meter.charge(1)
                guard let field = fields[SubscriptionHash.of(key)] else { continue }
                if !lookUp(StoredRecordReader.value(ofField: content), field, meter, body) { return false }
            case .name(let name): lookUp(name, SystemHashes.recordID, body)
            case .creator(let name): lookUp(name, SystemHashes.creator, body)
            case .modifier(let name): lookUp(name, SystemHashes.modifier, body)
            case .parent(let name): lookUp(name, SystemHashes.parent, body)
            case .createdMilliseconds(let milliseconds): lookUp(milliseconds, SystemHashes.creationDate, body)
            case .modifiedMilliseconds(let milliseconds): lookUp(milliseconds, SystemHashes.modificationDate, body)
            case .type: break
            }
        }
        return true
    }

    /// The hashes of the keys that the server keeps; no field of an app can have such a key.
    private enum SystemHashes {
        static let recordID = hash(of: .recordID)
        static let creator = hash(of: .creatorUserRecordID)
        static let modifier = hash(of: .lastModifiedUserRecordID)
        static let parent = hash(of: .parent)
        static let creationDate = hash(of: .creationDate)
        static let modificationDate = hash(of: .modificationDate)
    }

    private func lookUp(_ name: UnsafeRawBufferPointer, _ hash: UInt64, _ body: (SubscriptionPosting) -> Void) {
        guard systemTermCount > 0, let field = fields[hash] else { return }
        lookUp(.reference(name), field, body)
    }

    /// The date is computed as a client does it.
    private func lookUp(_ milliseconds: Int64, _ hash: UInt64, _ body: (SubscriptionPosting) -> Void) {
        guard systemTermCount > 0, let field = fields[hash] else { return }
        lookUp(.date(Double(milliseconds) / 1000 - 978_307_200), field, body)
    }

    /// Returns false when the meter was spent within the value.
    private func lookUp(
        _ value: StoredValue, _ field: Field, _ meter: CostMeter, _ body: (SubscriptionPosting) -> Void
    ) -> Bool {
        switch value {
        case .missing, .opaque: break
        case .scalar(let scalar): lookUp(scalar, field, body)
        case .list(var list):
            // A hash of the element, one of each prefix length, and a search in the ranges.
            let elementUnits = 2 + (field.prefixes.isEmpty ? 0 : PrefixIndex.bytesLimit) + 4 * field.ranges.count
            while let element = list.next() {
                meter.charge(elementUnits)
                if meter.isSpent { return false }
                lookUp(element, field, body)
            }
        }
        return true
    }

    private func lookUp(_ value: StoredScalar, _ field: Field, _ body: (SubscriptionPosting) -> Void) {
        if field.equalCount > 0 { equal[SubscriptionHash.of(value, key: field.number)]?.forEach(body) }
        switch value {
        case .string(let text):
            if !field.prefixes.isEmpty { field.prefixes.forEach(of: text, body) }
            field.ranges[.texts]?.forEach(around: OrderedValue.order(of: text), body)
        case .int64(let number):
            field.ranges[.numbers]?.forEach(around: OrderedValue.order(of: Double(number)), body)
        case .double(let number):
            if !number.isNaN { field.ranges[.numbers]?.forEach(around: OrderedValue.order(of: number), body) }
        case .date(let date): field.ranges[.dates]?.forEach(around: OrderedValue.order(of: date), body)
        case .location(let latitude, _):
            field.ranges[.latitudes]?.forEach(around: OrderedValue.order(of: latitude), body)
        case .bytes, .reference: break
        }
    }
}

extension AccessTerm {
    fileprivate var key: QueryKey {
        switch self {
        case .equal(let key, _), .prefix(let key, _), .range(let key, _, _): key
        }
    }
}

extension QueryKey {
    fileprivate var isOfApp: Bool {
        if case .field = self { return true }
        return false
    }
}
