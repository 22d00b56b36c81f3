import BrumeModel
import BrumeStore
import Testing

@Suite struct SubscriptionLimitTests {
    private func save(_ id: String, textBytes: Int, in desk: Desk) -> Result<Subscription, ServiceError> {
        var info = NotificationInfo()
        info.alertBody = String(repeating: "a", count: textBytes)
        let subscription = Subscription(id: id, kind: .database(recordType: ""), notificationInfo: info)
        return desk.database.modifySubscriptions(
            ModifySubscriptionsRequest(database: .private, saves: [subscription]), caller: desk.caller,
            nowMilliseconds: 1
        ).answer.saves[0]
    }

    @Test("the texts of all subscriptions together have a limit, and a replaced one counts once") func texts() throws {
        let desk = Desk()
        let half = Limits.subscriptionTextBytesPerUser / 2
        _ = try save("one", textBytes: half, in: desk).get()
        _ = try save("one", textBytes: half, in: desk).get()
        guard case .failure(let error) = save("two", textBytes: half, in: desk) else {
            Issue.record("both together are over the limit")
            return
        }
        #expect(error.code == .limitExceeded)
        _ = try save("two", textBytes: half - 100, in: desk).get()
        #expect(desk.database.subscriptions.map(\.id) == ["one", "two"])
    }
}
