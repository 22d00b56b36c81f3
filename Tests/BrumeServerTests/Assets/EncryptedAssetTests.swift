import BrumeModel
import BrumeProtocol
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// Assets whose contents only devices can read: the server keeps, counts and hands them out as any others.
@Suite("Encrypted assets on a server", .timeLimit(.minutes(2)))
struct EncryptedAssetTests {
    private static let zone = ZoneID(name: "lists")

    private static func content(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 100_000) }

    private static func upload(
        _ number: UInt8, by peer: FramePeer, zone: ZoneID = zone, database: DatabaseScope = .private
    ) throws -> Asset {
        let content = content(number)
        return try peer.upload(
            content, checksum: AssetChecksum(SHA256.digest(content))!,
            id: UploadID([UInt8](repeating: number, count: 16))!, zone: zone, database: database)
    }

    /// The asset as it is stored.
    private static func stored(_ asset: Asset) -> Asset {
        var asset = asset
        asset.receipt = []
        return asset
    }

    /// Saves some fields of a record; returns why they were not saved, or nil.
    private static func save(
        _ fields: DecodedFields, as name: String = "r", type: String = "Note", parent: ParentChange = .unchanged,
        stamp: [UInt8] = [], in zone: ZoneID = zone, of database: DatabaseScope = .private, by peer: FramePeer
    ) throws -> ServiceError? {
        let save = RecordSave(
            name: name, type: type, parent: parent, stamp: stamp, replacesEncrypted: true, fields: fields)
        let request = ModifyRecordsRequest(
            database: database, savePolicy: .changedKeys, zones: [ZoneModification(zone: zone, saves: [save])])
        if case .failure(let error) = try peer.modify(request)[0].saves[0].outcome { return error }
        return nil
    }

    private static func download(
        _ asset: Asset, field: String, index: Int = 0, zone: ZoneID = zone, database: DatabaseScope = .private,
        by peer: FramePeer
    ) throws -> [UInt8] {
        try peer.download(
            DownloadRequest(
                database: database, zone: zone, recordName: "r", field: field, listIndex: index,
                checksum: asset.checksum))
    }

    @Test("come back as they were, with their contents, by name, in a feed and in a query, after a restart too")
    func roundTrip() throws {
        let disk = SimulatedDisk()
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        try peer.makeZone("lists")
        try peer.makeRings(in: "lists")
        let assets = try (1...3).map { try Self.upload($0, by: peer) }
        let sent: [String: FieldValue] = [
            "one": EncryptedSamples.asset(assets[0]), "many": EncryptedSamples.assets([assets[1], assets[2]]),
            "n": .int64(1),
        ]
        #expect(try Self.save(sent.mapValues { $0 }, by: peer) == nil)
        let fields = sent.mapValues { $0.naming($0.assets.map(Self.stored)) }
        for isRestarted in [false, true] {
            if isRestarted {
                peer.disconnect()
                server.settle()
                disk.endProcess()
                server = try SteppedServer(disk: disk)
                peer = try server.connect(account: "a")
            }
            guard case .record(let fetched)? = try peer.fetch(["r"], in: Self.zone).first else {
                Issue.record("the record is gone")
                return
            }
            #expect(fetched.fields == fields)
            #expect(try peer.changes(of: Self.zone, in: .private).records.map(\.fields) == [fields])
            let query = QueryRequest(
                database: .private, zone: Self.zone,
                query: Query(recordType: "Note", predicate: .comparison(.field("n"), .equal, .int64(1))))
            #expect(try peer.query(query).matches.map(\.record.fields) == [fields])
            #expect(try Self.download(assets[0], field: "one", by: peer) == Self.content(1))
            for index in 0...1 {
                let content = try Self.download(assets[1 + index], field: "many", index: index, by: peer)
                #expect(content == Self.content(2 + UInt8(index)))
            }
            #expect(throws: ServiceError.self) { try Self.download(assets[0], field: "many", by: peer) }
            #expect(throws: ServiceError.self) { try Self.download(assets[2], field: "many", index: 2, by: peer) }
        }
    }

    @Test("are named by who uploaded them alone, and are refused in a public database")
    func naming() throws {
        let server = try SteppedServer()
        let (peer, other) = (try server.connect(account: "a"), try server.connect(account: "b"))
        for peer in [peer, other] {
            try peer.makeZone("lists")
            try peer.makeRings(in: "lists")
        }
        let asset = try Self.upload(1, by: peer)
        for isList in [false, true] {
            func fields(_ asset: Asset) -> DecodedFields {
                isList ? ["xs": EncryptedSamples.assets([asset])] : ["x": EncryptedSamples.asset(asset)]
            }
            #expect(try Self.save(fields(Self.stored(asset)), by: peer)?.code == .assetNotAvailable)
            #expect(try Self.save(fields(asset), by: other)?.code == .assetNotAvailable)
            #expect(try Self.save(fields(asset), as: "\(isList)", by: peer) == nil)
            let refusal = try Self.save(fields(asset), in: .defaultZone, of: .public, by: peer)
            #expect(refusal?.code == .invalidArguments && refusal?.message.contains("public") == true)
        }
    }

    @Test("need the newest key of their zone's ring, alone and in a list") func keys() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        try peer.makeZone("lists")
        let asset = try Self.upload(1, by: peer)
        func error(_ header: EncryptedHeader, isList: Bool) throws -> ServiceError? {
            let value =
                isList
                ? EncryptedSamples.assets([asset], header: header) : EncryptedSamples.asset(asset, header: header)
            // Among others, and in the midst of them.
            let fields: DecodedFields = ["a": .int64(1), isList ? "ms" : "m": value, "z": .string("x")]
            return try Self.save(fields, as: isList ? "list" : "one", by: peer)
        }
        var keys = try peer.makeKeys()
        for isList in [false, true] {
            #expect(try error(EncryptedSamples.header(), isList: isList)?.detail == .keysChanged, "there is no ring")
        }
        try peer.appendEntry(of: "lists", &keys)
        try peer.appendEntry(of: "lists", &keys)
        for number in [1, 2, 3] as [UInt32] {
            for isList in [false, true] {
                let error = try error(EncryptedSamples.header(keyNumber: number), isList: isList)
                #expect(error?.code == (number == 2 ? nil : .accountTemporarilyUnavailable))
                #expect((error?.detail == .keysChanged) == (number != 2))
            }
        }
    }

    @Test("keep their contents as long as a field names them, encrypted or not, also over a restart")
    func sweeps() throws {
        let disk = SimulatedDisk()
        func start(_ run: UInt32) throws -> SteppedServer {
            try SteppedServer(disk: disk, run: run) {
                $0.service.assetGraceSeconds = 100
                $0.service.receiptSeconds = 50
                $0.service.assetSweepMilliseconds = 1_000
                $0.service.assetWalkDelayMilliseconds = 10_000
            }
        }
        func files() -> Int { disk.paths.count { $0.hasPrefix("assets/") && !$0.contains("incoming") } }
        var server = try start(1)
        var peer = try server.connect(account: "a")
        try peer.makeZone("lists")
        var keys = try peer.makeKeys()
        try peer.appendEntry(of: "lists", hasPlainAssets: true, &keys)
        func pass(seconds: Int) {
            for _ in 0..<seconds {
                server.turn(after: 1_000_000_000)
                server.settle()
            }
        }
        let assets = try (1...3).map { try Self.upload($0, by: peer) }
        let fields: DecodedFields = [
            "one": EncryptedSamples.asset(assets[0]), "many": EncryptedSamples.assets([assets[1], assets[2]]),
        ]
        #expect(try Self.save(fields, by: peer) == nil)
        pass(seconds: 150)
        #expect(files() == 3)
        server = try start(2)
        peer = try server.connect(account: "a")
        pass(seconds: 150)
        #expect(files() == 3)
        peer = try server.connect(account: "a")
        let changed: DecodedFields = [
            "one": .asset(Self.stored(assets[0])), "many": EncryptedSamples.assets([Self.stored(assets[2])]),
        ]
        #expect(try Self.save(changed, by: peer) == nil)
        pass(seconds: 150)
        #expect(files() == 2)
        peer = try server.connect(account: "a")
        #expect(try Self.download(assets[0], field: "one", by: peer) == Self.content(1))
        #expect(try Self.download(assets[2], field: "many", by: peer) == Self.content(3))
        try peer.deleteZone("lists")
        pass(seconds: 150)
        #expect(files() == 0)
    }

    @Test("go to those with whom a record is shared, and come from them; nobody else gets any") func shared() throws {
        let server = try SteppedServer()
        let (a, b, c) = (
            try server.connect(account: "a"), try server.connect(account: "b"), try server.connect(account: "c")
        )
        let shared = ZoneID(name: "lists", owner: a.user)
        try a.makeZone("lists")
        try b.accept(try a.shareRecord("food", in: "lists", with: [b.user]))
        var keys = try a.makeRings(in: "lists")
        try a.appendEntry(of: "lists", root: "food", &keys)
        let header = try keys.header(in: "lists", root: "food", isShared: true)
        let stamp = EncryptedSamples.stamp(header)
        let asset = try Self.upload(1, by: a)
        #expect(
            try Self.save(
                ["x": EncryptedSamples.asset(asset, header: header)], parent: .set("food"), stamp: stamp, by: a) == nil)
        #expect(try Self.download(asset, field: "x", zone: shared, database: .shared, by: b) == Self.content(1))
        #expect(throws: ServiceError.self) {
            try Self.download(asset, field: "x", zone: shared, database: .shared, by: c)
        }
        let other = try Self.upload(2, by: b, zone: shared, database: .shared)
        #expect(throws: ServiceError.self) { try Self.upload(3, by: c, zone: shared, database: .shared) }
        #expect(
            try Self.save(
                ["y": EncryptedSamples.assets([other], header: header)], in: shared, of: .shared, by: b) == nil)
        #expect(try Self.download(other, field: "y", by: a) == Self.content(2))
    }

    @Test("are in no notification, neither their checksum nor what opens them") func notifications() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        try peer.makeZone("lists")
        try peer.makeRings(in: "lists")
        let asset = try Self.upload(1, by: peer)
        let fields: DecodedFields = [
            "e": EncryptedSamples.asset(asset), "l": EncryptedSamples.assets([asset]), "n": .int64(1),
        ]
        #expect(try Self.save(fields, by: peer) == nil)
        var info = NotificationInfo()
        info.desiredKeys = ["e", "l", "n"]
        let all = QuerySubscription(recordType: "Note", predicate: .constant(true), options: .reasons)
        try peer.subscribe(Subscription(id: "s", kind: .query(all), notificationInfo: info))
        let listener = try server.connect(account: "a", device: 8)
        let stream = listener.openNotifications()
        _ = try listener.takeEvents(stream)
        #expect(try Self.save(fields, as: "other", by: peer) == nil)
        let shown = try listener.takeEvents(stream).compactMap { event -> [String: FieldValue]? in
            if case .recordChanged(let change) = event.kind { change.fields } else { nil }
        }
        #expect(shown == [["n": .int64(1)]])
    }

    @Test("are neither compared nor sorted by") func queries() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        try peer.makeZone("lists")
        try peer.makeRings(in: "lists")
        let asset = try Self.upload(1, by: peer)
        #expect(try Self.save(["e": EncryptedSamples.asset(asset), "n": .int64(1)], by: peer) == nil)
        let value = EncryptedSamples.asset(Self.stored(asset))
        let isOne = Predicate.comparison(.field("n"), .equal, .int64(1))
        for query in [
            Query(recordType: "Note", predicate: .comparison(.field("e"), .equal, value)),
            Query(recordType: "Note", predicate: .comparison(.field("n"), .equal, value)),
            Query(recordType: "Note", predicate: .comparison(.field("e"), .equal, .string("x"))),
            Query(recordType: "Note", predicate: isOne, sortDescriptors: [QuerySort(key: .field("e"))]),
        ] {
            let error = #expect(throws: ServiceError.self) {
                try peer.query(QueryRequest(database: .private, zone: Self.zone, query: query))
            }
            #expect(error?.code == .invalidArguments)
        }
    }
}
