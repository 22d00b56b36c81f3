import BrumeModel
import Testing

@Suite("Server figures")
struct ServerFiguresTests {
    private func figures(_ values: [UInt64], uptime: UInt64 = 10) -> ServerFigures {
        var figures = ServerFigures()
        figures.health.uptimeMilliseconds = uptime
        figures.loops = 1
        for value in values {
            figures[33].ended += 1
            figures[33].latencyNanoseconds.record(value)
            figures[33].failures[.zoneNotFound, default: 0] += value % 2
            figures.journal.syncNanoseconds.record(value)
            figures.commits += 1
        }
        figures.connections.open = values.count
        return figures
    }

    @Test("the parts of a server add up")
    func adding() {
        var sum = figures([1, 2])
        sum.add(figures([3]))
        #expect(sum[33].ended == 3 && sum.methods.count == 1)
        #expect(sum[33].latencyNanoseconds.sum == 6 && sum.journal.syncNanoseconds.count == 3)
        #expect(sum[33].failures == [.zoneNotFound: 2])
        #expect(sum.loops == 2 && sum.connections.open == 3)
    }

    @Test("between two looks counts are those that came, and what is held is what is held now")
    func difference() {
        let earlier = figures([1, 2])
        var now = earlier
        now.add(figures([5]))
        now.health.uptimeMilliseconds = 20
        let came = now.since(earlier)
        #expect(came[33].ended == 1 && came[33].latencyNanoseconds.percentile(0.5) == 5)
        #expect(came[33].failures == [.zoneNotFound: 1])
        #expect(came.commits == 1 && came.connections.open == 3)
        #expect(figures([1], uptime: 5).since(earlier).commits == 1, "a server that was started again begins at 0")
    }
}
