internal import BrumeEncryption
internal import BrumeModel

/// What the server shows, beside what the device knows and has sent.
extension AccountKeysStateMachine {
    /// All statements of the server were read.
    mutating func looked(_ fetch: StatementsFetch) -> Action {
        hasLooked = true
        (conflict, rival) = (nil, [])
        guard var known = kept.known else { return lookedFirst(fetch.shown) }
        let shown = Array(known.signed.prefix(fetch.base)) + fetch.shown
        serverLastHash = shown.last?.statement.hash
        let meeting: KnownStatements.Meeting
        do throws(EncryptionRefusal) {
            meeting = try known.meet(shown)
        } catch {
            // A server that takes no statement that does not follow would not show one.
            return conflicts(at: known.chain.last.number + 1, fetch, shown)
        }
        switch meeting {
        case .same: return reconcile()
        case .extended: return write([.statements(known, listedAs: kept.listedAs)], then: .reconcile)
        case .behind(let missing): return giveBack(missing[0], of: missing[...])
        case .forked(let number): return conflicts(at: number, fetch, shown)
        }
    }

    /// The device sees the account's statements for the first time.
    private mutating func lookedFirst(_ shown: [SignedStatement]) -> Action {
        serverLastHash = shown.last?.statement.hash
        if shown.isEmpty { return reconcile() }
        do throws(EncryptionRefusal) {
            let known = try KnownStatements(shown, of: scope, trust: .seen)
            return write([.statements(known, listedAs: nil)], then: .reconcile)
        } catch {
            conflict = 1
            return reconcile()
        }
    }

    /// Only a code or a person can say which of two chains is the account's.
    private mutating func conflicts(
        at number: UInt32, _ fetch: StatementsFetch, _ shown: [SignedStatement]
    ) -> Action {
        let beganAnew = kept.pending.flatMap { $0.replacedHash.isEmpty ? nil : $0 }
        if fetch.base > 0 {
            // A code is looked for in all that the server shows, and so is a first statement of this device's, and what
            // another device says of it.
            switch goal {
            case .useCode, .takeKeys: return self.fetch(whole: true)
            default: break
            }
            if beganAnew != nil { return self.fetch(whole: true) }
        }
        (conflict, rival) = (number, fetch.base == 0 ? shown : [])
        if let beganAnew, shown.first?.statement.hash == beganAnew.signed.statement.hash,
            let known = try? KnownStatements(shown, of: scope, trust: .compared)
        {
            return adopt(beganAnew, into: known, then: .pursue)
        }
        return reconcile()
    }

    /// The server has a statement of this device's.
    mutating func taken(_ pending: PendingStatement) -> Action {
        let (statement, next) = (pending.signed.statement, hasLooked ? Next.pursue : .fetch)
        if has(pending) { return adopt(pending, then: next) }
        do throws(EncryptionRefusal) {
            if statement.number == 1 {
                let known = try KnownStatements([pending.signed], of: scope, trust: .compared)
                return adopt(pending, into: known, then: next)
            }
            if var known = kept.known, known.chain.last.hash == statement.previousHash {
                _ = try known.meet(known.signed + [pending.signed])
                return adopt(pending, into: known, then: next)
            }
        } catch {
            preconditionFailure("a statement of this device's does not follow: \(error)")
        }
        // Others went on from it already.
        return fetch()
    }

    /// Keeps what came with a statement that the account has now. The statement goes last: until then all of it is in
    /// its file.
    mutating func adopt(
        _ pending: PendingStatement, into known: KnownStatements? = nil, then next: Next
    ) -> Action {
        isMade = isMade || reaches(goal, pending)
        conflict = nil
        var changes: [KeptKeys.Change] = []
        let listedAs = pending.device?.publicKeys ?? kept.listedAs
        if var known = known ?? kept.known {
            if pending.device != nil { known.confirm(.compared) }
            serverLastHash = known.chain.last.hash
            changes.append(.statements(known, listedAs: listedAs))
        }
        if let device = pending.device { changes.append(.device(device)) }
        if let code = pending.code { changes.append(.code(code)) }
        return write(changes + [.pending(nil)], then: next)
    }

    /// Whether a statement that was cut off does what the operation is for.
    private func reaches(_ goal: Goal, _ pending: PendingStatement) -> Bool {
        switch goal {
        case .beginAnew: pending.signed.statement.number == 1
        case .replaceCode: pending.code != nil && pending.signed.statement.number > 1
        default: false
        }
    }

    /// Decides what becomes of a statement that was sent and not taken, and goes on.
    mutating func reconcile() -> Action {
        guard let pending = kept.pending else { return pursue() }
        if has(pending) { return adopt(pending, then: .pursue) }
        guard let refusal else {
            guard follows(pending) else { return write([.pending(nil)], then: .pursue) }
            return maySend(pending) ? send(pending) : pursue()
        }
        self.refusal = nil
        return write([.pending(nil)], then: next(behind: refusal, of: pending))
    }

    private func next(behind refusal: Refusal, of pending: PendingStatement) -> Next {
        if refusal.code == .limitExceeded { return .finish(.failed(.full(refusal.message))) }
        // Whoever begins anew has to know whose place it takes, and another one is there now.
        if case .beginAnew = goal, pending.signed.statement.number == 1 {
            let isLate = refusal.code == .serverRecordChanged
            return .finish(.failed(isLate ? .replacedMeanwhile : .refused(refusal.message)))
        }
        // What stands behind the server's last statement and is refused is wrong itself.
        let isNext = conflict == nil && follows(pending) && serverLastHash == kept.known?.chain.last.hash
        if refusal.code == .invalidArguments, isNext {
            return .finish(.failed(.refused(refusal.message)))
        }
        return .pursue
    }
}
