internal import BrumeEncryption
internal import BrumeModel

/// One operation on an account's keys: what to ask the server, what to keep and when, and what comes of it.
///
/// Pure but for the random bytes of new keys. It begins with what the device keeps, and each event returns the one
/// thing to do next. What fails on the way, a call or a write, ends the operation wherever it is: the next one begins
/// with the files, and goes on where this one was.
///
/// An operation first sends again what was cut off, then looks at the account's statements, and then does what it is
/// for. No identity is made by looking. What takes something from a person, the data of before or the code on paper, is
/// sent again by what asks for the same alone; any other operation only finds out whether it had its effect.
struct AccountKeysStateMachine: Sendable {
    /// What the operation is for.
    enum Goal: Sendable {
        case look
        /// Something is to be encrypted: an account without an identity gets one.
        case identity
        /// The app asks for the recovery code that nobody has been told, and for an identity where there is none.
        case takeCode
        /// A person typed the recovery code, which lets this device in.
        case useCode(RecoveryCode)
        /// Another device let this one in, as persons at both have confirmed.
        case takeKeys(GivenKeys)
        /// A person confirmed that a device is to get the keys.
        case addDevice(PublicKeys, name: String)
        case replaceCode
        case removeDevice(PublicKeys)
        /// A person who lost all devices and the code begins anew.
        case beginAnew
    }

    enum Standing: Sendable {
        /// The account has no identity.
        case notSetUp
        case available(Identity)
        /// The account has an identity, which this device can't open.
        case noKeys(KeyAbsence, StatementChain)
        /// The server shows other statements than those that this device knows, from this number on.
        case conflict(at: UInt32)
    }

    enum Outcome: Sendable {
        case looked
        /// A recovery code, to be handed out now.
        case code(RecoveryCode)
        case failed(AccountKeysFailure)
    }

    enum Action: Sendable {
        /// Fetch the statements behind a number.
        case fetch(after: UInt32)
        case append(AppendStatementRequest)
        /// Keep changes, in this order.
        case write([KeptKeys.Change])
        case finish(Outcome)
    }

    /// What follows when the changes are kept.
    enum Next: Sendable {
        case fetch
        case send(PendingStatement)
        case reconcile
        case pursue
        case finish(Outcome)
    }

    enum Phase: Sendable {
        case idle
        case fetching(StatementsFetch)
        case givingBack(ArraySlice<SignedStatement>)
        case writing(Next)
        case sending(PendingStatement)
    }

    /// A refusal by the server of a statement of this device's.
    struct Refusal: Equatable, Sendable {
        let code: ErrorCode
        let message: String
    }

    let goal: Goal
    let scope: IdentityScope
    let deviceName: String
    var kept: KeptKeys
    var phase = Phase.idle
    /// The statements were looked at in this operation.
    var hasLooked = false
    /// The server shows others than this device knows, from this number on.
    var conflict: UInt32?
    /// All that the server shows, where there is a conflict and all were read.
    var rival: [SignedStatement] = []
    /// The hash of the server's last statement; nil where it has none.
    var serverLastHash: [UInt8]?
    /// Why the server did not take the pending statement.
    var refusal: Refusal?
    /// The statement that the goal takes was made, by this operation or by one before that was cut off.
    var isMade = false
    private var rounds = 0

    init(goal: Goal, kept: KeptKeys, scope: IdentityScope, deviceName: String) {
        (self.goal, self.kept, self.scope, self.deviceName) = (goal, kept, scope, deviceName)
    }

    // MARK: Events

    mutating func started() -> Action {
        guard let pending = kept.pending else { return fetch() }
        if has(pending) { return adopt(pending, then: .fetch) }
        guard follows(pending) else { return write([.pending(nil)], then: .fetch) }
        return maySend(pending) ? send(pending) : fetch()
    }

    /// The changes of the last action are kept.
    mutating func written() -> Action {
        guard case .writing(let next) = phase else { preconditionFailure("nothing was to be written") }
        return go(on: next)
    }

    mutating func pageCame(_ page: StatementsPage) -> Action {
        guard case .fetching(var fetch) = phase else { preconditionFailure("no statements were to be fetched") }
        switch fetch.pageCame(page) {
        case .ask(let after):
            phase = .fetching(fetch)
            return .fetch(after: after)
        case .complete: return looked(fetch)
        case .beginAgain: return self.fetch(whole: true)
        case .unreadable(.newer): return finish(.failed(.newer))
        case .unreadable: return finish(.failed(.malformed("it has a statement that no device has made")))
        case .malformed(let reason): return finish(.failed(.malformed(reason)))
        }
    }

