import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeSystem
import Foundation
import Testing

@testable import BrumeKit
@testable import BrumeServer
@testable import BrumeService

/// The figures in the tables of the pages, held against the constants that the server and the SDK work with.
///
/// Each row is named by how its line begins, and gives its figures in the order of the line: those of the first two
/// columns, then those in the last one that have a unit. Times are in milliseconds. A figure that stands here as a
/// number is no constant in the code.
@Suite("Pages of limits")
struct LimitsPageTests {
    private typealias Model = BrumeModel.Limits
    private typealias Server = ServerLimits
    private typealias Service = ServiceLimits
    private typealias Rows = [(beginning: String, figures: [Int])]

    private static let connection = ServerConnectionLimits()
    private static let socket = BrumeSystem.ConnectionLimits()
    private static let outputBudget = ServiceConfiguration.standardOutputBudgetBytes
    private static let inputBudget = ServiceConfiguration.standardInputBudgetBytes
    private static let listed = HistoryLimits.standard

    @Test("say what the code does: the protocol's page")
    func protocolPage() throws {
        try Self.compare(
            try Self.rows(of: "proto/README.md", section: "## 10. Limits"),
            with: Self.connections + Self.calls + Self.requests + Self.records + Self.assets + Self.databases
                + Self.queries + Self.notifications + Self.enrolments + Self.schemas)
    }

    @Test("say what the code does: the protocol's page on key-value stores")
    func keyValueStores() throws {
        try Self.compare(
            try Self.rows(of: "proto/README.md", section: "## 15. Key-value stores", table: "| what | limit |"),
            with: [
                ("keys of a store", [KeyValueStoreLimits.keysMax]),
                ("a key", [KeyValueStoreLimits.keyBytesMax]),
                ("a value, encoded", [KeyValueStoreLimits.valueBytesMax]),
                ("all keys and values", [KeyValueStoreLimits.bytesMax]),
                ("arrays and dictionaries", [KeyValueStoreLimits.nestingMax]),
            ])
    }

    @Test("say what the code does: the README")
    func readme() throws {
        let account = Service.connectionsPerAccount
        try Self.compare(
            try Self.rows(of: "README.md", section: "## Limits"),
            with: [
                ("items in one request", [Model.itemsPerRequest]),
                ("bytes of one request", [Model.requestBytes]),
                ("bytes of one record", [Model.recordBytes]),
                ("stored records that one request saves again", [Model.mergedBytesPerRequest]),
                ("stored records that one request changes", [StoreLimits.pendingIndexBytes]),
                ("fields of one record", [Model.fieldsPerRecord]),
                ("names of records", [Model.nameCharacters]),
                ("custom zones", [Model.zonesPerDatabase]),
                ("records and assets of an account's private", [Service.quotaBytes, Service.publicQuotaBytes]),
                ("subscriptions of one user", [Model.subscriptionsPerUser]),
                ("references with `deleteSelf` to one", [Model.cascadeReferencesPerTarget]),
                ("shares of a zone", [Model.sharesPerZone, Model.participantsPerShare]),
                ("a share's picture", [Model.shareThumbnailBytes, Model.shareTextBytes]),
                ("zones of others", [Model.sharedZonesPerUser]),
                ("references with `deleteSelf` in one", [Model.cascadeReferencesPerRecord]),
                ("such references that one request", [Model.cascadeReferencesPerRequest]),
                ("records that go with those", [Model.cascadesPerRequest]),
                ("locations and references in the lists", [Model.listMessagesPerRequest]),
                ("open calls of one connection", [Self.connection.concurrentCalls]),
                ("open calls of one account", [Service.callsPerAccount]),
                ("connections, and notification streams", [account]),
                ("connections of one address", [Service.openingPerAddress]),
                ("connections of one server", [Service.connections]),
                ("answers that a server holds", [Self.outputBudget]),
                ("requests that are not whole", [Self.inputBudget]),
                (
                    "changes that wait for the disk",
                    [Service.undurableBytes, Service.undurableTurnBytes, Service.undurableTurnBytesAlone]
                ),
                ("accounts of one server", [Service.accounts]),
            ])
        // The parts of the budgets that these rows name in words: an eighth, a half.
        #expect(Service.accountPart == 8 && Service.anonymousPart == 2)
        #expect(Service.undurableAccountBytes == Service.undurableBytes / 8)
    }

