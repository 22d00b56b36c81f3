internal import BrumeStore
internal import BrumeSystem

/// Tells devices what became durable. Events are made, given to the devices that listen to the database, and sent on
/// their streams: each of the three takes some milliseconds of a turn and goes on in the next one. One commit may fire
/// a subscription of each of an app's users, and each of them may have hundreds of devices.
extension Shard {
    /// Makes events of durable commits, as many as a turn has room and time for, and the rest in later turns. Hubs take
    /// turns.
    func publishSome() {
        let eventsPerTurn = server.configuration.eventsPerTurn
        let began = loop.currentNanoseconds - publicationNanosecondsOfTurn
        var hasTime: Bool { loop.currentNanoseconds - began < ServiceLimits.publicationNanoseconds }
        while eventsOfTurn < eventsPerTurn, hasTime, let loaded = publishingHubs.first {
            publishingHubs.removeFirst()
            // Its streams have ended: those who come back are told to fetch.
            if loaded.isLost { continue }
            let hub = loaded.hub
            if hub.mustDeliver { hub.deliver { hasTime } }
            if !hub.mustDeliver {
                eventsOfTurn += max(
                    1, hub.publish(atMost: min(ServiceLimits.eventsPerLook, eventsPerTurn - eventsOfTurn)))
                list(hub)
                publishedCommits += hub.takePublishedCommits()
                databases.measureBacklog(loaded)
            }
            if hub.isPublishing { publishingHubs.append(loaded) }
        }
        publicationNanosecondsOfTurn = loop.currentNanoseconds - began
        if !publishingHubs.isEmpty { tellMoreNextTurn() }
    }

    private func list(_ hub: NotificationHub) {
        if hub.isListed || !hub.hasUndelivered { return }
        hub.isListed = true
        undeliveredHubs.append(hub)
    }

    /// The end of a turn: gives devices the events of what became durable, and sends what streams were given.
    func tellDevices() {
        eventsOfTurn = 0
        publicationNanosecondsOfTurn = 0
        if !undeliveredHubs.isEmpty || !publishedCommits.isEmpty { deliverEvents() }
        if !streamsWithNews.isEmpty { sendNews() }
        if !undeliveredHubs.isEmpty || !streamsWithNews.isEmpty { tellMoreNextTurn() }
    }

    /// Hubs take turns, and the users of each.
    private func deliverEvents() {
        let end = loop.currentNanoseconds + server.configuration.deliveryNanoseconds
        while !undeliveredHubs.isEmpty {
            let hub = undeliveredHubs.removeFirst()
            hub.isListed = false
            hub.deliver { loop.currentNanoseconds < end }
            list(hub)
            if loop.currentNanoseconds >= end { break }
        }
        runSealer.forget()
        if !undeliveredHubs.isEmpty { return }
        let now = loop.currentNanoseconds
        for committed in publishedCommits { figures.published(committedNanoseconds: committed, nowNanoseconds: now) }
        publishedCommits.removeAll(keepingCapacity: true)
    }

    /// Notes that a stream was given events of a database of another loop.
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
