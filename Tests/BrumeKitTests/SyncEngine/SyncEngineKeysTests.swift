@testable import BrumeKit
import Testing

@Suite("A sync engine's sends without encryption keys")
struct SyncEngineKeysTests {
    @Test("that wait for encryption keys hold nothing else up, and are tried again with growing pauses")
    func waitingForKeys() {
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        script.start()
        let waiting = (0..<400).map { "k\($0)" }
        let failures = Dictionary(
            uniqueKeysWithValues: waiting.map { (Sample.id($0), CKError.notEncrypted(.deviceHasNoKeys, "no keys")) })
        script.server = EngineScript.server(failing: failures)
        for name in waiting { script.add(Sample.save(name)) }
        script.add(Sample.save("behind"))
        /// Whether a record is saved within some seconds.
        func isSaved(_ name: String, withinSeconds seconds: UInt64) -> Bool {
            let start = script.now
            while script.pending.contains(Sample.save(name)) {
                guard script.turnClock() != nil, script.now - start <= seconds * 1_000 else { return false }
            }
            return script.log.contains { $0.hasPrefix("sentRecordZoneChanges(saved: [\"\(name)\"]") }
        }
        #expect(isSaved("behind", withinSeconds: 5))
        #expect(script.pending.count == 400)
        script.add(Sample.save("later"))
        #expect(isSaved("later", withinSeconds: 3))
        var tries = 0
        let start = script.now
        script.log = []
        while script.now - start < 600_000, script.turnClock() != nil {
            tries += script.taken().filter { $0.hasPrefix("> modifyRecords") }.count
        }
        #expect(tries > 5 && tries < 40)
        script.server = EngineScript.friendlyServer
        while !script.pending.isEmpty, script.turnClock() != nil {}
        #expect(script.pending.isEmpty)
    }

    @Test("to a zone that waits for encryption keys don't keep records from being sent")
    func zoneWaitingForKeys() {
        let script = EngineScript(EngineScript.signedIn())
        let waiting = CKRecordZone(zoneName: "Whole")
        script.add(zones: .saveZone(waiting))
        script.add(Sample.save("a"))
        script.server = { request in
            guard case .modifyZones = request else { return EngineScript.friendlyServer(request) }
            return .modifyZones(
                .success(
                    .init(saves: [waiting.zoneID: .failure(.notEncrypted(.deviceHasNoKeys, "no keys"))], deletions: [:])
                ))
        }
        script.send()
        #expect(script.taken().contains { $0.hasPrefix("sentRecordZoneChanges(saved: [\"a\"]") })
        #expect(script.pending.isEmpty && script.pendingZones.count == 1)
    }
}
