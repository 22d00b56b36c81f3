package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

extension StoreCoder {
    /// Appends the body of a snapshot's first block to `bytes`.
    package static func encodeSnapshotHeader(_ header: SnapshotHeader, into bytes: inout [UInt8]) {
        append(to: &bytes) { arena in
            let message = arena.make(brume__store__v1__snapshot_header__init)
            message.pointee.database = arena.databaseIdentity(header.database)
            message.pointee.sequence = header.sequence
            message.pointee.record_count = header.recordCount
            message.pointee.tombstone_count = header.tombstoneCount
            message.pointee.zone_count = header.zoneCount
            message.pointee.zone_feed_floor = header.zoneFeedFloor.rawValue
            message.pointee.former_subscriber_floor = header.formerSubscriberFloor
            message.pointee.quota_bytes = header.quotaBytes
            message.pointee.shared_zone_floor = header.sharedZoneFloor.rawValue
            message.pointee.n_runs = header.runs.count
            message.pointee.runs = arena.messages(header.runs) { run in
                let message = arena.make(brume__store__v1__database_run__init)
                message.pointee.first_sequence = run.firstSequence
                message.pointee.id = run.id
                return message
            }
            return message
        }
    }

    package static func decodeSnapshotHeader(_ bytes: UnsafeRawBufferPointer) throws(StoreCodingError) -> SnapshotHeader
    {
        try unpack(brume__store__v1__snapshot_header__unpack, bytes, "a snapshot's header") {
            (message) throws(StoreCodingError) in
            SnapshotHeader(
                database: try databaseID(message.pointee.database), sequence: message.pointee.sequence,
                recordCount: message.pointee.record_count, tombstoneCount: message.pointee.tombstone_count,
                zoneCount: message.pointee.zone_count,
                zoneFeedFloor: ChangePosition(rawValue: message.pointee.zone_feed_floor),
                runs: try values(message.pointee.runs, message.pointee.n_runs) { (run) throws(StoreCodingError) in
                    DatabaseRun(firstSequence: run.pointee.first_sequence, id: run.pointee.id)
                }, formerSubscriberFloor: message.pointee.former_subscriber_floor,
                quotaBytes: message.pointee.quota_bytes,
                sharedZoneFloor: ChangePosition(rawValue: message.pointee.shared_zone_floor))
        }
    }

    /// Appends the body of a later block to `bytes`.
    package static func encodeSnapshotBlock(_ block: SnapshotBlock, into bytes: inout [UInt8]) {
        append(to: &bytes) { arena in
            let message = arena.make(brume__store__v1__snapshot_block__init)
            message.pointee.n_zones = block.zones.count
            message.pointee.zones = arena.messages(block.zones, arena.snapshotZone)
            message.pointee.n_records = block.records.count
            message.pointee.records = arena.messages(block.records, arena.snapshotRecord)
            message.pointee.n_tombstones = block.tombstones.count
            message.pointee.tombstones = arena.messages(block.tombstones, arena.snapshotTombstone)
            message.pointee.n_deleted_zones = block.deletedZones.count
            message.pointee.deleted_zones = arena.messages(block.deletedZones, arena.snapshotDeletedZone)
            let owned = block.subscriptions.filter { !$0.owner.isEmpty }
            let others = block.subscriptions.filter(\.owner.isEmpty)
            message.pointee.n_subscriptions = others.count
            message.pointee.subscriptions = arena.list(others.map { packed(arena.subscription($0)) })
            message.pointee.n_owned_subscriptions = owned.count
            message.pointee.owned_subscriptions = arena.messages(owned, arena.subscriptionPut)
            message.pointee.n_operations = block.operations.count
            message.pointee.operations = arena.messages(block.operations) { operation in
                let message = arena.make(brume__store__v1__snapshot_operation__init)
                message.pointee.id = arena.data(operation.id)
                message.pointee.outcome = arena.data(operation.outcome)
                if let digest = operation.digest {
                    message.pointee.digest = arena.data(digest.withBytes { Array($0) })
                }
                message.pointee.user = arena.data(operation.user)
                return message
            }
            message.pointee.n_former_subscribers = block.formerSubscribers.count
            message.pointee.former_subscribers = arena.messages(block.formerSubscribers) { former in
                let message = arena.make(brume__store__v1__former_subscriber__init)
                message.pointee.user = arena.data(former.user)
                message.pointee.sequence = former.sequence
                return message
            }
            message.pointee.n_shared_zones = block.sharedZones.count
            message.pointee.shared_zones = arena.messages(block.sharedZones, arena.snapshotSharedZone)
            message.pointee.n_asked_zones = block.askedZones.count
            message.pointee.asked_zones = arena.messages(block.askedZones, arena.askedZone)
            arena.addTrees(of: block, to: message)
            message.pointee.n_statements = block.statements.count
            message.pointee.statements = arena.list(block.statements)
            message.pointee.n_replaced_statements = block.replacedStatements.count
            message.pointee.replaced_statements = arena.messages(
                block.replacedStatements, arena.replacedStatements)
            message.pointee.n_ring_entries = block.ringEntries.count
            message.pointee.ring_entries = arena.messages(block.ringEntries, arena.ringEntry)
            message.pointee.n_ring_statements = block.ringStatements.count
            message.pointee.ring_statements = arena.messages(block.ringStatements, arena.ringStatement)
            message.pointee.n_ring_chains = block.ringChains.count
            message.pointee.ring_chains = arena.messages(block.ringChains, arena.ringChain)
            message.pointee.n_ring_guests = block.ringGuests.count
            message.pointee.ring_guests = arena.messages(block.ringGuests, arena.ringGuest)
            message.pointee.n_ring_users_unnamed = block.ringUsersUnnamed.count
            message.pointee.ring_users_unnamed = arena.messages(block.ringUsersUnnamed, arena.ringUsers)
            return message
        }
    }

