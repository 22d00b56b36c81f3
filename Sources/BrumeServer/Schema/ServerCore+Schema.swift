internal import BrumeModel
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
        lessons.add(of: account) { [self] in
            done(
                changeSchemas { () throws(ServiceError) in
                    try schemas.learn(
                        lesson, of: identity.userRecordName, container: identity.container,
                        share: configuration.teacherShare, isStrict: configuration.followsCloudKitQueryRules)
                })
        }
    }

    /// On the admin loop: makes a change of a container's schemas, and sends them to all loops.
    func changeSchemas(_ body: () throws(ServiceError) -> ContainerSchemas) -> ServiceError? {
        changeSchemas(then: nil, body)
    }

    /// - Parameter known: Called on the admin loop when all loops know, unless this fails.
    func changeSchemas(
        then known: (@Sendable () -> Void)?, _ body: () throws(ServiceError) -> ContainerSchemas
    ) -> ServiceError? {
        do throws(ServiceError) {
            publish(try body(), then: known)
            return nil
        } catch {
            return error
        }
    }

    // MARK: The operator's requests, on the admin loop

    func exportedSchema(_ identity: Identity) -> AdminAnswer {
        let schema = schemas[identity.container][identity.environment].schema
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
        answer(.schemaImported, give) { () throws(ServiceError) in
            let schema: Schema
            do throws(SchemaSyntaxError) {
                schema = try SchemaParser.parse(text)
            } catch {
                throw ServiceError(.invalidArguments, "the text is no schema: \(error)")
            }
            return try schemas.importing(schema, container: identity.container, validatesOnly: validatesOnly)
        }
    }

    func deploySchema(
        fingerprint: UInt32, _ identity: Identity, _ give: @escaping @Sendable (AdminOutcome) -> Void
    ) {
        answer(.schemaDeployed, give) { () throws(ServiceError) in
            try schemas.deploy(container: identity.container, fingerprint: fingerprint)
        }
    }

    func setRoleMember(
        role: String, account: String, isMember: Bool, _ identity: Identity,
        _ give: @escaping @Sendable (AdminOutcome) -> Void
    ) {
        answer(.roleMemberSet, give) { () throws(ServiceError) in
            guard let known = accounts.account(named: account) else {
                throw ServiceError(
                    .unknownItem, "there is no account named \(account); brume account list shows their names")
            }
            let user = view(known, container: identity.container, environment: identity.environment).userRecordName
            return try schemas.change(identity.container) { (schemas) throws(ServiceError) in
                try schemas[identity.environment].setMember(user, of: role, isMember)
            }
        }
    }

    func roleMembers(after user: String, _ identity: Identity) -> AdminAnswer {
        let members = schemas[identity.container][identity.environment].members
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
        for user in users.prefix(ServerLimits.roleMembersPerPage) where bytes < ServerLimits.roleMemberBytesPerPage {
            let roles = members[user]!.sorted()
            page.append(RoleMember(account: names[user] ?? "", userRecordName: user, roles: roles))
            bytes += roles.reduce(128) { $0 + $1.utf8.count + 4 }
        }
        return .roleMembers(page, moreComing: page.count < users.count)
    }

    /// Resets the schema first: what users save while databases are emptied is learned again.
    func resetSchema(_ identity: Identity, _ give: @escaping @Sendable (AdminOutcome) -> Void) {
        let container = identity.container
        if let error = changeSchemas({ () throws(ServiceError) in try schemas.reset(container: container) }) {
            return give(.failure(error))
        }
        DatabaseEmptying(server: self) { give($0.map { .schemaReset($0) }) }.start(container: container)
    }

    /// Makes a change for the operator, and answers when it holds on every loop: an account that was taken out of a
    /// role reads nothing more by it then.
    private func answer(
        _ answer: AdminAnswer, _ give: @escaping @Sendable (AdminOutcome) -> Void,
        _ body: () throws(ServiceError) -> ContainerSchemas
    ) {
        if let error = changeSchemas(then: { give(.success(answer)) }, body) { give(.failure(error)) }
    }

    /// Sends schemas to all loops. On the admin loop: what it sends to a loop later arrives after the schemas.
    ///
    /// - Parameter known: Called on the admin loop when all loops have them.
    private func publish(_ schemas: ContainerSchemas, then known: (@Sendable () -> Void)?) {
        guard let known else {
            for shard in shards { shard.loop.execute { shard.schemasChanged(schemas) } }
            return
        }
        // What a loop admitted before, and sent to another one, is done by the time that all have answered once more.
        onAllLoops({ $0.schemasChanged(schemas) }) { [self] in onAllLoops({ _ in }, then: known) }
    }

    /// Has every loop do something; `done` is called on the admin loop when all have.
    private func onAllLoops(_ body: @escaping @Sendable (Shard) -> Void, then done: @escaping @Sendable () -> Void) {
        let missing = LoopCountdown(shards.count)
        for shard in shards {
            shard.loop.execute { [adminLoop] in
                body(shard)
                adminLoop?.execute { if missing.countDown() { done() } }
            }
        }
    }
}

/// How many loops have not answered yet.
///
/// `@unchecked Sendable`: the admin loop alone counts.
private final class LoopCountdown: @unchecked Sendable {
    private var left: Int

    init(_ count: Int) {
        left = count
    }

    /// Counts a loop that answered. Returns whether it was the last one.
    func countDown() -> Bool {
        left -= 1
        return left == 0
    }
}
