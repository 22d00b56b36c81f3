internal import BrumeEncryption
internal import BrumeModel
internal import BrumeStore

/// Users who take part in what a ring is of: they say which keys they have, and ask to be taken in.
extension Shard {
    /// Keeps what a caller says of their keys, and that they ask to be taken into a ring where they are no member.
    func join(
        _ request: JoinRingRequest, in loaded: LoadedDatabase, caller: Caller, identity: Identity, share: ClientShare
    ) throws(ServiceError) -> Answer {
        let plan = try plan(request, in: loaded, caller: caller)
        let entryBytes = loaded.database.rings.entryBytes(ofZone: plan.zone)
        let isSelecting = !plan.others.selected.isEmpty
        if isSelecting {
            let hasRoom = loaded.ringHeads.selections.hasRoom(
                for: caller.user, inZone: plan.zone, entryBytes: entryBytes)
            guard hasRoom else { throw Self.tooManySelections }
        }
        let commit = try loaded.database.join(
            plan.others, root: request.root, inZone: plan.zone, isGuest: plan.isGuest,
            quota: server.quota(of: loaded, for: identity, share.key), nowMilliseconds: wallClockMilliseconds)
        if let commit {
            if isSelecting {
                loaded.ringHeads.selections.note(caller.user, inZone: plan.zone, entryBytes: entryBytes)
            }
            let origin = ChangeOrigin(identity, in: loaded.database.id)
            guard append(commit, to: loaded, origin: origin, by: share) else { throw .databaseLost }
        }
        return .ringJoined
    }

    /// What a request to join would change.
    struct RingJoinPlan {
        /// The zone's incarnation.
        let zone: UInt64
        let isGuest: Bool
        let others: RingOthers
    }

    func plan(
        _ request: JoinRingRequest, in loaded: LoadedDatabase, caller: Caller
    ) throws(ServiceError) -> RingJoinPlan {
        let (database, user) = (loaded.database, caller.user)
        _ = try database.zone(request.zone, for: caller).get()
        if user == database.id.owner { throw Self.isOwner }
        guard let zone = database.incarnation(of: request.zone, for: caller),
            database.mayLearn(ofRing: request.root, inZone: request.zone, caller),
            database.takesPart(user, inRing: request.root, ofZone: zone),
            let head = try chain(of: database.rings.ring(ofZone: zone, root: request.root))?.head
        else { throw Self.hasNoRing }
        var intake = RingStatementIntake(in: loaded, zone: zone)
        let weaknesses = loaded.ringHeads.testOnly_weaknesses
        for bytes in request.statements {
            let signed: SignedStatement
            do throws(EncryptionRefusal) {
                signed = try SignedStatement(bytes.array)
            } catch {
                throw Self.refusal(ofStatementBesideRing: error)
            }
            let scope = IdentityScope(
                account: user, container: database.id.container, environment: database.id.environment.name)
            let isOwn = signed.statement.scope == scope
            guard isOwn || weaknesses.contains(.takesForeignStatements) else { throw Self.isNotOwn }
            try take(signed, bytes: bytes, of: user, into: &intake)
        }
        intake.selectLastChain(of: user)
        var others = intake.others
        let chains = try readKept("a statement beside a ring") { () throws(EncryptionRefusal) in
            try intake.chains(of: user)
        }
        let index = others.selected.last?.chain ?? intake.currentNumber(of: user)
        guard index >= 1, index <= chains.count else { throw Self.hasNoStatementBesideRing }
        let keys = chains[Int(index) - 1]
        let known = database.rings.guest(user, ofZone: zone, root: request.root)
        if let member = head.member(named: user), keys.has(member.statementHash) {
            if known != nil { others.guestsGone = [user] }
            return RingJoinPlan(zone: zone, isGuest: false, others: others)
        }
        var guest = RingGuest(
            user: user, statementHash: keys.newestHash, invitationID: request.invitationID, proof: request.proof)
        if !guest.proof.isEmpty, !weaknesses.contains(.takesAnyProof) {
            do throws(EncryptionRefusal) {
                try head.check(
                    .init(invitationID: guest.invitationID, proof: guest.proof), ofGuest: user,
                    statementHash: guest.statementHash)
            } catch {
                throw Self.proofIsWrong
            }
        } else if let known, known.statementHash == guest.statementHash, holds(known, in: head) {
            // A proof is not taken back: with the next one the owner's devices would be told again.
            guest = known
        }
        if guest != known { others.guest = guest }
        return RingJoinPlan(zone: zone, isGuest: head.member(named: user) == nil, others: others)
    }

