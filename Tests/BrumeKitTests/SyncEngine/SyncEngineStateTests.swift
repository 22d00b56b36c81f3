@testable import BrumeKit
import Foundation
import Testing

@Suite("A sync engine's state")
struct SyncEngineStateTests {
    private var full: SyncEngineState {
        var state = EngineScript.signedIn()
        state.databaseToken = EngineScript.token("database")
        state.zoneTokens = [Sample.zone: EngineScript.token("a"), Sample.zoneB: EngineScript.token("b")]
        state.unfetchedZones.insert(Sample.zoneB)
        state.ownDeletedZones.insert(Sample.zone)
        state.zoneChanges.add(.saveZone(CKRecordZone(zoneID: Sample.zone)), id: Sample.zone, stamp: 1)
        state.sentZoneChanges = [.deleteZone(Sample.zoneB)]
        for (index, change) in [
            Sample.save("1"), Sample.save("2"), Sample.delete("3"), Sample.save("4", Sample.zoneB),
            .saveRecord(Sample.id("x", CKRecordZone.ID(zoneName: "C", ownerName: "_bob"))),
        ].enumerated() {
            state.recordChanges.add(change, id: change.recordID, stamp: UInt64(index))
        }
        state.sentRecordChanges = [Sample.save("0"), Sample.delete("1")]
        state.hasUntrackedChanges = true
        state.unconfirmedZones.insert(Sample.zoneB)
        state.recordsForNextZone = [Sample.id("4", Sample.zoneB), Sample.id("1")]
        return state
    }