    @Test("notice a figure that is another one")
    func notices() throws {
        let page = ["| items | 400 | call: 27 |", "| a wait | | call: 7, 100 ms |", "| nesting | none | |"]
        #expect(Self.faults(in: page, with: [("items", [400]), ("a wait", [100])]).isEmpty)
        #expect(Self.faults(in: page, with: [("items", [401]), ("a wait", [100])]).count == 1)
        #expect(Self.faults(in: page, with: [("items", [400]), ("a wait", [1_000])]).count == 1)
        #expect(Self.faults(in: page, with: [("items", [400])]).count == 1, "a row that is not compared")
        #expect(Self.faults(in: page, with: [("items", [400]), ("a wait", [100]), ("gone", [1])]).count == 1)
    }

    @Test("are read with their units")
    func units() {
        #expect(
            Self.figures(
                in:
                    "| a (`stream_credit`, `limit` 0) in UTF-8 above 4 KiB | 3.5 MiB, 1,000 and 5 GiB, 2 MB | 6, 10 s; 27 |"
            )
                == [4_096, 3_670_016, 1_000, 5_368_709_120, 2_000_000, 10_000])
    }
}

// MARK: - The protocol's tables

extension LimitsPageTests {
    private static let connections: Rows = [
        ("connections of the server", [Service.connections]),
        ("connections of an account", [Service.connectionsPerAccount, Int(Service.connectionRetryMilliseconds)]),
        ("connections without an account", [Service.connectionsPerAccount]),
        ("the same, of all addresses", [Int(Service.connectionRetryMilliseconds)]),
        ("connections of an address before", [Service.openingPerAddress]),
        ("connections at the operator's socket", [Server.operatorConnections]),
        ("TLS handshake", [Int(socket.handshakeTimeoutMilliseconds)]),
        ("hello |", [connection.helloBytes]),
        ("hello after", [Int(connection.helloTimeoutMilliseconds)]),
        ("`device_id`", [16]),
        ("`container`", [Model.nameCharacters]),
        ("`client_version`", [255]),
        ("a token in the hello", [1_024]),
        ("containers that an account opens", [Service.containersPerAccount]),
        ("payload of a client's frame", [Model.frameBytes, Server.anonymousFrameBytes]),
        ("payload of a server's frame", [Model.frameBytes]),
        ("a frame from its first", [Int(connection.frameTimeoutMilliseconds)]),
        ("pings", [connection.pingsPerSecond, 1_000]),
        ("silence", [Int(connection.idleMilliseconds), Int(connection.idleMilliseconds) / 3]),
        ("output that the client doesn't read", [Int(socket.writeStallTimeoutMilliseconds)]),
        ("output that waits", [Service.outputBytes]),
        ("output behind which", [socket.outputBusyBytes, socket.outputLowWaterBytes]),
    ]

