internal import BrumeModel
internal import BrumeServer
internal import BrumeSystem
internal import Foundation

/// The demo's story, step by step.
final class DemoPlay {
    private static let timeZoneEdits = 200
    private static let languageEdits = 100
    private static let timeZoneDeletions = 10
    private static let languageDeletions = 25

    private let expected: (languages: Int, timeZones: Int)
    private let workFolder: String
    private let report: DemoReport
    private let server: DemoServer
    private let token: String

    init(
        dataFolder: String, workFolder: String, expected: (languages: Int, timeZones: Int), report: DemoReport
    ) throws {
        self.expected = expected
        self.workFolder = workFolder
        self.report = report
        for name in ["a", "b"] {
            try FileManager.default.createDirectory(atPath: "\(workFolder)/\(name)", withIntermediateDirectories: true)
        }
        token = try Self.makeAccount(dataFolder)
        server = try DemoServer(dataFolder: dataFolder, workFolder: workFolder)
    }

    private static func makeAccount(_ dataFolder: String) throws -> String {
        let accounts = try FolderAccounts(
            dataFolder: dataFolder, container: DemoCommand.container, environment: .development)
        defer { accounts.release() }
        guard try accounts.list().contains(where: { $0.name == "demo" }) else {
            return try accounts.add(name: "demo", email: "demo@example.com").token
        }
        _ = try accounts.revokeTokens(name: "demo")
        return try accounts.createToken(name: "demo")
    }

    /// Plays all steps. Returns true when both devices hold the same records, in the expected number, and the server
    /// stopped cleanly.
    func play() throws -> Bool {
        let start = try server.start()
        report.tell(
            "server", "started in \(ms(start)) on \(server.address), data in \(server.dataFolder)",
            ["startMilliseconds": start])
        let author = try DemoDevice(
            name: "device A", role: "author", server: server, token: token, stateFolder: workFolder + "/a")
        var follower = try makeFollower()
        try author.order("make-zones")
        try follower.order("subscribe")
        try follower.order("listen")
        report.tell("device B", "subscribed to the zone \(TimeZones.zone) and to the database, and listens")
        try importAll(author, follower)
        try editAndDelete(author, follower)
        try crash(author, follower)
        follower = try goAway(author, follower)
        let isSame = try compare(author, follower)
        author.quit()
        follower.quit()
        let isOrderly = server.stop()
        report.tell("server", isOrderly ? "stopped in order" : report.bad("did not stop in order"))
        return isSame && isOrderly
    }

    private func makeFollower() throws -> DemoDevice {
        try DemoDevice(
            name: "device B", role: "follower", server: server, token: token, stateFolder: workFolder + "/b")
    }

    private func importAll(_ author: DemoDevice, _ follower: DemoDevice) throws {
        let started = MonotonicClock.nowNanoseconds
        let count = integer(try author.order("import")["records"])
        let done = MonotonicClock.nowNanoseconds
        let seconds = Double(done - started) / 1e9
        report.tell(
            "device A",
            "imported \(expected.languages) languages and \(expected.timeZones) time zones in \(ms(seconds * 1000)) "
                + "(\(Int(Double(count) / seconds)) records/s)",
            ["importedRecords": Double(count), "importRecordsPerSecond": Double(count) / seconds])
        try catchUp(author, follower)
        let behind = Double(MonotonicClock.nowNanoseconds - done) / 1e6
        let figures = try follower.order("figures")
        report.tell(
            "device B",
            "got \(integer(figures["pushes"])) pushes meanwhile, fetched \(integer(figures["changes"])) changes in "
                + "\(integer(figures["fetches"])) pages; as far as A \(ms(behind)) after its last save",
            ["catchUpMilliseconds": behind])
    }

    private func editAndDelete(_ author: DemoDevice, _ follower: DemoDevice) throws {
        let started = MonotonicClock.nowNanoseconds
        try author.order("edit-time-zones \(Self.timeZoneEdits) 1", stepKey: "edited")
        let seconds = Double(MonotonicClock.nowNanoseconds - started) / 1e9
        try author.order("edit-languages \(Self.languageEdits) 1")
        try author.order("delete-time-zones \(Self.timeZoneDeletions)")
        try author.order("delete-languages \(Self.languageDeletions)")
        report.tell(
            "device A",
            "edited \(Self.timeZoneEdits) time zones one by one (\(Int(Double(Self.timeZoneEdits) / seconds)) saves/s, each "
                + "on disk before its answer), \(Self.languageEdits) languages at once, deleted "
                + "\(Self.timeZoneDeletions + Self.languageDeletions)",
            ["savesPerSecond": Double(Self.timeZoneEdits) / seconds])
        try catchUp(author, follower)
        tellPushes(try follower.order("figures"), "push")
    }

