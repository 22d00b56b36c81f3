internal import BrumeModel
internal import BrumeRecord

/// A subscription under one of the terms that it is filed under.
struct SubscriptionPosting {
    /// Its place in the table.
    let slot: Int32
    /// The changes that it wants to be told of.
    let reasons: QuerySubscription.Options
}

/// The subscriptions under one term, each once, in no order. To remove one of a hundred thousand takes as long as to
/// remove the only one.
struct SubscriptionPostings {
    /// Fewer are searched one by one.
    private static let searchedCount = 16

    private var postings: [SubscriptionPosting] = []
    /// Where the posting of a slot stands, once there are many.
    private var places: [Int32: Int] = [:]

    var count: Int { postings.count }
    var isEmpty: Bool { postings.isEmpty }

    mutating func insert(_ posting: SubscriptionPosting) {
        // 7 and 7.0 are two terms with one hash.
        if place(of: posting.slot) != nil { return }
        postings.append(posting)
        if !places.isEmpty {
            places[posting.slot] = postings.count - 1
        } else if postings.count > Self.searchedCount {
            for (place, posting) in postings.enumerated() { places[posting.slot] = place }
        }
    }

    mutating func remove(_ slot: Int32) {
        guard let place = place(of: slot) else { return }
        let last = postings.removeLast()
        if !places.isEmpty { places[slot] = nil }
        if place == postings.count { return }
        postings[place] = last
        if !places.isEmpty { places[last.slot] = place }
    }

    func forEach(_ body: (SubscriptionPosting) -> Void) {
        for posting in postings { body(posting) }
    }

    private func place(of slot: Int32) -> Int? {
        places.isEmpty ? postings.firstIndex { $0.slot == slot } : places[slot]
    }
}

extension [UInt64: SubscriptionPostings] {
    mutating func remove(_ slot: Int32, under hash: UInt64) {
        self[hash]?.remove(slot)
        if self[hash]?.isEmpty == true { self[hash] = nil }
    }
}

/// Values as numbers for look-ups. Equal values have equal numbers; others that collide cost an evaluation, no more.
///
/// Swift's own hash, whose key is random in every process: nobody can look for values that collide.
enum SubscriptionHash {
    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(bytes: bytes)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// The hash of a value under a key. An int64 and a double that are equal count as one.
    static func of(_ value: StoredScalar, key: Int) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(key)
        switch value {
        case .int64(let number): combine(1, Double(number), into: &hasher)
        case .double(let number): combine(1, number, into: &hasher)
        case .date(let date): combine(2, date, into: &hasher)
        case .string(let text): combine(3, text, into: &hasher)
        case .bytes(let bytes): combine(4, bytes, into: &hasher)
        case .reference(let name): combine(5, name, into: &hasher)
        case .location(let latitude, let longitude):
            combine(6, latitude, into: &hasher)
            combine(6, longitude, into: &hasher)
        }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// The hash of a value of a predicate, which must not be a list.
    static func of(_ value: FieldValue, key: Int) -> UInt64 {
        switch value {
        case .int64(let number): return of(StoredScalar.int64(number), key: key)
        case .double(let number): return of(StoredScalar.double(number), key: key)
        case .date(let date): return of(StoredScalar.date(date), key: key)
        case .string(var text): return text.withUTF8 { of(StoredScalar.string(UnsafeRawBufferPointer($0)), key: key) }
        case .bytes(let bytes): return bytes.withUnsafeBytes { of(StoredScalar.bytes($0), key: key) }
        case .reference(let reference):
            var name = reference.recordName
            return name.withUTF8 { of(StoredScalar.reference(UnsafeRawBufferPointer($0)), key: key) }
        case .location(let place):
            return of(StoredScalar.location(latitude: place.latitude, longitude: place.longitude), key: key)
        default: preconditionFailure("a list is no value that a subscription is filed under")
        }
    }

    private static func combine(_ kind: UInt8, _ bytes: UnsafeRawBufferPointer, into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(bytes: bytes)
    }

    /// Minus zero is zero.
    private static func combine(_ kind: UInt8, _ number: Double, into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine((number + 0).bitPattern)
    }
}