    private static let calls: Rows = [
        ("open calls of a connection", [connection.concurrentCalls, Int(Service.callRetryMilliseconds)]),
        ("open calls of an account", [Service.callsPerAccount, Int(Service.callRetryMilliseconds)]),
        ("notification streams of an account", [Int(Service.streamRetryMilliseconds)]),
        (
            "notification streams of a user",
            [Service.streamsPerDatabase, Int(Service.streamRetryMilliseconds)]
        ),
        ("notification streams of a device", [1]),
        ("stream ids", [Int(UInt32.max)]),
        ("time of a unary call", [Int(connection.callTimeoutMilliseconds)]),
        ("`request_id`, `operation_group`", [64, 255]),
        ("messages without credit", [connection.streamCredit]),
        ("bytes without credit", [connection.streamCreditBytes]),
        ("unused credit", [connection.streamCreditMax, connection.streamCreditBytesMax]),
        (
            "unread answers and events of an account",
            [
                outputBudget / Service.accountPart, outputBudget / Service.addressPart,
                Int(Service.bytesRetryMilliseconds),
            ]
        ),
        (
            "requests under way of an account",
            [inputBudget / Service.accountPart, inputBudget / Service.addressPart, Int(Service.bytesRetryMilliseconds)]
        ),
        ("frames above", [Server.unreservedFrameBytes]),
        ("unread answers and events, requests", [outputBudget, inputBudget, Int(Service.bytesRetryMilliseconds)]),
        ("events of a database that wait", [Service.eventsWaiting]),
        ("streams opened and ended", [Service.farTasksPerClient]),
        ("calls that wait for a database", [Service.callsPerLoad, Int(Service.loadRetryMilliseconds)]),
        (
            "bytes of all calls that wait",
            [Service.waitingCallBytes, Service.loads, Int(Service.loadRetryMilliseconds)]
        ),
        ("answers that wait for the disk", [Service.heldAnswerBytes, 1_000]),
        (
            "changes of an account that wait for the disk, on a loop",
            [Service.undurableTurnBytes, Service.undurableTurnBytesAlone]
        ),
        (
            "changes of an account that wait for the disk |",
            [Service.undurableAccountBytes, Int(Service.undurableRetryMilliseconds)]
        ),
        ("changes that wait for the disk, of all", [Service.undurableBytes, 1_000]),
        ("a full disk", [Int(Service.diskFullRetryMilliseconds)]),
    ]

    private static let requests: Rows = [
        ("bytes of a request", [Model.requestBytes]),
        ("memory of a decoded request", [16 * Model.requestBytes]),
        ("items", [Model.itemsPerRequest]),
        ("zones in a request", [Model.itemsPerRequest]),
        ("`operation_id`", [16]),
        ("`client_token`", [Model.clientTokenBytes]),
        ("changes of participants", [Model.shareChangesPerRequest]),
        (
            "bytes of stored shares",
            [
                Model.shareBytesCharged, Model.shareBytesChargedToLeave, Model.shareBytesPerRequest,
                Model.participantsShownPerRequest,
            ]
        ),
        ("a share's URL", [Model.shareURLBytes]),
        ("URLs that lead nowhere", [Service.shareLinkFailuresPerMinute]),
        ("new records in zones of others", [Service.takenNamesPerMinute]),
        ("`desired_keys` of a fetch", [Model.fieldsPerRecord]),
        ("records in an answer of `Modify`", [3_584 * 1_024]),
        ("stored records that one request", [Model.mergedBytesPerRequest, Model.mergedFieldsPerRequest]),
        ("records in an answer of `Fetch`", [Model.pageBytes]),
        (
            "a page of `Records.Changes`",
            [
                Model.changesPerPage, Model.pageBytes, Int(Model.pageAssetBytes), 3_584 * 1_024,
                Int(Model.pageAssetBytesMax),
            ]
        ),
        ("the same with a limit of your own", [Model.pageBytes, Int(Model.pageAssetBytes)]),
        ("a page of `Databases.Changes`", [400, 2_048]),
        ("fields passed", [Model.pageFieldsRead]),
        ("bytes of any answer", [Model.frameBytes]),
    ]

