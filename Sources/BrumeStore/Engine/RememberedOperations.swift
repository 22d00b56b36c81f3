internal import BrumeModel

/// What a database's latest operations did, so that one that is sent again after a lost answer has one effect.
///
/// Bounded in number and in bytes. When it is full, the user whose operations take most loses the oldest of theirs: a
/// user who has few keeps them, whatever the others do. The newest operation is kept, even when it alone is over the
/// bound. Which one is dropped depends on what is remembered and its order alone, so replay forgets the same.
struct RememberedOperations: Sendable {
    struct Operation: Sendable {
        var id: [UInt8]
        /// An ``OperationOutcome``, encoded: it takes a fraction of the memory.
        var outcome: [UInt8]
        /// The digest of its request; nil for an operation from before digests were kept.
        var digest: OperationDigest?
        /// The user to whose share it counts; empty in a private database, which has one share.
        var user: String

        /// The hash of the id, in this process.
        fileprivate var hash: HashedSlots.Hash = 0
        /// Counts up from operation to operation; 0 in a free place.
        fileprivate var order: UInt64 = 0
        fileprivate var share: Int32 = RememberedOperations.none
        /// The place of the user's next operation.
        fileprivate var next: Int32 = RememberedOperations.none

        fileprivate static let nothing = Operation(id: [], outcome: [], digest: nil, user: "")
    }

    /// What is remembered at one moment. It shares its chunks with the original, which copies a chunk before it changes
    /// it: see ``RecordSlots``.
    struct Capture: Sendable {
        fileprivate let chunks: [[Operation]]

        /// Gives the operations, oldest first.
        ///
        /// - Complexity: Sorts them.
        func forEach<Failure: Error>(_ body: (Operation) throws(Failure) -> Void) throws(Failure) {
            var places: [(order: UInt64, chunk: Int, index: Int)] = []
            for (chunk, operations) in chunks.enumerated() {
                for (index, operation) in operations.enumerated() where operation.order != 0 {
                    places.append((operation.order, chunk, index))
                }
            }
            places.sort { $0.order < $1.order }
            for place in places { try body(chunks[place.chunk][place.index]) }
        }
    }

    /// What one user has here.
    private struct Share: Sendable {
        var user: String
        /// The sum over all operations of the user.
        var weight = 0
        /// Places of the oldest and the newest one.
        var first: Int32 = RememberedOperations.none
        var last: Int32 = RememberedOperations.none
        /// Where it stands in ``heap``.
        var rank = 0
    }

    static let chunkOperations = 64
    private static let none: Int32 = -1

    let countLimit: Int
    let bytesLimit: Int
    /// What an operation weighs in addition to its bytes. The number of operations is bounded as well as their bytes,
    /// and a user who uses up one bound weighs as much as a user who uses up the other.
    private let operationWeight: Int

    /// All are full but the last.
    private var chunks: [[Operation]] = []
    private var freePlaces: [Int32] = []
    private var nextOrder: UInt64 = 1
    /// Places by the hashes of ids.
    private var places = HashedSlots()
    private(set) var bytes = 0

    private var shares: [Share] = []
    private var freeShares: [Int32] = []
    private var shareOfUser: [String: Int32] = [:]
    /// The share that was looked up last, which usually is asked for again: a private database has no other.
    private var recentShare: Int32 = RememberedOperations.none
    /// A binary heap of shares, heaviest first: the first one loses.
    private var heap: [Int32] = []

    init(countLimit: Int, bytesLimit: Int) {
        self.countLimit = countLimit
        self.bytesLimit = bytesLimit
        operationWeight = min(bytesLimit / max(countLimit, 1), 1 << 20)
    }

    subscript(id: [UInt8]) -> Operation? { place(of: id, hash: id.withUnsafeBytes(HashedSlots.hash)).map { self[$0] } }

    var count: Int { places.count }

    /// The number of users who have any.
    var userCount: Int { heap.count }

    var capture: Capture { Capture(chunks: chunks) }

