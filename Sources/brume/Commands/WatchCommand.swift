internal import BrumeKit
internal import BrumeModel
internal import Foundation

/// `brume watch`: prints notifications as they come.
enum WatchCommand {
    static let definition = CommandDefinition(
        ["watch"], "print notifications as they come",
        options: [
            OptionDefinition("zone", "NAME", "subscribe to this zone instead of the whole database"),
            OptionDefinition("no-subscribe", nil, "save no subscription: print what those that exist give"),
            OptionDefinition("count", "N", "end after N notifications"), CommandOptions.json,
        ] + CommandOptions.client,
        notes: [
            """
            Saves the subscription brume-watch (or brume-watch-ZONE), which stays. It is a device of its own, in the folder \
            watch of --state, so that it is told what other commands on this machine do. "watching" on stderr, with --json the \
            notification "ready", says that it has begun.
            """,
            CommandOptions.clientNote,
        ],
        body: .asynchronous(run))

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        let context = try await ClientContext(invocation, deviceName: "watch")
        let count = try invocation.integer("count", in: 1...1_000_000_000)
        if !invocation.isOn("no-subscribe") {
            let subscription: CKSubscription
            if let zone = invocation.text("zone") {
                subscription = CKRecordZoneSubscription(
                    zoneID: try ClientContext.zoneID(zone), subscriptionID: "brume-watch-\(zone)")
            } else {
                subscription = CKDatabaseSubscription(subscriptionID: "brume-watch")
            }
            _ = try await context.database.save(subscription)
        }
        var printed = 0
        var isReady = false
        for try await event in context.container.notificationEvents {
            if case .ready = event.kind {
                if !isReady { printReady(invocation) }
                isReady = true
                continue
            }
            print(event, invocation)
            printed += 1
            if printed == count { break }
        }
        return .done
    }

    /// What is changed from now on is printed.
    private static func printReady(_ invocation: Invocation) {
        if invocation.isOn("json") {
            Terminal.print(JSONValue.object([("notification", .string("ready"))]).line)
        } else {
            Terminal.printError("watching")
        }
    }

    private static func print(_ event: NotificationEvent, _ invocation: Invocation) {
        let (kind, zone): (String, String?) =
            switch event.kind {
            case .zoneChanged(let zone): ("zoneChanged", zone.name)
            case .databaseChanged: ("databaseChanged", nil)
            case .fetchFromToken: ("fetchFromToken", nil)
            case .ready: preconditionFailure("ready is no notification")
            }
        let date = TypedValue.text(of: Date(timeIntervalSince1970: Double(event.committedMilliseconds) / 1000))
        if invocation.isOn("json") {
            var members: [(key: String, value: JSONValue)] = [("notification", .string(kind))]
            if let zone { members.append(("zone", .string(zone))) }
            members.append(("subscription", .string(event.subscriptionID)))
            members.append(("committed", .string(date)))
            Terminal.print(JSONValue.object(members).line)
        } else {
            Terminal.print("\(date)  \(kind)\(zone.map { " \($0)" } ?? "")  \(event.subscriptionID)")
        }
    }
}
