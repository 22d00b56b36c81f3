internal import BrumeStore
internal import BrumeSystem

/// Tells devices what became durable: events are made, some in each turn, and delivered at the end of the turn.
extension Shard {
    /// Makes events of durable commits, as many as a turn has room and time for, and the rest in later turns: a commit
    /// may fire a subscription of each of an app's users. Hubs take turns.
    func publishSome() {
        let eventsPerTurn = server.configuration.eventsPerTurn
        var before = loop.currentNanoseconds
        while eventsOfTurn < eventsPerTurn, publicationNanosecondsOfTurn < ServiceLimits.publicationNanoseconds,
            let loaded = publishingHubs.first
        {
            // Its streams have ended: those who come back are told to fetch.
            if loaded.isLost {
                publishingHubs.removeFirst()
                continue
            }
            let hub = loaded.hub
            let isListed = hub.hasUndelivered
            let room = min(ServiceLimits.eventsPerLook, eventsPerTurn - eventsOfTurn)
            eventsOfTurn += max(1, hub.publish(atMost: room))
            if !isListed, hub.hasUndelivered { undeliveredHubs.append(hub) }
            publishedCommits += hub.takePublishedCommits()
            databases.measureBacklog(loaded)
            publishingHubs.removeFirst()
            if hub.isPublishing { publishingHubs.append(loaded) }
            let after = loop.currentNanoseconds
            publicationNanosecondsOfTurn += after - before
            before = after
        }
        if publishingHubs.isEmpty || publicationIsScheduled { return }
        publicationIsScheduled = true
        loop.execute { [self] in
            publicationIsScheduled = false
            publishSome()
        }
    }

    /// Gives devices the events of what became durable in this turn.
    func deliverEvents() {
        eventsOfTurn = 0
        publicationNanosecondsOfTurn = 0
        if publishedCommits.isEmpty, undeliveredHubs.isEmpty { return }
        for hub in exchange(&undeliveredHubs, with: []) { hub.deliver() }
        runSealer.forget()
        let now = loop.currentNanoseconds
        for committed in publishedCommits { figures.published(committedNanoseconds: committed, nowNanoseconds: now) }
        publishedCommits.removeAll(keepingCapacity: true)
    }
}
