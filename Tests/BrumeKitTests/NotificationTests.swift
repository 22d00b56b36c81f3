import BrumeKit
import BrumeModel
import Foundation
import Testing

@Suite("A notification")
struct NotificationTests {
    @Test("of a zone is read from a push payload")
    func zonePayload() throws {
        let payload: [AnyHashable: Any] = [
            "aps": [:] as [String: Any],
            "ck": [
                "ce": 2, "cid": "iCloud.a", "nid": "n", "ckuserid": "_u",
                "fet": ["dbs": 2, "zid": "Notes", "zoid": "_o", "sid": "s"] as [String: Any],
            ] as [String: Any],
        ]
        let notification = try #require(
            CKNotification(fromRemoteNotificationDictionary: payload) as? CKRecordZoneNotification)
        #expect(notification.notificationType == .recordZone)
        #expect(notification.recordZoneID == CKRecordZone.ID(zoneName: "Notes", ownerName: "_o"))
        #expect(notification.databaseScope == .private && notification.subscriptionID == "s")
        #expect(notification.containerIdentifier == "iCloud.a" && notification.notificationID != nil)
        #expect(notification.subscriptionOwnerUserRecordID?.recordName == "_u")
        #expect(!notification.isPruned)
        #expect(CKRecordZoneNotification(fromRemoteNotificationDictionary: payload) != nil)
        #expect(CKDatabaseNotification(fromRemoteNotificationDictionary: payload) == nil)
    }

    @Test("of a database is read from a push payload")
    func databasePayload() throws {
        let payload: [AnyHashable: Any] = ["ck": ["met": ["dbs": 3, "sid": "s"] as [String: Any]]]
        let notification = try #require(CKNotification(fromRemoteNotificationDictionary: payload))
        #expect(notification.notificationType == .database)
        #expect((notification as? CKDatabaseNotification)?.databaseScope == .shared)
        #expect(notification.containerIdentifier == nil && notification.notificationID == nil)
    }

    @Test("shows what the push payload's alert says")
    func alertPayload() throws {
        let alert: [String: Any] = [
            "body": "b", "loc-key": "k", "loc-args": ["a"], "title": "t", "title-loc-key": "tk",
            "title-loc-args": ["ta"],
            "subtitle": "s", "subtitle-loc-key": "sk", "subtitle-loc-args": ["sa"], "action-loc-key": "ak",
            "launch-image": "i",
        ]
        let payload: [AnyHashable: Any] = [
            "aps": ["alert": alert, "badge": 3, "sound": "ping", "category": "c"] as [String: Any],
            "ck": ["met": ["dbs": 2] as [String: Any]],
        ]
        let notification = try #require(CKNotification(fromRemoteNotificationDictionary: payload))
        #expect(notification.alertBody == "b" && notification.alertLocalizationKey == "k")
        #expect(notification.alertLocalizationArgs == ["a"] && notification.alertLaunchImage == "i")
        #expect(notification.title == "t" && notification.titleLocalizationKey == "tk")
        #expect(notification.titleLocalizationArgs == ["ta"] && notification.alertActionLocalizationKey == "ak")
        #expect(notification.subtitle == "s" && notification.subtitleLocalizationKey == "sk")
        #expect(notification.subtitleLocalizationArgs == ["sa"])
        #expect(notification.badge == 3 && notification.soundName == "ping" && notification.category == "c")

        let short: [AnyHashable: Any] = ["aps": ["alert": "text", "badge": "no"], "ck": ["met": [:] as [String: Any]]]
        let plain = try #require(CKNotification(fromRemoteNotificationDictionary: short))
        #expect(plain.alertBody == "text" && plain.title == nil && plain.badge == nil && plain.soundName == nil)
    }

    @Test("shows what its subscription says")
    func alertOfSubscription() throws {
        var info = NotificationInfo()
        info.alertBody = "Changed"
        info.title = "Notes"
        let event = NotificationEvent(
            position: [1], notificationID: "n", subscriptionID: "s", notificationInfo: info,
            kind: .databaseChanged(.private),
            committedMilliseconds: 0)
        let notification = try #require(
            CKNotification(event, containerIdentifier: "iCloud.a", currentUser: "_u"))
        #expect(notification.alertBody == "Changed" && notification.title == "Notes")
        #expect(notification.subtitle == nil && notification.alertLocalizationArgs == nil)
    }

    @Test("gives back a push payload that says the same")
    func userInfo() throws {
        var info = NotificationInfo()
        info.alertBody = "Changed"
        info.alertLocalizationArgs = ["a", "b"]
        info.title = "Notes"
        info.soundName = "ping"
        info.category = "c"
        info.desiredKeys = ["title"]
        info.shouldSendContentAvailable = true
        info.shouldSendMutableContent = true
        let change = RecordChange(
            database: .public, zone: ZoneID(name: "Z", owner: "_o"), recordName: "r", reason: .updated,
            fields: [
                "title": .string("x"), "pages": .int64(5), "ratio": .double(0.1), "limit": .double(.infinity),
                "when": .date(0.1), "data": .bytes([1, 2]),
                "friend": .reference(Reference(recordName: "q", deletesSelf: true)),
                "place": .location(Location(latitude: 48.1, longitude: -2, timestamp: 7)),
                "tags": .strings(["a", "b"]),
                "dates": .dates([1, 2.5]), "none": .emptyList,
            ],
            isPruned: true)
        let kinds: [NotificationEvent.Kind] = [
            .zoneChanged(ZoneID(name: "Z", owner: "_me")), .databaseChanged(.private), .fetchFromToken(.public),
            .recordChanged(change),
        ]
        for kind in kinds {
            let event = NotificationEvent(
                position: [1], notificationID: "n", subscriptionID: "s", notificationInfo: info, kind: kind,
                committedMilliseconds: 0)
            let notification = try #require(
                CKNotification(event, containerIdentifier: "iCloud.a", currentUser: "_me"))
            let again = try #require(CKNotification(fromRemoteNotificationDictionary: notification.userInfo))
            #expect(type(of: again) == type(of: notification))
            #expect(again == notification && again.hash == notification.hash)
            // As an app gets it that keeps what its delegate was given.
            let payload = Dictionary(uniqueKeysWithValues: notification.userInfo.map { ("\($0)", $1) })
            let text = try JSONSerialization.data(withJSONObject: payload)
            let read = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
            #expect(try #require(CKNotification(fromRemoteNotificationDictionary: read)) == notification)
            #expect(again.subscriptionID == "s" && again.containerIdentifier == "iCloud.a")
            #expect(again.notificationID == notification.notificationID)
            #expect(again.isPruned == notification.isPruned)
            #expect(again.subscriptionOwnerUserRecordID == notification.subscriptionOwnerUserRecordID)
            #expect(
                again.alertBody == "Changed" && again.alertLocalizationArgs == ["a", "b"] && again.title == "Notes")
            #expect(again.soundName == "ping" && again.category == "c")
            #expect(
                (again as? CKRecordZoneNotification)?.recordZoneID
                    == (notification as? CKRecordZoneNotification)?.recordZoneID)
            #expect(
                (again as? CKDatabaseNotification)?.databaseScope
                    == (notification as? CKDatabaseNotification)?.databaseScope)
            guard let query = notification as? CKQueryNotification else { continue }
            let queryAgain = try #require(again as? CKQueryNotification)
            #expect(queryAgain.recordID == query.recordID && queryAgain.databaseScope == .public)
            #expect(queryAgain.queryNotificationReason == .recordUpdated)
            #expect(queryAgain.recordFields?["title"] as? String == "x")
            #expect(queryAgain.recordFields?["pages"] as? Int == 5)
            #expect(queryAgain.recordFields?["when"] as? Date == Date(timeIntervalSinceReferenceDate: 0.1))
            #expect(queryAgain.recordFields?["data"] as? Data == Data([1, 2]))
            #expect((queryAgain.recordFields?["place"] as? CLLocation)?.coordinate.latitude == 48.1)
            #expect((queryAgain.recordFields?["friend"] as? CKRecord.Reference)?.recordID.recordName == "q")
        }
    }

    @Test("is none in other payloads, and hostile ones do no harm")
    func otherPayloads() throws {
        let payloads: [[AnyHashable: Any]] = [
            [:], ["aps": ["alert": "x"]], ["ck": "text"], ["ck": [:] as [String: Any]], ["ck": ["fet": 1]],
            ["ck": ["qry": ["rid": "r", "sid": "s"]]],
        ]
        for payload in payloads {
            #expect(CKNotification(fromRemoteNotificationDictionary: payload) == nil)
        }
        let hostile: [AnyHashable: Any] = [
            "ck": [
                "cid": 5, "ckuserid": "", "fet": ["dbs": 99, "zid": "_hidden", "zoid": "", "sid": 4] as [String: Any],
            ] as [String: Any]
        ]
        let notification = try #require(CKRecordZoneNotification(fromRemoteNotificationDictionary: hostile))
        #expect(notification.recordZoneID == nil && notification.subscriptionID == nil)
        #expect(notification.containerIdentifier == nil && notification.subscriptionOwnerUserRecordID == nil)
    }

    private func event(_ kind: NotificationEvent.Kind, subscriptionID: String = "s") -> NotificationEvent {
        NotificationEvent(
            position: [1], notificationID: "n", subscriptionID: subscriptionID, notificationInfo: nil, kind: kind,
            committedMilliseconds: 0)
    }

    @Test("is made of each event of the notification stream that tells of a change")
    func events() throws {
        func make(_ event: NotificationEvent) -> CKNotification? {
            CKNotification(event, containerIdentifier: "iCloud.a", currentUser: "_me")
        }
        let zone = try #require(
            make(event(.zoneChanged(ZoneID(name: "Z", owner: "_me")))) as? CKRecordZoneNotification)
        #expect(zone.recordZoneID == CKRecordZone.ID(zoneName: "Z") && zone.databaseScope == .private)
        #expect(zone.subscriptionID == "s" && zone.containerIdentifier == "iCloud.a")
        #expect(zone.subscriptionOwnerUserRecordID?.recordName == "_me")
        let database = try #require(make(event(.databaseChanged(.private))) as? CKDatabaseNotification)
        #expect(database.databaseScope == .private && !database.isPruned)
        let dropped = try #require(
            make(event(.fetchFromToken(.private), subscriptionID: "")) as? CKDatabaseNotification)
        #expect(dropped.isPruned && dropped.subscriptionID == nil)
        #expect(make(event(.ready(resumed: true))) == nil)
    }
}
