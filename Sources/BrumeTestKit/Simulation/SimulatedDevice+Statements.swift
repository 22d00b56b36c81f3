internal import BrumeEncryption
internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// What devices of an account say of its keys: statements, each behind the last one that the device was told of.
///
/// All devices of an account share its identity, as they do once each was let in.
extension SimulatedDevice {
    private static let devicesInStatements = 4

    /// Fetches what is new, and mostly makes the next statement.
    func useStatements() {
        let known = replica.statements
        // Sometimes it asks for some that it knows.
        let after = generator.oneIn(4) ? Int.random(in: 0...known.count, using: &generator) : known.count
        let sight = simulation.history.sight(of: database)
        let request = coder.encodeFetchStatementsRequest(after: UInt32(after))
        call(.statementsFetch, request, .none) { [self] result in
            guard case .success(let bytes) = result else { return checkRefusalOfStatements(result) }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try coder.decodeFetchStatementsResponse(buffer) }
            }
            guard case .success(var page) = decoded else { return simulation.violated("statements can't be read") }
            simulation.wasAnswered()
            if simulation.options.brokenPromise == .hidesStatements, page.last > 0 {
                page.last -= 1
                page.statements = Array(page.statements.dropLast())
            }
            let seen = timeline.start(of: sight)
            let isTrue = timeline.wasTrue(since: seen) { state in
                let behind = state.statements.dropFirst(after)
                return page.last == state.statements.count && Array(behind) == page.statements
            }
            guard isTrue else {
                return simulation.violated(
                    "I1: \(page.statements.count) statements behind \(after) of \(page.last) are told, which no commit"
                        + " since \(seen) left")
            }
            simulation.report.statementPages += 1
            saw(page.last, page.statements.last)
            guard replica.statements == known else { return }
            replica.statements = Array(known.prefix(after)) + page.statements
            // A backup may have been restored since the device was told.
            guard page.last == replica.statements.count else { return replica.statements = [] }
            // Its identity is the account's as of now, so that it has a part in the rings.
            if generator.oneIn(2) {
                for _ in 0..<2 { useRing() }
                return
            }
            // Two at once race for one number, as those of two devices do.
            for _ in 0..<generator.pick([0, 1, 1, 2]) {
                // A reset takes all zones with rings along.
                if generator.oneIn(simulation.options.sharesKeys ? 16 : 2), let last = replica.statements.last {
                    if generator.oneIn(3) { goBack(inPlaceOf: last) } else { beginAnew(inPlaceOf: last) }
                } else {
                    makeStatement()
                }
            }
        }
    }

    private func makeStatement() {
        let before = replica.statements
        guard let (identity, signed) = nextStatement(behind: before.last) else {
            return simulation.violated("I6: no statement can be made behind the one that the server told")
        }
        let statement = SharedBytes(signed.bytes)
        simulation.identities[signed.bytes] = identity
        if before.isEmpty { simulation.firstStatements[account, default: []].append(statement) }
        simulation.history.sent(statement, by: deviceID, behind: before.last)
        append(AppendStatementRequest(statement: statement), number: before.count + 1, behind: before.last) { state in
            state.statements.count != before.count && state.statement(before.count + 1) != statement
        }
    }

    /// Makes a first statement that takes the place of all, as for a person who has lost all devices.
    private func beginAnew(inPlaceOf last: SharedBytes) {
        guard let (identity, signed) = nextStatement(behind: nil) else {
            return simulation.violated("I6: no first statement can be made")
        }
        let statement = SharedBytes(signed.bytes)
        simulation.identities[signed.bytes] = identity
        simulation.firstStatements[account, default: []].append(statement)
        replace(last, with: statement)
    }

    /// Tries to begin with a first statement of before, as whoever has a device that was removed would.
    private func goBack(inPlaceOf last: SharedBytes) {
        guard let known = simulation.firstStatements[account], let statement = known.randomElement(using: &generator)
        else { return }
        replace(last, with: statement)
    }

    private func replace(_ last: SharedBytes, with statement: SharedBytes) {
        guard let hash = CommitHistory.hash(last) else {
            return simulation.violated("I6: a statement can't be read that the server told")
        }
        simulation.history.sent(statement, by: deviceID, behind: nil, replaces: last)
        let request = AppendStatementRequest(statement: statement, replacedHash: hash)
        append(request, number: 1, behind: nil) { $0.statements.last != last && !$0.hasReplaced(request) }
    }

    /// Sends a statement, and checks what the server says of it.
    ///
    /// - Parameter isTooLate: Whether there is no place for it in what a commit left.
    private func append(
        _ request: AppendStatementRequest, number: Int, behind last: SharedBytes?,
        isTooLate: @escaping (CommitHistory.State) -> Bool
    ) {
        let (before, statement) = (replica.statements, request.statement)
        let sight = simulation.history.sight(of: database)
        call(.statementsAppend, coder.encodeAppendStatementRequest(request), .none) { [self] result in
            let seen = timeline.start(of: sight)
            switch result {
            case .success:
                simulation.wasAnswered()
                simulation.report.statementsKept += 1
                let replaces = !request.replacedHash.isEmpty
                if replaces { simulation.report.statementsReplaced += 1 }
                let isKept = timeline.wasTrue(since: seen) { state in
                    replaces ? state.hasReplaced(request) : state.statement(number) == statement
                }
                guard isKept else {
                    return simulation.violated("I1: statement \(number) was kept, and no commit holds it")
                }
                saw(UInt32(number), statement)
                if replica.statements == before {
                    replica.statements = Array(before.prefix(number - 1)) + [statement]
                }
            case .failure(let error):
                if replica.statements == before { replica.statements = [] }
                switch error.code {
                case .serverRecordChanged:
                    simulation.report.statementsTooLate += 1
                    if !timeline.wasTrue(since: seen, isTooLate) {
                        simulation.violated("I6: statement \(number) is called too late, and is not")
                    }
                case .invalidArguments where !request.replacedHash.isEmpty:
                    simulation.report.statementsHeldBack += 1
                    let wasThere = timeline.wasTrue(since: seen) { $0.hasBegun(with: statement) }
                    if !wasThere { simulation.violated("I6: a first statement is refused: \(error.message)") }
                case .invalidArguments:
                    // Behind one that is lost since a backup was restored, or all were replaced.
                    let isBehindLost = timeline.wasTrue(since: seen) {
                        $0.statements.count == number - 1 && $0.statements.last != last
                    }
                    if !isBehindLost { simulation.violated("I6: statement \(number) is refused: \(error.message)") }
                default:
                    checkRefusalOfStatements(result)
                    checkRefusalOfWrite(result)
                }
            }
        }
    }

    /// Checks that a call was refused for what faults explain.
    private func checkRefusalOfStatements(_ result: Result<[UInt8], ServiceError>) {
        guard case .failure(let error) = result else { return }
        switch error.code {
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .notAuthenticated,
            .operationCancelled, .serverResponseLost:
            return
        // A load that a damaged file, or a disk that gives nothing, has ended; no chain that can't be read.
        case .internalError where !error.message.contains("statements"): return
        default: simulation.violated("I6: statements are refused with \(error.code): \(error.message)")
        }
    }

    /// A statement behind another one; nil where no device has made that.
    private func nextStatement(behind last: SharedBytes?) -> (identity: Identity, signed: SignedStatement)? {
        let adds = Bool.random(using: &generator)
        let seed = UInt64.random(in: .min ... .max, using: &generator)
        let scope = IdentityScope(
            account: simulation.users[account], container: Simulation.container, environment: "development")
        return SeededRandomness.testOnly_use(seed: seed) {
            let device = KeyPairs(seed: .random()).publicKeys
            guard let last else {
                return try? Identity.first(scope: scope, device: device, deviceName: "first", code: RecoveryCode())
            }
            guard let identity = simulation.identities[last.array] else { return nil }
            let devices = identity.statement.devices
            if adds, devices.count < Self.devicesInStatements {
                return try? identity.adding(device: device, deviceName: "next")
            }
            return try? identity.replacingKeys(withoutDevices: devices.count > 1 ? [devices[0].keys] : [])
        }
    }

    /// Notes that a client was told of a statement, and so of the first commit that left it.
    private func saw(_ number: UInt32, _ statement: SharedBytes?) {
        guard let statement,
            let sequence = timeline.states.firstIndex(where: { $0.statement(Int(number)) == statement })
        else { return }
        simulation.history.saw(UInt64(sequence), of: database)
    }
}

extension CommitHistory.State {
    /// The statement of a number, from 1; nil where there is none.
    fileprivate func statement(_ number: Int) -> SharedBytes? {
        number >= 1 && number <= statements.count ? statements[number - 1] : nil
    }

    /// Whether the last reset is what a request asks for.
    fileprivate func hasReplaced(_ request: AppendStatementRequest) -> Bool {
        statements.first == request.statement && replaced.last?.lastHash == request.replacedHash
    }

    /// Whether the account began with a statement, now or before.
    fileprivate func hasBegun(with statement: SharedBytes) -> Bool {
        let hash = CommitHistory.hash(statement)
        return statements.first == statement || replaced.contains { $0.firstHash == hash }
    }
}
