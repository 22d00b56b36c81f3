internal import BrumeEncryption

/// What a person decides about those with whom something is shared.
extension EncryptedZones {
    /// Those who have a ring's keys or wait for them, as the server shows them, and the account's own statements. In
    /// the account's own zones those are taken in first who can prove that they had the link.
    ///
    /// - Throws: `unknownItem` where the account has no keys; what calls to the server and ``takeIn(_:_:for:_:)``
    ///   throw.
    func people(
        _ ring: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> (own: KnownStatements, others: [ShownPerson]) {
        guard try await identity(for: account) != nil else { throw AccountKeysFailure.notSetUp.error }
        if ring.owner.isEmpty {
            try await takeIn(ring, nil, for: account, options)
        } else {
            // So the owner hears that the account waits, if it does. Whose keys are others is listed all the same.
            do throws(CKError) {
                try await turns.run { () async throws(CKError) in
                    _ = try await look(
                        ZoneRingDriver.Look(goal: .read, ring: ring, asksServer: true), account, options)
                }
            } catch {
                if !error.concernsKeys { throw error }
            }
        }
        let people = try await driver.people(ring, for: account, options)
        guard let own = try await people.own() else { throw AccountKeysFailure.notSetUp.error }
        // This device knows the members of the account's own rings better than the server says.
        let known = ring.owner.isEmpty ? try await driver.kept(ring, for: account).known?.chain.head : nil
        return (own, try await people.shown(known))
    }

    /// Takes somebody into a ring of the account's own who waits for that, since a person says so.
    ///
    /// - Returns: Whether they have the keys now: not where they take part no more, have other keys, or wait no more.
    /// - Throws: The same as ``keysForWriting(_:isStale:for:_:)``.
    func giveKeys(
        to person: ShownPerson, _ ring: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Bool {
        try await lookAtOwn(
            ZoneRingDriver.Look(
                goal: .admit, ring: ring, asksServer: true, approved: [person.user: person.statements]),
            account, options)
        guard let head = try await driver.kept(ring, for: account).known?.chain.head else { return false }
        guard let member = head.member(named: person.user),
            let statement = person.statements.chain.statement(of: member.statementHash)
        else {
            if head.members.count >= KeyLimits.ringMembersMax { throw ZoneRingFailure.full.error(ring) }
            return false
        }
        return statement.keys == person.statements.chain.last.keys
    }

    /// Takes what a person has compared for somebody's keys, whatever this device knew before. Whoever has the keys of
    /// the account's own ring in their name goes.
    func trust(
        _ person: ShownPerson, _ ring: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        try await turns.run { () async throws(CKError) in
            try await driver.people(ring, for: account, options).trust(person.statements)
        }
        forgetKeys(ring)
        guard ring.owner.isEmpty,
            let member = try await driver.kept(ring, for: account).known?.chain.head.member(named: person.user),
            person.statements.chain.statement(of: member.statementHash) == nil
        else { return }
        try await lookAtOwn(
            ZoneRingDriver.Look(goal: .admit, ring: ring, asksServer: true, dropped: [person.user]), account, options)
    }
}