    @Test("is written as JSON and as a property list, and read again with what is in flight as pending")
    func roundTrip() throws {
        let serialization = CKSyncEngine.State.Serialization(full)
        let json = try JSONDecoder().decode(
            CKSyncEngine.State.Serialization.self, from: try JSONEncoder().encode(serialization))
        let list = try PropertyListDecoder().decode(
            CKSyncEngine.State.Serialization.self, from: try PropertyListEncoder().encode(serialization))
        for state in [json.state, list.state] {
            #expect(state.account == .user("_ada"))
            #expect(state.databaseToken == full.databaseToken)
            #expect(state.zoneTokens == full.zoneTokens)
            #expect(state.unfetchedZones == full.unfetchedZones)
            #expect(state.ownDeletedZones == full.ownDeletedZones)
            #expect(
                state.zoneChanges.changes == [.deleteZone(Sample.zoneB), .saveZone(CKRecordZone(zoneID: Sample.zone))])
            // The newer change to a record that is in flight takes its place.
            #expect(state.recordChanges.changes == [Sample.save("0")] + full.recordChanges.changes)
            #expect(state.hasUntrackedChanges)
            #expect(state.unconfirmedZones == full.unconfirmedZones)
            #expect(state.recordsForNextZone == full.recordsForNextZone)
        }
        for account in [SyncEngineState.Account.none, .undetermined] {
            var state = SyncEngineState()
            state.account = account
            let data = try JSONEncoder().encode(CKSyncEngine.State.Serialization(state))
            #expect(
                try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: data).state.account == account)
        }
    }

    @Test("keeps how zones that are to be saved are to be encrypted")
    func scopes() throws {
        var state = SyncEngineState()
        let zone = CKRecordZone(zoneName: "Whole")
        zone.encryptionScope = .perZone
        zone.encryptsAssets = false
        for zone in [zone, CKRecordZone(zoneName: "Records")] {
            state.zoneChanges.add(.saveZone(zone), id: zone.zoneID, stamp: 0)
        }
        let data = try JSONEncoder().encode(CKSyncEngine.State.Serialization(state))
        let read = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: data).state
        let zones = read.zoneChanges.changes.compactMap { change in
            if case .saveZone(let zone) = change { zone } else { nil }
        }
        #expect(zones.map(\.encryptionScope) == [.perZone, .perRecord])
        #expect(zones.map(\.encryptsAssets) == [false, nil])
    }

    @Test("keeps of changes that save the same zone how the last one says that it is to be encrypted")
    func lastPolicy() {
        var state = SyncEngineState()
        let zone = CKRecordZone(zoneName: "Whole")
        state.zoneChanges.add(.saveZone(CKRecordZone(zoneName: "Whole")), id: zone.zoneID, stamp: 0)
        zone.encryptsAssets = false
        state.zoneChanges.add(.saveZone(zone), id: zone.zoneID, stamp: 1)
        guard case .saveZone(let kept)? = state.zoneChanges[zone.zoneID] else {
            Issue.record("nothing waits")
            return
        }
        #expect(kept.encryptsAssets == false && state.zoneChanges.changes.count == 1)
    }

    @Test("of version 1 stays readable")
    func version1() throws {
        let text = """
            {"version":1,"account":"user","user":"_ada","databaseToken":"ZA==","zones":[{"zone":{"name":"A"},"token":"eg=="}],
            "unfetchedZones":[{"name":"B","owner":"_bob"}],"ownDeletedZones":[],"pendingZones":[{"kind":"save","zone":{"name":"A"}}],
            "pendingRecords":[{"kind":"delete","zone":{"name":"A"},"records":["1","2"]}],"hasUntrackedChanges":false}
            """
        let state = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: Data(text.utf8)).state
        #expect(state.zoneTokens == [Sample.zone: EngineScript.token("z")])
        #expect(state.recordChanges.changes == [Sample.delete("1"), Sample.delete("2")])
    }

    @Test("that no engine wrote, or a newer one, is refused and traps nothing")
    func hostile() throws {
        let object = try JSONSerialization.jsonObject(
            with: try JSONEncoder().encode(CKSyncEngine.State.Serialization(full)))
        let good = try #require(object as? [String: Any])
        func refuses(_ key: String, _ value: Any?) throws -> Bool {
            var object = good
            object[key] = value
            let data = try JSONSerialization.data(withJSONObject: object)
            do {
                _ = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: data)
                return false
            } catch is DecodingError {
                return true
            }
        }
        let newer: Set = ["databaseToken", "unconfirmedZones", "recordsForNextZone"]
        for key in good.keys where !newer.contains(key) { #expect(try refuses(key, nil), "\(key)") }
        let long = String(repeating: "x", count: 300)
        func run(_ zone: [String: String], _ names: [String]) -> Any {
            [["kind": "save", "zone": zone, "records": names]]
        }
        for (key, value) in [
            ("version", 2), ("version", 0), ("version", "1"), ("account", "other"), ("user", ""), ("user", "é"),
            ("databaseToken", ""), ("databaseToken", Data(count: 100_000).base64EncodedString()),
            ("zones", [["zone": ["name": "_x"], "token": "eg=="]]),
            ("zones", [["zone": ["name": "A"], "token": "eg=="], ["zone": ["name": "A"], "token": "eg=="]]),
            ("unfetchedZones", [["name": "A"], ["name": "A"]]), ("unfetchedZones", [["name": "A", "owner": ""]]),
            ("unfetchedZones", [["name": "A", "owner": long]]), ("ownDeletedZones", [["name": long]]),
            ("pendingZones", [["kind": "keep", "zone": ["name": "A"]]]),
            ("pendingZones", [["kind": "save", "zone": ["name": "A"]], ["kind": "delete", "zone": ["name": "A"]]]),
            ("pendingRecords", run(["name": "A"], ["a", "a"])),
            ("pendingRecords", [["kind": "save", "records": ["a"]]]),
        ] as [(String, Any)] {
            #expect(try refuses(key, value), "\(key): \(value)")
        }
    }

    @Test("with changes to what no record or zone can be called is read as it was written")
    func oddNames() throws {
        var state = full
        let names = ["Müller", "", "a\u{0}é", String(repeating: "x", count: 300), "_x"]
        let zone = CKRecordZone.ID(zoneName: "Meine Listen ü")
        let changes =
            names.map { Sample.save($0) }
            + [.saveRecord(CKRecord.ID(recordName: "n", zoneID: zone))]
        for change in changes { state.recordChanges.add(change, id: change.recordID, stamp: 0) }
        state.zoneChanges.add(.saveZone(CKRecordZone(zoneID: zone)), id: zone, stamp: 0)
        let data = try JSONEncoder().encode(CKSyncEngine.State.Serialization(state))
        let read = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: data).state
        #expect(read.unsentRecordChanges == state.unsentRecordChanges)
        #expect(read.unsentRecordChanges.suffix(changes.count) == changes[...])
        #expect(read.unsentZoneChanges.last == .saveZone(CKRecordZone(zoneID: zone)))
        #expect(read.zoneTokens == state.zoneTokens)
    }

    @Test("cut short or changed anywhere is refused or read, and traps nothing")
    func damaged() throws {
        let data = try JSONEncoder().encode(CKSyncEngine.State.Serialization(full))
        for count in stride(from: 0, to: data.count - 1, by: 3) {
            #expect(throws: (any Error).self) {
                try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: data.prefix(count))
            }
        }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            var bytes = data
            bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0x20...0x7E, using: &generator)
            _ = try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: bytes)
        }
    }

    @Test("has each change once, in the order of their addition, and of a save and a deletion the later one")
    func orderedSet() {
        let script = EngineScript(EngineScript.signedIn())
        script.add(Sample.save("a"), Sample.save("b"), Sample.save("a"))
        #expect(script.pending == [Sample.save("a"), Sample.save("b")])
        script.add(Sample.delete("a"))
        #expect(script.pending == [Sample.save("b"), Sample.delete("a")])
        script.add(Sample.save("a"))
        #expect(script.pending == [Sample.save("b"), Sample.save("a")])
        script.remove(Sample.delete("a"), Sample.save("b"))
        #expect(script.pending == [Sample.save("a")])
        script.add(zones: .saveZone(CKRecordZone(zoneID: Sample.zone)), .deleteZone(Sample.zone))
        #expect(script.pendingZones == [.deleteZone(Sample.zone)])
        script.add(zones: .saveZone(CKRecordZone(zoneID: Sample.zone)))
        #expect(script.pendingZones == [.saveZone(CKRecordZone(zoneID: Sample.zone))])
    }

    @Test("keeps a hundred thousand changes in order, whatever is removed and put back")
    func largeQueue() {
        var queue = ChangeQueue<Int, Int>()
        for index in 0..<100_000 { queue.add(index, id: index, stamp: 0) }
        for index in stride(from: 0, to: 100_000, by: 2) { queue.remove(index) }
        queue.putBack([(2, 2), (1, -1), (4, 4)], stamp: 1)
        #expect(queue.count == 50_002)
        #expect(queue.changes.prefix(4) == [2, 4, 1, 3])
        #expect(queue[1] == 1)
        #expect(queue[6] == nil)
        queue.add(-3, id: 3, stamp: 2)
        #expect(queue.changes.last == -3)
    }
}
