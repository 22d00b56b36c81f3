internal import BrumeLock
package import BrumeModel
package import BrumeProtocol
package import BrumeServer
package import BrumeService

/// The server asks, on its loops.
extension ServerScript: ServerInterceptor, CallInterceptor {
    package var wallClockMilliseconds: Int64? { datesRecords ? clock.dateMilliseconds : nil }

    package func plan(
        for method: Method, _ payload: UnsafeRawBufferPointer, of peer: InterceptedPeer
    ) -> CallPlan {
        guard !devices.isKits(peer.deviceID), let request = CallRequest(method, payload) else { return CallPlan() }
        var plan = CallPlan()
        /// Whether a rule has the call.
        var isTaken = false
        var delays: [CallMoment: UInt64] = [:]
        var midway: [TransferStep] = []
        for entry in entries where !entry.rule.isDone {
            switch entry.action {
            case .call(let pattern, .afterBytes(let count), let action):
                guard request.isTransfer, pattern.peer.matches(peer), pattern.fits(request) else { continue }
                midway.append(TransferStep(at: UInt64(count), taking(entry.rule, step(action, entry.rule, peer))))
            case .call(let pattern, let moment, let action):
                guard !isTaken, pattern.peer.matches(peer), pattern.fits(request), entry.rule.take() else { continue }
                isTaken = true
                plan[moment] = step(action, entry.rule, peer)
            case .tokens(let pattern, let expiry):
                guard !isTaken, pattern.matches(peer), let use = request.tokenUse,
                    expiry.hasExpired(use, device: peer.deviceID), entry.rule.fire()
                else { continue }
                isTaken = true
                plan.beforeEffect = .fails(
                    ServiceError(
                        .changeTokenExpired,
                        "the test's script expired the token; fetch without a token to start over"))
            case .delay(let pattern, .afterBytes(let count), let milliseconds):
                guard request.isTransfer, pattern.peer.matches(peer), pattern.fits(request) else { continue }
                midway.append(TransferStep(at: UInt64(count), firing(entry.rule, delayed(.goesOn, milliseconds))))
            case .delay(let pattern, let moment, let milliseconds):
                guard pattern.peer.matches(peer), pattern.fits(request), entry.rule.fire() else { continue }
                delays[moment, default: 0] += milliseconds
            case .rate(let pattern, let bytes):
                guard request.isTransfer, pattern.peer.matches(peer), pattern.fits(request) else { continue }
                midway.append(
                    TransferStep(at: bytes, repeatedEvery: bytes, firing(entry.rule, delayed(.goesOn, 1_000))))
            case .pages(let pattern, let itemCount):
                guard plan.request == nil, pattern.peer.matches(peer), pattern.fits(request), !entry.rule.isDone,
                    let limited = PageLimit.limited(method, payload, itemCount: itemCount), entry.rule.fire()
                else { continue }
                plan.request = limited
            case .save, .deletion, .quota, .push, .childrenFirst, .indexLag, .lie: continue
            }
        }
        // Those of the same byte in the order of their rules.
        let inOrder = midway.enumerated().sorted { ($0.1.byteCount, $0.0) < ($1.1.byteCount, $1.0) }
        plan.midway = inOrder.map(\.element)
        for (moment, milliseconds) in delays { plan[moment] = delayed(plan[moment], milliseconds) }
        let call = LoggedCall(
            request, account: peer.account, device: devices.name(ofDeviceWithID: peer.deviceID), deviceID: peer.deviceID
        )
        let number = log.began(call)
        if request.isTransfer { plan.transferred = { [log] progress in log.transferred(number, progress) } }
        plan.ended = { [log] outcome in log.ended(number, method, outcome) }
        return plan
    }

    package func refusal(ofAccount name: String) -> ServiceError? { state.withLock { $0.refusals[name] } }

    /// What happens counts when it does, which may be after the call's effect.
    private func step(_ action: CallAction, _ rule: ScriptRule, _ peer: InterceptedPeer) -> CallPlan.Step {
        switch action {
        case .isHeld(let hold): .waits { hold.hold($0) }
        case .fails(let error):
            .waits { resume in
                rule.noteFired()
                resume(.fails(error))
            }
        case .breaksConnection:
            .waits { resume in
                rule.noteFired()
                resume(.breaksConnection)
            }
        case .losesNetwork:
            .waits { [devices] resume in
                // First, so that the device does not come back by itself.
                devices.goOffline(deviceWithID: peer.deviceID)
                resume(.breaksConnection)
                // Last: who waits for it may give the device its network back.
                rule.noteFired()
            }
        }
    }

    /// The step, if the rule has a time left when it comes to it.
    private func taking(_ rule: ScriptRule, _ step: CallPlan.Step) -> CallPlan.Step {
        .waits { resume in rule.take() ? step.decide(resume) : resume(.goesOn) }
    }

    private func firing(_ rule: ScriptRule, _ step: CallPlan.Step) -> CallPlan.Step {
        .waits { resume in rule.fire() ? step.decide(resume) : resume(.goesOn) }
    }

