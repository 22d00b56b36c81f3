import BrumeRandom
import BrumeTesting
import CloudKit
import Testing

/// One thing after another, or in the midst of another.
extension KeyWorld {
    func step() async throws {
        if !ada.contains(where: \.isLetIn) { await attempt(beginAnew(by: random.pick(ada)), isAlone: true) }
        if try await shown().isEmpty { try await makeRecords(by: hers) }
        for member in ada where member.isLetIn && member.mayBeBehind { try await goOn(member) }
        if random.oneIn(12) {
            try await backUpOrRestore()
        } else if let action = action() {
            if random.oneIn(3) {
                try await interrupt(action)
            } else {
                await attempt(action, isAlone: true)
            }
        }
        try await lookAtDevices()
        try await look()
    }

    /// A device of Ada's that can encrypt.
    private var hers: Member { ada.filter(\.isLetIn).randomElement(using: &random) ?? ada[0] }

    private func action() -> Action? {
        let member = random.pick(all)
        let hers = hers
        let guest = random.pick(guests)
        switch Int.random(in: 0..<33, using: &random) {
        case 0..<5: return create(by: random.oneIn(3) ? member : hers)
        case 5..<9: return edit(by: random.oneIn(3) ? member : hers)
        case 9..<11: return editPlain(by: member)
        case 11..<14: return move(by: hers)
        case 14: return delete(by: hers)
        case 15: return encryptAnew(by: hers)
        case 16..<18: return writeOffline(by: member)
        case 18..<20: return sendUnsent(by: member)
        case 20..<22: return letIn(of: member.user)
        case 22: return removeDevice(of: member.user)
        case 23: return replaceCode(by: random.pick(all.filter { $0.user == member.user && $0.isLetIn } + [hers]))
        case 24..<26: return join(guest, by: hers)
        case 26: return comeBack(guest, lookedAtBy: hers)
        case 27: return approve(by: hers)
        case 28: return remove(guest, by: hers)
        case 29: return leave(guest)
        case 30: return endShare(by: hers)
        case 31 where random.oneIn(3): return beginAnew(by: random.pick(ada))
        default:
            note("the app on \(member.device) is started again")
            return Action(name: "start again", member: member) { member.device = try member.device.relaunched() }
        }
    }

    /// - Parameter isAlone: Whether nothing comes between, so that what a device can do it has to do.
    private func attempt(_ action: Action, isAlone: Bool) async {
        do {
            try await action.body()
            count(action.name)
        } catch {
            note("  \(error)")
            count("refused \(action.name)")
            let known: Set<CKError.Code> = [
                .accountTemporarilyUnavailable, .serverRecordChanged, .unknownItem, .zoneBusy, .zoneNotFound,
                .permissionFailure, .invalidArguments, .participantMayNeedVerification,
            ]
            let lost: Set<CKError.Code> = [
                .networkFailure, .networkUnavailable, .serverResponseLost, .internalError, .serviceUnavailable,
            ]
            let code = (error as? CKError)?.code
            let isKnown = code.map {
                known.contains($0) && !(isAlone && action.isSure) || !isAlone && lost.contains($0)
            }
            expect(isKnown == true, "\(action.name): \(error)")
        }
        do {
            try await allow()
        } catch {
            expect(false, "\(error)")
        }
    }

    /// Something else happens in the midst of an action, when the server is about to do one of its calls, or to answer.
    private func interrupt(_ action: Action) async throws {
        let pattern = CallPattern.anyWithEncryptionKeys.from(action.member.device)
        let (index, moment) = (
            Int.random(in: 0..<6, using: &random), random.pick([CallMoment.beforeEffect, .afterEffect])
        )
        let isEnded = random.oneIn(2)
        let other = isEnded ? nil : self.action()
        var held = server.script.hold(pattern, moment, times: 1)
        defer { held.rule.remove() }
        let running = Task { await attempt(action, isAlone: false) }
        let interrupting = Task { [self] in
            for _ in 0..<index {
                try await held.waitUntilHeld(timeout: .seconds(60))
                let next = server.script.hold(pattern, moment, times: 1)
                held.release()
                held.rule.remove()
                held = next
            }
            try await held.waitUntilHeld(timeout: .seconds(60))
            count("interrupted")
            if isEnded {
                note("  call \(index) \(moment): the app on \(action.member.device) ends")
                action.member.device = try action.member.device.relaunched()
                // What the server was about to do it never hears of.
                if moment == .beforeEffect { held.release(failingWith: .serviceUnavailable) }
            } else if let other {
                note("  call \(index) \(moment):")
                // Their calls are not the ones that are held.
                if other.member !== action.member { await Task { await attempt(other, isAlone: false) }.value }
            }
            held.release()
        }
        await running.value
        interrupting.cancel()
        held.release()
        _ = await interrupting.result
        held.release()
    }

