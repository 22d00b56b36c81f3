internal import BrumeModel
internal import BrumeRecord
internal import BrumeStore
internal import BrumeSystem

/// Checks requests against the schema, before they go to the loop of their database.
///
/// A request that fits passes at the cost of a walk over its fields. A request that teaches (in development, and
/// seldom) takes a detour over the admin loop, which may wait for the disk: it goes on only when the schema is durable
/// and every loop has it, after it was checked again. So nothing is acknowledged that a schema does not know, and a
/// crash between the two leaves a schema that knows more than it has to. What a schema refuses becomes the failure of
/// its item.
///
/// Data from before schemas were kept: a query on a type, or a field, that development's schema does not know looks
/// first whether the database has such records, and learns from them.
extension Shard {
    /// How often a request may find that the schema has to learn more: two that teach different types take turns.
    private static let lessonsPerRequest = 4

    /// Checks a request against the schema and hands it on.
    func admit(
        _ request: DataRequest, byteCount: Int, to responder: Responder, lessonsLeft: Int = lessonsPerRequest
    ) {
        switch request {
        case .modifyRecords(let modification):
            let (checked, lesson) = check(modification, of: responder.client)
            if lesson.isEmpty {
                return route(.modifyRecords(checked), byteCount: byteCount, to: responder)
            }
            learn(lesson, byteCount: byteCount, to: responder) { [self] in
                guard lessonsLeft > 0 else { return responder.refuse(Self.schemaIsBusy) }
                admit(
                    request, byteCount: byteCount, to: responder, lessonsLeft: lessonsLeft - 1)
            }
        case .query(let query), .explainQuery(let query):
            admit(query, of: request, byteCount: byteCount, to: responder, lessonsLeft: lessonsLeft)
        default: route(request, byteCount: byteCount, to: responder)
        }
    }

    private func admit(
        _ query: QueryRequest, of request: DataRequest, byteCount: Int, to responder: Responder,
        lessonsLeft: Int
    ) {
        let identity = responder.client.identity
        let place = place(of: identity)
        let schema = stage(for: identity).schema
        do throws(ServiceError) {
            let id = try Authorisation.database(for: query.database, of: identity).get()
            if query.query == .everything {
                // No schema says what all records are, and whose; their owner may see them.
                guard id.scope == .private else {
                    throw ServiceError(
                        .invalidArguments,
                        "a query of the public database names a record type; only its owner's"
                            + " private database is listed whole")
                }
            } else if let problem = schema.problem(with: query.query, in: place) {
                guard place.learns, lessonsLeft > 0, schema.mayLearn(from: query.query) else { throw problem }
                // Records from before schemas were kept may know better.
                return teach(id, type: query.query.recordType, byteCount: byteCount, to: responder) {
                    [self] lesson in
                    guard !schema.knows(lesson) else { return responder.refuse(problem) }
                    learn(lesson, byteCount: byteCount, to: responder) { [self] in
                        admit(
                            request, byteCount: byteCount, to: responder,
                            lessonsLeft: lessonsLeft - 1)
                    }
                }
            }
            var admitted = query
            let access = access(of: identity, to: id)
            if let access { admitted.query = try access.readable(query.query) }
            if case .explainQuery = request {
                if let refusal = access?.refusalToExplain(query.query) { throw refusal }
                route(.explainQuery(admitted), byteCount: byteCount, to: responder)
            } else {
                route(.query(admitted), byteCount: byteCount, to: responder)
            }
        } catch {
            responder.refuse(error)
        }
    }

    /// Asks what the records of a database, maybe another loop's, tell about a type.
    private func teach(
        _ id: DatabaseID, type: String, byteCount: Int, to responder: Responder,
        _ body: @escaping (SchemaLesson) -> Void
    ) {
        let detour: Detour
        do throws(ServiceError) {
            detour = try Detour(of: responder.client, requestBytes: byteCount)
        } catch {
            return responder.refuse(error)
        }
        let client = responder.client
        let account = client.share.key
        let go = OnLoop(body)
        let owner = server.shard(at: client.identity.placement(of: id))
        let giveBack: @Sendable (Result<SchemaLesson, ServiceError>) -> Void = { result in
            self.loop.execute {
                self.goOn(after: detour, refuse: responder.refuse) {
                    switch result {
                    case .success(let lesson): go.body(lesson)
                    case .failure(let error): responder.refuse(error)
                    }
                }
            }
        }
        owner.loop.execute {
            owner.takeFarTurn(of: client, refuse: { giveBack(.failure($0)) }) {
                owner.lesson(ofType: type, in: id, for: account, giveBack)
            }
        }
    }

    /// On the loop that owns the database: scans its records once for each type, so that repeating an impossible query
    /// does not cost a scan each time. What is saved later is learned when it is saved.
    private func lesson(
        ofType type: String, in id: DatabaseID, for account: ClientShare.Key,
        _ done: @escaping @Sendable (Result<SchemaLesson, ServiceError>) -> Void
    ) {
        databases.withDatabase(id, of: account, keepsEmpty: false) { [self] outcome in
            let loaded: LoadedDatabase
            switch outcome {
            case .success(let database): loaded = database
            case .failure(let error): return done(.failure(error))
            }
            // An account may take at most as many places as are left free, so that others always find some.
            let free = ServiceLimits.lessonScansPerLoop - lessonScans.count
            guard lessonScans.count(of: account) < free || loaded.isTeaching(type) else {
                return done(.failure(Self.tooManyLessons))
            }
            guard let scan = loaded.startLesson(ofType: type, { done(.success($0)) }) else { return }
            lessonScans.append((scan: scan, database: loaded), of: account)
            if lessonScans.count == 1 { scheduleLessons() }
        }
    }

