internal import BrumeEncryption
internal import BrumeRandom
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import BrumeKit

/// An account on a server, whose devices put canaries into every path that encrypted values take; each with a plain
/// canary beside it.
final class CanaryAccount {
    let name: String
    let token: String
    let transport: RecordingTransport
    let zone = CKRecordZone(zoneName: "Diary")
    /// What nobody but the account's devices may have.
    private(set) var secrets: [Canary] = []
    /// Plain values, and the paths that they take.
    private(set) var plain: [Canary] = []
    /// The paths of records that were saved, by the names of their secrets.
    private(set) var savedPaths: [String] = []
    /// Texts that a device read in the end.
    var readValues: [String] = []
    /// What files held that a device fetched.
    var readFiles: [Data] = []
    /// What a file of the public database holds.
    private(set) var plainFiles: [Canary] = []
    /// What errors said.
    private(set) var errors: [String] = []

    /// Where the devices keep their keys, as they are.
    let stateFolders: String

    let server: ServerProcess
    private var generator: SeededGenerator

    init(on server: ServerProcess, seed: UInt64) throws {
        self.server = server
        generator = SeededGenerator(seed: seed)
        name = "account-" + Canary.text(&generator).prefix(24)
        token = try server.addAccount(name)
        stateFolders = server.folder.file("devices")
        transport = try RecordingTransport()
    }

    // MARK: Canaries

    func secret(_ name: String) -> String {
        let text = Canary.text(&generator)
        secrets.append(Canary(name, text: text))
        return text
    }

    /// How many ways secrets took, by their names: kinds of values, calls and keys.
    var pathCount: Int { Set(secrets.map(\.name)).count }

    func take(_ secret: Canary) { secrets.append(secret) }

    func openFile(_ name: String) -> String {
        let text = Canary.text(&generator)
        plainFiles.append(Canary(name, text: text))
        return text
    }

    private func open(_ name: String) -> String {
        let text = Canary.text(&generator)
        plain.append(Canary(name, text: text))
        return text
    }

    /// A value of each kind, for encrypted fields or for plain ones.
    private func values(_ word: String, _ take: (Canary) -> Void) -> [String: any CKRecordValueProtocol] {
        func text(_ kind: String) -> String {
            let text = Canary.text(&generator)
            take(Canary("\(word) \(kind)", text: text))
            return text
        }
        func data(_ kind: String) -> Data {
            let bytes = (0..<48).map { _ in UInt8.random(in: 0...255, using: &generator) }
            take(Canary("\(word) \(kind)", bytes: bytes))
            return Data(bytes)
        }
        func number(_ kind: String) -> Int64 {
            let number = Int64.random(in: .min...(.min / 2), using: &generator)
            take(Canary("\(word) \(kind)", number: number))
            return number
        }
        func double(_ kind: String, _ range: ClosedRange<Double>) -> Double {
            let number = Double.random(in: range, using: &generator)
            take(Canary("\(word) \(kind)", number: number))
            return number
        }
        func date(_ kind: String) -> Date { Date(timeIntervalSinceReferenceDate: double(kind, 1e8...1e9)) }
        func place(_ kind: String) -> CLLocation {
            CLLocation(
                latitude: double("\(kind)'s latitude", -80...80), longitude: double("\(kind)'s longitude", -170...170))
        }
        return [
            "text": text("text"), "data": data("data"), "int": number("integer"),
            "double": double("double", 1e-9...1e-8), "date": date("date"), "place": place("place"),
            "texts": [text("text in a list"), text("other text in a list")],
            "blobs": [data("data in a list"), data("other data in a list")],
            "ints": [number("integer in a list"), number("other integer in a list")],
            "doubles": [double("double in a list", 1e8...1e9), double("other double in a list", 1e8...1e9)],
            "dates": [date("date in a list")], "places": [place("place in a list")],
        ]
    }

    // MARK: Paths

    /// Another account on the server: its token.
    func addAccount(_ word: String) throws -> String {
        try server.addAccount("\(word)-" + String(Canary.text(&generator).prefix(24)))
    }

    /// - Parameter token: Another account's.
    func device(_ name: String, token: String? = nil) -> CKContainer {
        var configuration = server.configuration(token: token ?? self.token)
        configuration.deviceName = secret(name)
        configuration.encryptsAssets = true
        configuration.stateFolder = stateFolders + "/\(secrets.count)"
        return CKContainer(
            configuration: configuration, transport: .success(transport), registry: SessionRegistry())
    }

    func record(_ name: String, type: String = "Page", in zone: CKRecordZone? = nil) -> CKRecord {
        CKRecord(
            recordType: type, recordID: CKRecord.ID(recordName: name, zoneID: (zone ?? self.zone).zoneID))
    }

    func page(_ path: String) -> CKRecord {
        let page = record(path.replacing(" ", with: "-"))
        page.encryptedValues["secret"] = secret(path)
        page["open"] = open(path)
        savedPaths.append(path)
        return page
    }

    /// An error that is part of a path.
    func fails(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as CKError {
            errors += ["\(error)", error.localizedDescription]
            return
        }
        throw TestFailure("a call that was to fail did not")
    }

