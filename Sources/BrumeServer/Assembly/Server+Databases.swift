package import BrumeModel
package import BrumeService
internal import BrumeStore
internal import BrumeSystem

/// The testing kit's access to databases, without a client. Callable from any thread; `done` is called on a loop of the
/// server.
extension Server {
    /// Reads all that a database holds, when it is durable. A database that does not exist is empty, and is not
    /// created.
    package func contents(
        of id: DatabaseID, done: @escaping @Sendable (Result<DatabaseContents, ServiceError>) -> Void
    ) {
        withDatabase(id) { shard, result in
            switch result {
            case .failure(let error): done(.failure(error))
            case .success(let loaded):
                let database = loaded.database
                let zones = database.zones.map {
                    DatabaseContents.Zone(id: $0.id, records: database.allRecords(in: $0.id))
                }
                let contents = DatabaseContents(
                    zones: zones, statements: Array(database.statements(after: 0)), storedBytes: database.quotaBytes)
                shard.gate.whenDurable(loaded.lastPosition, of: loaded) { error in
                    done(error.map { .failure($0) } ?? .success(contents))
                }
            }
        }
    }

    /// Reads the entries of a ring, when they are durable; none where there is no ring.
    ///
    /// - Parameter root: Empty for the zone's own ring.
    package func ringEntries(
        of root: String, in zone: ZoneID, of id: DatabaseID,
        done: @escaping @Sendable (Result<[SharedBytes], ServiceError>) -> Void
    ) {
        withDatabase(id) { shard, result in
            switch result {
            case .failure(let error): done(.failure(error))
            case .success(let loaded):
                let ring: KeyRing
                do throws(ServiceError) { ring = try loaded.database.ring(of: zone, root: root) } catch {
                    return done(.failure(error))
                }
                shard.gate.whenDurable(loaded.lastPosition, of: loaded) { error in
                    done(error.map { .failure($0) } ?? .success(ring.entries))
                }
            }
        }
    }

    /// Deletes zones of a private database for a reason that no client can give. Its devices are told as for any
    /// deletion.
    ///
    /// - Parameters:
    ///   - zones: The zones to delete; nil for all but the default zone.
    ///   - done: Called with the first error, if there is one.
    package func deleteZones(
        _ zones: [ZoneID]?, of id: DatabaseID, reason: ZoneDeletionReason,
        done: @escaping @Sendable (ServiceError?) -> Void
    ) {
        withDatabase(id) { shard, result in
            switch result {
            case .failure(let error): done(error)
            case .success(let loaded):
                if let refusal = shard.writeRefusal { return done(refusal) }
                let zones = zones ?? loaded.database.zones.map(\.id).filter { !$0.isDefault }
                let decision = loaded.database.modifyZones(
                    ModifyZonesRequest(database: .private, deletions: zones),
                    caller: Caller(user: id.owner, isOwner: true), nowMilliseconds: shard.wallClockMilliseconds,
                    deletionReason: reason)
                if let commit = decision.commit { shard.append(commit, to: loaded, origin: .server, by: nil) }
                let error = decision.answer.deletions.compactMap(\.self).first
                shard.gate.whenDurable(loaded.lastPosition, of: loaded) { done($0 ?? error) }
            }
        }
    }

    /// Gives an account a quota of its own in bytes (0 means no limit) or, with nil, the server's default again. Its
    /// sessions have it at once.
    package func setQuota(_ bytes: Int?, ofAccount name: String) throws(AccountError) {
        _ = try accounts.change(.setQuota(bytes: bytes, name: name))
    }

    private func withDatabase(
        _ id: DatabaseID, _ body: @escaping @Sendable (Shard, Result<LoadedDatabase, ServiceError>) -> Void
    ) {
        let shard = core.shard(of: id)
        shard.loop.execute {
            shard.databases.withDatabase(id, of: .operator, keepsEmpty: false) { body(shard, $0) }
        }
    }
}

/// All that a database holds.
package struct DatabaseContents: Sendable {
    package struct Zone: Sendable {
        package let id: ZoneID
        /// Encoded `brume.v1.Record`s, in no order.
        package let records: [SharedBytes]
    }

    /// The default zone first, then the others in the order of their creation.
    package let zones: [Zone]
    /// What the account has signed about its keys, the first in front.
    package let statements: [SharedBytes]
    /// What a quota counts.
    package let storedBytes: Int
}
