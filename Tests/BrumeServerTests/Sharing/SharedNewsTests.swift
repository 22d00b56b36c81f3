import BrumeModel
import Testing

@testable import BrumeService

/// What a stream holds of the shared database until its device takes it.
@Suite("News of the shared database")
struct SharedNewsTests {
    private static func change(_ place: UInt64, types: Set<String>? = ["Note"], isMissed: Bool = false)
        -> SharedNews.Change
    {
        SharedNews.Change(
            types: types, isMissed: isMissed, place: .init(run: 1, position: ChangePosition(rawValue: place)))
    }

    @Test("are told once for each subscription, and stand behind a change with the last of them alone")
    func places() {
        var news = SharedNews()
        news.note(Self.change(1))
        news.note(Self.change(2, types: ["Plan"]))
        var told: [String] = []
        var places: [UInt64?] = []
        while let next = news.next({ change in
            #expect(change.types == ["Note", "Plan"])
            return ["x", "y", "z"]
        }) {
            told.append(next.subscription)
            places.append(next.place?.position.rawValue)
            // What comes meanwhile is told afterwards, and with the next place.
            if told.count == 1 { news.note(Self.change(5, types: ["Note", "Plan"])) }
        }
        #expect(told == ["x", "y", "z", "x", "y", "z"])
        #expect(places == [nil, nil, 2, nil, nil, 5])
    }

    @Test("of many types, or of zones that came and went, are of any")
    func types() {
        var news = SharedNews()
        for number in 0..<17 { news.note(Self.change(1, types: ["T\(number)"])) }
        _ = news.next { change in
            #expect(change.types == nil)
            return ["x"]
        }
        news.note(Self.change(2))
        news.note(Self.change(3, types: nil))
        _ = news.next { change in
            #expect(change.types == nil)
            return ["x"]
        }
        #expect(news.next { _ in ["x"] } == nil)
    }

    @Test("are an order to fetch once something may have been missed, and nothing where nobody asks")
    func missed() {
        var news = SharedNews()
        news.note(Self.change(1, isMissed: true))
        news.note(Self.change(2))
        _ = news.next { change in
            #expect(change.isMissed)
            return []
        }
        #expect(news.next { _ in ["x"] } == nil)
    }
}
