/// Who is signed in, and what a change of that means (Documentation/CloudKit.md, The sync engine, 1 and 2).
extension SyncEngineStateMachine {
    mutating func accountChecked(_ result: Result<String?, CKError>, now: UInt64) {
        let name: String?
        switch result {
        case .success(let found): name = found
        case .failure(let error):
            schedule.accountCheckFailed(error, now: now)
            isAccountCheckWanted = true
            abortCycle(error)
            finish(calls.map(\.id) + waitingSends.flatMap(\.callIDs), .failure(error))
            calls = []
            waitingSends = []
            return
        }
        schedule.accountChecked()
        isAccountKnown = true
        isAccountCheckWanted = false
        switch (state.account, name) {
        case (.user(let previous), let name?) where previous == name: beginUploads()
        case (.user(let previous), let name?):
            accountChanged(
                to: .user(name),
                .switchAccounts(
                    previousUser: CKRecord.ID(recordName: previous), currentUser: CKRecord.ID(recordName: name)),
                forgets: true, now: now)
        case (.user(let previous), nil):
            accountChanged(
                to: .none, .signOut(previousUser: CKRecord.ID(recordName: previous)), forgets: true, now: now)
        case (.none, let name?):
            accountChanged(
                to: .user(name), .signIn(currentUser: CKRecord.ID(recordName: name)), forgets: true, now: now)
        case (.undetermined, let name?):
            // What was added before anybody knew who is signed in was added for the one who is.
            accountChanged(
                to: .user(name), .signIn(currentUser: CKRecord.ID(recordName: name)), forgets: false, now: now)
        case (.none, nil): abortCycle(.noAccount)
        case (.undetermined, nil):
            state.account = .none
            markDirty(now: now)
        }
    }

    private mutating func accountChanged(
        to account: SyncEngineState.Account, _ change: CKSyncEngine.Event.AccountChange.ChangeType, forgets: Bool,
        now: UInt64
    ) {
        abortCycle(account == .none ? .noAccount : .accountChanged)
        forgetHeld(account == .none ? .noAccount : .accountChanged)
        if forgets { state.reset() }
        state.account = account
        isListening = false
        isSubscribed = false
        databaseChanged()
        schedule.accountChanged()
        if isAutomatic { schedule.wantFetch(now: now) }
        tell(.accountChange(.init(changeType: change)))
        markDirty(now: now)
    }

    /// The cycle under way ends between two of its steps. The delegate hears so before anything else.
    private mutating func abortCycle(_ error: CKError) {
        if var cycle = fetchCycle {
            cycle.failure = cycle.failure ?? error
            if cycle.isBegun, !cycle.isToldOver {
                if let zoneID = cycle.openZone {
                    tell(.didFetchRecordZoneChanges(.init(zoneID: zoneID, error: cycle.failure)))
                }
                tell(.didFetchChanges(.init(context: cycle.context)))
            }
            cycle.openZone = nil
            cycle.isToldOver = true
            cycle.phase = .over
            fetchCycle = cycle
        }
        if var cycle = sendCycle {
            cycle.failure = cycle.failure ?? error
            if cycle.isBegun, !cycle.isToldOver { tell(.didSendChanges(.init(context: cycle.context))) }
            cycle.isToldOver = true
            cycle.phase = .over
            sendCycle = cycle
        }
    }
}

extension CKError {
    static var accountChanged: CKError {
        CKError(.operationCancelled, message: "another user signed in; fetch and send again for that one")
    }
}
