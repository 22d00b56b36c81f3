/// The answers to a database's latest operations, so that one that is sent again after a lost answer has one effect.
///
/// First in, first out: bounded in number and in bytes, and the newest is always kept, even when it alone is over the bound.
struct RememberedOperations: Sendable {
    struct Operation: Sendable {
        var id: [UInt8]
        var answer: [UInt8]
        /// Of the id, in this process.
        fileprivate var hash: HashedSlots.Hash
    }

    /// What is remembered at one moment. It shares its chunks with what goes on, which copies the one it touches: see
    /// ``RecordSlots``.
    struct Capture: Sendable {
        fileprivate let chunks: [[Operation]]
        fileprivate let first: Int

        /// Gives the operations, oldest first.
        func forEach<Failure: Error>(_ body: (Operation) throws(Failure) -> Void) throws(Failure) {
            var skipped = first
            for chunk in chunks {
                for operation in chunk.dropFirst(skipped) { try body(operation) }
                skipped = 0
            }
        }
    }

    static let chunkOperations = 64

    let countLimit: Int
    let bytesLimit: Int

    /// Oldest first. All are full but the last.
    private var chunks: [[Operation]] = []
    /// The oldest one's place in the first chunk: those before it are gone.
    private var first = 0
    /// The number of the first chunk's first place. Operations are numbered one after the other, and after the last number
    /// follows the first one again.
    private var firstNumber: Int32
    /// Numbers by the hashes of ids.
    private var numbers = HashedSlots()
    private(set) var bytes = 0

    /// - Parameter firstNumber: That of the first operation: a multiple of ``chunkOperations``.
    init(countLimit: Int, bytesLimit: Int, firstNumber: Int32 = 0) {
        precondition(Int(firstNumber) % RememberedOperations.chunkOperations == 0, "a chunk begins at another number")
        self.countLimit = countLimit
        self.bytesLimit = bytesLimit
        self.firstNumber = firstNumber
    }

    subscript(id: [UInt8]) -> [UInt8]? {
        place(of: id, hash: id.withUnsafeBytes(HashedSlots.hash)).map { place in
            chunks[place / RememberedOperations.chunkOperations][place % RememberedOperations.chunkOperations].answer
        }
    }

    var count: Int { numbers.count }

    var capture: Capture { Capture(chunks: chunks, first: first) }

    /// Adds an answer; an id that is known keeps its first answer.
    mutating func add(id: [UInt8], answer: [UInt8]) {
        let hash = id.withUnsafeBytes(HashedSlots.hash)
        if place(of: id, hash: hash) != nil { return }
        if chunks.isEmpty || chunks[chunks.count - 1].count == RememberedOperations.chunkOperations {
            chunks.append([])
            chunks[chunks.count - 1].reserveCapacity(RememberedOperations.chunkOperations)
        }
        let place = (chunks.count - 1) * RememberedOperations.chunkOperations + chunks[chunks.count - 1].count
        chunks[chunks.count - 1].append(Operation(id: id, answer: answer, hash: hash))
        if numbers.isFull { numbers.grow() }
        numbers.insert(HashedSlots.entry(number(at: place), hash: hash))
        bytes += answer.count
        while count > 1, count > countLimit || bytes > bytesLimit { removeOldest() }
    }

    /// Counted from the first chunk's first place.
    private func place(of id: [UInt8], hash: HashedSlots.Hash) -> Int? {
        numbers.slot(hash: hash) { number in
            let place = place(of: number)
            return chunks[place / RememberedOperations.chunkOperations][place % RememberedOperations.chunkOperations].id
                == id
        }.map(place(of:))
    }

    private func place(of number: Int32) -> Int { Int((number &- firstNumber) & .max) }

    private func number(at place: Int) -> Int32 { (firstNumber &+ Int32(place)) & .max }

    private mutating func removeOldest() {
        numbers.remove(HashedSlots.entry(number(at: first), hash: chunks[0][first].hash))
        bytes -= chunks[0][first].answer.count
        chunks[0][first] = Operation(id: [], answer: [], hash: 0)
        first += 1
        if first == RememberedOperations.chunkOperations {
            chunks.removeFirst()
            first = 0
            firstNumber = number(at: RememberedOperations.chunkOperations)
        }
    }
}
