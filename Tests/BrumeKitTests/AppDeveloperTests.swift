import CloudKit
import Testing

// Written as an app developer writes: CloudKit's own names alone, and Foundation's through CloudKit.

@Suite("An app written against CloudKit")
struct AppDeveloperTests {
    @Test("sets and reads fields as it does on Apple's systems")
    func fields() throws {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n1"))
        let now = Date()
        record["title"] = "Shopping list"
        record["pages"] = 5
        record["rating"] = 4.5
        record["done"] = true
        record["due"] = now
        record["blob"] = Data([1, 2, 3])
        record["tags"] = ["a", "b"]
        record["place"] = CLLocation(latitude: 52.5, longitude: 13.4)
        record["folder"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "f1"), action: .deleteSelf)
        record["legacy"] = "text" as NSString
        record["bridged"] = 7 as NSNumber
        record["value"] = "v" as any CKRecordValue
        record.setObject("o" as any CKRecordValue, forKey: "object")
        record.setValue("k", forKey: "coded")
        record.setValuesForKeys(["x": 1, "y": ["p", "q"]])

        #expect(record["title"] as? String == "Shopping list")
        let pages: Int? = record["pages"]
        #expect(pages == 5)
        #expect(record["pages"] as? Int64 == 5)
        #expect(record["rating"] as? Double == 4.5)
        #expect(record["done"] as? Bool == true)
        #expect(record["due"] as? Date == now)
        #expect(record["blob"] as? Data == Data([1, 2, 3]))
        #expect(record["tags"] as? [String] == ["a", "b"])
        let place: CLLocation = try #require(record["place"])
        #expect(place.coordinate.latitude == 52.5)
        #expect((record["folder"] as? CKRecord.Reference)?.recordID.recordName == "f1")
        #expect(record["legacy"] as? String == "text")
        #expect(record["bridged"] as? Int == 7)
        #expect(record["value"] as? String == "v")
        #expect(record.object(forKey: "object") as? String == "o")
        #expect(record.value(forKey: "coded") as? String == "k")
        #expect(record["y"] as? [String] == ["p", "q"])
        #expect(record["nothing"] as? String == nil)
        #expect(record["nothing"] ?? 3 == 3)
        if let title = record["title"] as? String {
            #expect(title.hasPrefix("Shop"))
        }
        switch record["title"] {
        case let text as String: #expect(text == "Shopping list")
        default: Issue.record("a string is read as a string")
        }

