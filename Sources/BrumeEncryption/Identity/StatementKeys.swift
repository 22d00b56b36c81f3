/// The keys that each statement of an account's chain names: all that rings ask of it, without its devices and boxes.
///
/// A statement takes about ``approximateBytesPerStatement`` here, whatever it lists.
package struct StatementKeys: Sendable {
    package static let approximateBytesPerStatement = 200

    package let scope: IdentityScope
    let firstHash: [UInt8]
    /// Where a statement of a hash stands.
    private var indices: [[UInt8]: Int32] = [:]
    /// The keys that the account had, each with the index of the first statement that names them.
    private var keys: [(first: Int32, keys: PublicKeys)] = []
    package private(set) var newestHash: [UInt8]
    package private(set) var count = 0

    package var newest: PublicKeys { keys[keys.count - 1].keys }

    /// The keys of signed statements that were checked as they were kept, from the first on; nil for none.
    ///
    /// - Throws: Where they are not as they were, in their order: keys and signatures are not checked again.
    package init?(kept signed: some Sequence<[UInt8]>) throws(EncryptionRefusal) {
        var iterator = signed.makeIterator()
        guard let bytes = iterator.next() else { return nil }
        let first = try SignedStatement(bytes, checksKeys: false).statement
        guard first.number == 1 else { throw .brokenChain }
        (scope, firstHash, newestHash) = (first.scope, first.hash, first.hash)
        take(first)
        while let bytes = iterator.next() { try append(kept: bytes) }
    }

    /// Takes in the next signed statement, which was checked as it was kept. A refused one changes nothing.
    package mutating func append(kept bytes: [UInt8]) throws(EncryptionRefusal) {
        let statement = try SignedStatement(bytes, checksKeys: false).statement
        guard statement.scope == scope, Int(statement.number) == count + 1, statement.previousHash == newestHash else {
            throw .brokenChain
        }
        take(statement)
    }

    private mutating func take(_ statement: Statement) {
        let index = Int32(count)
        indices[statement.hash] = index
        if keys.last?.keys != statement.keys { keys.append((index, statement.keys)) }
        newestHash = statement.hash
        count += 1
    }

    /// Whether the chain has a statement of this hash, and no later one has other keys.
    package func areNewest(ofStatement hash: [UInt8]) -> Bool {
        indices[hash].map { $0 >= keys[keys.count - 1].first } ?? false
    }

    /// Whether a statement stands behind the newest one.
    package func isContinued(by statement: Statement) -> Bool {
        statement.scope == scope && Int(statement.number) == count + 1 && statement.previousHash == newestHash
    }

    /// Whether the chain has a statement of this hash.
    package func has(_ hash: [UInt8]) -> Bool { indices[hash] != nil }

    /// Whether the chain has two statements, and the first names the same keys as the second or stands behind it.
    package func keys(of hash: [UInt8], areAsNewAs other: [UInt8]) -> Bool {
        guard let found = find(hash), let other = find(other) else { return false }
        return found.index >= other.index || found.keys == other.keys
    }

    /// Where a statement of this hash stands in the chain, and its keys; nil where the chain has none.
    func find(_ hash: [UInt8]) -> (index: Int, keys: PublicKeys)? {
        guard let index = indices[hash] else { return nil }
        var (low, high) = (0, keys.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if keys[middle].first <= index { low = middle } else { high = middle }
        }
        return (Int(index), keys[low].keys)
    }
}
