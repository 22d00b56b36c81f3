internal import BrumeModel
internal import BrumeRandom
internal import BrumeServer
internal import BrumeStore

/// A folder that was copied while a server used it, and what it holds.
struct SimulatedBackup {
    let disk: SimulatedDisk
    let databases: [DatabaseID: CommitHistory.Timeline]
}

/// What an operator does: backups while the server runs, a restore when it is down, and revoked tokens.
extension SimulatedServer {
    // MARK: Backups

    /// Copies the folder now and then: the server is asked for snapshots, and commits go on while they are read.
    func planBackup() {
        let seconds = simulation.options.backupSeconds
        guard seconds > 0 else { return }
        after(UInt64.random(in: 1...seconds * 2_000_000_000, using: &generator), ofAnyLife: true) { server in
            if server.simulation.isQuiet { return }
            server.planBackup()
            let history = server.simulation.history
            let seen = Dictionary(uniqueKeysWithValues: history.databases.map { ($0, history[$0].seen) })
            let start = server.scheduler.nowNanoseconds
            if server.simulation.options.brokenPromise == .backsUpOldSnapshots {
                return server.copyLater(seen: seen, begunAt: start)
            }
            server.beginSnapshot { [server] isWritten in
                if isWritten { server.copyLater(seen: seen, begunAt: start) }
            }
        }
    }

    private func copyLater(seen: [DatabaseID: UInt64], begunAt start: UInt64) {
        let interruptions = interruptions
        after(UInt64.random(in: 1...200_000_000, using: &generator), ofAnyLife: true) { server in
            guard server.interruptions == interruptions, !server.simulation.isQuiet else { return }
            // The time of one passes within the other: more of them, each begun within the one before, would keep the
            // first from its end for as long as others are begun.
            guard server.copiesUnderWay < 2 else { return }
            server.copiesUnderWay += 1
            defer { server.copiesUnderWay -= 1 }
            server.copyFolder(seen: seen, begunAt: start)
        }
    }

    private func copyFolder(seen: [DatabaseID: UInt64], begunAt start: UInt64) {
        let interruptions = interruptions
        let target = SimulatedDisk()
        let source = SteppingDisk(disk) { [self] in
            simulation.pass(nanoseconds: UInt64.random(in: 0...30_000_000, using: &generator))
        }
        do throws(StoreError) {
            try FolderCopy(of: source, .inUse, others: []).run(
                to: target, epoch: nil, salt: generator.next(), progress: { _ in })
        } catch {
            if case .disk = error { return }
            return simulation.violated("F21: the folder of a running server can't be copied: \(error)")
        }
        // The copy was made on the machine that lost its power, or of a folder that was replaced meanwhile.
        guard interruptions == self.interruptions, simulation.goesOn else { return }
        do {
            let verification = try Verification(of: target)
            if let problem = verification.problems.first {
                return simulation.violated("F21: a backup is damaged: \(problem.file): \(problem.problem)")
            }
            if let problem = verification.assets.problems.first {
                // Assets go when nothing has named them for the grace, and a copy that takes longer misses some.
                if scheduler.nowNanoseconds - start >= Self.assetGraceSeconds * 1_000_000_000 { return }
                return simulation.violated(
                    "F21: a backup lacks an asset: \(problem.file): \(problem.problem), of \(problem.affects)")
            }
            let recovery = try Recovery(
                opening: target.copy(), options: JournalWriter.Options(salt: 1, segmentBytes: 4096), newEpoch: 1,
                history: simulation.options.history)
            var databases: [DatabaseID: Database] = [:]
            for id in simulation.history.databases { databases[id] = try recovery.loadDatabase(id) }
            guard let timelines = simulation.history.checkBackup(databases, seen: seen) else { return }
            simulation.report.backups += 1
            simulation.say("a backup was made")
            backups.append(SimulatedBackup(disk: target, databases: timelines))
            if backups.count > 3 { backups.removeFirst() }
        } catch {
            simulation.violated("F21: a backup can't be opened: \(error)")
        }
    }

