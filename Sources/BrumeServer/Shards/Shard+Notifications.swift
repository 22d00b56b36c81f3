internal import BrumeModel
internal import BrumeProtocol
internal import BrumeStore
internal import BrumeSystem

/// Notification streams: each listens to the private database's hub, which is on its own loop, and to the public
/// database's, which may be on another.
extension Shard {
    /// A device opens its stream. It is ready, and says so, when both databases know it.
    func openNotifications(_ session: Session, stream: UInt32, position: [UInt8]) throws(ServiceError) {
        let id = try Authorisation.database(for: .private, of: session.identity).get()
        switch databases.access(id, of: session.share.key) {
        case .loaded(let loaded):
            if let client = session.client { settle(client, in: loaded) }
            if let error = open(session, stream: stream, position: position, in: loaded) { throw error }
        case .unavailable(let error): throw error
        case .loading(let load):
            try wait(for: load, byteCount: position.count, session: session, stream: stream) { [self] loaded in
                open(session, stream: stream, position: position, in: loaded)
            }
        }
    }

    private func open(
        _ session: Session, stream id: UInt32, position: [UInt8], in loaded: LoadedDatabase
    ) -> ServiceError? {
        do throws(ServiceError) {
            let hub = loaded.hub
            let scope = sealer.scope(loaded.database.id, zone: nil)
            let resumption = try sealer.open(position, kind: .notifications, scope: scope).map(
                NotificationPosition.init)
            let stream = DeviceStream(
                session, id: id, publicPlace: resumption?.publicPlace, frames: eventFrames, scope: scope,
                privateID: loaded.database.id)
            let near = NearListener(stream)
            let start = try hub.add(near, of: "", place: resumption?.privatePlace).get()
            stream.start(
                privatePlace: start.place,
                ready: NotificationHub.encode(
                    .ready(resumed: start.isResumed), at: start.place, in: .private, coder: coder),
                pump: { [unowned hub] in hub.pump(near, of: "") })
            let leavePublic = listenToPublicEvents(stream, of: session, place: resumption?.publicPlace)
            session.deviceStreamOpened(stream) {
                hub.remove(near, of: "")
                leavePublic()
            }
            return nil
        } catch {
            return error
        }
    }

    /// Has the public database send its events too; the stream opens once that database has answered. Returns a closure
    /// that ends this.
    private func listenToPublicEvents(
        _ stream: DeviceStream, of session: Session, place: NotificationPosition.Place?
    ) -> () -> Void {
        let id = session.identity.publicDatabase
        let user = session.identity.userRecordName
        let owner = server.shard(at: session.identity.publicPlacement)
        let listener = FarListener(stream, loop: loop) { session.farTaskEnded() }
        stream.grant = { count in
            owner.loop.execute {
                listener.grant(count)
                owner.databases.known(id)?.hub.pump(listener, of: user)
            }
        }
        session.farTaskBegan()
        let account = session.share.key
        owner.loop.execute {
            owner.takeFarTurn(of: account, refuse: { if !listener.isClosed { listener.fail($0) } }) {
                owner.addPublicListener(listener, of: user, in: id, account: account, place: place)
            }
        }
        return { [self] in
            session.farTaskBegan()
            owner.loop.execute { [self] in
                owner.removePublicListener(listener, of: user, in: id)
                loop.execute { session.farTaskEnded() }
            }
        }
    }

    /// On the loop of the public database.
    ///
    /// A stream that can't listen now is ended, with a status that says when to come back: if it stayed open, it would
    /// report the private database alone, and its device would wait forever for events that never come. If the public
    /// database is damaged, the stream stays open: nothing can be committed there before the next start, so there is
    /// nothing to report.
    private func addPublicListener(
        _ listener: FarListener, of user: String, in id: DatabaseID, account: ClientShare.Key,
        place: NotificationPosition.Place?
    ) {
        // The stream may have ended before its account's turn came.
        if listener.isClosed { return }
        func add(_ outcome: DatabaseLoad.Outcome) {
            // The stream may have ended while the database was loaded.
            if listener.isClosed { return }
            switch outcome.flatMap({ loaded in loaded.hub.add(listener, of: user, place: place).map { (loaded, $0) } })
            {
            case .success(let (loaded, start)):
                listener.start(at: start.place)
                loaded.hub.pump(listener, of: user)
            case .failure(let error):
                if databases.isUnloadable(id) { listener.start(at: nil) } else { listener.fail(error) }
            }
        }
        switch databases.access(id, of: account) {
        case .loaded(let loaded): add(.success(loaded))
        case .unavailable(let error): add(.failure(error))
        // All connected devices may come at once, and all of them have to be served.
        case .loading(let load): load.listens(listener, add)
        }
    }

    /// On the loop of the public database.
    private func removePublicListener(_ listener: FarListener, of user: String, in id: DatabaseID) {
        listener.isClosed = true
        listener.settle()
        databases.load(of: id)?.left(listener)
        guard let loaded = databases.known(id) else { return }
        loaded.hub.remove(listener, of: user)
        databases.dropIfEmpty(loaded)
    }