    /// Adds an outcome; an id that is known keeps its first one.
    mutating func add(id: [UInt8], outcome: [UInt8], digest: OperationDigest? = nil, user: String = "") {
        let hash = id.withUnsafeBytes(HashedSlots.hash)
        if place(of: id, hash: hash) != nil { return }
        let share = share(of: user)
        let place = put(
            Operation(
                id: id, outcome: outcome, digest: digest, user: user, hash: hash, order: nextOrder, share: share))
        nextOrder += 1
        if places.isFull { places.grow() }
        places.insert(HashedSlots.entry(place, hash: hash))
        bytes += outcome.count
        let last = shares[Int(share)].last
        if last == Self.none { shares[Int(share)].first = place } else { self[last].next = place }
        shares[Int(share)].last = place
        shares[Int(share)].weight += operationWeight + outcome.count
        // A new share enters the heap once it has an operation to be compared by.
        if last == Self.none {
            shares[Int(share)].rank = heap.count
            heap.append(share)
        }
        moveUp(shares[Int(share)].rank)
        while count > 1, count > countLimit || bytes > bytesLimit { removeOldest(of: loser(sparing: place)) }
    }

    // MARK: Places

    private subscript(place: Int32) -> Operation {
        get { chunks[Int(place) / Self.chunkOperations][Int(place) % Self.chunkOperations] }
        _modify { yield &chunks[Int(place) / Self.chunkOperations][Int(place) % Self.chunkOperations] }
    }

    private func place(of id: [UInt8], hash: HashedSlots.Hash) -> Int32? {
        places.slot(hash: hash) {
            chunks[Int($0) / Self.chunkOperations][Int($0) % Self.chunkOperations].id == id
        }
    }

    private mutating func put(_ operation: Operation) -> Int32 {
        if let place = freePlaces.popLast() {
            self[place] = operation
            return place
        }
        if chunks.isEmpty || chunks[chunks.count - 1].count == Self.chunkOperations {
            chunks.append([])
            chunks[chunks.count - 1].reserveCapacity(Self.chunkOperations)
        }
        chunks[chunks.count - 1].append(operation)
        return Int32((chunks.count - 1) * Self.chunkOperations + chunks[chunks.count - 1].count - 1)
    }

    // MARK: Shares

    private mutating func share(of user: String) -> Int32 {
        if recentShare != Self.none, shares[Int(recentShare)].user == user { return recentShare }
        if let known = shareOfUser[user] {
            recentShare = known
            return known
        }
        let share: Int32
        if let free = freeShares.popLast() {
            share = free
            shares[Int(free)] = Share(user: user)
        } else {
            share = Int32(shares.count)
            shares.append(Share(user: user))
        }
        shareOfUser[user] = share
        recentShare = share
        return share
    }

    /// The heaviest share, or the next one where all that the heaviest has is the newest operation.
    private func loser(sparing newest: Int32) -> Int32 {
        if shares[Int(heap[0])].first != newest { return heap[0] }
        guard heap.count > 2, isHeavier(heap[2], than: heap[1]) else { return heap[1] }
        return heap[2]
    }

    private mutating func removeOldest(of share: Int32) {
        let place = shares[Int(share)].first
        let operation = exchange(&self[place], with: .nothing)
        freePlaces.append(place)
        places.remove(HashedSlots.entry(place, hash: operation.hash))
        bytes -= operation.outcome.count
        shares[Int(share)].first = operation.next
        shares[Int(share)].weight -= operationWeight + operation.outcome.count
        let rank = shares[Int(share)].rank
        if operation.next != Self.none { return moveDown(rank) }
        shareOfUser[shares[Int(share)].user] = nil
        freeShares.append(share)
        if recentShare == share { recentShare = Self.none }
        swap(rank, heap.count - 1)
        heap.removeLast()
        if rank < heap.count {
            moveUp(rank)
            moveDown(rank)
        }
    }

    /// Where two weigh the same, the one with the oldest operation comes first.
    private func isHeavier(_ left: Int32, than right: Int32) -> Bool {
        let (one, other) = (shares[Int(left)].weight, shares[Int(right)].weight)
        return one != other
            ? one > other : self[shares[Int(left)].first].order < self[shares[Int(right)].first].order
    }

    private mutating func moveUp(_ rank: Int) {
        var rank = rank
        while rank > 0, isHeavier(heap[rank], than: heap[(rank - 1) / 2]) {
            swap(rank, (rank - 1) / 2)
            rank = (rank - 1) / 2
        }
    }

    private mutating func moveDown(_ rank: Int) {
        var rank = rank
        while true {
            var next = 2 * rank + 1
            if next >= heap.count { return }
            if next + 1 < heap.count, isHeavier(heap[next + 1], than: heap[next]) { next += 1 }
            if !isHeavier(heap[next], than: heap[rank]) { return }
            swap(rank, next)
            rank = next
        }
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        heap.swapAt(left, right)
        shares[Int(heap[left])].rank = left
        shares[Int(heap[right])].rank = right
    }
}
