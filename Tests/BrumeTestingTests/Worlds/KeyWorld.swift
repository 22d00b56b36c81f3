import BrumeRandom
import BrumeTesting
import CloudKit
import Foundation
import Testing

/// Ada's zone, of which she shares one record, or all of it, with Bob and Eve. Devices, guests and apps come and go, in
/// the midst of each other's calls; the server does as it should, but is restored from backups now and then.
///
/// Each save has a number, plain, in its record, and what the record's encrypted values were then is known here by that
/// number: so whatever became of a call, the server tells what has to be read.
@MainActor final class KeyWorld {
    /// What is shared.
    enum Shared: CaseIterable {
        case record
        case zone
    }

    static let fields = ["text", "title"]

    /// A device of somebody's.
    @MainActor final class Member {
        let user: String
        var device: TestDevice
        /// Whether the account has let it in, and as which device.
        var isLetIn = false
        var listedAs: CKContainer.EncryptionDevice.ID?
        /// Whether it may know other keys than a restored server, about which nobody has decided yet.
        var mayBeBehind = false
        /// The values that it may read.
        var allowed: Set<String> = []
        /// What its app has changed and not sent.
        var unsent: [(record: CKRecord, values: [String: String])] = []

        init(_ user: String, _ device: TestDevice) { (self.user, self.device) = (user, device) }
    }

    /// Somebody with whom Ada shares.
    @MainActor final class Guest {
        let user: String
        let members: [Member]
        /// Whether they may have the keys of what is encrypted now.
        var isAdmitted = false
        /// A device of Ada's that knows of their going, by keys that it has made without them.
        var outBy: Member?
        /// The last link that they had.
        var url: URL?

        init(_ user: String, _ members: [Member]) { (self.user, self.members) = (user, members) }
    }

    let server: TestServer
    let seed: UInt64
    var random: SeededGenerator
    let shared: Shared
    /// Whether the share is for everybody who has its link.
    let isOpen: Bool
    let ada: [Member]
    let guests: [Guest]
    /// A device of Ada's that is let in by nobody: it sees what the server has.
    let onlooker: TestDevice
    let zone = CKRecordZone(zoneName: "World")
    private let folder: Folder

    /// The encrypted values that a record had, by the number of its save.
    var versions: [Int: [String: String]] = [:]
    var lastVersion = 0
    /// All values that a record has had on the server.
    var former: [String: Set<String>] = [:]
    var backups: [TestServer.Backup] = []
    /// What has happened, for whoever looks into a failure.
    private(set) var story: [String] = []
    /// Whether anything was otherwise than it has to be.
    private(set) var isBroken = false
    /// How often each action came to something.
    private(set) var done: [String: Int] = [:]

    private init(_ server: TestServer, seed: UInt64) throws {
        (self.server, self.seed) = (server, seed)
        random = SeededGenerator(seed: seed)
        (shared, isOpen) = (random.pick(Shared.allCases), random.oneIn(2))
        func members(_ user: String, _ count: Int) throws -> [Member] {
            try (0..<count).map { _ in Member(user, try server.device(of: user)) }
        }
        ada = try members("ada", 3)
        guests = [Guest("bob", try members("bob", 2)), Guest("eve", try members("eve", 1))]
        onlooker = try server.device(of: "ada")
        folder = try Folder()
    }

    static func run(seed: UInt64, steps: Int) async throws -> [String: Int] {
        var options = TestServer.Options()
        options.encryptsAssets = true
        return try await TestServer.run(options: options) { server in
            let world = try KeyWorld(server, seed: seed)
            return try await world.run(steps)
        }
    }

    private func run(_ steps: Int) async throws -> [String: Int] {
        try await begin()
        do {
            for _ in 0..<steps where !isBroken { try await step() }
            if !isBroken { try await settle() }
        } catch {
            expect(false, "\(error)")
        }
        let dump = try await server.dump(of: "ada")
        expect(!dump.contains("secret"), "a value went plain")
        return done
    }

