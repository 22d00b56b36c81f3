internal import BrumeModel
internal import BrumeStore

/// Checks query subscriptions against the schema: when they are saved, and for each record that they would report.
///
/// Development's schema may not know yet what a subscription asks for, since it learns from saves: there only what
/// compares encrypted fields is refused. What production's does not allow is refused there. READ of the type is
/// required in both, and checked again for each record that is to be reported: if a role was taken away, or a type is
/// not readable any more, the events end without a trace.
extension Shard {
    /// The gate for a database of this shard. It uses the schema as it is when it is asked.
    func subscriptionGate(for id: DatabaseID) -> SubscriptionGate {
        let place = SchemaPlace(
            container: id.container, environment: id.environment,
            isStrict: server.configuration.followsCloudKitQueryRules)
        // The shard outlives its databases, and its loop alone asks.
        let stage: @Sendable () -> ContainerSchemas.Stage = { [unowned self] in
            schemas[id.container]?[id.environment] ?? ContainerSchemas.Stage()
        }
        let access: @Sendable (String) -> PublicAccess = { user in
            let stage = stage()
            return PublicAccess(
                schema: stage.schema, place: place, user: user, roles: stage.members[user] ?? [])
        }
        let isPublic = id.scope == .public
        let followsCloudKit = server.configuration.followsCloudKitQueryRules
        return SubscriptionGate(
            refusal: { query, user in
                if query.recordType == Names.userRecordType { return Schema.userRecordRefusal }
                if followsCloudKit, let problem = query.predicate.problemUnderCloudKitRules() { return problem }
                if isPublic, let refusal = access(user).refusal(.read, type: query.recordType, creator: user) {
                    return refusal
                }
                let schema = stage().schema
                // No save teaches that what is encrypted could be compared.
                if place.learns, !schema.comparesEncrypted(query.predicate, type: query.recordType) { return nil }
                return schema.problem(with: query.predicate, type: query.recordType, in: place)
            },
            mayRead: { type, creator, user in
                !isPublic || access(user).may(.read, type: type, creator: creator)
            },
            // Without an account a caller has the role of everybody, and no other.
            isReadByAll: { type in
                !isPublic || access("").permissions(type: type, isCreator: false).contains(.read)
            },
            searchableFields: { type in
                stage().schema.recordTypes[type].map { .only(Set($0.searchableFields)) } ?? .all
            },
            version: { [unowned self] in schemaChangeCounts[id.container] ?? 0 })
    }

    /// Takes over a container's changed schemas. The cost does not depend on how many databases it has.
    func schemasChanged(_ changed: ContainerSchemas) {
        schemas[changed.container] = changed
        schemaChangeCounts[changed.container, default: 0] += 1
    }
}
