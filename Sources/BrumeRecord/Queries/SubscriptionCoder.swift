package import BrumeModel
package import CBrumeProto

/// ``Subscription`` and ``NotificationInfo`` as messages: in requests, answers, events, the journal and snapshots.
extension MessageArena {
    package func subscription(_ subscription: Subscription) -> Pointer<Brume__V1__Subscription> {
        let message = make(brume__v1__subscription__init)
        message.pointee.id = data(subscription.id)
        switch subscription.kind {
        case .zone(let zone, let recordType):
            let kind = make(brume__v1__zone_subscription__init)
            kind.pointee.zone = zoneID(zone)
            kind.pointee.record_type = data(recordType)
            message.pointee.kind_case = BRUME__V1__SUBSCRIPTION__KIND_ZONE
            message.pointee.zone = kind
        case .database(let recordType):
            let kind = make(brume__v1__database_subscription__init)
            kind.pointee.record_type = data(recordType)
            message.pointee.kind_case = BRUME__V1__SUBSCRIPTION__KIND_DATABASE
            message.pointee.database = kind
        case .query(let query):
            let kind = make(brume__v1__query_subscription__init)
            kind.pointee.record_type = data(query.recordType)
            kind.pointee.predicate = predicate(query.predicate)
            kind.pointee.options = UInt32(query.options.rawValue)
            kind.pointee.zone = query.zone.map(zoneID)
            message.pointee.kind_case = BRUME__V1__SUBSCRIPTION__KIND_QUERY
            message.pointee.query = kind
        }
        message.pointee.notification_info = notificationInfo(subscription.notificationInfo)
        return message
    }

    package func notificationInfo(_ info: NotificationInfo?) -> Pointer<Brume__V1__NotificationInfo>? {
        guard let info else { return nil }
        let message = make(brume__v1__notification_info__init)
        message.pointee.alert_body = data(info.alertBody)
        message.pointee.alert_localization_key = data(info.alertLocalizationKey)
        message.pointee.n_alert_localization_args = info.alertLocalizationArgs.count
        message.pointee.alert_localization_args = list(info.alertLocalizationArgs)
        message.pointee.title = data(info.title)
        message.pointee.title_localization_key = data(info.titleLocalizationKey)
        message.pointee.n_title_localization_args = info.titleLocalizationArgs.count
        message.pointee.title_localization_args = list(info.titleLocalizationArgs)
        message.pointee.subtitle = data(info.subtitle)
        message.pointee.subtitle_localization_key = data(info.subtitleLocalizationKey)
        message.pointee.n_subtitle_localization_args = info.subtitleLocalizationArgs.count
        message.pointee.subtitle_localization_args = list(info.subtitleLocalizationArgs)
        message.pointee.alert_action_localization_key = data(info.alertActionLocalizationKey)
        message.pointee.alert_launch_image = data(info.alertLaunchImage)
        message.pointee.sound_name = data(info.soundName)
        message.pointee.n_desired_keys = info.desiredKeys.count
        message.pointee.desired_keys = list(info.desiredKeys)
        message.pointee.should_badge = info.shouldBadge ? 1 : 0
        message.pointee.should_send_content_available = info.shouldSendContentAvailable ? 1 : 0
        message.pointee.should_send_mutable_content = info.shouldSendMutableContent ? 1 : 0
        message.pointee.category = data(info.category)
        message.pointee.collapse_id_key = data(info.collapseIDKey)
        return message
    }
}

extension Subscription {
    package init(_ message: UnsafeMutablePointer<Brume__V1__Subscription>) throws(ServiceError) {
        let kind: Kind
        switch message.pointee.kind_case {
        case BRUME__V1__SUBSCRIPTION__KIND_ZONE:
            let zone = message.pointee.zone!
            guard let id = zone.pointee.zone else {
                throw ServiceError(.invalidArguments, "a zone subscription names no zone; set its name")
            }
            kind = .zone(
                ZoneID(
                    name: try text(id.pointee.name, "a zone name"), owner: try text(id.pointee.owner, "a zone's owner")),
                recordType: try text(zone.pointee.record_type, "a record type"))
        case BRUME__V1__SUBSCRIPTION__KIND_DATABASE:
            kind = .database(recordType: try text(message.pointee.database.pointee.record_type, "a record type"))
        case BRUME__V1__SUBSCRIPTION__KIND_QUERY:
            kind = .query(try QuerySubscription(message.pointee.query))
        default:
            throw ServiceError(
                .invalidArguments, "a subscription has no kind that this version knows; set zone, database or query")
        }
        self.init(
            id: try text(message.pointee.id, "a subscription id"), kind: kind,
            notificationInfo: try NotificationInfo(message.pointee.notification_info))
    }
}

extension QuerySubscription {
    fileprivate init(_ message: UnsafeMutablePointer<Brume__V1__QuerySubscription>) throws(ServiceError) {
        if let problem = Options.problem(withRawValue: message.pointee.options) {
            throw ServiceError(.invalidArguments, problem)
        }
        self.init(
            recordType: try text(message.pointee.record_type, "a record type"),
            predicate: try Predicate(message.pointee.predicate),
            options: Options(rawValue: UInt8(message.pointee.options)),
            zone: try message.pointee.zone.map { (zone) throws(ServiceError) in try ZoneCoder.checked(zone) })
    }
}

extension NotificationInfo {
    package init?(_ message: UnsafeMutablePointer<Brume__V1__NotificationInfo>?) throws(ServiceError) {
        guard let info = message?.pointee else { return nil }
        self.init()
        alertBody = try text(info.alert_body, "an alert body")
        alertLocalizationKey = try text(info.alert_localization_key, "an alert localization key")
        alertLocalizationArgs = try texts(
            info.alert_localization_args, info.n_alert_localization_args, "an alert localization argument")
        title = try text(info.title, "a title")
        titleLocalizationKey = try text(info.title_localization_key, "a title localization key")
        titleLocalizationArgs = try texts(
            info.title_localization_args, info.n_title_localization_args, "a title localization argument")
        subtitle = try text(info.subtitle, "a subtitle")
        subtitleLocalizationKey = try text(info.subtitle_localization_key, "a subtitle localization key")
        subtitleLocalizationArgs = try texts(
            info.subtitle_localization_args, info.n_subtitle_localization_args, "a subtitle localization argument")
        alertActionLocalizationKey = try text(info.alert_action_localization_key, "an alert action localization key")
        alertLaunchImage = try text(info.alert_launch_image, "an alert launch image")
        soundName = try text(info.sound_name, "a sound name")
        desiredKeys = try texts(info.desired_keys, info.n_desired_keys, "a desired key")
        shouldBadge = info.should_badge != 0
        shouldSendContentAvailable = info.should_send_content_available != 0
        shouldSendMutableContent = info.should_send_mutable_content != 0
        category = try text(info.category, "a category")
        collapseIDKey = try text(info.collapse_id_key, "a collapse id key")
    }
}
