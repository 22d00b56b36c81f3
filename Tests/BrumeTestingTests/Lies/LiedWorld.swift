import BrumeRandom
import BrumeTesting
import CloudKit
import Testing

/// Ada's zone on a server that does with it what it likes: it puts records below others, as a device without keys can,
/// and lies to devices. Ada shares one record with Bob and another one with Eve; her apps write, and move records.
///
/// What Ada's apps mean is known here, and so what Bob and Eve may read: nothing that was not below their record, by
/// what the apps have done, while it was a record's value.
final class LiedWorld {
    /// The records that are never moved by an app: of Bob's share, of Eve's, and of nobody's.
    static let roots = ["bobs", "eves", "own"]
    static let others = (0..<7).map { "item\($0)" }
    static let fields = ["text", "title"]

    /// A guest of one of the roots.
    struct Guest {
        let device: TestDevice
        let root: String
        /// The values that they may read.
        var allowed: Set<String> = []
        /// The records in which they have written something of their own, where the server had put these.
        var written: Set<String> = []
    }

    let server: TestServer
    let seed: UInt64
    var random: SeededGenerator
    var phone: TestDevice
    var laptop: TestDevice
    /// A device of Ada's without keys: what the server does with her records.
    let hand: TestDevice
    var guests: [Guest]
    let zone = CKRecordZone(zoneName: "World")

    /// The parents that Ada's apps mean records to have, and those that they have.
    var meant: [String: String] = [:]
    var actual: [String: String] = [:]
    /// The values that records have, by field, and all that any had.
    var current: [String: [String: String]] = [:]
    private var written: Set<String> = []
    /// The roots for whose trees something in a record may have been encrypted since an app has put it somewhere.
    var treesOf: [String: Set<String>] = [:]
    private var count = 0
    /// Whether the server tells somebody a lie.
    var isLying = false
    /// What has happened, for whoever looks into a failure.
    private(set) var story: [String] = []
    /// How often each action came to something.
    private(set) var done: [String: Int] = [:]

    private init(_ server: TestServer, seed: UInt64) throws {
        (self.server, self.seed) = (server, seed)
        random = SeededGenerator(seed: seed)
        (phone, laptop, hand) = (
            try server.device(of: "ada"), try server.device(of: "ada"), try server.device(of: "ada")
        )
        guests = [
            Guest(device: try server.device(of: "bob"), root: "bobs"),
            Guest(device: try server.device(of: "eve"), root: "eves"),
        ]
    }

    static func run(seed: UInt64, steps: Int) async throws -> LiedWorld {
        try await TestServer.run { server in
            let world = try LiedWorld(server, seed: seed)
            try await world.begin()
            for _ in 0..<steps { try await world.step() }
            try await world.settle()
            #expect(try await server.dump(of: "ada").contains("secret") == false, world.comment("a value went plain"))
            return world
        }
    }

