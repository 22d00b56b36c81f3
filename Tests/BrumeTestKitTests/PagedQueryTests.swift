import BrumeModel
import BrumeStore
import Testing

@testable import BrumeTestKit

@Suite("A query that the simulation reads page by page")
struct PagedQueryTests {
    private static let database = DatabaseID(
        container: "iCloud.simulation", environment: .development, scope: .public, owner: "")

    @Test("may be unknown to the schema behind its first page only where a backup was restored meanwhile")
    func unknown() {
        let history = CommitHistory(limits: .standard)
        history.add(Self.database)
        let request = QueryRequest(
            database: .public, zone: nil, query: Query(recordType: "Note", predicate: .constant(true)))
        var query = PagedQuery(request, start: history.sight(of: Self.database))
        var timeline = history[Self.database]
        #expect(query.mayBeUnknown(to: timeline, since: 0))
        let wasTaken = query.take(QueryPage(matches: [], cursor: []), in: timeline.states[0])
        #expect(wasTaken)
        #expect(!query.mayBeUnknown(to: timeline, since: 0))
        timeline.era += 1
        #expect(query.mayBeUnknown(to: timeline, since: 0))
    }
}