    /// Looks at some records in this turn, and at others in the next ones: no other request waits for all of them,
    /// however many types are asked for. The accounts that asked for scans take turns, and are charged.
    private func advanceLessons() {
        guard let (account, next) = lessonScans.popFirst() else { return }
        let loaded = next.database
        var scan = next.scan
        charge(timeShare(of: account)) {
            if loaded.database.advance(&scan, places: ServiceLimits.lessonPlacesPerTurn) {
                let id = loaded.database.id
                let schema = (schemas[id.container]?[id.environment] ?? Self.emptyStage).schema
                loaded.endLesson(scan, isKnown: schema.knows(scan.lesson))
            } else {
                lessonScans.append((scan: scan, database: loaded), of: account)
            }
        }
        if !lessonScans.isEmpty { scheduleLessons() }
    }

    /// Schedules the next scans for another turn, never at once, not even for a small database: many queries that
    /// arrive together are many scans.
    private func scheduleLessons() {
        let turn = OnLoop<Void> { [self] in advanceLessons() }
        loop.execute { turn.body(()) }
    }

    private static let tooManyLessons = ServiceError(
        .requestRateLimited,
        "many queries for record types that the schema does not know are being answered; try again shortly",
        retryAfterMilliseconds: 1_000)

    /// The fields that full text is searched in for the caller.
    func searchableFields(ofType type: String, for identity: Identity) -> SearchableFields {
        stage(for: identity).schema.recordTypes[type].map { .only(Set($0.searchableFields)) } ?? .all
    }

    private static let schemaIsBusy = ServiceError(
        .serviceUnavailable, "the schema changes all the time; try again shortly", retryAfterMilliseconds: 1_000)

    /// The schema for a client of this loop, which keeps it until the next change of any. Not who is in which role: a
    /// schema is shared by all versions of that.
    private func schema(for client: Client) -> Schema {
        if let known = client.knownSchema, known.version == schemasVersion { return known.schema }
        let schema = stage(for: client.identity).schema
        client.knownSchema = (schemasVersion, schema)
        return schema
    }

    /// The schema that holds for the caller, and the members of its roles.
    func stage(for identity: Identity) -> ContainerSchemas.Stage {
        schemas[identity.container]?[identity.environment] ?? Self.emptyStage
    }

    private static let emptyStage = ContainerSchemas.Stage()

    func place(of identity: Identity) -> SchemaPlace {
        SchemaPlace(
            container: identity.container, environment: identity.environment,
            isStrict: server.configuration.followsCloudKitQueryRules, isTeacher: identity.isTeacher)
    }

    /// What the caller may do in the public database; nil for a private one, where roles mean nothing.
    func access(of identity: Identity, to database: DatabaseID) -> PublicAccess? {
        guard database.scope == .public else { return nil }
        let stage = stage(for: identity)
        return PublicAccess(
            schema: stage.schema, place: place(of: identity), user: identity.userRecordName,
            roles: stage.members[identity.userRecordName] ?? [])
    }

    // MARK: Saves

    /// The request with the schema's refusals as problems of their items, and what the schema has to learn before.
    private func check(
        _ request: ModifyRecordsRequest<CheckedFields>, of client: Client
    ) -> (ModifyRecordsRequest<CheckedFields>, SchemaLesson) {
        let identity = client.identity
        // A caller that may not save teaches nothing; the engine refuses it.
        guard case .account = identity.role else { return (request, SchemaLesson()) }
        var checker = SaveChecker(schema(for: client), in: place(of: identity), scope: request.database)
        let access = request.database == .public ? access(of: identity, to: identity.publicDatabase) : nil
        var checked = request
        for zone in request.zones.indices {
            let saves = request.zones[zone].saves
            for item in saves.indices where saves[item].fields.problem == nil {
                let type = saves[item].type
                if let access, access.permissions(type: type, isCreator: true).isDisjoint(with: [.create, .write]) {
                    continue
                }
                let verdict = checker.check(type: type) { saves[item].fields.puts.forEach($0) }
                if case .refused(let error) = verdict { checked.zones[zone].saves[item].fields.problem = error }
            }
        }
        return (checked, checker.lesson)
    }

    // MARK: Learning

    /// Has the schema learn, then goes on with the request on this loop. Fails the call if the schema can't learn:
    /// right here, if what this loop knows of the schema is enough to tell.
    private func learn(
        _ lesson: SchemaLesson, byteCount: Int, to responder: Responder, then body: @escaping () -> Void
    ) {
        if let refusal = writeRefusal { return responder.refuse(refusal) }
        let identity = responder.client.identity
        if let refusal = stage(for: identity).refusal(
            of: lesson, of: identity.userRecordName, share: server.configuration.teacherShare)
        {
            return responder.refuse(refusal)
        }
        let detour: Detour
        do throws(ServiceError) {
            detour = try Detour(of: responder.client, requestBytes: byteCount)
        } catch {
            return responder.refuse(error)
        }
        let go = OnLoop<Void>(body)
        server.learn(lesson, from: identity, account: responder.client.share.key) { error in
            self.loop.execute {
                self.goOn(after: detour, refuse: responder.refuse) {
                    if let error { responder.refuse(error) } else { go.body(()) }
                }
            }
        }
    }
}