    /// Does something for a stream when its database is loaded, unless the stream has ended by then.
    private func wait(
        for load: DatabaseLoad, byteCount: Int, session: Session, stream: UInt32,
        _ body: @escaping (LoadedDatabase) -> ServiceError?
    ) throws(ServiceError) {
        let held = byteCount + ServerLimits.travellingBytes
        let refusal = databases.wait(for: load, of: session.share.key, byteCount: byteCount) { outcome in
            session.client?.heldByteCount -= held
            if session.isOpen(stream) {
                let error: ServiceError? =
                    switch outcome {
                    case .success(let loaded): body(loaded)
                    case .failure(let error): error
                    }
                if let error { session.refuse(stream, error) }
            }
            session.resumeIfPossible()
        }
        if let refusal { throw refusal }
        session.client?.heldByteCount += held
    }

    /// Handles a later message of a device's stream, which acknowledges everything up to a position.
    func acknowledge(_ payload: UnsafeRawBufferPointer, session: Session, stream: UInt32) {
        do throws(ServiceError) {
            guard let id = session.identity.privateDatabase else { return }
            let position = try coder.decodeNotificationsRequest(payload)
            let credit = StreamCredit(messages: 1, bytes: payload.count)
            if let load = databases.load(of: id) {
                // After the opening of the stream, which waits for the database.
                try wait(for: load, byteCount: position.count, session: session, stream: stream) { [self] loaded in
                    acknowledge(position, credit, session: session, stream: stream, in: loaded)
                }
            } else if let loaded = databases.known(id) {
                if let error = acknowledge(position, credit, session: session, stream: stream, in: loaded) {
                    throw error
                }
            } else {
                session.messagesProcessed(stream: stream, credit)
            }
        } catch {
            closeNotifications(session, stream: stream)
            session.refuse(stream, error)
        }
    }

    private func acknowledge(
        _ position: [UInt8], _ credit: StreamCredit, session: Session, stream id: UInt32, in loaded: LoadedDatabase
    ) -> ServiceError? {
        do throws(ServiceError) {
            if try !takeAcknowledgement(position, credit, session: session, stream: id, in: loaded) {
                session.messagesProcessed(stream: id, credit)
            }
            return nil
        } catch {
            return error
        }
    }

    /// - Returns: Whether it takes effect later, in the public database.
    private func takeAcknowledgement(
        _ position: [UInt8], _ credit: StreamCredit, session: Session, stream id: UInt32, in loaded: LoadedDatabase
    ) throws(ServiceError) -> Bool {
        guard let stream = session.deviceStream(id) else { return false }
        let scope = sealer.scope(loaded.database.id, zone: nil)
        guard let token = try sealer.open(position, kind: .notifications, scope: scope) else { return false }
        let handled = NotificationPosition(token)
        loaded.hub.acknowledge(handled.privatePlace, by: stream.device, of: "")
        guard let place = handled.publicPlace else { return false }
        switch stream.acknowledgements.received(place, credit) {
        case .send(let place): relay(place, for: stream, of: session)
        case .wait: break
        case .ignore: return false
        }
        return true
    }

    /// Takes an acknowledgement to the public database, and then the newest of those that came meanwhile, also when the
    /// stream has ended since.
    private func relay(_ place: NotificationPosition.Place, for stream: DeviceStream, of session: Session) {
        let (publicID, user) = (session.identity.publicDatabase, session.identity.userRecordName)
        let device = stream.device
        let owner = server.shard(at: session.identity.publicPlacement)
        owner.loop.execute { [self] in
            owner.databases.known(publicID)?.hub.acknowledge(place, by: device, of: user)
            loop.execute { [self] in
                let (credit, next) = stream.acknowledgements.processed()
                session.messagesProcessed(stream: stream.id, credit)
                if let next { relay(next, for: stream, of: session) }
            }
        }
    }

    /// Ends a stream on which the client sends no more, once its earlier messages have had their effect. Does nothing
    /// for a stream that has ended.
    func endNotifications(_ session: Session, stream id: UInt32) {
        func end() {
            closeNotifications(session, stream: id)
            session.succeed(stream: id)
        }
        guard let database = session.identity.privateDatabase, let load = databases.load(of: database),
            session.isOpen(id)
        else { return end() }
        // After the opening of the stream and its acknowledgements, which wait for the database.
        do throws(ServiceError) {
            try wait(for: load, byteCount: 0, session: session, stream: id) { _ in
                end()
                return nil
            }
        } catch {
            closeNotifications(session, stream: id)
            session.refuse(id, error)
        }
    }

    func closeNotifications(_ session: Session, stream id: UInt32) {
        if let stream = session.deviceStream(id) { session.deviceStreamClosed(stream) }
    }

    func resumeNotifications(_ session: Session) {
        session.resumeDeviceStreams()
    }
}
