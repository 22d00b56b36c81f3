internal import BrumeEncryption
internal import BrumeKit
internal import BrumeModel
internal import BrumeRecord
internal import BrumeServer

/// A server that lies about what is encrypted.
extension TestServer {
    /// Lies to a device from now on, until the rule that comes back is removed.
    ///
    /// The server is as it was: the lie stands in the answers that reach the device, and what the device sends has its
    /// effect. Devices are lied to one by one, and may be told several lies.
    ///
    /// ```swift
    /// let lie = try await server.lie(.hidesKeys(ofZone: notes.zoneID), to: laptop)
    /// // … what the app does without the zone's keys …
    /// lie.remove()
    /// ```
    ///
    /// A lie that was never told is a mistake of the test, as any rule of ``script`` that never fires.
    ///
    /// - Returns: The rule of the ``script``: how often the lie was told, and its end.
    /// - Throws: ``TestServerError`` when the server was stopped, for a device without an account, where a value
    ///   that the lie shows is not there, and for ``ServerLie/showsKeys(of:madeBy:)`` where that device has no keys, or
    ///   may make some.
    @discardableResult
    public func lie(_ lie: ServerLie, to device: TestDevice) async throws -> ScriptRule {
        guard let account = device.account else {
            throw TestServerError("\(device) has no account, and so nothing that is encrypted")
        }
        var made: [String: StrangersKeys] = [:]
        func strangers(_ user: String) -> StrangersKeys {
            let keys = made[user] ?? StrangersKeys(identityScope(of: user))
            made[user] = keys
            return keys
        }
        let user = account.userRecordID.recordName
        var parts: [ToldLie.Part] = []
        var actions: [ServerScript.Entry.Action] = []
        for part in lie.parts {
            switch part {
            case .field(let lie, let id): parts.append(.field(lie, of: id))
            case .copy(let key, let source, let owner, let target):
                let value = try await storedValue(key, of: source, in: owner ?? account.name)
                parts.append(.field(.value(key, value), of: target))
            case .recordType(let type, let id): parts.append(.recordType(type, of: id))
            case .parent(let parent, let id): parts.append(.parent(parent, of: id))
            case .invited(let user, let id): parts.append(.invited(user, of: id))
            case .name(let name, let id): parts.append(.name(name, of: id))
            case .account(let user): parts.append(.account(user))
            case .participant(let other, let user, let id):
                parts.append(.participant(other, as: user, of: id))
            case .misplaced(let ids): parts.append(.misplaced(ids))
            case .stamp(let lie, let id): parts.append(.stamp(lie, of: id))
            case .copyStamp(let source, let target):
                let record = try await shownRecord(source, in: account)
                parts.append(.stamp(.other(record.record.system.stamp), of: target))
            case .file(let lie, let field, let id): parts.append(.file(lie, field: field, of: id))
            case .uploads(let byteCount, let zone):
                parts.append(.uploads(byteCount: byteCount, zone: ToldRing(zone)))
            case .record(let other, let id):
                parts.append(.record(try await shownRecord(other, in: account).bytes, insteadOf: id))
            case .keys(let keys, let shared):
                let ring = ToldRing(shared)
                let owner = strangers(ring.isOwn ? user : ring.owner)
                let statements = ring.isOwn ? [] : try await statements(of: account.name)
                let told = ToldKeys(keys) { _, first in
                    // The device knows in which life of its own zone a shared record is.
                    let genuine = first.flatMap { try? SignedRingEntry($0.array) }?.entry.ring.place.ringID
                    let ringID = ring.isOwn && !ring.root.isEmpty ? genuine : nil
                    return owner.ringEntry(ring, ringID: ringID, guest: statements)
                }
                parts.append(.keys(told, of: ring))
                guard case .strangers = keys, !ring.isOwn else { continue }
                let owners = ToldKeys(.strangers) { number, _ in owner.statement(number) }
                parts.append(.userKeys(owners, user: ring.owner, zone: ToldRing(shared.zoneID)))
            case .entry(let author, let shared):
                let ring = ToldRing(shared)
                let made = try await forbiddenEntry(of: ring, owner: ring.isOwn ? user : ring.owner, by: author)
                parts.append(.keys(ToldKeys(.addition(after: made.number - 1)) { _, _ in made.bytes }, of: ring))
                let statements = ToldKeys(.these(made.statements)) { _, _ in made.bytes }
                parts.append(.userKeys(statements, user: made.author, zone: ToldRing(shared.zoneID)))
            case .news(let news, let shared):
                let guest = if case .guest(let guest, _) = news { guest } else { user }
                parts.append(.news(ToldNews(lie: news, strangers: strangers(guest)), of: ToldRing(shared)))
            case .joining(let shared): parts.append(.joining(ToldRing(shared)))
            case .userKeys(let keys, let other, let zone):
                let stranger = strangers(other)
                let told = ToldKeys(keys) { number, _ in stranger.statement(number) }
                parts.append(.userKeys(told, user: other, zone: ToldRing(zone)))
            case .accountKeys(let keys):
                let stranger = strangers(user)
                parts.append(.accountKeys(ToldKeys(keys) { number, _ in stranger.statement(number) }))
            case .enrolment(let lie, let message): parts.append(.enrolment(lie, number: message.rawValue))
            case .staleKeys(let zone):
                let refusal = ServiceError(
                    .accountTemporarilyUnavailable,
                    "the zone's ring has another key; encrypt again, and save again", detail: .keysChanged)
                actions.append(
                    .save(.init(zone: zone, isEncrypted: true, peer: .init(device: device.identity)), refusal))
            case .encryptedFields(let zone):
                let refusal = ServiceError(
                    .accountTemporarilyUnavailable, "a field is encrypted, and the save takes it away",
                    detail: .fieldEncrypted)
                actions.append(.save(.init(zone: zone, peer: .init(device: device.identity)), refusal))
            case .zoneIsGone(let zone, let reason):
                let reason = ZoneDeletionReason(reason)
                parts.append(.zoneIsGone(ZoneID(name: zone), reason))
                let id = CKRecordZone.ID(zoneName: zone)
                for calls in [CallPattern.modifyRecords, .fetchRecords, .query, .fetchZoneChanges] {
                    let calls = calls.in(id).from(device)
                    actions.append(.call(calls, .beforeEffect, .fails(ServiceError(zoneIsGone: reason))))
                }
            }
        }
        if !parts.isEmpty { actions.append(.lie(ToldLie(device: device.name, parts: parts))) }
        guard isRunning else { throw Self.stopped }
        let rule = ScriptRule("\(lie), says the server to \(device.name)", times: .max)
        for action in actions { script.add(ServerScript.Entry(rule: rule, action: action)) }
        return rule
    }

