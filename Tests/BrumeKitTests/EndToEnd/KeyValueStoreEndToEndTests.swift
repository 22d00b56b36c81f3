import BrumeKit
import BrumeTestKit
import Foundation
import Testing

/// A device of an account with its store.
private struct Device {
    let container: CKContainer
    let store: NSUbiquitousKeyValueStore
    let changes: KeyValueStoreChanges

    init(_ container: CKContainer) {
        self.container = container
        store = NSUbiquitousKeyValueStore(container: container)
        changes = KeyValueStoreChanges(of: store)
    }
}

@Suite("Key-value stores and a server", .timeLimit(.minutes(1)))
struct KeyValueStoreEndToEndTests {
    let server: RunningServer
    let token: String
    private let zone = CKRecordZone.ID(zoneName: "brume.key-value-store")

    init() throws {
        server = try RunningServer()
        token = try server.addAccount("ada")
    }

    private func device() -> Device { Device(server.device(token: token)) }

    private typealias Change = KeyValueStoreChanges.Change

    @Test("bring what one device sets to the other by push, and removals")
    func twoDevices() async throws {
        let (one, other) = (device(), device())
        one.store.set("dark", forKey: "theme")
        one.store.set(["x": [1, 2]] as [String: Any], forKey: "layout")
        #expect(one.store.string(forKey: "theme") == "dark")
        var keys: Set<String> = []
        while keys.count < 2 { keys.formUnion(try await other.changes.next().keys) }
        #expect(other.store.string(forKey: "theme") == "dark")
        #expect((other.store.dictionary(forKey: "layout")?["x"] as? [Int]) == [1, 2])
        #expect(Set(other.store.dictionaryRepresentation.keys) == ["theme", "layout"])
        other.store.removeObject(forKey: "theme")
        other.store.set(3, forKey: "count")
        var told: [Change] = []
        while Set(told.flatMap(\.keys)) != ["theme", "count"] { told.append(try await one.changes.next()) }
        #expect(told.allSatisfy { $0.reason == NSUbiquitousKeyValueStoreServerChange })
        #expect(one.store.object(forKey: "theme") == nil)
        #expect(one.store.longLong(forKey: "count") == 3)
    }

