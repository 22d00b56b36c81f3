internal import BrumeStore
internal import BrumeSystem

/// Tells devices what became durable. Events are made, given to the devices that listen to the database, and written to
/// their streams: each of the three takes some milliseconds of a turn and goes on in the next one. One commit may fire
/// a subscription of each of an app's users, and each of them may have hundreds of devices.
extension Shard {
    /// Makes events of durable commits, as many as a turn has room and time for, and the rest in later turns. Hubs take
    /// turns.
    func publishSome() {
        let eventsPerTurn = server.configuration.eventsPerTurn
        let began = loop.currentNanoseconds - publicationNanosecondsOfTurn
        var hasTime: Bool { loop.currentNanoseconds - began < ServiceLimits.publicationNanoseconds }
        var done = 0
        while done < publishingHubs.count, eventsOfTurn < eventsPerTurn, hasTime {
            let loaded = publishingHubs[done]
            done += 1
            // Its streams have ended: those who come back are told to fetch.
            if loaded.isLost { continue }
            let hub = loaded.hub
            if hub.mustDeliver { hub.deliver { hasTime } }
            if !hub.mustDeliver {
                let room = min(ServiceLimits.eventsPerLook, eventsPerTurn - eventsOfTurn)
                eventsOfTurn += max(1, hub.publish(atMost: room))
                databases.measureBacklog(loaded)
            }
            list(hub)
            if hub.isPublishing { publishingHubs.append(loaded) }
        }
        publishingHubs.removeFirst(done)
        publicationNanosecondsOfTurn = loop.currentNanoseconds - began
        if !publishingHubs.isEmpty { tellMoreNextTurn() }
    }

    /// Puts a hub among those whose devices are to be given events.
    private func list(_ hub: NotificationHub) {
        if hub.isListed { return }
        hub.isListed = true
        undeliveredHubs.append(hub)
    }

    /// The end of a turn: gives devices the events of what became durable, and writes to streams what they were given.
    func tellDevices() {
        if !undeliveredHubs.isEmpty { deliverEvents() }
        if !streamsWithNews.isEmpty { sendNews() }
        eventsOfTurn = 0
        publicationNanosecondsOfTurn = 0
        if !undeliveredHubs.isEmpty || !streamsWithNews.isEmpty { tellMoreNextTurn() }
    }

    /// Hubs take turns, and the users of each. It takes at least as long as making events took, so that these don't
    /// become more and more.
    private func deliverEvents() {
        let making = min(publicationNanosecondsOfTurn, ServiceLimits.publicationNanoseconds)
        let end = loop.currentNanoseconds + max(server.configuration.deliveryNanoseconds, making)
        var done = 0
        while done < undeliveredHubs.count, done == 0 || loop.currentNanoseconds < end {
            let hub = undeliveredHubs[done]
            done += 1
            hub.isListed = false
            hub.deliver { loop.currentNanoseconds < end }
            let now = loop.currentNanoseconds
            for committed in hub.takePublishedCommits() {
                figures.published(committedNanoseconds: committed, nowNanoseconds: now)
            }
            if hub.hasUndelivered { list(hub) }
        }
        undeliveredHubs.removeFirst(done)
        runSealer.forget()
    }

    /// Has devices told in this turn or the next one what streams were given.
    func tellDevicesNextTurn() { tellMoreNextTurn() }

    /// Notes that a stream was given events of the public database, or news of the shared one.
    func hasNews(_ stream: DeviceStream) {
        if stream.isListed { return }
        stream.isListed = true
        streamsWithNews.append(stream)
    }

    private func sendNews() {
        let end = loop.currentNanoseconds + server.configuration.deliveryNanoseconds
        var done = 0
        while done < streamsWithNews.count, done == 0 || loop.currentNanoseconds < end {
            streamsWithNews[done].isListed = false
            streamsWithNews[done].pumpPublic()
            streamsWithNews[done].pumpShared()
            done += 1
        }
        streamsWithNews.removeFirst(done)
    }

    private func tellMoreNextTurn() {
        if publicationIsScheduled { return }
        publicationIsScheduled = true
        loop.execute { [self] in
            publicationIsScheduled = false
            publishSome()
        }
    }
}
