import BrumeModel
import BrumeStore
import Testing

@Suite("Which segments are needed")
struct SegmentCoverageTests {
    @Test("a segment is needed until every database in it has a newer snapshot")
    func coverage() {
        var coverage = SegmentCoverage()
        let (a, b) = (Desk.privateID, Desk.publicID)
        #expect(coverage.firstNeeded(current: 5) == 5)
        coverage.appended(a, sequence: 1, segment: 1)
        coverage.appended(a, sequence: 2, segment: 1)
        coverage.appended(b, sequence: 1, segment: 2)
        coverage.appended(a, sequence: 3, segment: 3)
        #expect(coverage.firstNeeded(current: 3) == 1)
        coverage.snapshotted(a, upTo: 1)
        #expect(coverage.firstNeeded(current: 3) == 1)
        coverage.snapshotted(a, upTo: 2)
        #expect(coverage.firstNeeded(current: 3) == 2)
        #expect(Set(coverage.databases(needingSegmentsBefore: 3)) == [b])
        #expect(Set(coverage.databases(needingSegmentsBefore: 4)) == [a, b])
        coverage.snapshotted(b, upTo: 9)
        #expect(coverage.firstNeeded(current: 3) == 3)
        #expect(coverage.holdsAll(of: b) && !coverage.holdsAll(of: a))
        coverage.snapshotted(a, upTo: 3)
        #expect(coverage.firstNeeded(current: 4) == 4)
    }
}