    package static func decodeSnapshotBlock(_ bytes: UnsafeRawBufferPointer) throws(StoreCodingError) -> SnapshotBlock {
        try unpack(brume__store__v1__snapshot_block__unpack, bytes, "a snapshot's block") {
            (message) throws(StoreCodingError) in
            var block = SnapshotBlock()
            block.zones = try values(message.pointee.zones, message.pointee.n_zones) {
                (zone) throws(StoreCodingError) in
                SnapshotZone(
                    zone: zone.pointee.zone, name: try text(zone.pointee.name, "a zone name"),
                    lastChange: ChangePosition(rawValue: zone.pointee.last_change),
                    floor: ChangePosition(rawValue: zone.pointee.floor),
                    clientTokens: try values(zone.pointee.client_tokens, zone.pointee.n_client_tokens) {
                        (token) throws(StoreCodingError) in
                        ClientToken(device: token.pointee.device.array, bytes: token.pointee.token.array)
                    },
                    earlierDeletion: zone.pointee.earlier_deletion == 0
                        ? nil
                        : EarlierDeletion(
                            position: ChangePosition(rawValue: zone.pointee.earlier_deletion),
                            reason: try deletionReason(zone.pointee.earlier_deletion_reason)))
            }
            block.records = try values(message.pointee.records, message.pointee.n_records) {
                (record) throws(StoreCodingError) in
                SnapshotRecord(
                    zone: record.pointee.zone, position: ChangePosition(rawValue: record.pointee.position),
                    created: record.pointee.created == 0 ? nil : ChangePosition(rawValue: record.pointee.created),
                    record: record.pointee.record.array, tree: record.pointee.tree,
                    entered: ChangePosition(rawValue: record.pointee.entered))
            }
            block.tombstones = try values(message.pointee.tombstones, message.pointee.n_tombstones) {
                (tombstone) throws(StoreCodingError) in
                SnapshotTombstone(
                    zone: tombstone.pointee.zone, position: ChangePosition(rawValue: tombstone.pointee.position),
                    name: try text(tombstone.pointee.name, "a record name"),
                    type: try text(tombstone.pointee.type, "a record type"))
            }
            block.deletedZones = try values(message.pointee.deleted_zones, message.pointee.n_deleted_zones) {
                (zone) throws(StoreCodingError) in
                SnapshotDeletedZone(
                    position: ChangePosition(rawValue: zone.pointee.position),
                    name: try text(zone.pointee.name, "a zone name"), reason: try deletionReason(zone.pointee.reason))
            }
            for index in 0..<message.pointee.n_subscriptions {
                block.subscriptions.append(try subscription(message.pointee.subscriptions[index]))
            }
            block.subscriptions += try values(
                message.pointee.owned_subscriptions, message.pointee.n_owned_subscriptions, subscription)
            block.operations = try values(message.pointee.operations, message.pointee.n_operations) {
                (operation) throws(StoreCodingError) in
                let former = FormerOperation(
                    key: operation.pointee.id.array, answer: operation.pointee.answer.array)
                return SnapshotOperation(
                    id: former?.id ?? operation.pointee.id.array,
                    outcome: former?.outcome ?? operation.pointee.outcome.array,
                    digest: try digest(operation.pointee.digest),
                    user: try text(operation.pointee.user, "a user record name"))
            }
            block.formerSubscribers = try values(
                message.pointee.former_subscribers, message.pointee.n_former_subscribers
            ) { (former) throws(StoreCodingError) in
                SnapshotFormerSubscriber(
                    user: try text(former.pointee.user, "a user record name"), sequence: former.pointee.sequence)
            }
            block.sharedZones = try values(message.pointee.shared_zones, message.pointee.n_shared_zones) {
                (zone) throws(StoreCodingError) in
                guard let named = zone.pointee.zone else {
                    throw StoreCodingError("a zone of another user stands there without its name")
                }
                return SnapshotSharedZone(
                    zone: try sharedZone(named), position: ChangePosition(rawValue: zone.pointee.position),
                    isEnded: zone.pointee.is_ended != 0,
                    earlierEnd: ChangePosition(rawValue: zone.pointee.earlier_end))
            }
            block.askedZones = try values(message.pointee.asked_zones, message.pointee.n_asked_zones, askedZone)
            try readTrees(message, into: &block)
            for index in 0..<message.pointee.n_statements {
                block.statements.append(SharedBytes(message.pointee.statements[index].array))
            }
            block.replacedStatements = try values(
                message.pointee.replaced_statements, message.pointee.n_replaced_statements, replacedStatements)
            block.ringEntries = try values(
                message.pointee.ring_entries, message.pointee.n_ring_entries, ringEntry)
            block.ringStatements = try values(
                message.pointee.ring_statements, message.pointee.n_ring_statements, ringStatement)
            block.ringChains = try values(message.pointee.ring_chains, message.pointee.n_ring_chains, ringChain)
            block.ringGuests = try values(message.pointee.ring_guests, message.pointee.n_ring_guests, ringGuest)
            block.ringUsersUnnamed = try values(
                message.pointee.ring_users_unnamed, message.pointee.n_ring_users_unnamed, ringUsers)
            return block
        }
    }
}