    /// Puts a backup in the place of the folder, which is lost: by `brume restore`, which gives it another epoch, or by
    /// plain copying.
    func restoreBackup() {
        guard !backups.isEmpty else { return }
        let backup = generator.pick(backups)
        let target = SimulatedDisk()
        do throws(StoreError) {
            try FolderCopy(of: backup.disk, .idle, others: []).run(
                to: target,
                epoch: generator.oneIn(3) || simulation.options.brokenPromise == .reusesRuns
                    ? nil : UInt32.random(in: 1 ... .max, using: &generator),
                salt: generator.next(), progress: { _ in })
        } catch {
            return simulation.violated("F21: a backup can't be restored: \(error)")
        }
        interruptions += 1
        // The operator puts back the accounts as they are: tokens that were revoked since the backup stay revoked.
        target.replace(AccountFile.path, with: disk.contents(of: AccountFile.path))
        disk = target
        forgetActs()
        simulation.report.restores += 1
        simulation.restored(backup.databases)
        simulation.trace.note("restored")
        simulation.say("a backup is restored: \(simulation.history.lastCommits)")
    }

    // MARK: Revoked tokens

    /// Revokes an account's tokens now and then; some time later it gets another one.
    func planRevocation() {
        let seconds = simulation.options.revocationSeconds
        guard seconds > 0 else { return }
        after(UInt64.random(in: 1...seconds * 2_000_000_000, using: &generator), ofAnyLife: true) { server in
            if server.simulation.isQuiet { return }
            server.planRevocation()
            let account = Int.random(in: 0..<server.simulation.options.accounts, using: &server.generator)
            guard server.process != nil, !server.simulation.isRevoked(account) else { return }
            server.revoke(account)
            let pause = UInt64.random(in: 200_000_000...8_000_000_000, using: &server.generator)
            server.after(pause, ofAnyLife: true) { $0.simulation.issueToken(account) }
        }
    }

    private func revoke(_ account: Int) {
        simulation.tokenIsRevoked(account)
        process?.revokeTokens(
            ofAccount: simulation.accounts[account].name,
            testOnly_keepsSessions: simulation.options.brokenPromise == .keepsRevokedSessions,
            testOnly_isUnaudited: simulation.options.brokenPromise == .actsWithoutNote
        ) { [self] isRevoked in
            guard isRevoked else { return simulation.say("the tokens of an account can't be revoked") }
            if simulation.options.brokenPromise != .keepsRevokedSessions { doneActs += 1 }
            // From here on nothing more reaches a device that came with the old token.
            simulation.report.revocations += 1
            simulation.revocationIsDone(account)
            // What was committed before may still be on its way to the journal.
            after(1) { server in
                guard let loaded = server.process?.loaded.map(\.database) else { return }
                server.simulation.silence(
                    account, inMemory: Dictionary(uniqueKeysWithValues: loaded.map { ($0.id, $0.sequence) }))
            }
        }
        lookAround()
    }

    /// Makes a token valid. Asks until the server has said so: the process may be down, or end before it answers, and
    /// the disk may be full.
    func addToken(hash: [UInt8], toAccount name: String, _ done: @escaping () -> Void) {
        let answer = TokenAnswer(done)
        func ask() {
            if answer.isGiven { return }
            process?.addToken(hash: hash, toAccount: name) { isAdded in
                if isAdded { answer.give() }
            }
            lookAround()
            after(1_000_000_000, ofAnyLife: true) { _ in ask() }
        }
        ask()
    }

    /// On the one thread of the simulation, though a closure that may travel holds it.
    private final class TokenAnswer: @unchecked Sendable {
        private var done: (() -> Void)?

        init(_ done: @escaping () -> Void) { self.done = done }

        var isGiven: Bool { done == nil }

        func give() {
            done?()
            done = nil
        }
    }
}
