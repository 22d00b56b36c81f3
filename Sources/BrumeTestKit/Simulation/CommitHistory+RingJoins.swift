internal import BrumeEncryption
internal import BrumeModel

/// What requests to join rings have to lead to.
extension CommitHistory {
    enum Joining: Equatable {
        case refusal(ErrorCode)
        /// The user is in the ring's last entry, and what is new are their statements.
        case member
        case guest(RingGuest)
    }

    /// What becomes of a user's statements by a request.
    private struct JoinedStatements {
        /// All chains of the user, and those that are new.
        var chains: [[Statement]]
        /// The number of the chain of the user's keys, from 0.
        var current: Int
        /// Whether that is an earlier one, which another one followed.
        var isSelected: Bool
        /// Nil where there is none.
        var newest: Statement? { chains.indices.contains(current) ? chains[current].last : nil }
    }

    /// Whether a request is refused, as far as the user may ask and their statements follow one another.
    private func joined(
        _ request: JoinRingRequest, by user: String, in state: State
    ) -> Result<JoinedStatements, ServiceError> {
        let zone = request.zone.name
        guard state.start(of: user, in: zone) != nil else { return .failure(.init(.zoneNotFound, "")) }
        guard state.mayLearn(user, ofRing: request.root, in: zone),
            state.takesPart(user, in: zone, root: request.root),
            !state.ring(of: zone, root: request.root).isEmpty
        else { return .failure(.init(.invalidArguments, "")) }
        let kept = state.rings(of: zone)
        var chains = kept.chains(of: user).map { $0.compactMap(read) }
        let keptCount = chains.count
        var current = Int(kept.chains[user] ?? 0) - 1
        for bytes in request.statements {
            guard let statement = read(bytes), statement.scope.account == user else {
                return .failure(.init(.invalidArguments, ""))
            }
            if let index = chains.firstIndex(where: { $0.contains { $0.hash == statement.hash } }) {
                current = index
            } else if statement.number == 1 {
                current = chains.count
                chains.append([statement])
            } else {
                let index = chains.firstIndex { $0.last?.hash == statement.previousHash }
                guard let index else { return .failure(.init(.serverRecordChanged, "")) }
                current = index
                chains[index].append(statement)
            }
        }
        // A chain that begins is that of the user's keys, until an earlier one is named behind it.
        let usual = chains.count > keptCount ? chains.count - 1 : Int(kept.chains[user] ?? 0) - 1
        return .success(JoinedStatements(chains: chains, current: current, isSelected: current != usual))
    }

    func outcome(ofJoining request: JoinRingRequest, by user: String, in state: State) -> Joining {
        let joined: JoinedStatements
        switch self.joined(request, by: user, in: state) {
        case .success(let statements): joined = statements
        case .failure(let error): return .refusal(error.code)
        }
        let zone = request.zone.name
        guard let newest = joined.newest, let last = state.ring(of: zone, root: request.root).last else {
            return .refusal(.invalidArguments)
        }
        let member = outline(of: last)?.others.first { $0.user == user }
        let isMember = joined.chains[joined.current].contains { $0.hash == member?.statementHash }
        var guest = RingGuest(
            user: user, statementHash: newest.hash, invitationID: request.invitationID, proof: request.proof)
        if !isMember, !hasLink(guest, last) { return .refusal(.invalidArguments) }
        if joined.chains.count > Limits.ringChainsPerUser { return .refusal(.limitExceeded) }
        // Whoever asks again without a proof keeps the one that they had.
        if guest.proof.isEmpty, let known = state.rings(of: zone).guests[request.root]?[user],
            known.statementHash == guest.statementHash, hasProof(known, last)
        {
            guest = known
        }
        return isMember ? .member : .guest(guest)
    }

    /// Whether a request may be refused for its number: the user went back to an earlier chain as often as they may
    /// between two entries. A restart counts anew, so that it need not be.
    func mayRefuseSelection(by request: JoinRingRequest, of user: String, in state: State) -> Bool {
        guard case .success(let joined) = joined(request, by: user, in: state) else { return false }
        let count = state.rings(of: request.zone.name).selections[user] ?? 0
        return joined.isSelected && count >= Limits.ringChainsPerUser
    }

    /// Whether a commit left what a request to join asks for.
    func holds(_ request: JoinRingRequest, by user: String, in state: State) -> Bool {
        let kept = state.rings(of: request.zone.name)
        let known = Set((kept.statements[user] ?? []).compactMap { Self.hash($0.bytes) })
        guard request.statements.allSatisfy({ Self.hash($0).map(known.contains) ?? false }) else { return false }
        switch outcome(ofJoining: request, by: user, in: state) {
        case .refusal: return false
        case .member: return true
        case .guest(let guest): return kept.guests[request.root]?[user] == guest
        }
    }
}