extension MessageArena {
    fileprivate func snapshotZone(_ zone: SnapshotZone) -> Pointer<Brume__Store__V1__SnapshotZone> {
        let message = make(brume__store__v1__snapshot_zone__init)
        message.pointee.zone = zone.zone
        message.pointee.name = data(zone.name)
        message.pointee.last_change = zone.lastChange.rawValue
        message.pointee.floor = zone.floor.rawValue
        message.pointee.earlier_deletion = zone.earlierDeletion?.position.rawValue ?? 0
        message.pointee.earlier_deletion_reason = UInt32(zone.earlierDeletion?.reason.rawValue ?? 0)
        message.pointee.n_client_tokens = zone.clientTokens.count
        message.pointee.client_tokens = messages(zone.clientTokens) { token in
            let message = make(brume__store__v1__client_token__init)
            message.pointee.device = data(token.device)
            message.pointee.token = data(token.bytes)
            return message
        }
        return message
    }

    fileprivate func snapshotRecord(_ record: SnapshotRecord) -> Pointer<Brume__Store__V1__SnapshotRecord> {
        let message = make(brume__store__v1__snapshot_record__init)
        message.pointee.zone = record.zone
        message.pointee.position = record.position.rawValue
        message.pointee.created = record.created == record.position ? 0 : record.created.rawValue
        message.pointee.record = data(record.record)
        message.pointee.tree = record.tree
        message.pointee.entered = record.entered.rawValue
        return message
    }

    fileprivate func snapshotTombstone(_ tombstone: SnapshotTombstone) -> Pointer<Brume__Store__V1__SnapshotTombstone> {
        let message = make(brume__store__v1__snapshot_tombstone__init)
        message.pointee.zone = tombstone.zone
        message.pointee.position = tombstone.position.rawValue
        message.pointee.name = data(tombstone.name)
        message.pointee.type = data(tombstone.type)
        return message
    }

    fileprivate func snapshotDeletedZone(
        _ zone: SnapshotDeletedZone
    ) -> Pointer<Brume__Store__V1__SnapshotDeletedZone> {
        let message = make(brume__store__v1__snapshot_deleted_zone__init)
        message.pointee.position = zone.position.rawValue
        message.pointee.name = data(zone.name)
        message.pointee.reason = UInt32(zone.reason.rawValue)
        return message
    }
}
