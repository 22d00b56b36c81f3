@testable import BrumeKit
import Testing

@Suite("A sync engine and its account")
struct SyncEngineAccountTests {
    @Test("sleeps without one, and a call says so before anything is told")
    func dormant() {
        let script = EngineScript(isAutomatic: true)
        script.server = { if case .account = $0 { .account(.success(nil)) } else { nil } }
        script.start()
        #expect(script.fetch() == 1)
        #expect(script.send() == 2)
        #expect(script.taken() == ["> account", "< 1 notAuthenticated", "< 2 notAuthenticated"])
        script.turnClock()
        #expect(script.turnClock() == nil)
    }

    @Test("signs in at the first launch, keeps what was added until then, and then subscribes, fetches and sends")
    func firstLaunch() {
        let script = EngineScript(isAutomatic: true)
        script.server = { _ in nil }
        script.start()
        script.add(Sample.save("a"))
        script.server = EngineScript.friendlyServer
        script.answer(.account(.success("_ada")))
        while script.turnClock() != nil {}
        #expect(
            script.taken() == [
                "> account", "accountChange(signIn(_ada))", "> listen", "> subscription", "willFetchChanges(scheduled)",
                "options?", "> databaseChanges(nil)", "didFetchChanges(scheduled)", "willSendChanges(scheduled)",
                "batch?", "> firstFetchTokens([\"A\"])", "> modifyRecords([\"a\"], [])",
                "sentRecordZoneChanges(saved: [\"a\"], failedSaves: [], deleted: [], failedDeletes: [])", "batch?",
                "didSendChanges(scheduled)",
            ])
    }

    @Test(
        "compares the user with the one before, and forgets everything of another one before the delegate hears",
        arguments: [
            ("_ada", "_ada", nil), ("_ada", "_bob", "accountChange(switchAccounts(_ada, _bob))"),
            ("_ada", nil, "accountChange(signOut(_ada))"), (nil, "_bob", "accountChange(signIn(_bob))"),
            (nil, nil, nil),
        ] as [(String?, String?, String?)])
    func comparison(before: String?, now: String?, event: String?) {
        var state = SyncEngineState()
        state.account = before.map { .user($0) } ?? .none
        state.databaseToken = EngineScript.token("d")
        state.zoneTokens[Sample.zone] = EngineScript.token("z")
        state.unfetchedZones.insert(Sample.zone)
        state.recordChanges.add(Sample.save("a"), id: Sample.id("a"), stamp: 0)
        state.zoneChanges.add(.deleteZone(Sample.zoneB), id: Sample.zoneB, stamp: 0)
        state.hasUntrackedChanges = true
        let script = EngineScript(state, isAutomatic: true)
        script.server = { if case .account = $0 { .account(.success(now)) } else { nil } }
        var heard: [Bool] = []
        script.onEvent = { event in
            guard case .accountChange = event else { return }
            let state = script.machine.state
            heard.append(
                script.pending.isEmpty && script.pendingZones.isEmpty && state.databaseToken == nil
                    && state.zoneTokens.isEmpty && state.unfetchedZones.isEmpty && !state.hasUntrackedChanges)
        }
        script.start()
        #expect(script.log.filter { $0.hasPrefix("accountChange") } == [event].compactMap { $0 })
        #expect(heard == (event == nil ? [] : [true]))
        if event == nil { #expect(script.pending == [Sample.save("a")]) }
    }

    @Test(
        "is looked at again when it may have changed: a fetch of the user before ends, paired, and then the new one is told"
    )
    func switchWhileFetching() {
        let script = EngineScript(EngineScript.signedIn())
        script.server = { request in
            if case .zoneChanges = request { return nil }
            if case .databaseChanges = request { return EngineScript.databasePage([Sample.zone], token: "d") }
            return EngineScript.friendlyServer(request)
        }
        script.fetch()
        script.perform(script.machine.accountMayHaveChanged(now: script.now))
        script.server = { if case .account = $0 { .account(.success("_bob")) } else { nil } }
        script.log = []
        script.answer(EngineScript.zonePage([Sample.id("a")], token: "z", moreComing: true))
        #expect(
            script.taken() == [
                "fetchedRecordZoneChanges(modifications: [\"a\"], deletions: [])", "> account",
                "didFetchRecordZoneChanges(A, error: operationCancelled)", "didFetchChanges(manual)",
                "accountChange(switchAccounts(_ada, _bob))", "< 1 operationCancelled",
            ])
        #expect(script.machine.state.zoneTokens.isEmpty)
    }

    @Test("that can't be asked for ends a call with that error, and is asked for again after growing pauses")
    func unreachable() {
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        script.server = { _ in .account(.failure(CKError(.networkFailure))) }
        script.start()
        script.fetch()
        #expect(script.taken() == ["> account", "> account", "< 1 networkFailure"])
        var pauses: [UInt64] = []
        for _ in 0..<12 { pauses.append(script.turnClock()!) }
        #expect(pauses.first! < 1_000)
        #expect(pauses.last! > 10_000 && pauses.last! < 31_000)
        script.server = EngineScript.friendlyServer
        script.turnClock()
        #expect(script.log.contains("didFetchChanges(scheduled)"))
    }

    @Test("without a subscription fetches all the same, and tries to subscribe again where that may help")
    func subscription() {
        for (code, isRetried) in [(CKError.Code.networkFailure, true), (.badDatabase, false)] {
            let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
            script.server = { request in
                if case .subscription = request { return .subscription(.failure(CKError(code))) }
                return EngineScript.friendlyServer(request)
            }
            script.start()
            #expect(script.taken().contains("didFetchChanges(scheduled)"))
            while script.now < 60_000, script.turnClock() != nil {}
            #expect(script.log.contains("> subscription") == isRetried)
        }
    }
}
