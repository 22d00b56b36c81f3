package import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Notification streams: each listens to the private database's hub, which is on its own loop, and to the public
/// database's, which may be on another.
extension Shard {
    /// Opens a stream for a client of this loop.
    package func open(_ request: StreamRequest, to responder: Responder) throws(ServiceError) -> any ServiceStream {
        switch request {
        case .notifications(let position): try openNotifications(position: position, to: responder)
        case .upload, .download: try openTransfer(request, to: responder)
        }
    }

    /// A device opens its stream. It is ready, and says so, when both databases know it.
    private func openNotifications(
        position: [UInt8], to responder: Responder
    ) throws(ServiceError) -> DeviceStream {
        let client = responder.client
        let id = try Authorisation.database(for: .private, of: client.identity).get()
        let stream = DeviceStream(responder, in: id, on: self)
        switch databases.access(id, of: client.share.key) {
        case .loaded(let loaded):
            settle(client, in: loaded)
            try begin(stream, position: position, in: loaded)
        case .unavailable(let error): throw error
        case .loading(let load):
            try wait(for: load, byteCount: position.count, stream) { [self] loaded throws(ServiceError) in
                try begin(stream, position: position, in: loaded)
            }
        }
        return stream
    }

    private func begin(
        _ stream: DeviceStream, position: [UInt8], in loaded: LoadedDatabase
    ) throws(ServiceError) {
        let hub = loaded.hub
        let resumption = try stream.open(position)
        let near = NearListener(stream)
        let start = try hub.add(near, of: "", place: resumption?[.privateDatabase]).get()
        listenToShared(stream, place: resumption?[.sharedDatabase], in: loaded)
        let far = listenToPublicEvents(stream, place: resumption?[.publicDatabase])
        stream.start(
            privatePlace: start.place, publicPlace: resumption?[.publicDatabase],
            ready: NotificationHub.encode(
                .ready(resumed: start.isResumed), at: start.place, in: .private, coder: eventCoder),
            DeviceStream.Databases(
                pumpPrivate: { [unowned hub] in hub.pump(near, of: "") }, grantPublic: far.grant,
                leave: { [self] in
                    hub.remove(near, of: "")
                    leaveShared(stream)
                    far.leave()
                }))
    }

    /// Has the public database send its events too; the stream opens once that database has answered. Returns closures
    /// that ask for more of them, and that end this.
    private func listenToPublicEvents(
        _ stream: DeviceStream, place: StreamPosition.Place?
    ) -> (grant: (Int) -> Void, leave: () -> Void) {
        let client = stream.client
        let id = client.identity.publicDatabase
        let user = client.identity.userRecordName
        let owner = server.shard(at: client.identity.publicPlacement)
        let listener = FarListener(stream, loop: loop) { client.farTaskEnded() }
        client.farTaskBegan()
        let account = client.share.key
        owner.loop.execute {
            owner.takeFarTurn(of: client, refuse: { if !listener.isClosed { listener.fail($0) } }) {
                owner.addPublicListener(listener, of: user, in: id, account: account, place: place)
            }
        }
        return (
            grant: { count in
                owner.loop.execute {
                    listener.grant(count)
                    owner.databases.known(id)?.hub.pump(listener, of: user)
                }
            },
            leave: { [self] in
                client.farTaskBegan()
                owner.loop.execute { [self] in
                    owner.removePublicListener(listener, of: user, in: id)
                    loop.execute { client.farTaskEnded() }
                }
            }
        )
    }

    /// On the loop of the public database.
    ///
    /// A stream that can't listen now is ended, with a status that says when to come back: if it stayed open, it would
    /// report the private database alone, and its device would wait forever for events that never come. If the public
    /// database is damaged, the stream stays open: nothing can be committed there before the next start, so there is
    /// nothing to report.
    private func addPublicListener(
        _ listener: FarListener, of user: String, in id: DatabaseID, account: ClientShare.Key,
        place: StreamPosition.Place?
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

    /// Does something for a stream when its database is loaded, unless the stream has ended by then. An error ends the
    /// stream.
    private func wait(
        for load: DatabaseLoad, byteCount: Int, _ stream: DeviceStream,
        _ body: @escaping (LoadedDatabase) throws(ServiceError) -> Void
    ) throws(ServiceError) {
        let client = stream.client
        let held = byteCount + ServiceLimits.travellingBytes
        let refusal = databases.wait(for: load, of: client.share.key, byteCount: byteCount) { outcome in
            client.heldByteCount -= held
            if !stream.isClosed {
                do throws(ServiceError) {
                    try body(try outcome.get())
                } catch {
                    stream.fail(error)
                }
            }
            client.door.resumeIfPossible()
        }
        if let refusal { throw refusal }
        client.heldByteCount += held
    }

    // MARK: Acknowledgements

    /// The device has handled everything up to a position.
    ///
    /// - Parameter credit: Earned when that has had its effect.
    func acknowledge(_ position: [UInt8], _ credit: StreamCredit, on stream: DeviceStream) {
        do throws(ServiceError) {
            if let load = databases.load(of: stream.privateID) {
                // After the opening of the stream, which waits for the database.
                try wait(for: load, byteCount: position.count, stream) { [self] loaded throws(ServiceError) in
                    try acknowledge(position, credit, on: stream, in: loaded)
                }
            } else if let loaded = databases.known(stream.privateID) {
                try acknowledge(position, credit, on: stream, in: loaded)
            } else {
                stream.responder.processed(credit)
            }
        } catch {
            stream.fail(error)
        }
    }

    private func acknowledge(
        _ position: [UInt8], _ credit: StreamCredit, on stream: DeviceStream, in loaded: LoadedDatabase
    ) throws(ServiceError) {
        guard let handled = try stream.open(position) else { return stream.responder.processed(credit) }
        if let place = handled[.privateDatabase] { loaded.hub.acknowledge(place, by: stream.device, of: "") }
        guard let place = handled[.publicDatabase] else { return stream.responder.processed(credit) }
        switch stream.acknowledgements.received(place, credit) {
        case .send(let place): relay(place, for: stream)
        case .wait: break
        case .ignore: stream.responder.processed(credit)
        }
    }

    /// Takes an acknowledgement to the public database, and then the furthest of those that came meanwhile, also when
    /// the stream has ended since.
    private func relay(_ place: StreamPosition.Place, for stream: DeviceStream) {
        let identity = stream.client.identity
        let (publicID, user, device) = (identity.publicDatabase, identity.userRecordName, stream.device)
        let owner = server.shard(at: identity.publicPlacement)
        owner.loop.execute { [self] in
            owner.databases.known(publicID)?.hub.acknowledge(place, by: device, of: user)
            loop.execute { [self] in
                let (credit, next) = stream.acknowledgements.processed()
                stream.responder.processed(credit)
                if let next { relay(next, for: stream) }
            }
        }
    }

    /// Ends a stream on which the client sends no more, once its earlier messages have had their effect.
    func endNotifications(_ stream: DeviceStream) {
        guard let load = databases.load(of: stream.privateID) else { return stream.succeed() }
        // After the opening of the stream and its acknowledgements, which wait for the database.
        do throws(ServiceError) {
            try wait(for: load, byteCount: 0, stream) { _ in stream.succeed() }
        } catch {
            stream.fail(error)
        }
    }
}