    package func willModify(
        _ request: inout ModifyRecordsRequest<CheckedFields>, in database: InterceptedDatabase,
        of peer: InterceptedPeer
    ) {
        if devices.isKits(peer.deviceID) { return }
        var recordCount = database.recordCount
        for entry in entries where !entry.rule.isDone {
            switch entry.action {
            case .save(let pattern, let error):
                guard pattern.peer.matches(peer) else { continue }
                request.changeSaves { save, zone, policy in
                    if let wanted = pattern.zone, wanted != zone.name { return }
                    if pattern.isEncrypted, !save.fields.mayHoldEncrypted { return }
                    if let type = pattern.recordType, type != save.type { return }
                    if let name = pattern.recordName, name != save.name { return }
                    guard entry.rule.fire() else { return }
                    let isConflict =
                        error.code == .serverRecordChanged && policy == .ifServerRecordUnchanged
                        && database.holdsRecord(save.name, zone)
                    if isConflict {
                        // No commit has this tag: the server finds the conflict itself, and answers with its record.
                        save.changeTag = ChangeTag(number: 0).text
                    } else {
                        save.fields.problem = error
                    }
                }
            case .deletion(let recordName, let pattern, let error):
                guard pattern.matches(peer) else { continue }
                for zone in request.zones.indices {
                    for name in request.zones[zone].deletions
                    where recordName ?? name == name && request.zones[zone].refusedDeletions[name] == nil {
                        if entry.rule.fire() { request.zones[zone].refusedDeletions[name] = error }
                    }
                }
            case .quota(let pattern, let scope, let limit):
                guard database.scope == scope, pattern.matches(peer) else { continue }
                // Users' own records are there from their first visit on.
                let limit = limit + database.userRecordCount()
                request.changeSaves { save, zone, _ in
                    if database.holdsRecord(save.name, zone) { return }
                    if recordCount < limit {
                        recordCount += 1
                    } else if entry.rule.fire() {
                        save.fields.problem = ServiceError(
                            .quotaExceeded, "the test's script leaves no room in the database; delete some records")
                    }
                }
            case .call, .delay, .rate, .pages, .childrenFirst, .indexLag, .tokens, .push, .lie: continue
            }
        }
    }

    package func plan(for event: [UInt8], to peer: InterceptedPeer) -> EventPlan {
        for entry in entries where !entry.rule.isDone {
            guard case .push(let pattern, let action) = entry.action, pattern.peer.matches(peer) else { continue }
            if let id = pattern.subscriptionID, id != Self.subscriptionID(of: event) { continue }
            switch action {
            case .isLost: if entry.rule.fire() { return .isLost }
            case .leavesTwice: if entry.rule.fire() { return .leavesTwice }
            case .isHeld(let hold):
                guard entry.rule.take() else { continue }
                return .waits { resume in hold.hold { _ in resume() } }
            }
        }
        return .leaves
    }

    private static func subscriptionID(of event: [UInt8]) -> String? {
        event.withUnsafeBytes { bytes in (try? MessageCoder().decodeNotificationEvent(bytes))?.subscriptionID }
    }

    package func notificationsChanged(isOpen: Bool, of peer: InterceptedPeer) {
        let met = state.withLock { state in
            state.listening[peer.deviceID, default: 0] += isOpen ? 1 : -1
            if state.listening[peer.deviceID] == 0 { state.listening[peer.deviceID] = nil }
            guard isOpen else { return [CheckedContinuation<Bool, Never>]() }
            let ids = state.listeningWaiters.filter { $0.value.device == peer.deviceID }.map(\.key)
            return ids.map { state.listeningWaiters.removeValue(forKey: $0)!.continuation }
        }
        for continuation in met { continuation.resume(returning: true) }
    }
}

extension CallPlan {
    /// What happens at a moment.
    fileprivate subscript(moment: CallMoment) -> Step {
        get { moment == .beforeEffect ? beforeEffect : afterEffect }
        set {
            switch moment {
            case .beforeEffect: beforeEffect = newValue
            case .afterEffect: afterEffect = newValue
            case .afterBytes: preconditionFailure("what happens after so many bytes is a step of a transfer")
            }
        }
    }
}

extension CallPlan.Step {
    /// Gives what is done in the end: at once, or when the step has waited.
    func decide(_ resume: @escaping @Sendable (CallPlan.Step) -> Void) {
        if case .waits(let register) = self { register(resume) } else { resume(self) }
    }
}

extension ModifyRecordsRequest<CheckedFields> {
    /// Gives each save that has no problem yet to `change`.
    fileprivate mutating func changeSaves(
        _ change: (inout RecordSave<CheckedFields>, ZoneID, SavePolicy) -> Void
    ) {
        for zone in zones.indices {
            for save in zones[zone].saves.indices where zones[zone].saves[save].fields.problem == nil {
                change(&zones[zone].saves[save], zones[zone].zone, savePolicy)
            }
        }
    }
}