    private func identityScope(of user: String) -> IdentityScope {
        IdentityScope(
            account: user, container: options.containerIdentifier,
            environment: options.modelEnvironment == .production ? "production" : "development")
    }

    /// What an account has signed about its keys; none where it has no keys.
    private func statements(of account: String) async throws -> [SignedStatement] {
        let stored = try await contents(try privateDatabase(of: account)).statements
        return stored.compactMap { try? SignedStatement($0.array) }
    }

    private func shownRecord(
        _ id: CKRecord.ID, in account: TestAccount
    ) async throws -> (record: Record, bytes: [UInt8]) {
        if let record = try await storedRecord(id, in: try privateDatabase(of: account.name)) { return record }
        throw TestServerError("\(account.name) has no record \(id.recordName) that a lie could show")
    }

    private func storedValue(_ key: String, of id: CKRecord.ID, in account: String) async throws -> FieldValue {
        if let value = try await storedRecord(id, in: try privateDatabase(of: account))?.record.fields[key] {
            return value
        }
        throw TestServerError("\(account) has no field \(key) in a record \(id.recordName) that a lie could show")
    }
}

extension ZoneDeletionReason {
    init(_ reason: CKDatabase.DatabaseChange.Deletion.Reason) {
        self =
            switch reason {
            case .deleted: .deleted
            case .purged: .purged
            case .encryptedDataReset: .encryptedDataReset
            }
    }
}

extension ServerScript {
    /// Whom the server calls a device's user; nil where it names the true one.
    func toldUser(of device: String) -> String? {
        for entry in entries where !entry.rule.isDone {
            guard case .lie(let lie) = entry.action, lie.device == device else { continue }
            for case .account(let user) in lie.parts where entry.rule.fire() { return user }
        }
        return nil
    }

    /// The answer with the lies in it that are told to a device; nil where there are none.
    func told(_ answer: ServerAnswer, to call: AnsweredCall, of device: String) -> ServerAnswer? {
        var (answer, isLie) = (answer, false)
        for entry in entries where !entry.rule.isDone {
            guard case .lie(let lie) = entry.action, lie.device == device, let told = lie.told(answer, to: call),
                entry.rule.fire()
            else { continue }
            (answer, isLie) = (told, true)
        }
        return isLie ? answer : nil
    }
}
