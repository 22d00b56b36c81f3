import BrumeKit
import BrumeModel
import Foundation
import Testing

@Suite("A subscription")
struct SubscriptionTests {
    static func fullInfo() -> CKSubscription.NotificationInfo {
        CKSubscription.NotificationInfo(
            alertBody: "a", alertLocalizationKey: "b", alertLocalizationArgs: ["c"], title: "d",
            titleLocalizationKey: "e", titleLocalizationArgs: ["f"], subtitle: "g", subtitleLocalizationKey: "h",
            subtitleLocalizationArgs: ["i"], alertActionLocalizationKey: "j", alertLaunchImage: "k", soundName: "l",
            desiredKeys: ["m", "n"], shouldBadge: true, shouldSendContentAvailable: true,
            shouldSendMutableContent: true, category: "o", collapseIDKey: "p")
    }

    @Test("without a name gets one of its own")
    func randomNames() {
        #expect(CKDatabaseSubscription().subscriptionID != CKDatabaseSubscription().subscriptionID)
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let subscription = CKRecordZoneSubscription(zoneID: zoneID)
        #expect(subscription.zoneID == zoneID && UUID(uuidString: subscription.subscriptionID) != nil)
    }

    @Test("shows notifications as its info says, and an empty info says nothing")
    func info() {
        let info = Self.fullInfo()
        #expect(info.alertBody == "a" && info.alertLocalizationKey == "b" && info.alertLocalizationArgs == ["c"])
        #expect(info.title == "d" && info.titleLocalizationKey == "e" && info.titleLocalizationArgs == ["f"])
        #expect(info.subtitle == "g" && info.subtitleLocalizationKey == "h" && info.subtitleLocalizationArgs == ["i"])
        #expect(info.alertActionLocalizationKey == "j" && info.alertLaunchImage == "k" && info.soundName == "l")
        #expect(info.desiredKeys == ["m", "n"] && info.category == "o" && info.collapseIDKey == "p")
        #expect(info.shouldBadge && info.shouldSendContentAvailable && info.shouldSendMutableContent)
        let empty = CKSubscription.NotificationInfo()
        #expect(empty.alertBody == nil && empty.desiredKeys == nil && empty.collapseIDKey == nil)
        #expect(!empty.shouldBadge && !empty.shouldSendContentAvailable && !empty.shouldSendMutableContent)
        empty.alertBody = "x"
        empty.desiredKeys = ["k"]
        empty.shouldBadge = true
        #expect(empty.alertBody == "x" && empty.desiredKeys == ["k"] && empty.shouldBadge)
        empty.alertBody = nil
        #expect(empty.alertBody == nil)
    }

    @Test("is copied deeply")
    func copies() throws {
        let subscription = CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "Z"), subscriptionID: "s")
        subscription.recordType = "Note"
        subscription.notificationInfo = Self.fullInfo()
        let copy = try #require(subscription.copy() as? CKRecordZoneSubscription)
        #expect(copy.zoneID == subscription.zoneID && copy.subscriptionID == "s" && copy.recordType == "Note")
        #expect(copy.notificationInfo == subscription.notificationInfo)
        copy.recordType = nil
        copy.notificationInfo = nil
        #expect(subscription.recordType == "Note" && subscription.notificationInfo != nil)
        #expect(CKDatabaseSubscription(subscriptionID: "d").copy() is CKDatabaseSubscription)
    }

    @Test("keeps its own copy of the info that is set")
    func infoIsCopied() {
        let subscription = CKDatabaseSubscription(subscriptionID: "d")
        let info = CKSubscription.NotificationInfo(alertBody: "before")
        subscription.notificationInfo = info
        info.alertBody = "after"
        #expect(subscription.notificationInfo?.alertBody == "before")
    }

    @Test("goes to the server and comes back the same")
    func model() throws {
        let zone = CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "Z"), subscriptionID: "s")
        zone.recordType = "Note"
        zone.notificationInfo = Self.fullInfo()
        let sent = try zone.modelSubscription
        #expect(sent.kind == .zone(ZoneID(name: "Z", owner: "__defaultOwner__"), recordType: "Note"))
        let back = try #require(CKSubscription.make(sent, currentUser: nil) as? CKRecordZoneSubscription)
        #expect(back.notificationInfo == zone.notificationInfo && back.recordType == "Note")
        #expect(back.subscriptionID == "s")
        let database = CKDatabaseSubscription(subscriptionID: "d")
        #expect(try database.modelSubscription == Subscription(id: "d", kind: .database(recordType: "")))
        let databaseBack = CKSubscription.make(try database.modelSubscription, currentUser: nil)
        #expect((databaseBack as? CKDatabaseSubscription)?.recordType == nil)
        #expect(databaseBack?.subscriptionType == .database)
    }

    @Test("gives its own notification info, so that a change to it counts, and copies what it is given")
    func ownNotificationInfo() throws {
        let subscription = CKDatabaseSubscription(subscriptionID: "s")
        let info = CKSubscription.NotificationInfo()
        subscription.notificationInfo = info
        subscription.notificationInfo?.shouldSendContentAvailable = true
        #expect(subscription.notificationInfo?.shouldSendContentAvailable == true)
        #expect(!info.shouldSendContentAvailable)
        let copy = try #require(subscription.copy() as? CKDatabaseSubscription)
        copy.notificationInfo?.shouldSendContentAvailable = false
        #expect(subscription.notificationInfo?.shouldSendContentAvailable == true)
        #expect(try subscription.modelSubscription.notificationInfo?.shouldSendContentAvailable == true)
    }

    @Test("of an answer is refused when its names are none")
    func hostile() {
        #expect(CKSubscription.make(Subscription(id: "", kind: .database(recordType: "")), currentUser: nil) == nil)
        let badZone = Subscription(id: "s", kind: .zone(ZoneID(name: ""), recordType: ""))
        #expect(CKSubscription.make(badZone, currentUser: nil) == nil)
    }
}