    /// Two devices make the account's first keys at once; then one lets the other in, and the share is made.
    private func begin() async throws {
        let (phone, laptop) = (ada[0], ada[1])
        try await phone.device.privateCloudDatabase.save(zone)
        let (root, own) = (try makeRecord("root", below: nil), try makeRecord("own", below: nil))
        let (first, second) = (phone.device.privateCloudDatabase, laptop.device.privateCloudDatabase)
        async let isFirst = failure { try await first.save(root) }
        async let isSecond = failure { try await second.save(own) }
        let errors = [await isFirst, await isSecond]
        expect(errors.contains { $0 == nil }, "\(errors)")
        ada[0].isLetIn = errors[0] == nil
        ada[1].isLetIn = errors[1] == nil
        if errors.contains(where: { $0 != nil }) {
            let (known, new) = errors[0] == nil ? (0, 1) : (1, 0)
            expect(errors[new]?.code == .accountTemporarilyUnavailable, "\(errors)")
            try await ada[known].device.letIn(ada[new].device)
            ada[new].isLetIn = true
            try await ada[new].device.privateCloudDatabase.save(new == 0 ? root : own)
        }
        try await makeShare(by: phone)
        try await look()
    }

    // MARK: Names and values

    func id(_ name: String, for member: Member) -> CKRecord.ID { id(name, isOwner: member.user == "ada") }

    func id(_ name: String, isOwner: Bool = true) -> CKRecord.ID {
        let owner = ada[0].device.account!.userRecordID.recordName
        return CKRecord.ID(
            recordName: name,
            zoneID: isOwner ? zone.zoneID : CKRecordZone.ID(zoneName: zone.zoneID.zoneName, ownerName: owner))
    }

    func database(of member: Member) -> CKDatabase {
        member.user == "ada" ? member.device.privateCloudDatabase : member.device.sharedCloudDatabase
    }

    var shareID: CKRecord.ID { id(shared == .zone ? CKRecordNameZoneWideShare : "share") }

    var all: [Member] { ada + guests.flatMap(\.members) }

    /// Values that nobody has had before.
    func newValues(of name: String, _ fields: [String] = fields) -> [String: String] {
        lastVersion += 1
        return Dictionary(
            uniqueKeysWithValues: fields.map { ($0, "secret \($0) of \(name), \(lastVersion)") })
    }

    /// Sets values of a record that is about to be saved, and says what its values are then.
    func set(_ values: [String: String], of record: CKRecord) throws {
        let former = (record["version"] as Int?).flatMap { versions[$0] } ?? [:]
        lastVersion += 1
        versions[lastVersion] = former.merging(values) { $1 }
        record["version"] = lastVersion
        for (field, value) in values {
            if field == "photo" {
                record["photo"] = CKAsset(fileURL: try folder.write(value))
            } else {
                record.encryptedValues[field] = value
            }
        }
    }

    func makeRecord(_ name: String, below parent: String?, for member: Member? = nil) throws -> CKRecord {
        let member = member ?? ada[0]
        let record = CKRecord(recordType: "Item", recordID: id(name, for: member))
        if let parent { record.setParent(id(parent, for: member)) }
        try set(newValues(of: name, random.oneIn(3) ? Self.fields + ["photo"] : Self.fields), of: record)
        return record
    }

    // MARK: The story

    func note(_ what: String) { story.append(what) }

    func count(_ action: String) { done[action, default: 0] += 1 }

    /// What a world comes to behind its first fault says little.
    func expect(_ isTrue: Bool, _ what: @autoclosure () -> String, sourceLocation: SourceLocation = #_sourceLocation) {
        if isTrue || isBroken { return }
        isBroken = true
        Issue.record(comment(what()), sourceLocation: sourceLocation)
    }

    private func comment(_ what: String) -> Comment {
        Comment(
            rawValue: "\(what); seed \(seed), \(isOpen ? "an open" : "a closed") share of a \(shared):\n"
                + story.suffix(40).joined(separator: "\n"))
    }
}

/// A temporary folder for the files of records.
private final class Folder: Sendable {
    private let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }

    func write(_ text: String) throws -> URL {
        let file = url.appendingPathComponent(UUID().uuidString)
        try Data(text.utf8).write(to: file)
        return file
    }
}
