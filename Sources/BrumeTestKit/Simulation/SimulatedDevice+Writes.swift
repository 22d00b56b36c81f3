internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// Writes, and how each answer is checked against the commit that it led to.
extension SimulatedDevice {
    /// Sends an operation, and checks its answer against the commit that it led to.
    func write<Answer>(
        _ method: Method, _ payload: [UInt8], _ request: OperationRequest, operation: [UInt8],
        _ decode: @escaping (MessageCoder, UnsafeRawBufferPointer) throws(ServiceError) -> Answer,
        then: @escaping (Answer, UInt64?) -> Void
    ) {
        simulation.history.asked(request)
        simulation.operationIDs[payload] = operation
        call(method, payload, .onceByOperationID) { [self] result in
            guard case .success(let bytes) = result else { return checkRefusalOfWrite(result) }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try decode(coder, buffer) }
            }
            guard case .success(let answer) = decoded else { return simulation.violated("an answer can't be read") }
            let timeline = simulation.history[request.database]
            let sequence = timeline.sequenceOfOperation[request.key]
            if let sequence {
                simulation.history.saw(sequence, of: request.database)
                let outcome = timeline.commits[Int(sequence)].outcome
                if ExpectedAnswer.message(of: outcome, in: request.database, coder: coder) != bytes {
                    // A user who takes no part any more is told nothing, not even of what they did.
                    if let user = request.participant,
                        timeline.wasTrue(
                            since: sequence,
                            { state in
                                request.saves.keys.allSatisfy { state.start(of: user, in: $0) == nil }
                            })
                    {
                        return
                    }
                    simulation.violated("I11: an operation was not answered with what its commit says that it did")
                }
            }
            then(answer, sequence)
        }
    }

    /// Checks that a write that a full disk refused was given a time to come back.
    func checkRefusalOfWrite(_ result: Result<[UInt8], ServiceError>) {
        guard case .failure(var error) = result, error.code == .serviceUnavailable, simulation.server.isDiskFull else {
            return
        }
        simulation.report.writesRefused += 1
        if simulation.options.brokenPromise == .hidesRetryTime { error = ServiceError(error.code, error.message) }
        if error.retryAfterMilliseconds == 0 {
            simulation.violated("F5: a write is refused without a time to come back: \(error.message)")
        }
    }

    func modifyRecords() {
        let operation = newOperation()
        let isPublic = generator.oneIn(10)
        let zones = isPublic ? [Names.defaultZone] : someZones()
        let policy = generator.pick([
            SavePolicy.ifServerRecordUnchanged, .ifServerRecordUnchanged, .changedKeys, .allKeys,
        ])
        let isAtomic = Bool.random(using: &generator)
        let modifications = zones.map { randomModification(of: $0, isPublic: isPublic) }
            .filter { !$0.saves.isEmpty || !$0.deletions.isEmpty }
        if modifications.isEmpty { return }
        if !isPublic, let zone = zones.first(where: { replica.keyNumbers[$0] == nil }), generator.oneIn(4) {
            keysChanged(in: zone)
        }
        var request = ModifyRecordsRequest<DecodedFields>(
            database: isPublic ? .public : .private, savePolicy: policy, isAtomic: isAtomic, operationID: operation,
            zones: modifications)
        var meant = OperationRequest(
            key: key(of: operation, isOwn: !isPublic), device: deviceID,
            database: isPublic ? simulation.publicDatabase : database, policy: policy, isAtomic: isAtomic,
            saves: Dictionary(
                uniqueKeysWithValues: modifications.map { modification in
                    (
                        modification.zone.name,
                        Dictionary(
                            uniqueKeysWithValues: modification.saves.map {
                                ($0.name, OperationRequest.withoutReceipts($0))
                            })
                    )
                }), receipts: OperationRequest.receipts(of: modifications))
        let sight = simulation.history.sight(of: meant.database)
        if simulation.options.brokenPromise == .ignoresTags { request.savePolicy = .changedKeys }
        if simulation.options.brokenPromise == .ignoresAtomicity { request.isAtomic = false }
        if simulation.options.brokenPromise == .takesEncrypted {
            for zone in request.zones.indices {
                for save in request.zones[zone].saves.indices {
                    request.zones[zone].saves[save].replacesEncrypted = true
                }
            }
        }
        if simulation.options.brokenPromise == .ignoresReceipts { meant.receipts = [:] }
        write(.recordsModify, coder.encodeModifyRecordsRequest(request), meant, operation: operation) {
            (coder, bytes) throws(ServiceError) in
            try coder.decodeModifyRecordsResponse(bytes)
        } then: { [self] answer, sequence in
            for (modification, result) in zip(modifications, answer) {
                check(
                    result, of: modification, meant: meant, sequence: sequence, since: sight, isPublic: isPublic)
            }
        }
    }

    private func randomModification(of zone: String, isPublic: Bool) -> ZoneModification<DecodedFields> {
        if simulation.options.sharesRecords, !isPublic, zone != Names.defaultZone, generator.oneIn(4) {
            return changeOfShare(in: zone)
        }
        let names = Self.recordNames.shuffled(using: &generator)
        let count = Int.random(in: 0...4, using: &generator)
        let saves = names.prefix(count).map { randomSave(of: $0, zone: zone, isPublic: isPublic) }
        let deletesSome = generator.oneIn(simulation.options.sharesRecords ? 8 : 3)
        let deletions = deletesSome ? Int.random(in: 1...2, using: &generator) : 0
        var modification = ZoneModification(
            zone: ZoneID(name: zone), saves: saves, deletions: Array(names.dropFirst(count).prefix(deletions)))
        if !isPublic { modification.ringEntryHash = randomRingEntryHash(in: zone) }
        if !isPublic { addShares(to: &modification) }
        return modification
    }

    func randomSave(of name: String, zone: String, isPublic: Bool) -> RecordSave<DecodedFields> {
        var fields: DecodedFields = ["w": .int64(Int64(simulation.nextNumber()))]
        if generator.oneIn(4) {
            fields["t"] = .string(String(repeating: "x", count: Int.random(in: 0...900, using: &generator)))
        }
        if generator.oneIn(2) { fields["c"] = .string(generator.pick(RandomPredicate.colours)) }
        if generator.oneIn(4) {
            fields["l"] = .strings(Array(RandomPredicate.labels.shuffled(using: &generator)[..<2]))
        }
        let header = isPublic ? nil : randomHeader(in: zone)
        if !isPublic { addEncrypted(header, to: &fields) }
        if !isPublic { addAssets(for: zone, header, to: &fields) }
        var parent = ParentChange.unchanged
        if !isPublic {
            if generator.oneIn(5) {
                fields["up"] = .reference(
                    Reference(recordName: generator.pick(Self.recordNames), deletesSelf: Bool.random(using: &generator))
                )
            }
            if generator.oneIn(8) { fields["up"] = .some(nil) }
            // What is shared with a record stands below it.
            let isBelow = simulation.options.sharesRecords ? !generator.oneIn(4) : generator.oneIn(8)
            let other = simulation.options.sharesRecords ? knownRecord(in: zone) : generator.pick(Self.recordNames)
            if isBelow, other != name { parent = .set(other) }
            if generator.oneIn(12) { parent = .removed }
        }
        let known = isPublic ? "public" : zone
        let tag = generator.oneIn(8) ? "" : replica.tags[known]?[name] ?? ""
        var stamp: [UInt8] = []
        if let header, generator.oneIn(3) { stamp = EncryptedSamples.stamp(header, filler: generator.pick([1, 2, 3])) }
        return RecordSave(
            name: name, type: "Note", changeTag: tag, parent: parent, stamp: stamp,
            replacesEncrypted: !generator.oneIn(4), fields: fields)
    }

    /// Values in the form of encrypted ones; what is in them is nobody's concern here.
    private func addEncrypted(_ header: EncryptedHeader?, to fields: inout DecodedFields) {
        if let header, generator.oneIn(2) {
            fields["e"] = EncryptedSamples.random(
                [.string], header: header, contentBytesMax: 900, using: &generator)
        }
        if let header, generator.oneIn(4) {
            fields["es"] = EncryptedSamples.random(
                [.strings, .emptyList], header: header, contentBytesMax: 90, using: &generator)
        }
        if generator.oneIn(12) { fields["e"] = .some(nil) }
    }

    /// A record of which the device knows: most batches with a parent that is not there fail.
    func knownRecord(in zone: String) -> String {
        let known = Self.recordNames.filter { replica.tags[zone]?[$0] != nil }
        return generator.pick(known.isEmpty ? Self.recordNames : known)
    }

    private func check(
        _ result: ZoneModificationResult<Record>, of modification: ZoneModification<DecodedFields>,
        meant: OperationRequest, sequence: UInt64?, since sight: CommitHistory.Sight, isPublic: Bool
    ) {
        let zone = modification.zone.name
        let timeline = simulation.history[meant.database]
        let known = isPublic ? "public" : zone
        var failures = result.deletions.count { $0 != nil }
        for (save, outcome) in zip(modification.saves, result.saves) {
            switch outcome.outcome {
            case .record(let record):
                if save.type == Names.shareType { simulation.report.sharesSaved += 1 }
                checkRing(of: save, in: modification, meant: meant, since: sight)
                tell(of: record, in: zone)
                replica.tags[known, default: [:]][save.name] = record.system.changeTag
                // A deletion of the same batch may have taken it with it: then the commit holds the deletion alone.
                let isGone = sequence.map { timeline.states[Int($0)].zones[zone]?.records[save.name] == nil } ?? false
                if !isGone, !timeline.hadVersion(save.name, tag: record.system.changeTag) {
                    simulation.violated(
                        "I1: \(save.name) was saved as \(record.system.changeTag), which no commit holds")
                }
                // All zones of a request are one commit; a record that was so already stays as it is.
                let saved = timeline.sequenceOfTag[record.system.changeTag]
                if let saved, saved > sequence ?? timeline.last {
                    simulation.violated("I2: \(save.name) was saved in another commit than what came with it")
                }
                saw(record.system.changeTag, of: meant.database)
            case .failure(let error):
                failures += 1
                replica.tags[known, default: [:]][save.name] = nil
                checkRefusal(ofKeys: error, save, of: modification, meant: meant, since: sight)
                guard error.code == .serverRecordChanged else { continue }
                guard let record = error.serverRecord.flatMap({ CommitHistory.decode(SharedBytes($0)) }) else {
                    simulation.violated("I6: the loser of a race for \(save.name) does not get the server's record")
                    continue
                }
                replica.tags[known, default: [:]][save.name] = record.system.changeTag
                saw(record.system.changeTag, of: meant.database)
                if record.system.changeTag == save.changeTag {
                    simulation.violated("I6: \(save.name) was refused with the tag that the server has")
                }
                if !timeline.hadVersion(save.name, tag: record.system.changeTag) {
                    simulation.violated("I6: the server's record of \(save.name) is one that never was")
                }
            case .deferred: simulation.violated("a save was deferred")
            }
        }
        if result.saves.contains(where: \.isOfOldKeys) { keysChanged(in: zone) }
        // What touches a share is atomic, whatever was asked.
        if meant.isAtomic || !modification.shares.isEmpty, zone != Names.defaultZone, failures > 0 {
            let isTouched = sequence.map { timeline.commits[Int($0)].zones.contains(zone) } ?? false
            if failures != result.saves.count + result.deletions.count || isTouched {
                simulation.violated("I2: an atomic batch was done in part")
            }
        }
    }

    /// Notes that a client saw the commit that a change tag names.
    func saw(_ tag: String, of id: DatabaseID) {
        if let sequence = simulation.history[id].sequenceOfTag[tag] { simulation.history.saw(sequence, of: id) }
    }
}

extension SaveResult {
    /// Whether it was refused for the keys of what it encrypts.
    var isOfOldKeys: Bool {
        if case .failure(let error) = outcome { error.detail == .keysChanged } else { false }
    }
}