    private static let records: Rows = [
        ("bytes of a record", [Model.recordBytes]),
        ("fields of a record", [Model.fieldsPerRecord]),
        ("shares of a zone", [Model.sharesPerZone]),
        ("participants of a share", [Model.participantsPerShare]),
        ("zones of others", [Model.sharedZonesPerUser, Model.askedZonesPerUser]),
        ("subscriptions to one user's shared database", [Model.sharedSubscriptionsPerUser]),
        ("users whom a share blocks", [Model.blockedUsersPerShare]),
        ("records that one request moves into shares", [StoreLimits.movedRecordsPerRequest]),
        ("requests of a database at a time that share", [1_000, StoreLimits.preparedTreesPerDatabase]),
        ("users who ask for access", [Model.requestersPerShare]),
        ("locations and references", [Model.listMessagesPerRequest]),
        ("names of records", [Model.nameCharacters]),
        ("`DELETE_SELF` references in a record", [Model.cascadeReferencesPerRecord]),
        ("`DELETE_SELF` references to one name", [Model.cascadeReferencesPerTarget]),
        ("`DELETE_SELF` references that a request", [Model.cascadeReferencesPerRequest]),
        ("fields and references of any kind", [StoreLimits.referenceStepsPerRequest]),
        ("records deleted together", [Model.cascadesPerRequest]),
        ("bytes of other users' records among them", [StoreLimits.othersCascadeBytes]),
    ]

    private static let assets: Rows = [
        ("bytes of an asset", [Int(ServiceConfiguration().assetLimitBytes)]),
        ("bytes of the content in one message", [Model.assetChunkBytes]),
        ("transfers of an account", [Service.transfersPerAccount, Int(Service.transferRetryMilliseconds)]),
        ("a transfer of which less than", [Service.transferBytesMin, Int(Service.transferIdleMilliseconds)]),
        ("uploads of a database", [Int(Service.pendingUploadBytes)]),
        ("the number of those", [Int(Service.bytesPerPendingUpload), Service.pendingUploadCountMin]),
        ("bytes of a receipt", [Model.receiptBytes]),
        ("receipts in a request", [Model.receiptsPerRequest]),
        ("assets of a record", [Model.assetsPerRecord]),
        ("assets that the records of a request", [Model.assetsPerRequest]),
        ("a disk without room for an upload", [Int(Service.fullDiskRetryMilliseconds)]),
    ]

    private static let databases: Rows = [
        ("custom zones", [Model.zonesPerDatabase]),
        (
            "encoded bytes of the records and client tokens",
            [
                Model.overheadAllowanceBytes, Model.zoneBytes, Model.recordOverheadBytes, Model.assetOverheadBytes,
                Model.tombstoneBytes, Service.quotaBytes,
            ]
        ),
        (
            "encoded bytes of the records of a public",
            [
                Model.recordOverheadBytes, Model.assetOverheadBytes, Model.overheadAllowanceBytes,
                Service.publicQuotaBytes,
            ]
        ),
        ("deletions that a zone remembers", [listed.tombstonesPerZone]),
        ("deleted zones", [listed.deletedZones / 2]),
        ("starts of the server", [listed.runs]),
        ("deletions that all zones", [listed.tombstones]),
        ("client tokens of a zone", [Model.clientTokensPerZone]),
        (
            "statements of an account",
            [Model.statementsPerAccount, Model.statementBytes, Model.statementBytesPerAccount]
        ),
        ("resets of an account", [Model.statementResetsPerAccount]),
        ("zones with rings", [Model.zonesPerReset]),
        ("rings of a private database", [Model.ringsPerDatabase]),
        ("entries of a ring", [Model.entriesPerRing, Model.ringEntryBytes, Model.bytesPerRing]),
        (
            "statements of a user beside",
            [Model.ringStatementsPerUser, Model.ringStatementBytesPerUser, Model.ringChainsPerUser]
        ),
        (
            "users with statements beside",
            [
                Model.ringStatementsPerUnnamedUser, Model.ringStatementBytesPerUnnamedUser, Model.ringUsersPerZone,
                Model.ringStatementBytesPerZone,
            ]
        ),
        ("guests of a ring", [Model.ringGuestsPerRing]),
        (
            "members, other than the owners",
            [
                Model.ringStepsPerRequest, Model.ringStepsPerRequest / KeyLimits.ringMembersMax,
                KeyLimits.ringMembersMax, Model.ringStepsPerRequest / KeyLimits.ringMembersMax / 2,
            ]
        ),
        ("statements in a request to `Rings`", [Model.ringStatementsPerRequest]),
        ("a page of `Statements.Fetch`", [Model.pageBytes]),
        ("remembered operations, private", [Model.rememberedOperations, Model.rememberedOperationBytes]),
        ("remembered operations, public", [Model.rememberedPublicOperations, Model.rememberedPublicOperationBytes]),
        (
            "changes of a database that are not indexed",
            [
                StoreLimits.pendingIndexBytes, StoreLimits.pendingIndexChanges, StoreLimits.pendingIndexReserveBytes,
                StoreLimits.smallIndexBytes, StoreLimits.promptIndexBytes, 1_000,
            ]
        ),
        ("those of one account", [StoreLimits.smallIndexBytes, 1_000]),
        ("in a public database with indexes", [StoreLimits.pendingIndexBytes]),
    ]

