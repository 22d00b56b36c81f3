@testable import BrumeKit
import BrumeModel
import Testing

private func event(_ number: UInt8, _ kind: NotificationEvent.Kind = .databaseChanged(.private)) -> NotificationEvent {
    NotificationEvent(
        position: [number], notificationID: "n\(number)", subscriptionID: "s", notificationInfo: nil, kind: kind,
        committedMilliseconds: Int64(number))
}

@Suite("The fan-out of notifications")
struct NotificationFanOutTests {
    @Test("gives every consumer every event from when it began")
    func everyone() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1)
        fanOut.eventReceived(event(1))
        fanOut.consumerAdded(2)
        fanOut.eventReceived(event(2))
        #expect(fanOut.next(1) == event(1))
        #expect(fanOut.next(1) == event(2))
        #expect(fanOut.next(1) == nil)
        #expect(fanOut.next(2) == event(2))
        #expect(fanOut.next(2) == nil)
    }

    @Test("acknowledges what all consumers have handled: each asked for the next one")
    func acknowledgements() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1)
        fanOut.consumerAdded(2)
        fanOut.eventReceived(event(1))
        fanOut.eventReceived(event(2))
        #expect(fanOut.takeAcknowledgement() == nil)
        _ = fanOut.next(1)
        #expect(fanOut.takeAcknowledgement() == nil, "handed out is not handled")
        _ = fanOut.next(1)
        #expect(fanOut.takeAcknowledgement() == nil, "the other has handled none")
        _ = fanOut.next(2)
        _ = fanOut.next(2)
        #expect(fanOut.takeAcknowledgement() == [1])
        #expect(fanOut.takeAcknowledgement() == nil)
        _ = fanOut.next(2)
        _ = fanOut.next(1)
        #expect(fanOut.takeAcknowledgement() == [2])
    }

    @Test("acknowledges an event of an unknown kind, gives it to nobody, and holds nothing else up with it")
    func unknownKind() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1)
        fanOut.eventReceived(event(1, .unknown))
        #expect(fanOut.takeAcknowledgement() == [1])
        #expect(fanOut.resumePosition == [1])
        fanOut.eventReceived(event(2))
        fanOut.eventReceived(event(3, .unknown))
        #expect(fanOut.next(1)?.position == [2])
        #expect(fanOut.takeAcknowledgement() == nil)
        #expect(fanOut.next(1) == nil)
        #expect(fanOut.takeAcknowledgement() == [3])
    }

    @Test("forgets refused positions, and acknowledges what waited with the next position that comes")
    func refusedPositions() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1)
        fanOut.eventReceived(event(1))
        fanOut.eventReceived(event(2))
        _ = fanOut.next(1)
        fanOut.positionsRefused()
        #expect(fanOut.resumePosition.isEmpty)
        #expect(fanOut.next(1)?.notificationID == "n2", "what waits is still given")
        #expect(fanOut.next(1) == nil)
        #expect(fanOut.takeAcknowledgement() == nil, "there is no position to acknowledge")
        fanOut.eventReceived(event(7))
        #expect(fanOut.next(1)?.notificationID == "n7")
        #expect(fanOut.next(1) == nil)
        #expect(fanOut.takeAcknowledgement() == [7])
        #expect(fanOut.resumePosition == [7])
    }

    @Test("counts what was handed out as handled when the consumer ends")
    func ending() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1)
        for number in 1...3 as ClosedRange<UInt8> { fanOut.eventReceived(event(number)) }
        _ = fanOut.next(1)
        _ = fanOut.next(1)
        fanOut.consumerRemoved(1)
        #expect(fanOut.takeAcknowledgement() == [2])
        #expect(fanOut.isEmpty)
        #expect(fanOut.resumePosition == [2], "what was not handled comes again")
    }

    @Test("a consumer that ends holds up the others no longer")
    func slowConsumerEnds() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1)
        fanOut.consumerAdded(2)
        fanOut.eventReceived(event(1))
        _ = fanOut.next(1)
        _ = fanOut.next(1)
        #expect(fanOut.takeAcknowledgement() == nil)
        fanOut.consumerRemoved(2)
        #expect(fanOut.takeAcknowledgement() == [1])
    }

    @Test("lets observers acknowledge alone, once all of them have handled it, in an app that never listened")
    func observersAcknowledge() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1, isObserver: true)
        fanOut.consumerAdded(2, isObserver: true)
        for number in 1...3 as ClosedRange<UInt8> { fanOut.eventReceived(event(number)) }
        for _ in 1...4 { _ = fanOut.next(1) }
        #expect(fanOut.takeAcknowledgement() == nil, "the other has handled none")
        for _ in 1...3 { _ = fanOut.next(2) }
        #expect(fanOut.takeAcknowledgement() == [2], "the third is in work")
        // Who begins to listen later in this run still gets all of it, and acknowledges nothing a second time.
        fanOut.consumerAdded(3)
        for number in 1...3 as ClosedRange<UInt8> { #expect(fanOut.next(3) == event(number)) }
        #expect(fanOut.takeAcknowledgement() == nil)
        fanOut.consumerRemoved(3)
        #expect(fanOut.takeAcknowledgement() == [3])
        // From now on the app is one that listens.
        fanOut.eventReceived(event(4))
        for _ in 1...2 { _ = (fanOut.next(1), fanOut.next(2)) }
        #expect(fanOut.takeAcknowledgement() == nil)
    }

    @Test("does not let observers acknowledge alone in an app that listened in an earlier run")
    func observersOfListeningApp() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1, isObserver: true, appListened: true)
        fanOut.eventReceived(event(1))
        for _ in 1...2 { _ = fanOut.next(1) }
        #expect(fanOut.takeAcknowledgement() == nil)
        fanOut.consumerRemoved(1)
        #expect(fanOut.takeAcknowledgement() == nil)
    }

    @Test("resumes behind what was received while events wait for consumers")
    func resumes() {
        var fanOut = NotificationFanOut()
        #expect(fanOut.resumePosition == [])
        fanOut.consumerAdded(1)
        fanOut.eventReceived(event(1))
        fanOut.eventReceived(event(2))
        #expect(fanOut.resumePosition == [2])
    }

    @Test("an observer acknowledges nothing: what came before the app's first consumer waits for it")
    func observers() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1, isObserver: true, appListened: true)
        fanOut.eventReceived(event(1))
        fanOut.eventReceived(event(2))
        #expect(fanOut.next(1) == event(1))
        #expect(fanOut.next(1) == event(2))
        #expect(fanOut.next(1) == nil)
        #expect(fanOut.takeAcknowledgement() == nil)
        fanOut.consumerAdded(2)
        #expect(fanOut.next(2) == event(1))
        #expect(fanOut.takeAcknowledgement() == nil)
        #expect(fanOut.next(2) == event(2))
        #expect(fanOut.takeAcknowledgement() == [1])
        fanOut.eventReceived(event(3))
        // The app stops listening with one in work and one waiting; the observer keeps the stream open.
        fanOut.consumerRemoved(2)
        #expect(fanOut.takeAcknowledgement() == [2])
        fanOut.consumerAdded(3)
        #expect(fanOut.next(3) == event(3))
        #expect(fanOut.next(3) == nil)
        #expect(fanOut.takeAcknowledgement() == [3])
    }

    @Test("an observer that ends last leaves what the app did not hear to the server, which gives it again")
    func lastObserver() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1, isObserver: true, appListened: true)
        var ready = event(1)
        ready.kind = .ready(resumed: true)
        fanOut.eventReceived(ready)
        #expect(fanOut.takeAcknowledgement() == [1], "that the stream is open is no news for the app")
        fanOut.eventReceived(event(2))
        _ = fanOut.next(1)
        fanOut.consumerRemoved(1)
        #expect(fanOut.takeAcknowledgement() == nil)
        #expect(fanOut.resumePosition == [1])
        fanOut.consumerAdded(2)
        fanOut.eventReceived(event(2))
        #expect(fanOut.next(2) == event(2))
        #expect(fanOut.next(2) == nil)
    }

    @Test("what waits for an app that never listens has a limit, and says so then")
    func unclaimed() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1, isObserver: true)
        for _ in 0...ClientSessionLimits.notificationsPerConsumer {
            fanOut.eventReceived(event(1))
            _ = fanOut.next(1)
        }
        fanOut.consumerAdded(2)
        #expect(fanOut.next(2)?.kind == .fetchFromToken(.private))
        #expect(fanOut.next(2) == nil)
    }

    @Test("a consumer that takes nothing is told to fetch, and costs one event")
    func overflow() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1)
        fanOut.consumerAdded(2)
        for _ in 0..<ClientSessionLimits.notificationsPerConsumer {
            fanOut.eventReceived(event(1))
            _ = fanOut.next(2)
        }
        fanOut.eventReceived(event(2))
        #expect(fanOut.next(1)?.kind == .fetchFromToken(.private))
        #expect(fanOut.next(1) == nil)
        #expect(fanOut.next(2) == event(2))
        _ = fanOut.next(2)
        #expect(fanOut.takeAcknowledgement() == [2])
    }

    @Test("of a consumer that takes nothing tells it to fetch each database that changed, the shared one too")
    func overflowOfSeveralDatabases() {
        var fanOut = NotificationFanOut()
        fanOut.consumerAdded(1)
        for _ in 0..<ClientSessionLimits.notificationsPerConsumer {
            fanOut.eventReceived(event(1, .databaseChanged(.shared)))
        }
        fanOut.eventReceived(event(2))
        #expect(fanOut.next(1)?.kind == .fetchFromToken(.private))
        #expect(fanOut.next(1)?.kind == .fetchFromToken(.shared))
        #expect(fanOut.next(1) == nil)
    }
}