        record["title"] = nil
        #expect(record["title"] == nil)
        let absent: String? = nil
        record["value"] = absent
        #expect(record["value"] == nil)
    }

    @Test("sets optional values, counts up, and hands values on, in the usual ways")
    func idioms() throws {
        let record = CKRecord(recordType: "Note")
        let name: String? = "n"
        let tags: [String]? = nil
        let ids = [CKRecord.ID(recordName: "a"), CKRecord.ID(recordName: "b")]
        record["name"] = name
        record["tags"] = tags
        record["tags2"] = ["t"] as NSArray?
        record["count"] = (record["count"] as? Int ?? 0) + 1
        record["count"] = (record["count"] as? Int ?? 0) + 1
        record["choice"] = ids.isEmpty ? nil : "some"
        record["references"] = ids.map { CKRecord.Reference(recordID: $0, action: .none) }
        record["cast"] = name as (any CKRecordValue)?
        let value = record["choice"]
        record["handed"] = value
        #expect(record.allKeys() == ["cast", "choice", "count", "handed", "name", "references", "tags2"])
        #expect(Set(record.changedKeys()) == Set(record.allKeys() + ["tags"]))
        #expect(record["count"] as? Int == 2)
        #expect(record["handed"] as? String == "some")
        #expect(record["missing"] as String? ?? "none" == "none")
        let all = Dictionary(uniqueKeysWithValues: record.map { ($0.0, $0.1) })
        #expect((all["references"] as? [CKRecord.Reference])?.map(\.recordID) == ids)
        record.setParent(ids.first)
        #expect(record.parent?.recordID == ids.first)
    }

    @Test("goes through a record's fields")
    func iteration() {
        let record = CKRecord(recordType: "Note")
        record["b"] = 2
        record["a"] = "one"
        var seen: [String] = []
        for (key, value) in record {
            seen.append("\(key)=\(value)")
        }
        #expect(seen == ["a=one", "b=2"])
    }

    @Test("subclasses nothing and conforms its wrapper to nothing: a generic property works")
    func genericAccess() {
        func read<Value: CKRecordValueProtocol>(_ key: CKRecord.FieldKey, of record: CKRecord) -> Value? { record[key] }
        let record = CKRecord(recordType: "Note")
        record["count"] = 3
        let count: Int? = read("count", of: record)
        #expect(count == 3)
        let settable: any CKRecordKeyValueSetting = record
        settable["count"] = 4
        #expect(settable.changedKeys() == ["count"])
        #expect(record["count"] as? Int == 4)
    }

    private func fail(_ error: any Error) throws { throw error }

    @Test("catches errors by code, by type and as NSError")
    func errors() {
        do {
            try fail(CKError(.serverRecordChanged))
        } catch CKError.zoneNotFound {
            Issue.record("another code is caught")
        } catch CKError.serverRecordChanged {
        } catch {
            Issue.record("the code is not caught")
        }
        do {
            try fail(CKError(.zoneNotFound))
        } catch let error as CKError where error.code == .zoneNotFound {
            #expect(error.retryAfterSeconds == nil)
        } catch {
            Issue.record("the type is not caught")
        }
        do {
            try fail(
                NSError(
                    domain: CKErrorDomain, code: CKError.Code.zoneBusy.rawValue, userInfo: [CKErrorRetryAfterKey: 2.5]))
        } catch let error as CKError {
            #expect(error.code == .zoneBusy)
            #expect(error.retryAfterSeconds == 2.5)
        } catch {
            Issue.record("an NSError of the domain is not caught")
        }
        let result: Result<CKRecord, any Error> = .failure(CKError(.unknownItem))
        if case .failure(let error as CKError) = result {
            #expect(error.code == .unknownItem)
        } else {
            Issue.record("the failure is not matched")
        }
    }

    @Test("keeps system fields and change tokens in archives")
    func archives() throws {
        let record = CKRecord(
            recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: CKRecordZone.ID(zoneName: "Z")))
        record["secret"] = "field"
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.requiresSecureCoding = true
        let restored = try #require(CKRecord(coder: unarchiver))
        unarchiver.finishDecoding()
        #expect(restored.recordID == record.recordID)
        #expect(restored.recordType == "Note")
        #expect(restored.allKeys().isEmpty)
    }

    @Test("makes zones, subscriptions and their notification info")
    func subscriptions() {
        let zone = CKRecordZone(zoneName: "Notes")
        #expect(zone.zoneID == CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName))
        #expect(CKRecordZone.default().zoneID.zoneName == CKRecordZone.ID.defaultZoneName)
        let info = CKSubscription.NotificationInfo(alertBody: "Changed", shouldBadge: true)
        info.shouldSendContentAvailable = true
        let subscription = CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "notes")
        subscription.notificationInfo = info
        let all: [CKSubscription] = [subscription, CKDatabaseSubscription(subscriptionID: "all")]
        #expect(all.map(\.subscriptionType) == [.recordZone, .database])
        #expect(all.first?.notificationInfo?.alertBody == "Changed")
    }

    @Test("learns of a change from a push payload")
    func notification() {
        let payload: [AnyHashable: Any] = [
            "aps": ["content-available": 1],
            "ck": ["ce": 2, "cid": "iCloud.a", "nid": "n1", "met": ["dbs": 2, "sid": "all"]],
        ]
        let notification = CKNotification(fromRemoteNotificationDictionary: payload)
        guard let database = notification as? CKDatabaseNotification else {
            Issue.record("the payload is of a database subscription")
            return
        }
        #expect(database.databaseScope == .private)
        #expect(database.subscriptionID == "all")
    }
}