    private static let queries: Rows = [
        ("levels", [Model.predicateDepth]),
        ("terms", [Model.predicateTerms]),
        ("nodes", [Model.predicateNodes]),
        ("values", [Model.predicateValues]),
        ("bytes of a predicate", [Model.predicateBytes]),
        ("bytes of the texts", [Model.predicateSearchBytes]),
        ("sort keys", [Model.querySortKeys]),
        ("bytes of a cursor", [Model.queryCursorBytes]),
        ("matches of a page", [Model.matchesPerPage, Model.matchesPerPageMax, Model.pageBytes]),
        ("queries that run for a connection", [Service.queriesPerClient, 100]),
        ("queries that run for an account", [Service.queriesPerAccount, 100]),
        ("queries that run on one", [Service.queriesPerLoop, 1_000]),
        ("queries for record types", [Service.lessonScansPerLoop, 1_000]),
    ]

    private static let notifications: Rows = [
        ("subscriptions of a user", [Model.subscriptionsPerUser]),
        ("their texts", [Model.subscriptionTextBytesPerUser, Model.subscriptionPredicateBytesPerUser]),
        (
            "subscriptions of a public database",
            [Model.subscriptionsPerDatabase, Model.subscriptionBytesPerDatabase]
        ),
        ("a subscription without", [Model.subscriptionBytes]),
        ("id of a subscription", [1, Model.nameCharacters]),
        ("`desired_keys`", [Model.notificationDesiredKeys]),
        ("text in a notification", [Model.notificationTextCharacters, Model.notificationTextBytes]),
        ("events kept for a user", [Service.backlogEvents, Service.backlogBytes]),
        ("events kept for all users", [Service.publicBacklogBytes]),
        ("users of a database", [Service.mailboxesPerDatabase]),
        ("users without a subscription", [Model.formerSubscribersPerDatabase]),
        ("work on matching", [Model.matchingCostPerCommit, Model.matchingCostPerUserAndCommit]),
        ("devices whose", [Service.rememberedDevices, Service.rememberedPublicDevices]),
        (
            "events that a commit makes",
            [
                Model.queryEventsPerUserAndCommit, Model.queryEventBytesPerUserAndCommit,
                Model.queryEventsPerCommit,
            ]
        ),
        ("records that are reported", [Model.recordsToldPerZoneDeletion]),
    ]

    private static let enrolments: Rows = [
        (
            "enrolments at once",
            [
                Service.enrolmentsPerDatabase, Service.enrolmentsPerAccount, Service.enrolmentsPerLoop,
                Int(Service.enrolmentRetryMilliseconds),
            ]
        ),
        (
            "enrolments of an account, and of all",
            [
                Service.enrolmentTracesPerAccount, Service.enrolmentTracesPerLoop,
                Int(Service.enrolmentRetryMilliseconds),
            ]
        ),
        ("wrong codes of an account", [Service.wrongCodesPerHour]),
        ("an enrolment, from its first message", [Int(Service.enrolmentMilliseconds) / 60_000]),
        ("the id of an enrolment", [Model.enrolmentIDBytes, Model.enrolmentSteps, 1, Model.enrolmentMessageBytes]),
    ]

