internal import BrumeModel
internal import BrumeRecord

extension Database {
    /// Begins to empty the database of what it holds now.
    package func beginEmptying() -> Emptying {
        Emptying(end: zoneStates[0].slots.count, last: .end(ofSequence: sequence))
    }

    /// Deletes everything that users have put here, as they could themselves: custom zones with their subscriptions,
    /// and the records of the default zone. User records stay, without their fields. Subscriptions that belong to no
    /// custom zone stay too, and are notified as if users had deleted the records; so do statements, which devices
    /// hold against a server that shows others. What users put
    /// here after the beginning stays, so that they can't make it go on for ever; if it refers to what went, it refers
    /// to nothing. Does a part of bounded size at a time; returns nil when nothing is left.
    ///
    /// - Parameters:
    ///   - emptying: How far it has come; each record of the default zone is looked at once.
    ///   - limit: The records of the default zone that one commit changes, and those of the custom zones that it
    ///     deletes. It deletes at least one zone whatever its size, and some hundreds at the most. So many records of
    ///     some hundred bytes are looked at, of larger ones fewer.
    /// - Returns: The commit, nil if the part had nothing to change, and the number of records that it deleted.
    package func empty(
        _ emptying: inout Emptying, limit: Int = 4_096, nowMilliseconds: Int64
    ) -> (commit: Commit?, records: Int)? {
        var builder = CommitBuilder(sequence: sequence + 1)
        var records = 0
        let leaving = zonesToEmpty(upTo: emptying.last, records: limit)
        matchDeletion(ofZones: leaving, into: &builder)
        for zone in leaving {
            if case .success(let index) = zoneIndex(of: zone) { records += zoneStates[index].liveCount }
            _ = delete(zone, into: &builder)
        }
        if leaving.isEmpty, emptying.slot >= emptying.end { return nil }
        records += emptyDefaultZone(&emptying, limit: limit, nowMilliseconds: nowMilliseconds, into: &builder)
        return (finish(builder, nowMilliseconds: nowMilliseconds), records)
    }

    /// What the ids of operations begin with that only push out what was remembered of a user. They stand in journals.
    static let forgettingPrefix = Array("forget ".utf8)

    /// Forgets what a private database that was emptied still knows of its user, who will not come back: the
    /// subscriptions, the statements, the rings, and the answers to operations, which hold records. What stays are the
    /// user's record without fields, and the names of zones that were deleted.
    ///
    /// - Returns: The commits.
    package func forgetUser(nowMilliseconds: Int64) -> [Commit] {
        precondition(id.scope == .private, "a public database has many users")
        if sequence == 0 { return [] }
        // Where the disk was full when the user came, there is no record of them: the commits need one to change.
        let first = [ensureUserRecord(named: id.owner, nowMilliseconds: nowMilliseconds)].compactMap(\.self)
        guard let slot = liveSlot(of: id.owner, inZoneAt: 0) else {
            preconditionFailure("a user's record was made, and is not there")
        }
        // What is remembered of an operation goes when another one takes its place: one that takes all the room, and
        // then one that takes next to none.
        let forgetting = [Limits.rememberedOperationBytes + 1, 1].map { outcomeBytes in
            var builder = CommitBuilder(sequence: sequence + 1)
            for kept in subscriptionTable.all {
                builder.append(.subscriptionDeletion(id: kept.subscription.id, owner: kept.owner))
                removeSubscription(kept.subscription.id, of: kept.owner)
            }
            for zone in sharedZones.zones {
                builder.append(.sharedZoneEnd(zone.id))
                _ = sharedZones.end(zone.id, at: builder.nextPosition())
            }
            forgetStatements(into: &builder)
            forgetRings(into: &builder)
            for zone in sharedZones.asked.sorted() {
                builder.append(.sharedZoneAnswered(zone))
                sharedZones.answered(zone)
            }
            var user = zoneStates[0][slot].withBytes { bytes in
                guard let user = try? StoredRecord.decode(bytes) else {
                    preconditionFailure("a stored record can't be read, though it was checked")
                }
                return user.system
            }
            user.changeTag = changeTag(builder.sequence).text
            user.modifiedMilliseconds = nowMilliseconds
            put(
                SharedBytes(StoredRecord.encode(user, fields: [])), marks: [], replacing: slot, inZoneAt: 0,
                of: 0, into: &builder)
            guard var commit = finish(builder, nowMilliseconds: nowMilliseconds) else {
                preconditionFailure("a commit that puts a record is none")
            }
            commit.entry.operationID = Self.forgettingPrefix + Array("\(commit.sequence)".utf8)
            commit.entry.operationOutcome = [UInt8](repeating: 0, count: outcomeBytes)
            remember(operation: commit.entry.operationID, encoded: commit.entry.operationOutcome)
            return commit
        }
        return first + forgetting
    }

