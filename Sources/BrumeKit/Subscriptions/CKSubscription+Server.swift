package import BrumeModel

extension CKSubscription {
    /// The subscription as a request carries it.
    ///
    /// Throws what is wrong with the predicate of a query subscription; see ``CKQuery/translated()``.
    package var modelSubscription: Subscription {
        get throws(CKError) {
            let zoneID = (self as? CKRecordZoneSubscription)?.zoneID ?? (self as? CKQuerySubscription)?.zoneID
            // The server would refuse the whole request.
            if let problem = zoneID?.problem {
                throw CKError(
                    .invalidArguments, message: "subscription \"\(subscriptionID)\" can't be saved: \(problem)")
            }
            let kind: Subscription.Kind
            if let subscription = self as? CKRecordZoneSubscription {
                kind = .zone(subscription.zoneID.modelID, recordType: subscription.recordType ?? "")
            } else if let subscription = self as? CKQuerySubscription {
                kind = .query(
                    QuerySubscription(
                        recordType: subscription.queryRecordType, predicate: try subscription.predicate.translated(),
                        options: .init(rawValue: UInt8(subscription.querySubscriptionOptions.rawValue)),
                        zone: subscription.zoneID?.modelID))
            } else {
                kind = .database(recordType: sharedRecordType ?? "")
            }
            return Subscription(id: subscriptionID, kind: kind, notificationInfo: notificationInfo?.modelInfo)
        }
    }

    /// The subscription of an answer; nil for names that none can have.
    package static func make(_ subscription: Subscription, currentUser: String?) -> CKSubscription? {
        guard Names.problemWithSubscriptionID(subscription.id) == nil else { return nil }
        let info = subscription.notificationInfo.map { CKNotificationInfo($0) }
        func settings(_ recordType: String) -> Settings {
            Settings(notificationInfo: info, recordType: recordType.isEmpty ? nil : recordType)
        }
        switch subscription.kind {
        case .zone(let zone, let recordType):
            guard let zoneID = CKRecordZone.ID(zone, currentUser: currentUser) else { return nil }
            return CKRecordZoneSubscription(
                zoneID: zoneID, subscriptionID: subscription.id, settings: settings(recordType))
        case .database(let recordType):
            return CKDatabaseSubscription(subscriptionID: subscription.id, settings: settings(recordType))
        case .query(let query):
            if query.recordType.isEmpty { return nil }
            var settings = Settings(notificationInfo: info)
            if let zone = query.zone {
                guard let zoneID = CKRecordZone.ID(zone, currentUser: currentUser) else { return nil }
                settings.zoneID = zoneID
            }
            return CKQuerySubscription(
                recordType: query.recordType, predicate: NSPredicate.make(query.predicate),
                subscriptionID: subscription.id, options: .init(rawValue: UInt(query.options.rawValue)),
                settings: settings)
        }
    }
}