    /// Whether a guest has a proof that an invitation of a ring's last entry bears out.
    private func holds(_ guest: RingGuest, in head: RingEntry) -> Bool {
        if guest.proof.isEmpty { return false }
        do throws(EncryptionRefusal) {
            try head.check(
                .init(invitationID: guest.invitationID, proof: guest.proof), ofGuest: guest.user,
                statementHash: guest.statementHash)
            return true
        } catch {
            return false
        }
    }

    /// The statements of a user beside the rings of a zone; of its owner those of the account.
    func ringStatements(
        _ request: FetchRingStatementsRequest, in database: Database, caller: Caller
    ) throws(ServiceError) -> StatementsPage {
        _ = try database.zone(request.zone, for: caller).get()
        guard database.mayLearn(ofAnyRingInZone: request.zone, caller),
            let zone = database.incarnation(of: request.zone, for: caller)
        else { return StatementsPage(statements: [], last: 0) }
        if request.user == database.id.owner {
            return StatementsPage(
                statements: Array(database.statements(after: request.after)), last: database.statements.last)
        }
        let statements = database.rings.statements(of: request.user, inZone: zone)
        return StatementsPage(
            statements: statements.page(after: request.after, bytes: Limits.pageBytes), last: statements.last)
    }

    /// Takes a statement, and says what is wrong with one that is refused.
    func take(
        _ signed: SignedStatement, bytes: SharedBytes, of user: String, into intake: inout RingStatementIntake
    ) throws(ServiceError) {
        do throws(RingStatementIntake.Problem) {
            try intake.take(signed, bytes: bytes, of: user)
        } catch {
            switch error {
            case .isDamaged(let refusal):
                try readKept("a statement beside a ring") { () throws(EncryptionRefusal) in throw refusal }
            case .refused(let refusal): throw Self.refusal(ofStatementBesideRing: refusal)
            case .contradicts: throw Self.contradicts
            }
        }
    }

    static func refusal(ofStatementBesideRing refusal: EncryptionRefusal) -> ServiceError {
        let problem =
            switch refusal {
            case .newer: "a statement has a format that this server doesn't know; update the server"
            case .badSignature: "a statement is not signed by the keys of its user"
            case .brokenChain: "a statement does not follow the one before, or is of another container or environment"
            default: "a statement is damaged"
            }
        return ServiceError(.invalidArguments, problem)
    }

    private static let contradicts = ServiceError(
        .serverRecordChanged,
        "beside the zone's rings are other statements of the user, or those before this one are missing; fetch them,"
            + " compare them with those that you know, and send what is missing")
    private static let isOwner = ServiceError(
        .invalidArguments, "the zone's owner is a member of all its rings; append the next entry")
    private static let isNotOwn = ServiceError(
        .invalidArguments,
        "a statement is of another account, container or environment than this connection; send the user's own")
    private static let tooManySelections = ServiceError(
        .limitExceeded,
        "since the last entry of the zone's rings the user went back to an earlier chain of statements"
            + " \(RingSelections.selectionsMax) times; have a device of the owner's or of a writer's append the next"
            + " entry, or end the tokens of whoever answers for the account with other keys")
    private static let hasNoStatementBesideRing = ServiceError(
        .invalidArguments, "the ring has no statement of the user; send the user's own, the first in front")
    private static let proofIsWrong = ServiceError(
        .invalidArguments,
        "the ring's last entry lists no such invitation, or the proof is of another link, ring, user or statement;"
            + " fetch the ring, and ask with its newest link or with none")
}