    @Test("are no business of the app's own notifications")
    func notifications() async throws {
        let (one, other) = (device(), device())
        let zone = CKRecordZone.ID(zoneName: "Notes")
        let database = one.container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zone))
        try await database.save(CKRecordZoneSubscription(zoneID: zone, subscriptionID: "notes"))
        var events = other.container.notificationEvents.makeAsyncIterator()
        _ = try await events.next()
        var iterator = other.container.notifications.makeAsyncIterator()
        async let first = iterator.next()
        one.store.set(1, forKey: "a")
        _ = try await other.changes.next()
        // Two: the iterator may have begun behind the first.
        for name in ["n", "m"] {
            try await database.save(
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone)))
        }
        #expect(try await first?.subscriptionID == "notes")
    }

    @Test("wait without a server, across a restart of the app, and lose nothing")
    func offline() async throws {
        let container = server.device(token: token)
        let other = device()
        do {
            let store = NSUbiquitousKeyValueStore(container: container)
            store.set("first", forKey: "a")
            _ = try await other.changes.next()
            server.stop()
            store.set("offline", forKey: "a")
            store.set(true, forKey: "b")
            #expect(store.synchronize())
        }
        let store = NSUbiquitousKeyValueStore(container: container)
        #expect(store.string(forKey: "a") == "offline", "it is there before the server is")
        #expect(store.bool(forKey: "b"))
        try server.start()
        var keys: Set<String> = []
        while keys != ["a", "b"] { keys.formUnion(try await other.changes.next().keys) }
        #expect(other.store.string(forKey: "a") == "offline")
        #expect(store.string(forKey: "a") == "offline")
    }

    @Test("let the server's values win over what was set before the first fetch")
    func initialSync() async throws {
        let one = device()
        one.store.set("server", forKey: "a")
        let id = CKRecord.ID(recordName: "k-a", zoneID: zone)
        let database = one.container.privateCloudDatabase
        while (try? await database.record(for: id)) == nil { await Task.yield() }
        let late = Device(server.device(token: nil))
        late.store.set("local", forKey: "a")
        late.store.set("kept", forKey: "b")
        late.container.signIn(token: token)
        #expect(late.store.string(forKey: "a") == "local", "nothing was fetched yet")
        let change = try await late.changes.next()
        #expect(change == Change(reason: NSUbiquitousKeyValueStoreInitialSyncChange, keys: ["a"]))
        #expect(late.store.string(forKey: "a") == "server")
        #expect(try await one.changes.next().keys == ["b"])
        #expect(one.store.string(forKey: "b") == "kept")
    }

    @Test("follow the account, and keep each one's values to itself")
    func accounts() async throws {
        let device = device()
        let other = self.device()
        device.store.set("ada's", forKey: "secret")
        _ = try await other.changes.next()
        device.container.signIn(token: try server.addAccount("bob"))
        #expect(device.store.object(forKey: "secret") == nil, "at once")
        let gone = try await device.changes.next()
        #expect(gone == Change(reason: NSUbiquitousKeyValueStoreAccountChange, keys: ["secret"]))
        device.store.set("bob's", forKey: "mine")
        device.container.signOut()
        #expect(device.store.dictionaryRepresentation.isEmpty)
        #expect(try await device.changes.next().reason == NSUbiquitousKeyValueStoreAccountChange)
        device.container.signIn(token: token)
        #expect(device.store.string(forKey: "secret") == "ada's", "without the server: it knows the token's user")
        #expect(device.store.object(forKey: "mine") == nil)
        other.store.set(1, forKey: "again")
        while try await !device.changes.next().keys.contains("again") {}
        #expect(other.store.object(forKey: "mine") == nil)
    }

    @Test("put a damaged file aside and fetch the values anew")
    func damagedFile() async throws {
        let container = server.device(token: token)
        var store: NSUbiquitousKeyValueStore? = NSUbiquitousKeyValueStore(container: container)
        let other = device()
        store?.set("kept", forKey: "a")
        _ = try await other.changes.next()
        store = nil
        let files = try users(in: server.folder.path)
        #expect(files.count == 2, "one for each device")
        for path in files {
            try Data("garbage".utf8).write(to: URL(fileURLWithPath: path))
        }
        let again = NSUbiquitousKeyValueStore(container: container)
        let changes = KeyValueStoreChanges(of: again)
        #expect(again.object(forKey: "a") == nil)
        #expect(try await changes.next() == Change(reason: NSUbiquitousKeyValueStoreInitialSyncChange, keys: ["a"]))
        #expect(again.string(forKey: "a") == "kept")
        #expect(again.synchronize())
    }

    @Test("take values up to their limit, and refuse more")
    func limits() async throws {
        let (one, other) = (device(), device())
        one.store.set(Data(repeating: 1, count: 997_900), forKey: "large")
        while try await !other.changes.next().keys.contains("large") {}
        #expect(other.store.data(forKey: "large")?.count == 997_900)
        one.store.set(Data(repeating: 2, count: 998_100), forKey: "large")
        #expect(
            try await one.changes.next()
                == Change(reason: NSUbiquitousKeyValueStoreQuotaViolationChange, keys: ["large"]))
        #expect(one.store.data(forKey: "large")?.first == 1)
    }

    @Test("give typed values, and nothing for what is of another type")
    func types() {
        let store = NSUbiquitousKeyValueStore(container: server.device(token: nil))
        store.set(Int64(7), forKey: "i")
        store.set(2.5, forKey: "d")
        store.set(true, forKey: "t")
        store.set("s", forKey: "s")
        store.set([1, "a"] as [Any], forKey: "l")
        store.set(Data([1]), forKey: "b")
        #expect(store.longLong(forKey: "i") == 7)
        #expect(store.longLong(forKey: "d") == 2)
        #expect(store.double(forKey: "i") == 7)
        #expect(store.double(forKey: "d") == 2.5)
        #expect(store.bool(forKey: "t"))
        #expect(store.bool(forKey: "i"))
        #expect(store.longLong(forKey: "s") == 0)
        #expect(!store.bool(forKey: "none"))
        #expect(store.string(forKey: "i") == nil)
        #expect(store.array(forKey: "l")?.count == 2)
        #expect(store.dictionary(forKey: "l") == nil)
        #expect(store.data(forKey: "b") == Data([1]))
        store.set(nil as String?, forKey: "s")
        #expect(store.object(forKey: "s") == nil)
        #expect(store.dictionaryRepresentation.count == 5)
        #expect(store.synchronize())
    }

    private func users(in folder: String) throws -> [String] {
        let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return files.filter { file in
            // A store that saves has a temporary file beside.
            file.contains("/user-") && !file.contains("/user-of-") && !file.hasSuffix(".tmp")
        }.map { folder + "/" + $0 }
    }
}