    /// - Returns: The account's first device, which has all of its keys.
    func takeAllPaths() async throws -> CKContainer {
        let (phone, laptop) = (device("name of the first device"), device("name of the second device"))
        let database = phone.privateCloudDatabase
        _ = try await database.save(zone)
        let code = try await phone.recoveryCode().text
        try take(code: code)
        try await laptop.useRecoveryCode(code)
        try await valuesOfAllKinds(database)
        try await conflicts(database, laptop.privateCloudDatabase)
        try await files(database, laptop.privateCloudDatabase)
        try await engine(database)
        try await trees(database)
        try await refusals(database)
        try await shares(phone, device("name of a guest's device", token: try addAccount("guest")))
        try commands(code)
        try await enrolment(phone)
        try await reset()
        try await keys(phone, laptop)
        return phone
    }

    private func valuesOfAllKinds(_ database: CKDatabase) async throws {
        let record = record("all kinds".replacing(" ", with: "-"))
        for (key, value) in values("encrypted", { secrets.append($0) }) {
            record.encryptedValues["secret_\(key)"] = value
        }
        for (key, value) in values("plain", { plain.append($0) }) { record["open_\(key)"] = value }
        try await database.save(record)
        // Answers of fetches and pages, too.
        _ = try await database.record(for: record.recordID)
        _ = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
    }

    private func conflicts(_ here: CKDatabase, _ there: CKDatabase) async throws {
        let first = page("a value that is replaced")
        try await here.save(first)
        let other = try await there.record(for: first.recordID)
        other.encryptedValues["secret"] = secret("the winner of a conflict")
        other["open"] = open("the winner of a conflict")
        try await there.save(other)
        first.encryptedValues["secret"] = secret("the loser of a conflict")
        try await fails { try await here.save(first) }
        let merged = try await here.record(for: first.recordID)
        merged.encryptedValues["secret"] = secret("a merged value")
        merged["open"] = open("a merged value")
        _ = try await here.modifyRecords(saving: [merged], deleting: [], savePolicy: .changedKeys)
        _ = try await here.modifyRecords(saving: [page("all keys")], deleting: [], savePolicy: .allKeys)
    }

    private func engine(_ database: CKDatabase) async throws {
        let delegate = CanaryEngineDelegate([page("a sync engine's record")])
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: nil, delegate: delegate)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        engine.state.add(pendingRecordZoneChanges: delegate.records.keys.map { .saveRecord($0) })
        try await engine.sendChanges()
        try await engine.fetchChanges()
    }

    private func trees(_ database: CKDatabase) async throws {
        let (root, child) = (page("a root"), page("a child"))
        child.setParent(root)
        _ = try await database.modifyRecords(saving: [root, child], deleting: [])
        let other = page("another root")
        try await database.save(other)
        child.setParent(other)
        try await database.save(child)
        let whole = CKRecordZone(zoneName: "Whole")
        whole.encryptionScope = .perZone
        _ = try await database.save(whole)
        let record = record("whole", in: whole)
        record.encryptedValues["secret"] = secret("a zone that is one tree")
        try await database.save(record)
    }

    private func refusals(_ database: CKDatabase) async throws {
        let large = record("large")
        large.encryptedValues["secret"] = String(repeating: secret("a value that is too large") + " ", count: 30_000)
        try await fails { try await database.save(large) }
        let nowhere = record("nowhere", in: CKRecordZone(zoneName: "Nowhere"))
        nowhere.encryptedValues["secret"] = secret("a zone that does not exist")
        try await fails { try await database.save(nowhere) }
        let mixed = record("mixed")
        mixed.encryptedValues["open"] = secret("a field that is plain")
        try await fails { try await database.save(mixed) }
        let outdated = record("a-root")
        outdated.encryptedValues["secret"] = secret("a record that exists")
        try await fails { try await database.save(outdated) }
        let open = CKRecord(recordType: "Page")
        open.encryptedValues["secret"] = secret("the public database")
        try await fails { try await CKContainer(core: database.core).publicCloudDatabase.save(open) }
        try await fails {
            try await CKContainer(core: database.core).useRecoveryCode(secret("what is no recovery code"))
        }
    }

    /// The command line as a device, which says on its standard errors what went wrong.
    private func commands(_ code: String) throws {
        let environment = self.environment.merging(["BRUME_STATE": stateFolders + "/commands"]) { $1 }
        func run(_ words: String..., input: String = "") throws -> CommandRun {
            let run = try CommandRun(words, environment: environment, input: input, in: server.folder)
            errors.append(run.errors)
            return run
        }
        #expect(try run("key", "use", input: code).status == 0)
        let (path, save) = ("a command's record", ["records", "save", "Diary", "command", "--type", "Page"])
        savedPaths.append(path)
        let saved = try CommandRun(
            save + ["--encrypted", "secret=\(secret(path))", "open=\(open(path))"], environment: environment,
            in: server.folder)
        #expect(saved.status == 0, "\(saved.errors)")
        errors.append(saved.errors)
        let refused = secret("a command's zone that does not exist")
        #expect(try run("records", "save", "Nowhere", "x", "--type", "T", "--encrypted", "a=\(refused)").status != 0)
        let mixed = secret("a command's field that is plain")
        #expect(try run("records", "save", "Diary", "y", "--type", "Page", "--encrypted", "open=\(mixed)").status != 0)
    }

    /// What a command needs to be a device of the account; its folder aside.
    var environment: [String: String] {
        [
            "BRUME_SERVER": server.address, "BRUME_CA": server.caPath, "BRUME_TOKEN": token,
            "BRUME_CONTAINER": "iCloud.faults",
        ]
    }
}
