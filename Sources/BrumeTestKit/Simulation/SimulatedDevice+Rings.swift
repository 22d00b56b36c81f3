internal import BrumeEncryption
internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// Who has keys of an account's zones: each device makes entries for all of them, behind the last one that it was told
/// of.
extension SimulatedDevice {
    /// Fetches a zone's ring, and mostly makes the next entry.
    ///
    /// - Parameter wanted: The zone whose newest key the device looks for; nil for any.
    func useRing(in wanted: String? = nil) {
        let zone = wanted ?? (generator.oneIn(8) ? Names.defaultZone : generator.pick(zoneNames))
        let sight = simulation.history.sight(of: database)
        let request = FetchRingRequest(zone: ZoneID(name: zone), after: 0)
        call(.ringsFetch, coder.encodeFetchRingRequest(request), .none) { [self] result in
            let seen = timeline.start(of: sight)
            guard case .success(let bytes) = result else { return checkRefusal(result, ofRingIn: zone, since: seen) }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try coder.decodeFetchRingResponse(buffer) }
            }
            guard case .success(let page) = decoded else { return simulation.violated("a ring can't be read") }
            simulation.wasAnswered()
            let isTrue = timeline.wasTrue(since: seen) { state in
                state.zones[zone] != nil && page.entries == state.ring(of: zone) && page.last == page.entries.count
            }
            guard isTrue else {
                return simulation.violated(
                    "I1: a ring of \(page.last) entries is told, which no commit since \(seen) left")
            }
            simulation.report.ringPages += 1
            replica.keyNumbers[zone] = page.last > 0 ? page.last : nil
            replica.ringEntryHashes[zone] = page.entries.last.flatMap(simulation.history.hash)
            guard let statement = replica.statements.last else { return }
            // Two at once race for one number, as those of two devices do. Whoever only looks for the newest key
            // mostly makes none, or all others would be behind.
            let counts = wanted == nil ? [0, 1, 1, 2] : page.entries.isEmpty ? [1, 1, 2] : [0, 0, 1]
            for _ in 0..<generator.pick(counts) { append(behind: page.entries, statement: statement, to: zone) }
        }
    }

    private func append(behind entries: [SharedBytes], statement: SharedBytes, to zone: String) {
        // What a backup took back, or another device replaced, can leave a ring that this identity has no part in.
        guard let signed = nextEntry(behind: entries, statement: statement, in: zone) else { return }
        let entry = SharedBytes(signed.bytes)
        let number = entries.count + 1
        simulation.history.sentRingEntries[signed.bytes] = .init(
            device: deviceID, zone: zone, behind: entries.last, statement: statement)
        let sight = simulation.history.sight(of: database)
        let request = AppendRingEntryRequest(zone: ZoneID(name: zone), entry: entry)
        call(.ringsAppend, coder.encodeAppendRingEntryRequest(request), .none) { [self] result in
            let seen = timeline.start(of: sight)
            switch result {
            case .success:
                simulation.wasAnswered()
                simulation.report.ringEntriesKept += 1
                replica.keyNumbers[zone] = UInt32(number)
                replica.ringEntryHashes[zone] = simulation.history.hash(of: entry)
                let isKept = timeline.wasTrue(since: seen) { state in
                    let ring = state.ring(of: zone)
                    return ring.count >= number && ring[number - 1] == entry
                }
                if !isKept { simulation.violated("I1: entry \(number) of a ring was kept, and no commit holds it") }
            case .failure(let error) where [.serverRecordChanged, .invalidArguments].contains(error.code):
                simulation.report.ringEntriesTooLate += 1
                let isTooLate = timeline.wasTrue(since: seen) { state in
                    let ring = state.ring(of: zone)
                    let isAnother = error.code == .invalidArguments ? ring.count == entries.count : true
                    return state.statements.last != statement || ring != entries && ring.last != entry && isAnother
                }
                if !isTooLate { simulation.violated("I6: entry \(number) of a ring is refused: \(error.message)") }
            case .failure:
                checkRefusal(result, ofRingIn: zone, since: seen)
                checkRefusalOfWrite(result)
            }
        }
    }

    /// Checks that a call was refused for what faults explain, or because the zone is gone.
    private func checkRefusal(_ result: Result<[UInt8], ServiceError>, ofRingIn zone: String, since seen: UInt64) {
        guard case .failure(let error) = result else { return }
        switch error.code {
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .notAuthenticated,
            .operationCancelled, .serverResponseLost, .quotaExceeded:
            return
        case .zoneNotFound, .userDeletedZone:
            if !timeline.wasTrue(since: seen, { $0.zones[zone] == nil }) {
                simulation.violated("I6: a ring of a zone that is there is refused: \(error.message)")
            }
        // A load that a damaged file, or a disk that gives nothing, has ended; no ring that can't be read.
        case .internalError where !error.message.contains("a ring") && !error.message.contains("statements"): return
        default: simulation.violated("I6: a ring is refused with \(error.code): \(error.message)")
        }
    }

    /// The next entry of a ring, or its first; nil where the account's identity has no part in it.
    private func nextEntry(behind entries: [SharedBytes], statement: SharedBytes, in zone: String) -> SignedRingEntry? {
        guard let identity = simulation.identities[statement.array] else { return nil }
        let user = simulation.users[account]
        let seed = UInt64.random(in: .min ... .max, using: &generator)
        let ringID = (0..<Place.ringIDBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let hasPlainAssets = !generator.oneIn(3) || simulation.options.brokenPromise == .takesPlainAssets
        return SeededRandomness.testOnly_use(seed: seed) {
            var statements = StatementDirectory()
            statements.add(identity.chain)
            let author = RingAuthor(user: user, identity: identity.keys, statements: statements)
            let owner = RingMember(user: user, statementHash: identity.statement.hash, role: .owner)
            let kept = entries.compactMap { try? SignedRingEntry($0.array) }
            if kept.isEmpty {
                guard
                    let place = try? Place(
                        container: Simulation.container, environment: "development", owner: user, zone: zone,
                        ringID: ringID),
                    let ring = try? RingName(place: place)
                else { return nil }
                return try? author.begin(ring, hasPlainAssets: hasPlainAssets, RingDraft(members: [owner])).entries.last
            }
            let chain = RingChain(kept: kept)
            return try? author.next(
                after: chain, keys: chain.keys(of: identity), RingDraft(members: [owner])
            ).entries.last
        }
    }
}
