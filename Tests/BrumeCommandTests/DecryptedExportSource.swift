internal import BrumeKit
internal import BrumeModel
internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// A server with the accounts a and b, and an app of a that has the account's keys.
struct DecryptedExportSource {
    static let needle = "a needle that nobody else may read"
    /// A value of each type that an encrypted field can have, and all that is at an edge.
    static let values = exportedValues.filter { FieldKind($0.value).fitsEncryptedField }
        .merging(["endless": .doubles([.infinity, -.infinity])]) { $1 }

    /// What a record holds for a device that has the account's keys.
    struct Page: Equatable {
        let type: String
        let parent: String?
        let hasStamp: Bool
        let values: [String: FieldValue]
        let unreadable: [String]
        var kinds: [String: FieldKind] = [:]
        var plain: [String: FieldValue] = [:]
        /// What is in its encrypted files.
        var files: [String: [Data]] = [:]
    }

    let server: ServerProcess
    let app: CKContainer
    let code: String
    var folder: TestFolder { server.folder }

    init() async throws {
        server = try ServerProcess.dev(folder: try TestFolder(), arguments: ["--accounts", "a,b"])
        app = CKContainer(
            identifier: "iCloud.brume", configuration: try Self.configuration(server, "a", encryptsAssets: true))
        code = try await app.recoveryCode().text
    }

    /// The device of another app of an account, with a state folder of its own.
    func device(of account: String) throws -> CKContainer {
        CKContainer(identifier: "iCloud.brume", configuration: try Self.configuration(server, account))
    }

    private static func configuration(
        _ server: ServerProcess, _ account: String, encryptsAssets: Bool = false
    ) throws -> BrumeConfiguration {
        var configuration = BrumeConfiguration(
            server: server.ready["server"]?.text, caPath: server.ready["ca"]?.text, token: try server.token(account),
            container: "iCloud.brume", environment: .development,
            stateFolder: server.folder.file("app-" + UUID().uuidString))
        configuration.encryptsAssets = encryptsAssets
        return configuration
    }

    /// A session that sees records as the server has them.
    func session(of account: String) throws -> ClientSession {
        try ClientSession.unshared(Self.configuration(server, account))
    }

    /// Runs a command on a device of an account: a state folder is a device.
    func run(_ words: String..., account: String = "a", on device: String = "shell", input: String = "") throws
        -> CommandRun
    {
        var environment = try server.environment(account: account)
        environment["BRUME_STATE"] = folder.file("\(device)-\(account)")
        return try CommandRun(words, environment: environment, input: input, in: folder)
    }

    /// Gives a's keys to the device on which commands run.
    func letShellIn() throws {
        let used = try run("key", "use", input: code)
        #expect(used.status == 0, "\(used.errors)")
    }

    // MARK: Records

    /// Pages of all kinds in the zone Diary, whose files are encrypted, and one in Loose, whose files are not.
    ///
    /// - Returns: What is in the files.
    func fill() async throws -> [Data] {
        let database = app.privateCloudDatabase
        let contents = [Data(Self.needle.utf8), Data(), Data(repeating: 7, count: 200_000)]
        let files = try contents.enumerated().map { index, content in
            let path = folder.file("photo\(index)")
            try content.write(to: URL(fileURLWithPath: path))
            return CKAsset(fileURL: URL(fileURLWithPath: path))
        }
        _ = try await database.modifyRecordZones(
            saving: [CKRecordZone(zoneName: "Diary"), CKRecordZone(zoneName: "Loose")], deleting: [])
        let all = record("all \"kinds\" / 100 %", "Diary")
        for (key, value) in Self.values { all.setEncryptedValue(value, forKey: key) }
        all["color"] = "red"
        let root = record("root", "Diary")
        root.setEncryptedValue(.string(Self.needle), forKey: "note")
        root["photo"] = files[0]
        root["photos"] = [files[1], files[2], files[0]]
        let child = record("child", "Diary", parent: root)
        child.setEncryptedValue(.string("of the child"), forKey: "note")
        child["photo"] = files[2]
        let grandchild = record("a grandchild", "Diary", parent: child)
        grandchild.setEncryptedValue(.strings(["of", "the grandchild"]), forKey: "notes")
        let plain = record("plain", "Diary", parent: root)
        plain["color"] = "blue"
        let saved = try await database.modifyRecords(saving: [all, root, child, grandchild, plain], deleting: [])
        for (_, result) in saved.saveResults { _ = try result.get() }

        let other = try device(of: "a")
        try await other.useRecoveryCode(code)
        let loose = record("loose", "Loose")
        loose.setEncryptedValue(.int64(7), forKey: "number")
        loose["file"] = files[0]
        _ = try await other.privateCloudDatabase.save(loose)
        return contents
    }

    private func record(_ name: String, _ zone: String, parent: CKRecord? = nil) -> CKRecord {
        let id = CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: zone))
        let record = CKRecord(recordType: "Page", recordID: id)
        record.setParent(parent?.recordID)
        return record
    }

    /// A zone's records as the server has them.
    func records(_ zone: String, of account: String) async throws -> [Record] {
        let changes = try await session(of: account).zoneChanges(
            ZoneChangesRequest(database: .private, zone: ZoneID(name: zone), token: []))
        #expect(!changes.moreComing)
        return changes.records
    }

    /// What a zone of an account holds, for a device that has the account's keys.
    func contents(_ zone: String, of account: String, _ device: CKContainer) async throws -> [String: Page] {
        let zoneID = CKRecordZone.ID(zoneName: zone)
        let database = device.privateCloudDatabase
        var pages: [String: Page] = [:]
        for opened in try await database.opened(try await records(zone, of: account), in: zoneID) {
            let record = opened.record
            var page = Page(
                type: record.system.type, parent: record.system.parent, hasStamp: !record.system.stamp.isEmpty,
                values: opened.values, unreadable: opened.unreadable.keys.sorted())
            page.kinds = record.fields.mapValues { FieldKind($0) }
            page.plain = record.fields.filter { FieldKind($0.value).decrypted == nil && $0.value.assets.isEmpty }
            for key in opened.assetKeys {
                for index in (record.fields[key]?.assets ?? []).indices {
                    let file = try await database.file(of: opened, in: zoneID, key: key, index: index)
                    page.files[key, default: []].append(try Data(contentsOf: try #require(file.fileURL)))
                }
            }
            pages[record.system.name] = page
        }
        return pages
    }

    /// The headers of the values of a zone's records, which name a tree and the number of a key, by the records' names.
    func headers(_ zone: String, of account: String) async throws -> [String: Set<[UInt8]>] {
        var headers: [String: Set<[UInt8]>] = [:]
        for record in try await records(zone, of: account) {
            for case .encrypted(let value) in record.fields.values {
                headers[record.system.name, default: []].insert(Array(value.bytes.prefix(23)))
            }
        }
        return headers
    }

    /// How an export names a file.
    static func fileName(_ content: Data) -> String { SHA256.digest(Array(content)).hexadecimal }
}
