internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem
internal import BrumeWire

/// Notification streams: each listens to the private database's hub, which is on its own loop, and to the public database's,
/// which may be on another.
extension Shard {
    /// A device opens its stream. It is ready, and says so, when both databases know it.
    func openNotifications(_ session: Session, stream: UInt32, position: [UInt8]) throws(ServiceError) {
        let id = try Authorisation.database(for: .private, of: session.identity).get()
        switch access(id) {
        case .loaded(let loaded):
            settle(session, in: loaded)
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
            let leavePublic = listenToPublicEvents(stream, session.identity, place: resumption?.publicPlace)
            session.deviceStreamOpened(stream) {
                hub.remove(near, of: "")
                leavePublic()
            }
            return nil
        } catch {
            return error
        }
    }

    /// Has the public database send its events too; the stream opens when that has answered. Returns what ends it.
    private func listenToPublicEvents(
        _ stream: DeviceStream, _ identity: Identity, place: NotificationPosition.Place?
    ) -> () -> Void {
        let id = identity.publicDatabase
        let user = identity.userRecordName
        let owner = server.shard(of: id)
        let listener = FarListener(stream, loop: loop)
        stream.grant = { count in
            owner.loop.execute {
                listener.grant(count)
                owner.databases.known(id)?.hub.pump(listener, of: user)
            }
        }
        owner.loop.execute { owner.addPublicListener(listener, of: user, in: id, place: place) }
        return { owner.loop.execute { owner.removePublicListener(listener, of: user, in: id) } }
    }

    /// On the loop of the public database.
    private func addPublicListener(
        _ listener: FarListener, of user: String, in id: DatabaseID, place: NotificationPosition.Place?
    ) {
        func add(to loaded: LoadedDatabase) {
            // The stream may have ended while the database was loaded.
            if listener.isClosed { return }
            guard case .success(let start) = loaded.hub.add(listener, of: user, place: place) else {
                return listener.start(at: nil)
            }
            listener.start(at: start.place)
            loaded.hub.pump(listener, of: user)
        }
        switch access(id) {
        case .loaded(let loaded): add(to: loaded)
        case .unavailable: listener.start(at: nil)
        case .loading(let load):
            let refusal = wait(for: load, byteCount: 0) { outcome in
                switch outcome {
                case .success(let loaded): add(to: loaded)
                case .failure: listener.start(at: nil)
                }
            }
            if refusal != nil { listener.start(at: nil) }
        }
    }

    /// On the loop of the public database.
    private func removePublicListener(_ listener: FarListener, of user: String, in id: DatabaseID) {
        listener.isClosed = true
        databases.known(id)?.hub.remove(listener, of: user)
    }

    /// Does something for a stream when its database is loaded, unless the stream has ended until then.
    private func wait(
        for load: DatabaseLoad, byteCount: Int, session: Session, stream: UInt32,
        _ body: @escaping (LoadedDatabase) -> ServiceError?
    ) throws(ServiceError) {
        let held = byteCount + ServerLimits.travellingBytes
        let refusal = wait(for: load, byteCount: byteCount) { outcome in
            session.heldByteCount -= held
            if session.isOpen(stream: stream) {
                let error: ServiceError? =
                    switch outcome {
                    case .success(let loaded): body(loaded)
                    case .failure(let error): error
                    }
                if let error { session.fail(stream: stream, error) }
            }
            session.resumeIfPossible()
        }
        if let refusal { throw refusal }
        session.heldByteCount += held
    }

    /// A later message of a device's stream: everything up to a position has been handled.
    func acknowledge(_ payload: UnsafeRawBufferPointer, session: Session, stream: UInt32) {
        do throws(ServiceError) {
            guard let id = session.identity.privateDatabase else { return }
            let position = try coder.decodeNotificationsRequest(payload)
            if !loads.isEmpty, let load = loads[id] {
                // Behind the opening of the stream.
                try wait(for: load, byteCount: position.count, session: session, stream: stream) { [self] loaded in
                    acknowledge(position, session: session, stream: stream, in: loaded)
                }
            } else if let loaded = databases.known(id),
                let error = acknowledge(position, session: session, stream: stream, in: loaded)
            {
                throw error
            }
        } catch {
            closeNotifications(session, stream: stream)
            session.fail(stream: stream, error)
        }
    }

    private func acknowledge(
        _ position: [UInt8], session: Session, stream id: UInt32, in loaded: LoadedDatabase
    ) -> ServiceError? {
        guard let stream = session.deviceStream(id) else { return nil }
        do throws(ServiceError) {
            let scope = sealer.scope(loaded.database.id, zone: nil)
            guard let token = try sealer.open(position, kind: .notifications, scope: scope) else { return nil }
            let handled = NotificationPosition(token)
            loaded.hub.acknowledge(handled.privatePlace, by: stream.device, of: "")
            guard let place = handled.publicPlace, place != stream.acknowledgedPublicPlace else { return nil }
            stream.acknowledgedPublicPlace = place
            let (publicID, user) = (session.identity.publicDatabase, session.identity.userRecordName)
            let device = stream.device
            let owner = server.shard(of: publicID)
            owner.loop.execute {
                owner.databases.known(publicID)?.hub.acknowledge(place, by: device, of: user)
            }
            return nil
        } catch {
            return error
        }
    }

    func closeNotifications(_ session: Session, stream id: UInt32) {
        if let stream = session.deviceStream(id) { session.deviceStreamClosed(stream) }
    }

    func resumeNotifications(_ session: Session) {
        session.resumeDeviceStreams()
    }
}