    /// The server has the statement of the last action.
    mutating func appended() -> Action {
        switch phase {
        case .sending(let pending):
            refusal = nil
            return taken(pending)
        case .givingBack(let rest):
            let rest = rest.dropFirst()
            if let next = rest.first { return giveBack(next, of: rest) }
            // What was refused because these were missing is tried again. Another device may have given them back, too,
            // and gone on.
            refusal = nil
            return fetch()
        default: preconditionFailure("no statement was sent")
        }
    }

    /// The server refused the statement of the last action, for what it is or for what it has.
    mutating func appendRefused(_ refusal: Refusal) -> Action {
        switch phase {
        case .sending: self.refusal = refusal
        case .givingBack: break
        default: preconditionFailure("no statement was sent")
        }
        return fetch()
    }

    // MARK: Steps

    private mutating func go(on next: Next) -> Action {
        switch next {
        case .fetch: fetch()
        case .send(let pending): send(pending)
        case .reconcile: reconcile()
        case .pursue: pursue()
        case .finish(let outcome): finish(outcome)
        }
    }

    mutating func fetch(whole: Bool = false) -> Action {
        rounds += 1
        guard rounds <= KeyLimits.roundsMax else { return finish(.failed(.busy)) }
        let fetch = StatementsFetch(knownCount: whole ? 0 : kept.known?.signed.count ?? 0)
        phase = .fetching(fetch)
        return .fetch(after: fetch.after)
    }

    mutating func write(_ changes: [KeptKeys.Change], then next: Next) -> Action {
        for change in changes { kept.apply(change) }
        phase = .writing(next)
        return .write(changes)
    }

    mutating func send(_ pending: PendingStatement) -> Action {
        phase = .sending(pending)
        return .append(
            AppendStatementRequest(
                statement: SharedBytes(pending.signed.bytes), replacedHash: pending.replacedHash))
    }

    mutating func giveBack(_ next: SignedStatement, of rest: ArraySlice<SignedStatement>) -> Action {
        phase = .givingBack(rest)
        return .append(AppendStatementRequest(statement: SharedBytes(next.bytes)))
    }

    mutating func finish(_ outcome: Outcome) -> Action {
        phase = .idle
        return .finish(outcome)
    }

    // MARK: Where the device stands

    /// Whether the known statements have one that this device made.
    func has(_ pending: PendingStatement) -> Bool {
        guard let statements = kept.known?.chain.statements else { return false }
        let index = Int(pending.signed.statement.number) - 1
        return index < statements.count && statements[index].hash == pending.signed.statement.hash
    }

    /// Whether a statement that this device made can still be the next one, or the first in the place of all.
    func follows(_ pending: PendingStatement) -> Bool {
        guard pending.replacedHash.isEmpty else { return true }
        guard let last = kept.known?.chain.last else { return pending.signed.statement.number == 1 }
        return last.hash == pending.signed.statement.previousHash
    }

    /// Whether the operation may send a statement that one before it made.
    func maySend(_ pending: PendingStatement) -> Bool {
        if !pending.replacedHash.isEmpty {
            guard case .beginAnew = goal else { return false }
            return true
        }
        if adds(pending) {
            // The person may have thought better of it since.
            guard case .addDevice(let keys, _) = goal else { return false }
            return pending.signed.statement.devices.last?.keys == keys
        }
        guard pending.code != nil, pending.signed.statement.number > 1 else { return true }
        switch goal {
        case .replaceCode, .takeCode: return true
        default: return false
        }
    }

    /// Whether a statement does nothing but let another device in.
    private func adds(_ pending: PendingStatement) -> Bool {
        pending.device == nil && pending.code == nil && pending.signed.statement.keys == kept.known?.chain.last.keys
    }

    /// Where the device stands by what it knows now; nil before it has looked.
    var standing: Standing? {
        guard hasLooked else { return nil }
        if let conflict { return .conflict(at: conflict) }
        guard let known = kept.known, let last = known.signed.last else { return .notSetUp }
        guard let listedAs = kept.listedAs, let device = kept.device, device.publicKeys == listedAs else {
            return .noKeys(.notEnrolled, known.chain)
        }
        do throws(EncryptionRefusal) {
            return .available(Identity(keys: try last.openIdentity(as: device.boxes), chain: known.chain))
        } catch {
            return .noKeys(error == .keyMissing ? .removed : .unreadable, known.chain)
        }
    }
}

/// Why a device can't open the account's identity.
enum KeyAbsence: Sendable {
    /// It was never let in.
    case notEnrolled
    /// Another device has removed it.
    case removed
    /// What the newest statement has for it does not open.
    case unreadable
}
