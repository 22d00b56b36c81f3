/// The records that refer to one name with `deleteSelf`, and how often.
///
/// Most names have few referrers, which are kept in an array. Above ``rowMax`` they are found by their slots, and in a
/// public database by their users, so that neither a change nor a question about one user walks past all others.
struct Referrers: Sendable {
    struct Entry: Sendable {
        let slot: Int32
        var count: Int32
        /// The user who made the referring record; see ``UserKey``.
        let user: UserKey
    }

    /// Both of them are kept together, or none.
    private struct LookUps: Sendable {
        var places: [Int32: Int32] = [:]
        /// Only where users are told apart.
        var users: [UserKey: (slots: [Int32], count: Int)] = [:]
    }

    private(set) var entries: [Entry] = []
    /// References of all entries.
    private(set) var count = 0
    private var lookUps: [LookUps] = []

    static let rowMax = 32

    var isEmpty: Bool { entries.isEmpty }

    /// References by records of a user.
    func count(by user: UserKey) -> Int {
        if user == .all { return count }
        if let lookUps = lookUps.first { return lookUps.users[user]?.count ?? 0 }
        var count = 0
        for entry in entries where entry.user == user { count += Int(entry.count) }
        return count
    }

    /// Calls `body` with the slots of a user's records.
    func forEach(by user: UserKey, _ body: (Int32) -> Void) {
        if user != .all, let lookUps = lookUps.first {
            for slot in lookUps.users[user]?.slots ?? [] { body(slot) }
        } else {
            for entry in entries where user == .all || entry.user == user { body(entry.slot) }
        }
    }

    mutating func add(_ slot: Int32, by user: UserKey) {
        count += 1
        if let place = place(of: slot) {
            entries[place].count += 1
            if user != .all, !lookUps.isEmpty { lookUps[0].users[user]?.count += 1 }
            return
        }
        entries.append(Entry(slot: slot, count: 1, user: user))
        if lookUps.isEmpty {
            if entries.count > Referrers.rowMax { makeLookUps() }
        } else {
            list(entries.count - 1)
        }
    }

    mutating func remove(_ slot: Int32) {
        guard let place = place(of: slot) else { return }
        let user = entries[place].user
        count -= 1
        entries[place].count -= 1
        let isGone = entries[place].count == 0
        if isGone {
            let last = entries.removeLast()
            if place < entries.count {
                entries[place] = last
                if !lookUps.isEmpty { lookUps[0].places[last.slot] = Int32(place) }
            }
        }
        if lookUps.isEmpty { return }
        if isGone { lookUps[0].places[slot] = nil }
        if user == .all { return }
        lookUps[0].users[user]?.count -= 1
        // A user has few of them, by the limit.
        if isGone, let index = lookUps[0].users[user]?.slots.firstIndex(of: slot) {
            if lookUps[0].users[user]?.slots.count == 1 {
                lookUps[0].users[user] = nil
            } else {
                lookUps[0].users[user]?.slots.remove(at: index)
            }
        }
    }

    private func place(of slot: Int32) -> Int? {
        if let lookUps = lookUps.first { return lookUps.places[slot].map(Int.init) }
        return entries.firstIndex { $0.slot == slot }
    }

    private mutating func makeLookUps() {
        lookUps = [LookUps()]
        for place in entries.indices { list(place) }
    }

    private mutating func list(_ place: Int) {
        let entry = entries[place]
        lookUps[0].places[entry.slot] = Int32(place)
        if entry.user == .all { return }
        lookUps[0].users[entry.user, default: ([], 0)].slots.append(entry.slot)
        lookUps[0].users[entry.user]?.count += Int(entry.count)
    }
}

/// A user, where records of many are told apart: 32 bits of a hash of their name. The server makes names at random, so
/// that nobody can choose one that collides; if two collide, the references of each count as the other's, too.
struct UserKey: Hashable, Sendable {
    private let hash: UInt32

    /// Users are not told apart, as in a private database.
    static let all = UserKey(hash: 0)

    private init(hash: UInt32) {
        self.hash = hash
    }

    init(_ name: UnsafeRawBufferPointer) {
        hash = HashedSlots.hash(name) | 1
    }

    init(_ name: String) {
        var name = name
        self = name.withUTF8 { UserKey(UnsafeRawBufferPointer($0)) }
    }
}
