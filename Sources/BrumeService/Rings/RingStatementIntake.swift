internal import BrumeEncryption
internal import BrumeModel
internal import BrumeStore

/// Checks statements that a request brings beside the rings of a zone, against those that are kept there. Nothing is
/// kept by it: ``others`` says what is new.
///
/// A user's own word alone begins a chain of theirs, or an entry that the owner brings and that names it: see
/// ``usersWhoBegin`` and ``areBegunChains(namedBy:)``.
struct RingStatementIntake {
    /// What would be new.
    private(set) var others = RingOthers()
    /// The chain that each user's last statement of the request is of, from 1.
    private(set) var lastChain: [String: UInt32] = [:]
    /// The keys of all who were asked for, those that are new among them.
    private var keys: [String: [StatementKeys]] = [:]
    /// What the next statement of a chain is checked against.
    private var heads: [ChainID: StatementHead] = [:]
    private var begun: [ChainID] = []

    private let loaded: LoadedDatabase
    /// The zone's incarnation.
    private let zone: UInt64

    private struct ChainID: Hashable {
        let user: String
        /// From 0.
        let index: Int
    }

    init(in loaded: LoadedDatabase, zone: UInt64) { (self.loaded, self.zone) = (loaded, zone) }

    /// The chains of a user, in the order of their numbers.
    ///
    /// - Throws: Where what is kept can't be read.
    mutating func chains(of user: String) throws(EncryptionRefusal) -> [StatementKeys] {
        if let known = keys[user] { return known }
        let chains = try loaded.ringHeads.userKeys.chains(of: user, inZone: zone, loaded.database.rings)
        keys[user] = chains
        return chains
    }

    /// The chain of the keys that a user has now, from 0; nil where there is none.
    mutating func currentChain(of user: String) throws(EncryptionRefusal) -> StatementKeys? {
        let chains = try chains(of: user)
        let index = Int(currentNumber(of: user)) - 1
        return chains.indices.contains(index) ? chains[index] : nil
    }

    /// The number of that chain, from 1; 0 where there is none. One that begins here is the newest.
    func currentNumber(of user: String) -> UInt32 {
        begun.last { $0.user == user }.map { UInt32($0.index + 1) } ?? kept(of: user).current
    }

    private func kept(of user: String) -> OtherStatements {
        loaded.database.rings.statements(of: user, inZone: zone)
    }

    /// Takes the next statement of a user.
    ///
    /// - Throws: ``Problem/refused(_:)`` where it does not follow from the others.
    mutating func take(_ signed: SignedStatement, bytes: SharedBytes, of user: String) throws(Problem) {
        if let known = kept(of: user).all.first(where: { $0.bytes == bytes }) {
            lastChain[user] = known.chain
            return
        }
        let chains: [StatementKeys]
        do throws(EncryptionRefusal) {
            chains = try self.chains(of: user)
        } catch {
            throw .isDamaged(error)
        }
        let statement = signed.statement
        if let again = chains.firstIndex(where: { $0.has(statement.hash) }) {
            // The same statement with other boxes or signatures.
            lastChain[user] = UInt32(again + 1)
            return
        }
        if statement.number == 1 {
            try begin(signed, bytes: bytes, of: user, behind: chains)
        } else {
            guard let index = chains.firstIndex(where: { $0.isContinued(by: statement) }) else { throw .contradicts }
            try append(signed, bytes: bytes, to: ChainID(user: user, index: index))
        }
    }

    private mutating func begin(
        _ signed: SignedStatement, bytes: SharedBytes, of user: String, behind chains: [StatementKeys]
    ) throws(Problem) {
        let id = ChainID(user: user, index: chains.count)
        do throws(EncryptionRefusal) {
            heads[id] = try StatementHead(first: signed, of: signed.statement.scope)
            guard let first = try StatementKeys(kept: [bytes.array]) else { throw .damaged }
            keys[user] = chains + [first]
        } catch {
            throw .refused(error)
        }
        begun.append(id)
        note(bytes, id)
    }

    private mutating func append(_ signed: SignedStatement, bytes: SharedBytes, to id: ChainID) throws(Problem) {
        var head: StatementHead
        if let known = heads[id] {
            head = known
        } else {
            let chain = kept(of: id.user).chain(UInt32(id.index + 1))
            let last: Statement
            do throws(EncryptionRefusal) {
                guard let bytes = chain.last else { throw .damaged }
                last = try Statement(kept: bytes.array)
            } catch {
                throw .isDamaged(error)
            }
            // Only whoever has the user's keys makes the server read all their statements.
            do throws(EncryptionRefusal) {
                try signed.checkSignatures(behind: last)
            } catch {
                throw .refused(error)
            }
            do throws(EncryptionRefusal) {
                guard let read = try StatementHead(kept: chain.lazy.map(\.array)) else { throw .damaged }
                head = read
            } catch {
                throw .isDamaged(error)
            }
        }
        do throws(EncryptionRefusal) {
            try head.append(signed)
            try keys[id.user]![id.index].append(kept: bytes.array)
        } catch {
            throw .refused(error)
        }
        heads[id] = head
        note(bytes, id)
    }

    private mutating func note(_ bytes: SharedBytes, _ id: ChainID) {
        let chain = UInt32(id.index + 1)
        others.statements.append(.init(user: id.user, chain: chain, bytes: bytes))
        lastChain[id.user] = chain
    }

    /// The users of whom a chain begins.
    var usersWhoBegin: Set<String> { Set(begun.map(\.user)) }

    /// Whether each chain that begins has a statement that an entry names: whoever is no more than in a ring could
    /// otherwise say what keys another has.
    func areBegunChains(namedBy hash: (_ user: String) -> [UInt8]?) -> Bool {
        begun.allSatisfy { id in hash(id.user).map { keys[id.user]![id.index].has($0) } ?? false }
    }

    /// Makes the chain of a user's last statement the one of their keys, also where another one begins before it: sent
    /// again, the same statements change nothing.
    mutating func selectLastChain(of user: String) {
        guard let chain = lastChain[user], chain != currentNumber(of: user) else { return }
        others.selected.append((user, chain))
    }

    enum Problem: Error {
        /// What is kept can't be read.
        case isDamaged(EncryptionRefusal)
        case refused(EncryptionRefusal)
        /// Those before it are missing, or others are there.
        case contradicts
    }
}
