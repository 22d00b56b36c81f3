internal import BrumeKit
internal import Foundation

/// `brume demo-device`: one device of the demo, which reads orders as lines from its standard input and answers with
/// lines.
enum DemoDeviceCommand {
    static let definition = CommandDefinition(
        ["demo-device"], "be a device of the demo",
        options: [OptionDefinition("role", "ROLE", "author or follower")] + CommandOptions.client, isHidden: true,
        body: .asynchronous(run))

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        let context = try await ClientContext(invocation)
        let stateFolder = try invocation.required("state")
        switch try invocation.required("role") {
        case "author": try await author(DemoAuthor(context: context, stateFolder: stateFolder))
        case "follower": try await follower(DemoFollower(context: context, stateFolder: stateFolder))
        case let role: throw UsageError("there is no role \"\(role)\"", command: invocation.command)
        }
        return .done
    }

    private static func author(_ author: DemoAuthor) async throws {
        for await order in orders() {
            let count = order.count
            switch order.verb {
            case "make-zones":
                try await author.makeZones()
                answer([])
            case "import": answer([("records", .integer(Int64(try await author.importAll())))])
            case "edit-time-zones":
                try await author.editTimeZones(count: count, serial: order.serial) { number in
                    answer([("edited", .integer(Int64(number)))])
                }
                answer([])
            case "edit-languages":
                try await author.editLanguages(count: count, serial: order.serial)
                answer([])
            case "delete-time-zones":
                try await author.delete(TimeZones.zone, count: count)
                answer([])
            case "delete-languages":
                try await author.delete(Languages.zone, count: count)
                answer([])
            case "digest": answer([("digest", .string(author.digest))])
            case "dump": answer([("path", .string(try author.writeStore()))])
            default: throw CommandError(.usage, "there is no order \"\(order.verb)\"")
            }
        }
    }

    private static func follower(_ follower: DemoFollower) async throws {
        for await order in orders() {
            switch order.verb {
            case "subscribe":
                try await follower.subscribe()
                answer([])
            case "listen":
                Task {
                    do {
                        try await follower.listen { answer([]) }
                    } catch {
                        Terminal.printError("device B: \(CommandError(describing: error).message)")
                        exit(CommandError(describing: error).code.rawValue)
                    }
                }
            case "until":
                await follower.waitUntil(order.text)
                answer([])
            case "figures":
                let figures = await follower.takeFigures()
                let latencies = figures.latencyMilliseconds.map { JSONValue.number($0) }
                answer([
                    ("pushes", .integer(Int64(figures.pushes))), ("changes", .integer(Int64(figures.changes))),
                    ("fetches", .integer(Int64(figures.fetches))), ("latencies", .array(latencies)),
                    ("records", .integer(Int64(await follower.recordCount))),
                ])
            case "dump": answer([("path", .string(try await follower.writeStore()))])
            default: throw CommandError(.usage, "there is no order \"\(order.verb)\"")
            }
        }
    }

    /// An order: `VERB [COUNT SERIAL | TEXT]`.
    private struct Order: Sendable {
        let verb: String
        let words: [String]

        var count: Int { words.first.flatMap { Int($0) } ?? 0 }
        var serial: Int { words.dropFirst().first.flatMap { Int($0) } ?? 0 }
        var text: String { words.first ?? "" }
    }

    /// The orders from the standard input. The process ends with it, so that a device never outlives the demo.
    private static func orders() -> AsyncStream<Order> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                while let line = readLine() {
                    let words = line.split(separator: " ").map(String.init)
                    if let verb = words.first { continuation.yield(Order(verb: verb, words: Array(words.dropFirst()))) }
                }
                // The demo is gone: nobody waits for orders in progress.
                exit(0)
            }
        }
    }

    private static func answer(_ members: [(key: String, value: JSONValue)]) {
        Terminal.print(JSONValue.object(members).line)
    }
}
