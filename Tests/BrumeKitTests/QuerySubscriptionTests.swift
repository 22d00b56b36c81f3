import BrumeKit
import BrumeModel
import Foundation
import Testing

@Suite("A query subscription")
struct QuerySubscriptionTests {
    private func subscription() -> CKQuerySubscription {
        let subscription = CKQuerySubscription(
            recordType: "Note", predicate: BrumeKit.NSPredicate(format: "pages > %d", 10), subscriptionID: "s",
            options: [.firesOnRecordUpdate, .firesOnce])
        subscription.zoneID = CKRecordZone.ID(zoneName: "Notes")
        subscription.notificationInfo = SubscriptionTests.fullInfo()
        return subscription
    }

    private func isSame(_ left: CKQuerySubscription, _ right: CKQuerySubscription) -> Bool {
        left.recordType == right.recordType && left.predicate == right.predicate && left.zoneID == right.zoneID
            && left.querySubscriptionOptions == right.querySubscriptionOptions
            && left.subscriptionID == right.subscriptionID && left.notificationInfo == right.notificationInfo
            && left.subscriptionType == .query && right.subscriptionType == .query
    }

    @Test("fires on everything by default, with CloudKit's raw values")
    func options() {
        let plain = CKQuerySubscription(
            recordType: "Note", predicate: BrumeKit.NSPredicate(value: true), subscriptionID: "s")
        #expect(plain.querySubscriptionOptions.rawValue == 7 && plain.zoneID == nil)
        #expect(CKQuerySubscription.Options.firesOnce.rawValue == 8)
        #expect(CKQueryNotification.Reason.recordDeleted.rawValue == 3)
    }

    @Test("is copied, archived, and sent to the server and back without a loss")
    func roundTrips() throws {
        let subscription = subscription()
        let copy = try #require(subscription.copy() as? CKQuerySubscription)
        #expect(isSame(copy, subscription))
        copy.zoneID = nil
        #expect(subscription.zoneID != nil)
        let archive = try NSKeyedArchiver.archivedData(withRootObject: subscription, requiringSecureCoding: true)
        let read = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQuerySubscription.self, from: archive))
        #expect(isSame(read, subscription))
        let back = CKSubscription.make(try subscription.modelSubscription, currentUser: nil)
        #expect(isSame(try #require(back as? CKQuerySubscription), subscription))
    }

    @Test("reads every kind of predicate back from the server as an app would write it")
    func predicates() throws {
        let here = CLLocation(latitude: 52.5, longitude: 13.4)
        let predicates: [BrumeKit.NSPredicate] = [
            BrumeKit.NSPredicate(value: true), BrumeKit.NSPredicate(format: "a == %@ AND NOT b != 2.5", "x"),
            BrumeKit.NSPredicate(format: "a IN {1, 2} OR b BETWEEN {1, 5}"),
            BrumeKit.NSPredicate(format: "tags CONTAINS 'x' AND ANY tags IN {'a', 'b'}"),
            BrumeKit.NSPredicate(format: "ANY n > 3"), BrumeKit.NSPredicate(format: "self CONTAINS 'some words'"),
            BrumeKit.NSPredicate(format: "allTokens TOKENMATCHES[cdl] 'all words'"),
            BrumeKit.NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < 500", here),
            BrumeKit.NSPredicate(format: "up == %@", CKRecord.ID(recordName: "r")),
            BrumeKit.NSPredicate(format: "creationDate > %@", Date(timeIntervalSinceReferenceDate: 5)),
        ]
        for predicate in predicates {
            let sent = CKQuerySubscription(recordType: "Note", predicate: predicate, subscriptionID: "s")
            let model = try sent.modelSubscription
            let back = try #require(CKSubscription.make(model, currentUser: nil) as? CKQuerySubscription)
            #expect(try back.modelSubscription == model, "\(predicate)")
        }
    }

    @Test("notifies by a push payload, and hostile ones do no harm")
    func payload() throws {
        let payload: [AnyHashable: Any] = [
            "ck": [
                "cid": "iCloud.a",
                "qry": [
                    "rid": "r", "zid": "Notes", "zoid": "_o", "fo": 2, "sid": "s", "dbs": 1,
                    "af": ["title": "x", "pages": 3] as [String: Any],
                ] as [String: Any],
            ] as [String: Any]
        ]
        let notification = try #require(CKQueryNotification(fromRemoteNotificationDictionary: payload))
        #expect(notification.queryNotificationReason == .recordUpdated && notification.databaseScope == .public)
        #expect(notification.recordID?.recordName == "r" && notification.recordID?.zoneID.zoneName == "Notes")
        #expect(notification.recordFields?["title"] as? String == "x")
        #expect(notification.recordFields?["pages"] as? Int == 3)
        #expect(notification.subscriptionID == "s" && notification.notificationType == .query)
        #expect(CKDatabaseNotification(fromRemoteNotificationDictionary: payload) == nil)
        let hostile: [AnyHashable: Any] = ["ck": ["qry": ["rid": "", "zid": 5, "fo": 9] as [String: Any]]]
        #expect(CKNotification(fromRemoteNotificationDictionary: hostile) == nil)
    }
}
