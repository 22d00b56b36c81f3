package import BrumeModel

extension CKSubscription {
    /// The subscription as a request carries it.
    package var modelSubscription: Subscription {
        let kind: Subscription.Kind =
            if let subscription = self as? CKRecordZoneSubscription {
                .zone(subscription.zoneID.modelID, recordType: subscription.recordType ?? "")
            } else {
                .database(recordType: sharedRecordType ?? "")
            }
        return Subscription(id: subscriptionID, kind: kind, notificationInfo: notificationInfo?.modelInfo)
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
        }
    }
}
