internal import BrumeModel
internal import BrumeProtocol
internal import BrumeStore

/// What a commit costs in a public database where many users subscribed to queries: with none, with those of other
/// values of the same field, and with one that matches.
///
/// A commit is one record of four fields: the whole engine's work for it, journal and push left out. The difference to
/// a database without subscriptions is what matching costs.
enum QuerySubscriptionFigures {
    private enum Shape: String, CaseIterable {
        case none = "without subscriptions"
        case equal = "title == , one matches"
        case range = "count BETWEEN, some match"
        case prefix = "title BEGINSWITH, one matches"
        case mixed = "done == 0 AND title ==, one matches"
    }

    static func run(_ count: Int) {
        for shape in Shape.allCases { run(shape, shape == .none ? 0 : count) }
    }

    private static func predicate(_ shape: Shape, _ number: Int) -> Predicate {
        switch shape {
        case .none, .equal: .comparison(.field("title"), .equal, .string("Note number \(number)"))
        case .range: .between(.field("count"), .int64(Int64(number)), .int64(Int64(number + 1)))
        case .prefix: .comparison(.field("title"), .beginsWith, .string("Note number \(number)"))
        case .mixed:
            .and([
                .comparison(.field("done"), .equal, .int64(0)),
                .comparison(.field("title"), .equal, .string("Note number \(number)")),
            ])
        }
    }

    private static func run(_ shape: Shape, _ count: Int) {
        let database = Database(
            id: DatabaseID(container: "iCloud.bench", environment: .development, scope: .public, owner: ""), epoch: 7)
        for number in 0..<count {
            // A hundred of each user.
            let caller = Caller(user: "_user\(number / 100)", isOwner: false)
            let query = QuerySubscription(
                recordType: "Note", predicate: predicate(shape, number), options: .reasons)
            let decision = database.modifySubscriptions(
                ModifySubscriptionsRequest(
                    database: .public, saves: [Subscription(id: "s\(number)", kind: .query(query))]), caller: caller,
                nowMilliseconds: 1)
            precondition(decision.commit != nil, "a subscription was refused")
        }
        var times: [UInt64] = []
        var matchCount = 0
        let author = Caller(user: "_author", isOwner: false)
        for number in 0..<20_000 {
            let request = ModifyRecordsRequest(
                database: .public, savePolicy: .allKeys,
                zones: [
                    ZoneModification(
                        zone: .defaultZone,
                        saves: [
                            RecordSave(
                                name: Subject.name(number), type: "Note",
                                fields: Subject.fields(number % 10_000, round: 0))
                        ])
                ])
            let start = nanoseconds()
            let decision = database.modifyRecords(request, caller: author, nowMilliseconds: 1)
            times.append(nanoseconds() - start)
            matchCount += decision.commit?.matches.matches.count ?? 0
        }
        report("\(count) subscriptions, \(shape.rawValue) (\(matchCount) matches): a commit", times)
    }
}
