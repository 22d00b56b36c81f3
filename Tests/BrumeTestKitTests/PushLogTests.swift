import BrumeModel
import BrumeServer
import BrumeService
import Testing

@testable import BrumeTestKit

/// Twenty commits, each of which fires a subscription, and a position as the server writes it.
@Suite("What devices were told, as the simulation keeps it")
struct PushLogTests {
    private static let commits = 20

    /// - Parameter first: The number of the first commit among all that were ever made.
    private static func timeline(commits: Int, numbered first: Int = 1) -> CommitHistory.Timeline {
        var timeline = CommitHistory.Timeline()
        for index in 0..<commits {
            var commit = CommitHistory.Commit()
            commit.number = first + index
            commit.pushes = ["": [.hint(subscription: "all")]]
            timeline.commits.append(commit)
            timeline.states.append(CommitHistory.State())
        }
        return timeline
    }

    private static func event(_ kind: NotificationEvent.Kind, at sequence: UInt64) -> NotificationEvent {
        var position = StreamPosition()
        position[.privateDatabase] = StreamPosition.Place(
            run: 0, position: ChangePosition(sequence: sequence, index: 0))
        return NotificationEvent(
            position: PositionSealer(key: SimulatedServer.key).seal(position, scope: [UInt8](repeating: 0, count: 8)),
            notificationID: "",
            subscriptionID: "all", notificationInfo: nil, kind: kind,
            committedMilliseconds: 1)
    }

    private static func tell(
        _ log: PushLog, _ kind: NotificationEvent.Kind, at sequence: UInt64, of timeline: CommitHistory.Timeline
    ) -> String? {
        log.received(event(kind, at: sequence), timelines: { _ in timeline }, owner: { _ in "" }, device: [1])
    }

    private static func problem(_ log: PushLog, _ timeline: CommitHistory.Timeline) -> String? {
        log.problem(with: timeline, .private, owner: "", device: [1])
    }

    @Test("what a device was told of a commit counts when a backup brings the commit back")
    func broughtBack() {
        let whole = Self.timeline(commits: Self.commits)
        let log = PushLog()
        #expect(Self.tell(log, .ready(resumed: true), at: 0, of: whole) == nil)
        #expect(Self.tell(log, .fetchFromToken(.private), at: 19, of: whole) == nil)
        #expect(Self.tell(log, .databaseChanged(.private), at: 20, of: whole) == nil)
        // One restore takes almost everything away, another one brings it back.
        log.restored()
        #expect(Self.problem(log, Self.timeline(commits: 1)) == nil)
        log.restored()
        #expect(Self.problem(log, whole) == nil)
    }

    @Test("a commit that takes the place of a lost one has to be told of")
    func replaced() throws {
        let lost = Self.timeline(commits: Self.commits)
        let log = PushLog()
        #expect(Self.tell(log, .ready(resumed: true), at: 0, of: lost) == nil)
        #expect(Self.tell(log, .fetchFromToken(.private), at: 20, of: lost) == nil)
        log.restored()
        let problem = try #require(Self.problem(log, Self.timeline(commits: 3, numbered: 100)))
        #expect(problem.hasPrefix("I5: a device was not told of commit 1 of 3"))
    }
}