    /// Kills the server while A edits. A and B stay; both find it again by themselves.
    private func crash(_ author: DemoDevice, _ follower: DemoDevice) throws {
        var restart = 0.0
        try author.order("edit-time-zones \(Self.timeZoneEdits) 2", stepKey: "edited") { number throws(CommandError) in
            guard number == Self.timeZoneEdits / 2 else { return }
            server.killHard()
            restart = try server.start()
        }
        report.tell(
            "server",
            "killed with -9 in the middle of A's edits and started again: serving after \(ms(restart))",
            ["restartMilliseconds": restart])
        try author.order("edit-languages \(Self.languageEdits) 2")
        report.tell("device A", "went on: \(Self.timeZoneEdits) edits, each acknowledged once")
        try catchUp(author, follower)
        tellPushes(try follower.order("figures"), "afterRestartPush")
    }

    /// B ends, A goes on, B starts again with the store and the tokens that it saved.
    private func goAway(_ author: DemoDevice, _ follower: DemoDevice) throws -> DemoDevice {
        try follower.order("dump")
        follower.quit()
        try author.order("edit-time-zones \(Self.timeZoneEdits / 4) 3", stepKey: "edited")
        try author.order("delete-languages \(Self.languageDeletions)")
        let back = try makeFollower()
        let started = MonotonicClock.nowNanoseconds
        try back.order("listen")
        try catchUp(author, back)
        let milliseconds = Double(MonotonicClock.nowNanoseconds - started) / 1e6
        let figures = try back.order("figures")
        report.tell(
            "device B",
            "was away, came back with its saved tokens: \(integer(figures["changes"])) changes in \(ms(milliseconds)), "
                + "\(integer(figures["records"])) records",
            ["resumeMilliseconds": milliseconds, "resumedChanges": Double(integer(figures["changes"]))])
        return back
    }

    private func compare(_ author: DemoDevice, _ follower: DemoDevice) throws -> Bool {
        let stores = try [author, follower].map { device in
            try DemoStore(contentsOf: device.order("dump")["path"]?.text ?? "")
        }
        let count = expected.languages + expected.timeZones - Self.timeZoneDeletions - 2 * Self.languageDeletions
        let differences = stores[0].differences(from: stores[1], names: ("A", "B"), limit: 20)
        let isSame = differences.isEmpty && stores[0].recordCount == count && stores[1].recordCount == count
        let counts = "\(stores[0].recordCount) records on A, \(stores[1].recordCount) on B, \(count) expected"
        report.tell(
            "compare",
            isSame ? report.good("the same, field by field: \(counts)") : report.bad("not the same: \(counts)"),
            ["records": Double(stores[1].recordCount)])
        report.finish(same: isSame, differences: differences)
        return isSame
    }

    // MARK: Inside

    private func catchUp(_ author: DemoDevice, _ follower: DemoDevice) throws {
        let digest = try author.order("digest")["digest"]?.text ?? ""
        try follower.order("until \(digest)")
    }

    private func tellPushes(_ figures: JSONValue, _ key: String) {
        let latencies = (figures["latencies"]?.array ?? []).compactMap { value -> Double? in
            guard case .number(let number) = value else { return nil }
            return number
        }.sorted()
        func percentile(_ fraction: Double) -> Double {
            latencies.isEmpty ? 0 : latencies[min(latencies.count - 1, Int(fraction * Double(latencies.count)))]
        }
        let (half, most) = (percentile(0.5), percentile(0.99))
        let pushes = integer(figures["pushes"])
        report.members(["\(key)es": Double(pushes), "\(key)P50Milliseconds": half, "\(key)P99Milliseconds": most])
        report.tell(
            "device B",
            "got \(pushes) pushes, from commit to receipt p50 \(ms(half)), p99 \(ms(most)); fetched "
                + "\(integer(figures["changes"])) changes")
    }

    private func integer(_ value: JSONValue?) -> Int {
        guard case .integer(let number)? = value else { return 0 }
        return Int(number)
    }

    private func ms(_ milliseconds: Double) -> String {
        milliseconds >= 1000
            ? String(format: "%.2f s", milliseconds / 1000)
            : String(format: milliseconds < 10 ? "%.1f ms" : "%.0f ms", milliseconds)
    }
}
