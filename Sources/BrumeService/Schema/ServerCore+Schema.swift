package import BrumeModel
internal import BrumeSystem

extension ServerCore {
    /// Has a development schema learn. May be called on any loop; `done` is called on the admin loop, with nil when all
    /// loops have been sent the schema that is on disk now, or with an error.
    ///
    /// Lessons wait for the disk, so accounts take turns with them, and the operator's requests wait for one at most.
    func learn(
        _ lesson: SchemaLesson, from identity: Identity, account: ClientShare.Key,
        _ done: @escaping @Sendable (ServiceError?) -> Void
    ) {
        let (share, isStrict) = (configuration.teacherShare, configuration.followsCloudKitQueryRules)
        lessons.add(of: account) { [self] isOver in
            changeSchemas(of: identity.container) { [self] (schemas) throws(ServiceError) in
                // Asked when the change is made: what waits behind a revocation teaches nothing.
                if !isStillValid(identity) { throw Self.revokedToken }
                try schemas.development.learn(lesson, of: identity.userRecordName, share: share, isStrict: isStrict)
            } then: { error in
                done(error)
                isOver()
            }
        }
    }

    /// On the admin loop: changes a container's schemas, and sends them to all loops.
    ///
    /// - Parameter done: Called there: with nil when the schemas have been sent, so that what it sends to a loop
    ///   arrives after them, or with why nothing changed.
    func changeSchemas(
        of container: String, _ change: @escaping SchemaChange, then done: @escaping @Sendable (ServiceError?) -> Void
    ) {
        catalog.changeSchemas(of: container, change) { [self] result in
            switch result {
            case .success(let schemas):
                for shard in shards { shard.loop.execute { shard.schemasChanged(schemas) } }
                done(nil)
            case .failure(let error): done(error)
            }
        }
    }

    /// The same, but `done` is called when the change holds on every loop: an account that was taken out of a role
    /// is given nothing more by it then. What was written for it before may still be on its way.
    package func changeSchemasEverywhere(
        of container: String, _ change: @escaping SchemaChange, then done: @escaping @Sendable (ServiceError?) -> Void
    ) {
        changeSchemas(of: container, change) { [self] error in
            if let error { return done(error) }
            // What a loop admitted before, and sent to another one, is done by the time that all have answered twice.
            onEachLoop({ _ in }) { [self] in
                onEachLoop({ _ in }) { [adminLoop] in adminLoop?.execute { done(nil) } }
            }
        }
    }

    // MARK: The operator's requests, on the admin loop

    func exportedSchema(_ identity: Identity) -> AdminAnswer {
        let schema = stage(of: identity).schema
        return .schema(text: SchemaPrinter.text(schema), fingerprint: schema.fingerprint)
    }

    func importSchema(
        _ text: [UInt8], validatesOnly: Bool, _ identity: Identity, _ give: @escaping @Sendable (AdminOutcome) -> Void
    ) {
        guard identity.environment == .development else {
            return give(
                .failure(
                    ServiceError(
                        .invalidArguments,
                        "a schema is imported to development and deployed from there: connect with that environment")))
        }
        let schema: Schema
        do throws(SchemaSyntaxError) {
            schema = try SchemaParser.parse(text)
        } catch {
            return give(.failure(ServiceError(.invalidArguments, "the text is no schema: \(error)")))
        }
        change(identity, .schemaImported, give) { (schemas) throws(ServiceError) in
            try schemas.importSchema(schema, validatesOnly: validatesOnly)
        }
    }

    func deploySchema(
        fingerprint: UInt32, _ identity: Identity, _ give: @escaping @Sendable (AdminOutcome) -> Void
    ) {
        change(identity, .schemaDeployed, give) { (schemas) throws(ServiceError) in
            try schemas.deploy(fingerprint: fingerprint)
        }
    }

    func setRoleMember(
        role: String, account: String, isMember: Bool, _ identity: Identity,
        _ give: @escaping @Sendable (AdminOutcome) -> Void
    ) {
        guard let known = accounts.account(named: account) else {
            return give(.failure(Self.serviceError(AccountTable.unknown(account))))
        }
        let user = view(known, container: identity.container, environment: identity.environment).userRecordName
        change(identity, .roleMemberSet, give) { (schemas) throws(ServiceError) in
            try schemas[identity.environment].setMember(user, of: role, isMember)
        }
    }

    func roleMembers(after user: String, _ identity: Identity) -> AdminAnswer {
        let members = stage(of: identity).members
        let users = members.keys.filter { $0 > user }.sorted()
        var names: [String: String] = [:]
        if !users.isEmpty {
            for account in accounts.list() {
                let user = view(account, container: identity.container, environment: identity.environment)
                    .userRecordName
                if members[user] != nil { names[user] = account.name }
            }
        }
        var page: [RoleMember] = []
        var bytes = 0
        for user in users.prefix(ServiceLimits.roleMembersPerPage) where bytes < ServiceLimits.roleMemberBytesPerPage {
            let roles = members[user]!.sorted()
            page.append(RoleMember(account: names[user] ?? "", userRecordName: user, roles: roles))
            bytes += roles.reduce(128) { $0 + $1.utf8.count + 4 }
        }
        return .roleMembers(page, moreComing: page.count < users.count)
    }

    /// Resets the schema first: what users save while databases are emptied is learned again.
    func resetSchema(_ identity: Identity, _ give: @escaping @Sendable (AdminOutcome) -> Void) {
        let container = identity.container
        changeSchemas(of: container) {
            $0.resetDevelopment()
        } then: { [self] error in
            if let error { return give(.failure(error)) }
            DatabaseEmptying(server: self) { give($0.map { .schemaReset($0) }) }.start(container: container)
        }
    }

    private func stage(of identity: Identity) -> ContainerSchemas.Stage {
        catalog.schemas[identity.container]?[identity.environment] ?? ContainerSchemas.Stage()
    }

    private func change(
        _ identity: Identity, _ answer: AdminAnswer, _ give: @escaping @Sendable (AdminOutcome) -> Void,
        _ change: @escaping SchemaChange
    ) {
        changeSchemasEverywhere(of: identity.container, change) { error in
            give(error.map { .failure($0) } ?? .success(answer))
        }
    }
}
