internal import BrumeModel
internal import BrumeService

/// A server's figures in Prometheus' text format (version 0.0.4). Labels are methods, error codes and parts of the
/// server: a set that does not grow with users.
struct PrometheusText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Upper bounds of duration buckets in nanoseconds, and as the label has them in seconds.
    private static let durationBounds: [(nanoseconds: UInt64, seconds: String)] = [
        (50_000, "0.00005"), (100_000, "0.0001"), (250_000, "0.00025"), (500_000, "0.0005"), (1_000_000, "0.001"),
        (2_500_000, "0.0025"), (5_000_000, "0.005"), (10_000_000, "0.01"), (25_000_000, "0.025"),
        (50_000_000, "0.05"), (100_000_000, "0.1"), (250_000_000, "0.25"), (500_000_000, "0.5"),
        (1_000_000_000, "1"), (2_500_000_000, "2.5"), (5_000_000_000, "5"), (10_000_000_000, "10"),
        (60_000_000_000, "60"),
    ]
    private static let countBounds: [UInt64] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000]
    private static let byteBounds: [UInt64] = [
        1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216,
    ]

    private(set) var text = ""

    init(_ figures: ServerFigures, _ machine: MachineFigures = MachineFigures()) {
        server(figures)
        surroundings(machine)
        calls(figures)
        assets(figures.assets)
        push(figures)
        journal(figures.journal)
        databases(figures)
    }

    // MARK: Families

    private mutating func server(_ figures: ServerFigures) {
        gauge(
            "brume_uptime_seconds", seconds(figures.health.uptimeMilliseconds, perSecond: 1_000),
            "Time since the server was started.")
        gauge("brume_serving", figures.health.isServing ? "1" : "0", "1 while the server serves, 0 while it drains.")
        gauge(
            "brume_disk_full", figures.health.isDiskFull ? "1" : "0",
            "1 while writes are refused because the disk is full.")
        gauge(
            "brume_damage_found", figures.health.isDamageFound ? "1" : "0",
            "1 when a file of the data folder turned out to be damaged.")
        gauge("brume_event_loops", String(figures.loops), "Event loops.")
        counter(
            "process_cpu_seconds_total", seconds(figures.cpuNanoseconds), "User and system CPU time of the process.")
        gauge(
            "process_resident_memory_bytes", String(figures.memory.residentBytes),
            "Memory that the process has, by the kernel.")

        gauge("brume_connections_open", String(figures.connections.open), "Connections that are open.")
        counter(
            "brume_connections_accepted_total", String(figures.connections.accepted), "Connections that were accepted.")
        counter(
            "brume_connections_welcomed_total", String(figures.connections.welcomed),
            "Connections whose hello was answered with a welcome.")
        counter(
            "brume_connections_refused_total", String(figures.connections.refused),
            "Connections that were told why they may not go on.")
        gauge("brume_connections_limit", String(figures.connections.limit), "Connections that the server takes.")
        counter(
            "brume_connections_turned_away_total",
            "Connections that were closed or refused because there were too many, by what was used up.")
        for (reason, count) in [
            ("server", figures.connections.beyondLimit), ("address", figures.connections.beyondAddress),
            ("account", figures.connections.beyondAccount), ("opening", figures.connections.late),
            ("memory", figures.connections.shed),
        ] {
            sample("brume_connections_turned_away_total", [("reason", reason)], String(count))
        }
        gauge("process_open_fds", String(figures.descriptors.open), "Descriptors that the process has open.")
        gauge("process_max_fds", String(figures.descriptors.limit), "Descriptors that the process may have.")
    }

    private mutating func surroundings(_ machine: MachineFigures) {
        if let seconds = machine.certificateExpirySeconds {
            gauge(
                "brume_certificate_expiry_timestamp_seconds", String(seconds),
                "When the certificate in its file expires, in seconds since 1970; a reload takes another one.")
        }
        if let seconds = machine.newestBackupSeconds {
            gauge(
                "brume_backup_newest_timestamp_seconds", String(seconds),
                "When the newest verified backup was begun that lacks nothing, in seconds since 1970.")
        }
        gauge("brume_disk_free_bytes", "Bytes that the server can still write, where its data or its assets are.")
        for disk in machine.disks {
            sample("brume_disk_free_bytes", [("content", disk.content)], String(disk.freeBytes))
        }
        gauge("brume_disk_size_bytes", "Bytes of the file system where the server's data or its assets are.")
        for disk in machine.disks {
            sample("brume_disk_size_bytes", [("content", disk.content)], String(disk.totalBytes))
        }
        gauge("brume_budget_bytes", "What each budget allows; 0 for none.")
        for (budget, bytes) in [
            ("memory", machine.memoryBudgetBytes), ("output", machine.outputBudgetBytes),
            ("input", machine.inputBudgetBytes),
        ] {
            sample("brume_budget_bytes", [("budget", budget)], String(bytes))
        }
    }

    private mutating func calls(_ figures: ServerFigures) {
        counter("brume_calls_total", "Calls that have ended, by method and outcome.")
        for method in figures.methods {
            let failures = method.failureCount
            for (outcome, count) in [
                ("success", method.ended - min(method.ended, failures)), ("failure", failures),
                ("cancelled", method.cancelled),
            ] {
                sample("brume_calls_total", [("method", method.name), ("outcome", outcome)], String(count))
            }
        }
        counter("brume_call_failures_total", "Calls that failed, by method and error code.")
        for method in figures.methods {
            for (code, count) in method.failures.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                sample("brume_call_failures_total", [("method", method.name), ("code", code.name)], String(count))
            }
        }
        histogram("brume_call_duration_seconds", "From a request's arrival to its answer, by method.")
        for method in figures.methods where method.latencyNanoseconds.count > 0 {
            durations("brume_call_duration_seconds", [("method", method.name)], method.latencyNanoseconds)
        }
        gauge("brume_calls_open", String(figures.openCalls), "Calls that have not ended, streams included.")
        counter("brume_calls_refused_total", String(figures.refusedCalls), "Calls that were refused before they began.")
        counter(
            "brume_item_failures_total",
            "Items that failed in requests that went through; serverRecordChanged is a conflict.")
        for (code, count) in figures.itemFailures.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            sample("brume_item_failures_total", [("code", code.name)], String(count))
        }
        counter("brume_commits_total", String(figures.commits), "Commits of all databases.")
        counter(
            "brume_changes_total", String(figures.changes),
            "Records, zones and subscriptions that commits wrote or deleted.")
        gauge(
            "brume_queries_running", String(figures.databases.runningQueries), "Queries that have begun and not ended.")
    }

    private mutating func assets(_ figures: ServerFigures.Assets) {
        gauge("brume_asset_transfers_open", String(figures.transfers), "Uploads and downloads of assets that are open.")
        counter("brume_asset_uploads_total", String(figures.uploads), "Uploads that ended with an asset.")
        counter("brume_asset_uploaded_bytes_total", String(figures.uploadedBytes), "Bytes of contents that came.")
        counter("brume_asset_downloads_total", String(figures.downloads), "Downloads that ended as they should.")
        counter("brume_asset_downloaded_bytes_total", String(figures.downloadedBytes), "Bytes of contents that went.")
        counter(
            "brume_asset_files_removed_total", String(figures.removedFiles),
            "Files that were removed because no record named them any more.")
        gauge(
            "brume_asset_named_bytes", String(figures.namedBytes),
            "Bytes of assets that records of the databases in memory name.")
        gauge(
            "brume_asset_pending_bytes", String(figures.pendingBytes),
            "Bytes of uploads that no record has named yet.")
        gauge(
            "brume_asset_unneeded_bytes", String(figures.unneededBytes),
            "Bytes of assets that no record names any more, and that are not removed yet.")
    }

    private mutating func push(_ figures: ServerFigures) {
        gauge("brume_streams_open", String(figures.push.streams), "Notification streams that are open.")
        counter(
            "brume_events_published_total", String(figures.push.published),
            "Events that were made, one for each user whom a commit concerns.")
        counter("brume_events_sent_total", String(figures.push.sent), "Events that were sent to devices.")
        counter(
            "brume_events_missed_total", String(figures.push.missed),
            "Times that a device was told to fetch, since events were no longer kept.")
        gauge("brume_backlog_events", String(figures.push.backlogEvents), "Events that are kept for devices.")
        histogram("brume_push_lag_seconds", "From a commit to the handing of its events to the devices that listen.")
        durations("brume_push_lag_seconds", [], figures.push.lagNanoseconds)
    }

    private mutating func journal(_ journal: ServerFigures.Journal) {
        histogram("brume_journal_sync_seconds", "The write and sync of one batch of the journal.")
        durations("brume_journal_sync_seconds", [], journal.syncNanoseconds)
        histogram("brume_journal_batch_commits", "Commits in one batch of the journal.")
        numbers("brume_journal_batch_commits", journal.batchEntries, Self.countBounds)
        histogram("brume_journal_batch_bytes", "Bytes of the commits in one batch of the journal.")
        numbers("brume_journal_batch_bytes", journal.batchBytes, Self.byteBounds)
        gauge("brume_journal_segments", String(journal.segments), "Files of the journal.")
    }

    private mutating func databases(_ figures: ServerFigures) {
        let databases = figures.databases
        gauge("brume_databases_loaded", String(databases.loaded), "Databases in memory.")
        gauge("brume_databases_loading", String(databases.loading), "Databases that are being loaded.")
        counter("brume_database_loads_total", String(databases.loads), "Loads of databases into memory.")
        counter("brume_database_drops_total", String(databases.drops), "Databases that were dropped from memory.")
        counter("brume_snapshots_total", String(databases.snapshots), "Snapshots that were written.")
        counter(
            "brume_snapshot_bytes_total", String(databases.snapshotBytes), "Bytes of the snapshots that were written.")
        gauge("brume_memory_bytes", "About how many bytes each part takes.")
        let memory = figures.memory
        for (part, bytes) in [
            ("databases", memory.databaseBytes), ("backlog", memory.backlogBytes),
            ("held_answers", memory.heldAnswerBytes), ("waiting_calls", memory.waitingCallBytes),
            ("undurable_commits", memory.undurableBytes), ("unread_answers", memory.unreadAnswerBytes),
            ("unfinished_requests", memory.unfinishedRequestBytes),
        ] {
            sample("brume_memory_bytes", [("part", part)], String(bytes))
        }
    }

    // MARK: Lines

    private mutating func gauge(_ name: String, _ help: String) { family(name, "gauge", help) }
    private mutating func counter(_ name: String, _ help: String) { family(name, "counter", help) }
    private mutating func histogram(_ name: String, _ help: String) { family(name, "histogram", help) }

    private mutating func family(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    // A family of one sample, which needs no label.

    private mutating func gauge(_ name: String, _ value: String, _ help: String) {
        gauge(name, help)
        sample(name, [], value)
    }

    private mutating func counter(_ name: String, _ value: String, _ help: String) {
        counter(name, help)
        sample(name, [], value)
    }

    private mutating func sample(_ name: String, _ labels: [(String, String)], _ value: String) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",") + "}"
        }
        text += " \(value)\n"
    }

    private mutating func durations(_ name: String, _ labels: [(String, String)], _ histogram: Histogram) {
        for bound in Self.durationBounds {
            sample(
                name + "_bucket", labels + [("le", bound.seconds)], String(histogram.count(atMost: bound.nanoseconds)))
        }
        sample(name + "_bucket", labels + [("le", "+Inf")], String(histogram.count))
        sample(name + "_sum", labels, seconds(histogram.sum))
        sample(name + "_count", labels, String(histogram.count))
    }

    private mutating func numbers(_ name: String, _ histogram: Histogram, _ bounds: [UInt64]) {
        for bound in bounds {
            sample(name + "_bucket", [("le", String(bound))], String(histogram.count(atMost: bound)))
        }
        sample(name + "_bucket", [("le", "+Inf")], String(histogram.count))
        sample(name + "_sum", [], String(histogram.sum))
        sample(name + "_count", [], String(histogram.count))
    }

    /// A decimal number, exactly.
    private func seconds(_ value: UInt64, perSecond: UInt64 = 1_000_000_000) -> String {
        let fraction = String(value % perSecond + perSecond).dropFirst()
        return "\(value / perSecond).\(fraction)"
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