    private func backUpOrRestore() async throws {
        if backups.isEmpty || random.oneIn(2) {
            note("a backup is made")
            backups.append(try await server.backUp())
            count("backup")
            return
        }
        note("the server is restored from a backup")
        try await allow()
        try await server.restore(random.pick(backups))
        count("restored")
        for member in ada { member.mayBeBehind = true }
        for member in ada where member.isLetIn { try await goOn(member) }
        // Nobody may know any more that somebody has gone since.
        let share = try await share()
        for guest in guests where takesPart(guest, in: share) && guest.outBy?.isLetIn != true {
            guest.isAdmitted = true
        }
    }

    /// A device gives back keys that a restored server lacks. Where another one has made others in their place, a
    /// person has it go on with these.
    func goOn(_ member: Member) async throws {
        // Where it was let in after a reset that the server has forgotten, it is for a person to say whose keys count.
        guard try await member.device.container.encryptionStatus() == .available else {
            member.isLetIn = false
            return
        }
        let database = member.device.privateCloudDatabase
        func look() async throws {
            _ = try await database.encryptionPeople(of: zone.zoneID)
            if shared == .record { _ = try await database.encryptionPeople(ofShared: id("root")) }
        }
        do {
            try await look()
        } catch let error as CKError where error.code == .accountTemporarilyUnavailable {
            note("\(member.device) goes on with the keys that the server has: \(error.localizedDescription)")
            try await database.acceptEncryptionKeys(of: zone.zoneID)
            if shared == .record { try await database.acceptEncryptionKeys(ofShared: id("root")) }
            count("accepted")
            try await look()
        }
        member.mayBeBehind = false
    }

    /// Where somebody has come again who had gone, no link takes a guest on from what a restored server has lost.
    private func goOnAsGuest(_ member: Member) async throws {
        let (database, root) = (database(of: member), id("root", for: member))
        let isOther =
            shared == .zone
            ? try await database.acceptEncryptionKeys(of: root.zoneID)
            : try await database.acceptEncryptionKeys(ofShared: root)
        if isOther { count("accepted by a guest") }
    }

    /// Nothing comes between any more: everybody is let in, and reads and writes all that there is.
    func settle() async throws {
        note("all come together")
        try await lookAtDevices()
        if !ada.contains(where: \.isLetIn) { await attempt(beginAnew(by: random.pick(ada)), isAlone: true) }
        if try await shown().isEmpty { try await makeRecords(by: hers) }
        for member in all where !member.unsent.isEmpty {
            member.unsent = []
        }
        for user in ["ada", "bob", "eve"] {
            while let action = letIn(of: user) { await attempt(action, isAlone: true) }
        }
        let phone = ada[0]
        // A device that has looked a moment ago may show a link that another one has replaced since.
        for _ in 0..<2 {
            for guest in guests { await attempt(join(guest, by: phone), isAlone: true) }
            try await lookAtDevices()
            for member in guests.flatMap(\.members) where member.isLetIn { try await goOnAsGuest(member) }
            await attempt(approve(by: phone), isAlone: true)
        }
        for user in ["bob", "eve"] {
            while let action = letIn(of: user) { await attempt(action, isAlone: true) }
        }
        let left = try await phone.device.privateCloudDatabase.reencryptRecords(in: zone.zoneID).failures
        expect(left.isEmpty, "\(left)")
        try await look(isWhole: true)
        for member in all { await attempt(edit(by: member), isAlone: true) }
        try await look(isWhole: true)
    }
}
