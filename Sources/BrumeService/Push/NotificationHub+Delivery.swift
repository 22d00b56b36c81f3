internal import BrumeModel
internal import BrumeStore

/// Events on their way to devices: together, or one by one.
extension NotificationHub {
    /// Notes that devices of the mailbox are to be given something.
    ///
    /// - Parameter bytes: The bytes that it takes in the ring.
    func list(_ mailbox: NotificationMailbox, bytes: Int) {
        if mailbox.listeners.isEmpty { return }
        if mailbox.undeliveredCount == 0 { undelivered.append(mailbox) }
        undeliveredEvents += 1
        mailbox.undeliveredCount += 1
        mailbox.undeliveredBytes += bytes
    }

    /// Whether devices were not given the newest events.
    var hasUndelivered: Bool { !undelivered.isEmpty }

    /// Whether devices have to be given events before more are made: they are enough for one run, or the rings have no
    /// room.
    var mustDeliver: Bool {
        undeliveredEvents >= ServiceLimits.undeliveredEvents || (hasUndelivered && ringBytes > backlogBytes)
    }

    /// Gives all devices the events that were published since the last time.
    func deliver() { deliver { true } }

    /// Gives devices the events that were published since the last time, user by user.
    ///
    /// - Parameter goesOn: Asked after each user, and after some devices of one, whether there is time for more. What
    ///   is left goes on with the next call.
    func deliver(while goesOn: () -> Bool) {
        var done = 0
        while done < undelivered.count, done == 0 || goesOn() {
            guard deliver(to: undelivered[done], while: goesOn) else { break }
            done += 1
        }
        undelivered.removeFirst(done)
        if isPublic { dropOldest() }
    }

    /// Gives the devices of one user what they were not given. Returns whether it was time enough for all of them; the
    /// others are given theirs by the next call, since each device has its own place.
    private func deliver(to mailbox: NotificationMailbox, while goesOn: () -> Bool) -> Bool {
        var run: NotificationRun?
        var count = 0
        // Begins where the last call ended: more events may have come, and the first devices are not to have all turns.
        let listeners = mailbox.listeners
        let first = mailbox.nextListener < listeners.count ? mailbox.nextListener : 0
        for offset in 0..<listeners.count {
            let index = first + offset < listeners.count ? first + offset : first + offset - listeners.count
            let listener = listeners[index]
            if listener.place >= mailbox.ring.head { continue }
            if count == ServiceLimits.devicesPerLook {
                if !goesOn() {
                    mailbox.nextListener = index
                    return false
                }
                count = 0
            }
            let place = listener.place
            defer { if listener.place != place { count += 1 } }
            if run?.start != listener.place { run = self.run(of: mailbox, after: listener.place) }
            if let run, !run.leavesOut(listener.device), listener.take(run) {
                listener.place = run.end
                listener.flush()
            } else {
                pump(listener, mailbox)
            }
        }
        undeliveredEvents -= mailbox.undeliveredCount
        (mailbox.undeliveredCount, mailbox.undeliveredBytes) = (0, 0)
        return true
    }

    /// The same before the ring drops what they were not given.
    func deliverNow(to mailbox: NotificationMailbox) {
        guard let index = undelivered.firstIndex(where: { $0 === mailbox }) else { return }
        undelivered.remove(at: index)
        _ = deliver(to: mailbox) { true }
    }

    /// The events after a place; nil if there are none, some are missing, or they are many.
    private func run(of mailbox: NotificationMailbox, after place: ChangePosition) -> NotificationRun? {
        guard let events = mailbox.ring.events(after: place), !events.isEmpty,
            events.count <= ServiceLimits.undeliveredEvents
        else { return nil }
        let deliveries = events.map { event in
            NotificationDelivery(
                place: self.place(event.position),
                message: event.hint.map { encode($0, at: event.position) } ?? event.message,
                subject: event.subject)
        }
        return NotificationRun(after: place, deliveries, origins: Set(events.map(\.origin)))
    }

    /// Sends the events that the device can take now.
    func pump(_ listener: any NotificationListener, of user: String) {
        guard let mailbox = mailboxes[user] else { return }
        pump(listener, mailbox)
    }

    private func pump(_ listener: any NotificationListener, _ mailbox: NotificationMailbox) {
        // Asked only while there is something to take: for a device that is up to date the answer does not matter.
        while listener.place < mailbox.ring.head, listener.mayTake {
            switch mailbox.ring.next(after: listener.place, device: listener.device) {
            case .none: return listener.flush()
            case .skipped(let place):
                listener.place = place
            case .missed(let floor):
                figures.missed += 1
                listener.place = floor
                let hint = encode(.fetchFromToken(database.id.scope), at: floor)
                listener.take(NotificationDelivery(place: self.place(floor), message: hint))
            case .event(let place, let message, let subject):
                listener.place = place
                listener.take(
                    NotificationDelivery(place: self.place(place), message: message, subject: subject))
            case .hint(let place, let hint):
                listener.place = place
                listener.take(NotificationDelivery(place: self.place(place), message: encode(hint, at: place)))
            }
        }
        listener.flush()
    }
}