    private static let schemas: Rows = [
        ("record types, fields of a schema", [Model.recordTypesPerSchema, Model.fieldsPerSchema]),
        ("roles, grants", [Model.rolesPerSchema, Model.grantsPerSchema]),
        ("bytes of a schema's text", [Model.importedSchemaTextBytes]),
        ("record types, fields that an account's", [Model.recordTypesPerTeacher, Model.fieldsPerTeacher]),
        ("unknown fields", [Model.fieldsTaughtPerRequest]),
        ("accounts in roles", [Model.roleMembersPerSchema]),
        ("accounts of a server", [Service.accounts, Service.tokensPerAccount]),
        ("name of an account", [64, 254]),
        (
            "pages of",
            [Service.accountsPerPage, Service.roleMembersPerPage, Service.roleMemberBytesPerPage]
        ),
    ]
}

// MARK: - Reading a page

extension LimitsPageTests {
    /// The rows of a section's tables, or of the one table with this head.
    private static func rows(of page: String, section: String, table: String? = nil) throws -> [String] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../../"
        let text = try String(contentsOfFile: root + page, encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let start = try #require(lines.firstIndex(of: section), "\(page) has no section \(section)")
        let end = lines[(start + 1)...].firstIndex { $0.hasPrefix("## ") } ?? lines.endIndex
        var rows: [String] = []
        var head: String?
        for (line, next) in zip(lines[start..<end], lines[(start + 1)..<end] + [""]) {
            if !line.hasPrefix("| ") {
                if !line.hasPrefix("| -") { head = nil }
            } else if next.hasPrefix("| ---") {
                head = line
            } else if !line.hasPrefix("| ---"), table == nil || head == table {
                rows.append(line)
            }
        }
        return rows
    }

    private static func compare(_ rows: [String], with expected: Rows) throws {
        try #require(!rows.isEmpty)
        for fault in faults(in: rows, with: expected) { Issue.record("\(fault)") }
    }

    private static func faults(in rows: [String], with expected: Rows) -> [String] {
        var faults: [String] = []
        var open = rows.filter { !figures(in: $0).isEmpty }
        for (beginning, figures) in expected {
            guard let index = open.firstIndex(where: { $0.dropFirst(2).hasPrefix(beginning) }) else {
                faults.append("no row begins with \"\(beginning)\"")
                continue
            }
            let row = open.remove(at: index)
            if Self.figures(in: row) != figures {
                faults.append("the page says \(Self.figures(in: row)), the code \(figures): \(row)")
            }
        }
        return faults + open.map { "this row is compared with nothing, add it here: \($0)" }
    }

    /// The figures of a row. Names in backticks are left out, with a value of theirs, and in the last of three columns
    /// what has no unit, which is a code.
    private static func figures(in row: String) -> [Int] {
        let columns = row.replacing(/`[^`]*`(?: 0)?/, with: "").replacing("UTF-8", with: "")
            .split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
        return columns.enumerated().flatMap { index, column in
            column.matches(of: /([0-9][0-9,]*(?:\.[0-9]+)?)(?: (KiB|MiB|GiB|MB|ms|s)\b)?/).compactMap { match in
                if index == 2, match.2 == nil { return nil }
                let factor =
                    switch match.2 {
                    case "KiB": 1_024.0
                    case "MiB": 1_048_576.0
                    case "GiB": 1_073_741_824.0
                    case "MB": 1_000_000.0
                    case "s": 1_000.0
                    default: 1.0
                    }
                return Double(match.1.replacing(",", with: "")).map { Int($0 * factor) }
            }
        }
    }
}
