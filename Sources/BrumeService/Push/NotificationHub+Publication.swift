internal import BrumeModel
internal import BrumeStore

/// Events of durable commits, made in pieces: one commit may fire a subscription of each of an app's users, and nothing
/// else on the loop should wait for all of them.
extension NotificationHub {
    /// A publication whose events are made one by one.
    struct Publishing {
        let publication: Publication
        let overflowingOwners: [String]
        let committedNanoseconds: UInt64
        /// The index of its next event.
        var next = 0

        init(_ publication: Publication, committedNanoseconds: UInt64) {
            self.publication = publication
            let owners = publication.matches.overflowingOwners
            // When they are few they have the same order in every run; sorting very many would take long.
            overflowingOwners = owners.count <= ServiceLimits.eventsPerTurn ? owners.sorted() : Array(owners)
            self.committedNanoseconds = committedNanoseconds
        }
    }

    /// Commits that are not told one by one, because too many events waited when they became durable: the users whom
    /// they concern are told to fetch.
    struct Overflow {
        var owners: Set<String> = []
        /// The newest of the commits, and when the oldest was made.
        var sequence: UInt64
        var committedNanoseconds: UInt64
    }

    /// Whether events of durable commits wait to be made.
    var isPublishing: Bool { firstPublishing < publishing.count || overflow != nil }

    /// Takes a commit that became durable: ``publish(atMost:)`` puts its events into the rings of the users that they
    /// concern, and ``deliver()`` gives them to the devices.
    ///
    /// Commits that come faster than events can be made are no reason to refuse them: their writers can't know who
    /// subscribes to them. From the limit on, what waits is one order to fetch for each user.
    func enqueue(_ publication: Publication, committedNanoseconds: UInt64 = 0) {
        guard overflow != nil || (isPublishing && waitingEvents + publication.eventCount > waitingEventsLimit) else {
            return append(publication, committedNanoseconds: committedNanoseconds)
        }
        var told = overflow ?? Overflow(sequence: 0, committedNanoseconds: committedNanoseconds)
        overflow = nil
        waitingEvents -= told.owners.count
        told.owners.formUnion(publication.hints.lazy.map(\.owner))
        told.owners.formUnion(publication.matches.matches.lazy.map(\.subscription.owner))
        told.owners.formUnion(publication.matches.overflowingOwners)
        told.sequence = publication.sequence
        waitingEvents += told.owners.count
        overflow = told
    }

    private func append(_ publication: Publication, committedNanoseconds: UInt64) {
        publishing.append(Publishing(publication, committedNanoseconds: committedNanoseconds))
        waitingEvents += publication.eventCount
    }

    /// Makes the overflow the next publication, once everything before it has been published.
    private func takeOverflow() -> Bool {
        guard firstPublishing == publishing.count, let told = overflow.take() else { return false }
        var matches = CommitMatches()
        matches.overflowingOwners = told.owners
        waitingEvents -= told.owners.count
        // An order to fetch says nothing of the change: neither who made it nor when.
        append(
            Publication(
                sequence: told.sequence, origin: .server, committedMilliseconds: 0, hints: [], matches: matches),
            committedNanoseconds: told.committedNanoseconds)
        return true
    }

    /// Publishes all events of a durable commit at once.
    func publish(_ publication: Publication) {
        enqueue(publication)
        while isPublishing {
            if mustDeliver { deliver() }
            _ = publish(atMost: .max)
        }
        publishedCommits = []
    }

    /// Returns when the commits were made whose last events were published, and given to their devices, since the
    /// previous call. Of a database whose devices are never all up to date, those are told that are many.
    func takePublishedCommits() -> [UInt64] {
        if hasUndelivered, publishedCommits.count < ServiceLimits.eventsPerTurn { return [] }
        return exchange(&publishedCommits, with: [])
    }

    /// Makes waiting events, the oldest commit's first. Returns how many. It makes none while ``mustDeliver``.
    func publish(atMost limit: Int) -> Int {
        var count = 0
        while true {
            if firstPublishing == publishing.count {
                publishing.removeAll(keepingCapacity: publishing.capacity <= 64)
                firstPublishing = 0
                guard takeOverflow() else { break }
            }
            let first = firstPublishing
            if publishing[first].next == publishing[first].publication.eventCount {
                publishedCommits.append(publishing[first].committedNanoseconds)
                firstPublishing += 1
            } else if count == limit || undeliveredEvents >= ServiceLimits.undeliveredEvents {
                break
            } else {
                publishNext(publishing[first])
                publishing[first].next += 1
                waitingEvents -= 1
                count += 1
            }
        }
        // Many may wait: those behind are not moved for each of them.
        if 2 * firstPublishing >= publishing.count {
            publishing.removeFirst(firstPublishing)
            firstPublishing = 0
        }
        // The room of each ring is checked with each event above, the room that all rings share here.
        if isPublic { dropOldest() }
        return count
    }

    private func publishNext(_ publishing: Publishing) {
        let publication = publishing.publication
        var index = publishing.next
        if index < publication.hints.count {
            let kept = publication.hints[index]
            let mailbox = mailbox(of: kept.owner)
            return append(kept, of: publication, in: mailbox, mailbox.listeners.isEmpty ? nil : kind(of: kept))
        }
        index -= publication.hints.count
        if index < publication.matches.matches.count {
            let match = publication.matches.matches[index]
            if publication.matches.overflowingOwners.contains(match.subscription.owner) { return }
            return append(
                match.subscription, of: publication, in: mailbox(of: match.subscription.owner),
                .recordChanged(recordChange(of: match)), subject(of: match))
        }
        index -= publication.matches.matches.count
        let mailbox = mailbox(of: publishing.overflowingOwners[index])
        let position = mailbox.nextPosition(inCommit: publication.sequence)
        if mailbox.undeliveredCount > 0 { deliverNow(to: mailbox) }
        note(mailbox) { mailbox.overflow(at: position) }
        list(mailbox, bytes: 0)
    }

    private func append(
        _ kept: KeptSubscription, of publication: Publication, in mailbox: NotificationMailbox,
        _ kind: NotificationEvent.Kind?, _ subject: NotificationSubject? = nil
    ) {
        var event = NotificationRing.Event(
            position: mailbox.nextPosition(inCommit: publication.sequence),
            origin: publication.origin.device(of: mailbox.owner), message: [], subject: subject)
        if let kind {
            event.message = encode(
                kind, at: event.position, subscription: kept.subscription,
                committedMilliseconds: publication.committedMilliseconds)
        } else {
            event.hint = NotificationRing.Hint(
                subscription: kept, committedMilliseconds: publication.committedMilliseconds)
        }
        if mailbox.undeliveredCount > 0, !mailbox.keepsUndelivered(with: event) { deliverNow(to: mailbox) }
        note(mailbox) { mailbox.append(event) }
        list(mailbox, bytes: NotificationRing.bytes(of: event))
        figures.published += 1
        if isPublic { order.append((mailbox, event.position)) }
    }
}