    private func begin() async throws {
        _ = try await phone.privateCloudDatabase.save(zone)
        for root in Self.roots {
            let record = CKRecord(recordType: "Item", recordID: id(root))
            let values = newValues(of: root, Self.fields)
            set(values, of: record)
            guard let guest = guests.firstIndex(where: { $0.root == root }) else {
                try await phone.privateCloudDatabase.save(record)
                current[root] = values
                continue
            }
            let share = CKShare(rootRecord: record)
            share.publicPermission = .readWrite
            _ = try await phone.privateCloudDatabase.modifyRecords(saving: [record, share], deleting: [])
            current[root] = values
            let device = guests[guest].device
            let metadata = try await device.container.shareMetadata(for: try #require(share.url))
            _ = try await device.container.accept(metadata)
            _ = try await phone.privateCloudDatabase.record(for: share.recordID)
        }
        try await phone.letIn(laptop)
        allow()
        try await check()
    }

    // MARK: Names and values

    func id(_ name: String, owner: Bool = true) -> CKRecord.ID {
        let zoneID =
            owner
            ? zone.zoneID
            : CKRecordZone.ID(zoneName: zone.zoneID.zoneName, ownerName: phone.account!.userRecordID.recordName)
        return CKRecord.ID(recordName: name, zoneID: zoneID)
    }

    func newValues(of name: String, _ fields: [String]) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: fields.map { field in
                count += 1
                let value = "secret \(field) of \(name), \(count)"
                written.insert(value)
                return (field, value)
            })
    }

    func set(_ values: [String: String], of record: CKRecord) {
        for (field, value) in values { record.encryptedValues[field] = value }
    }

    /// The root of a record by its parents.
    func root(of name: String, in parents: [String: String]) -> String {
        var name = name
        while !Self.roots.prefix(2).contains(name), let parent = parents[name] { name = parent }
        return name
    }

    func isBelow(_ name: String, _ other: String, in parents: [String: String]) -> Bool {
        var next: String? = name
        while let name = next {
            if name == other { return true }
            next = parents[name]
        }
        return false
    }

    var names: [String] { current.keys.sorted() }

    // MARK: What happens

    func note(_ what: String) { story.append(what) }

    func count(_ action: String) { done[action, default: 0] += 1 }

    func comment(_ what: String) -> Comment {
        Comment(rawValue: "\(what); seed \(seed):\n" + story.suffix(40).joined(separator: "\n"))
    }

    /// Whoever is below whose record now may read what is there.
    ///
    /// What stayed encrypted for a share that was left above it says that the record belongs there: the server can put
    /// it back.
    func allow() {
        for name in current.keys {
            let root = root(of: name, in: meant)
            let strayRoot = actual[name] == meant[name] ? root : self.root(of: name, in: actual)
            for index in guests.indices {
                let guest = guests[index]
                let isStray =
                    strayRoot == guest.root && treesOf[name, default: []].contains(guest.root)
                    || hasReturned(name, to: guest.root)
                // What a guest has written all of is theirs, and so is what apps put below it.
                let isTheirs = guest.written.contains { isBelow(name, $0, in: actual) }
                guard root == guest.root || isStray || isTheirs else { continue }
                guests[index].allowed.formUnion(current[name]!.values)
            }
        }
    }

    /// Whether a record is below one that the server has put back where it was encrypted before.
    private func hasReturned(_ name: String, to root: String) -> Bool {
        names.contains { other in
            isBelow(name, other, in: actual) && actual[other] != meant[other]
                && self.root(of: other, in: actual) == root && treesOf[other, default: []].contains(root)
        }
    }

    // MARK: What is seen

    /// Everybody reads what the server shows: what somebody has written, where it was written, and whoever may.
    func check() async throws {
        for device in [phone, laptop] { _ = try await seen(by: device, isOwner: true) }
        for guest in guests {
            for (name, record) in try await seen(by: guest.device, isOwner: false) {
                for field in Self.fields {
                    guard let value: String = record.encryptedValues[field] else { continue }
                    #expect(
                        guest.allowed.contains(value),
                        comment("\(guest.device.account!.name) reads \"\(value)\" in \(name)"))
                }
            }
        }
    }

    private func seen(by device: TestDevice, isOwner: Bool) async throws -> [String: CKRecord] {
        let database = isOwner ? device.privateCloudDatabase : device.sharedCloudDatabase
        var seen: [String: CKRecord] = [:]
        let ids = names.map { self.id($0, owner: isOwner) }
        let results: [CKRecord.ID: Result<CKRecord, any Error>]
        do {
            results = try await database.records(for: ids)
        } catch let error as CKError where error.code == .internalError && isLying {
            // An answer that is none.
            return [:]
        }
        for (id, result) in results {
            guard let record = try? result.get() else { continue }
            seen[id.recordName] = record
            for field in Self.fields {
                guard let value: String = record.encryptedValues[field] else { continue }
                #expect(
                    written.contains(value) && value.hasPrefix("secret \(field) of \(id.recordName),"),
                    comment("\(device) reads \"\(value)\" in \(field) of \(id.recordName)"))
            }
        }
        return seen
    }

    /// The server does as it should from now on, and Ada's app puts each record where it belongs: then everybody reads
    /// what they should.
    private func settle() async throws {
        note("the server does as it should")
        phone = try phone.relaunched()
        laptop = try laptop.relaunched()
        let database = phone.privateCloudDatabase
        func depth(_ name: String) -> Int { meant[name].map { depth($0) + 1 } ?? 0 }
        for name in names.sorted(by: { (depth($0), $0) < (depth($1), $1) })
        where !Self.roots.contains(name) || actual[name] != nil {
            let record = try await database.record(for: id(name))
            record.parent = meant[name].map { CKRecord.Reference(recordID: id($0), action: .none) }
            do {
                try await database.save(record)
            } catch {
                Issue.record(comment("\(name) can't be put below \(meant[name] ?? "nothing"): \(error)"))
            }
        }
        actual = meant
        allow()
        let left = try await database.reencryptRecords(in: zone.zoneID).failures
        #expect(left.isEmpty, comment("\(left)"))
        try await check()
        for device in [phone, laptop] { isWhole(try await seen(by: device, isOwner: true), names, device) }
        for guest in guests {
            let names = names.filter { root(of: $0, in: meant) == guest.root }
            isWhole(try await seen(by: guest.device, isOwner: false), names, guest.device)
        }
    }

    private func isWhole(_ seen: [String: CKRecord], _ names: [String], _ device: TestDevice) {
        for name in names {
            for (field, value) in current[name]! {
                let read: String? = seen[name]?.encryptedValues[field]
                let reasons = seen[name]?.unreadableFields ?? [:]
                #expect(
                    read == value, comment("\(device) reads \(read ?? "nothing") instead of \"\(value)\" \(reasons)"))
            }
        }
    }
}
