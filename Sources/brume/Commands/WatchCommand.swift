internal import BrumeKit
internal import BrumeModel
internal import Foundation

/// `brume watch`: prints notifications as they come.
enum WatchCommand {
    static let definition = CommandDefinition(
        ["watch"], "print notifications as they come",
        options: [
            OptionDefinition("zone", "NAME", "subscribe to this zone instead of the whole database"),
            OptionDefinition("type", "TYPE", "subscribe to records of this type, in the default zone too"),
            OptionDefinition("where", "PREDICATE", "only those that match, such as 'pages > 10 AND done == 0'"),
            OptionDefinition("fields", "KEYS", "print these fields of them too, up to three: title,pages"),
            CommandOptions.isPublic, CommandOptions.isShared,
            OptionDefinition("no-subscribe", nil, "save no subscription: print what those that exist give"),
            OptionDefinition("count", "N", "end after N notifications of changes"), CommandOptions.json,
        ] + CommandOptions.client,
        notes: [
            """
            Saves the subscription brume-watch (or brume-watch-ZONE, or brume-watch-type-TYPE), which stays, and prints what \
            comes of it. It is a device of its own, in the folder watch of --state, so that it is told what other commands on \
            this machine do; two that run at the same time need a --state each. "watching" on \
            stderr, with --json the notification "ready", says that it has begun. The public database has --type alone; it has \
            no changes to fetch. The shared one is watched as a whole.
            """,
            """
            fetchFromToken is no change: it says that the server keeps no more of what happened before, so fetch the changes, or \
            query again in the public database. It has no date, and --count does not count it.
            """,
            CommandOptions.clientNote,
        ],
        body: .asynchronous(run))

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        let scope = try ClientContext.scope(invocation)
        if scope == .shared,
            let option = ["zone", "type", "where", "fields"].first(where: { invocation.text($0) != nil })
        {
            throw UsageError(
                "--\(option) does not go with --shared, whose zones are watched together", command: invocation.command)
        }
        let context = try await ClientContext(invocation, deviceName: "watch")
        let count = try invocation.integer("count", in: 1...1_000_000_000)
        var subscriptionID: String?
        if !invocation.isOn("no-subscribe") {
            let subscription: CKSubscription
            if let type = invocation.text("type") {
                subscription = try querySubscription(type, invocation)
            } else if invocation.text("where") != nil || invocation.text("fields") != nil {
                throw CommandError(.usage, "--where and --fields need --type: which records?")
            } else if scope == .public {
                throw CommandError(
                    .usage,
                    "the public database tells of records alone: name them with --type, and --where if not all of them")
            } else if let zone = invocation.text("zone") {
                subscription = CKRecordZoneSubscription(
                    zoneID: try ClientContext.zoneID(zone), subscriptionID: "brume-watch-\(zone)")
            } else {
                subscription = CKDatabaseSubscription(subscriptionID: "brume-watch")
            }
            _ = try await context.database.save(subscription)
            subscriptionID = subscription.subscriptionID
        }
        var printed = 0
        var isReady = false
        for try await event in context.container.notificationEvents {
            if case .ready = event.kind {
                if !isReady { printReady(invocation) }
                isReady = true
                continue
            }
            if let subscriptionID, !comes(event, of: subscriptionID, in: scope) { continue }
            Terminal.print(line(of: event, isJSON: invocation.isOn("json")))
            if !isChange(event) { continue }
            printed += 1
            if printed == count { break }
        }
        return .done
    }

    /// Whether an event is of this subscription: the device also gets those of subscriptions that earlier commands
    /// made.
    private static func comes(
        _ event: NotificationEvent, of subscriptionID: String, in scope: CKDatabase.Scope
    ) -> Bool {
        switch event.kind {
        case .fetchFromToken(let database): return isScope(database, scope)
        // The private and the shared database may each have a subscription of that name.
        case .databaseChanged(let database): return isScope(database, scope) && event.subscriptionID == subscriptionID
        case .ready, .zoneChanged, .recordChanged, .unknown: return event.subscriptionID == subscriptionID
        }
    }

    private static func isScope(_ database: DatabaseScope, _ scope: CKDatabase.Scope) -> Bool {
        Int(database.rawValue) == scope.rawValue
    }

    private static func querySubscription(_ type: String, _ invocation: Invocation) throws -> CKSubscription {
        try ClientContext.checkRecordType(type)
        let predicate: BrumeKit.NSPredicate
        do throws(CKError) {
            predicate = try BrumeKit.NSPredicate(validatingFormat: invocation.text("where") ?? "TRUEPREDICATE")
        } catch {
            throw CommandError(.usage, "--where can't be read: \(error.localizedDescription)")
        }
        // A predicate that no server supports is a mistake in the command line.
        do throws(CKError) { _ = try CKQuery(recordType: type, predicate: predicate).translated() } catch {
            throw CommandError(.usage, "--where can't be watched: \(error.localizedDescription)")
        }
        let subscription = CKQuerySubscription(
            recordType: type, predicate: predicate, subscriptionID: "brume-watch-type-\(type)")
        if let zone = invocation.text("zone") { subscription.zoneID = try ClientContext.zoneID(zone) }
        if let fields = invocation.text("fields") {
            subscription.notificationInfo = CKSubscription.NotificationInfo(desiredKeys: try keys(fields))
        }
        return subscription
    }

    private static func keys(_ text: String) throws(CommandError) -> [String] {
        let keys = text.split(separator: ",").map(String.init)
        guard keys.count <= Limits.notificationDesiredKeys else {
            throw CommandError(
                .usage, "--fields names \(keys.count) keys; the limit is \(Limits.notificationDesiredKeys)",
                hint: "fetch the record to see all of it")
        }
        for key in keys {
            if let problem = Names.problemWithFieldKey(key) {
                throw CommandError(.usage, "--fields \"\(key)\": \(problem)")
            }
        }
        return keys
    }

    private static func fields(of event: NotificationEvent) -> [(key: String, value: JSONValue)] {
        let notification = CKNotification(event, containerIdentifier: nil, currentUser: nil) as? CKQueryNotification
        return (notification?.recordFields ?? [:]).sorted { $0.key < $1.key }.compactMap { field in
            (field.value as? any CKRecordValueProtocol).map { (field.key, TypedValue(recordValue: $0).json) }
        }
    }

    private static func kind(of reason: RecordChangeReason) -> String {
        switch reason {
        case .created: "recordCreated"
        case .updated: "recordUpdated"
        case .deleted: "recordDeleted"
        }
    }

    /// Reports that changes from now on will be printed.
    private static func printReady(_ invocation: Invocation) {
        if invocation.isOn("json") {
            Terminal.print(JSONValue.object([("notification", .string("ready"))]).line)
        } else {
            Terminal.printError("watching")
        }
    }

    /// Whether an event tells of a change, and not only that some were not kept.
    static func isChange(_ event: NotificationEvent) -> Bool {
        if case .fetchFromToken = event.kind { false } else { true }
    }

    private static func isOfShared(_ event: NotificationEvent) -> Bool {
        switch event.kind {
        case .databaseChanged(.shared), .fetchFromToken(.shared): true
        default: false
        }
    }

    /// The line that is printed for an event.
    static func line(of event: NotificationEvent, isJSON: Bool) -> String {
        let (kind, zone): (String, String?) =
            switch event.kind {
            case .zoneChanged(let zone): ("zoneChanged", zone.name)
            case .databaseChanged: ("databaseChanged", nil)
            case .fetchFromToken: ("fetchFromToken", nil)
            case .recordChanged(let change): (kind(of: change.reason), change.zone.name)
            case .ready, .unknown: preconditionFailure("what the SDK handles itself is no notification")
            }
        var change: RecordChange?
        if case .recordChanged(let told) = event.kind { change = told }
        let fields = fields(of: event)
        let date = TypedValue.text(of: Date(timeIntervalSince1970: Double(event.committedMilliseconds) / 1000))
        if isJSON {
            var members: [(key: String, value: JSONValue)] = [("notification", .string(kind))]
            if let zone { members.append(("zone", .string(zone))) }
            if isOfShared(event) { members.append(("database", .string("shared"))) }
            if let change {
                members.append(("database", .string(change.database == .public ? "public" : "private")))
                members.append(("record", .string(change.recordName)))
                if !fields.isEmpty {
                    members.append(("fields", .object(fields.map { ($0.key, $0.value) })))
                }
            }
            if isChange(event) {
                members.append(("subscription", .string(event.subscriptionID)))
                members.append(("committed", .string(date)))
            }
            return JSONValue.object(members).line
        }
        let what = isOfShared(event) ? "\(kind) shared" : kind
        guard isChange(event) else { return "\(what)  earlier changes are not kept: fetch them, or query again" }
        let record = change.map { " \($0.recordName)" } ?? ""
        let values = fields.map { "  \($0.key)=\($0.value.line)" }.joined()
        return "\(date)  \(what)\(zone.map { " \($0)" } ?? "")\(record)  \(event.subscriptionID)\(values)"
    }
}