    /// Returns the number of records that it deleted.
    private func emptyDefaultZone(
        _ emptying: inout Emptying, limit: Int, nowMilliseconds: Int64, into builder: inout CommitBuilder
    ) -> Int {
        // The indexes would be updated for each deleted record.
        zoneIndexes[0] = nil
        var records = 0
        var types = Set<String>()
        var budget = ReferenceBudget()
        var placesLeft = limit
        let tag = changeTag(builder.sequence)
        while emptying.slot < emptying.end, placesLeft > 0, Int(builder.positions) < limit {
            let slot = Int32(emptying.slot)
            let record = zoneStates[0].slots[slot]
            placesLeft -= 1 + record.byteCount / 512
            if record.isDeleted || record.created > emptying.last {
            } else if record.type == Names.userRecordType {
                if var user = emptied(record) {
                    user.system.changeTag = tag.text
                    user.system.modifiedMilliseconds = nowMilliseconds
                    put(
                        SharedBytes(StoredRecord.encode(user.system, fields: [])), marks: [],
                        replacing: slot, inZoneAt: 0, of: 0, into: &builder)
                    types.insert(record.type)
                }
            } else {
                // A commit is made in one piece, so its work is limited.
                guard let cascades = budget.read(record) else { break }
                note(slot, .deleted, inZoneAt: 0, into: &builder)
                deleteRecord(
                    slot, at: builder.nextPosition(), inZoneAt: 0,
                    references: RecordReferences(parent: record.parent, targets: cascades.targets))
                builder.append(.recordDeletion(zone: 0, name: record.name, type: record.type))
                records += 1
                types.insert(record.type)
            }
            emptying.slot += 1
        }
        if !types.isEmpty {
            builder.touch(
                TouchedZone(
                    zone: .defaultZone, incarnation: 0, recordTypes: types.sorted(), isNew: false, isDeleted: false))
        }
        return records
    }

    /// The most zones that one commit deletes.
    private static let zonesPerEmptying = 256

    /// The custom zones that the next commit deletes, of those that were made up to a position.
    private func zonesToEmpty(upTo last: ChangePosition, records limit: Int) -> [ZoneID] {
        if zoneIndexOfIncarnation.count == 1 { return [] }
        var leaving: [ZoneID] = []
        var records = 0
        for index in zoneStates.indices where zoneStates[index].deletion == nil {
            // A zone's incarnation is the position at which it was made; the default zone's is 0.
            guard (1...last.rawValue).contains(zoneStates[index].incarnation) else { continue }
            leaving.append(zoneStates[index].id)
            records += zoneStates[index].liveCount
            if leaving.count == Self.zonesPerEmptying || records >= limit { break }
        }
        return leaving
    }

    /// The parts of a user record, without its parent and stamp; nil when it has neither those nor fields.
    private func emptied(_ record: RecordSlot) -> StoredRecord.Parts? {
        do throws(ServiceError) {
            var parts = try StoredRecord.parts(of: record.bytes)
            if parts.fields.isEmpty, parts.system.parent == nil, parts.system.stamp.isEmpty { return nil }
            parts.system.parent = nil
            parts.system.stamp = []
            return parts
        } catch {
            return nil
        }
    }

    /// Looks at some more records for a lesson; records that are saved between two steps are learned from when they are
    /// saved.
    ///
    /// - Parameter places: How many records of a few hundred bytes this step looks at; of larger ones fewer.
    /// - Returns: Whether it has seen all.
    package func advance(_ scan: inout LessonScan, places: Int) -> Bool {
        var left = places
        while scan.zone < zoneStates.count {
            let slots = zoneStates[scan.zone].slots
            while scan.slot < slots.count {
                if left <= 0 { return false }
                let record = slots[Int32(scan.slot)]
                scan.slot += 1
                left -= 1 + record.byteCount / 512
                if record.isDeleted || record.type != scan.type { continue }
                guard let parts = try? StoredRecord.parts(of: record.bytes) else { continue }
                scan.lesson.note(type: scan.type)
                for field in parts.fields {
                    if let fieldType = SchemaFieldType(learnedFrom: StoredRecord.kind(of: field)) {
                        scan.lesson.note(fieldType, of: field.key, in: scan.type)
                    }
                }
            }
            scan.zone += 1
            scan.slot = 0
        }
        return true
    }
}

/// How far a database has been emptied, between two parts of ``Database/empty(_:limit:nowMilliseconds:)``.
package struct Emptying {
    /// The default zone's next place.
    var slot = 0
    /// The place behind those that it had at the beginning.
    let end: Int
    /// The last change before the beginning.
    let last: ChangePosition
}
