@testable import BrumeKit
import BrumeModel
import Testing

@Suite("A sync engine's fetches")
struct SyncEngineFetchTests {
    private let zone = Sample.zone
    private let zoneB = Sample.zoneB

    @Test("tell the zones, then each zone's pages, and ask for options before each request")
    func order() {
        let script = EngineScript(EngineScript.signedIn())
        script.server = { request in
            switch request {
            case .databaseChanges(nil):
                EngineScript.databasePage([zone], token: "d1", moreComing: true)
            case .databaseChanges: EngineScript.databasePage([zoneB], token: "d2")
            case .zoneChanges(zone, nil):
                EngineScript.zonePage([Sample.id("a")], token: "a1", moreComing: true)
            case .zoneChanges(zone, _): EngineScript.zonePage([], deleted: [Sample.id("b")], token: "a2")
            default: EngineScript.friendlyServer(request)
            }
        }
        script.fetch()
        #expect(
            script.taken() == [
                "> account", "willFetchChanges(manual)", "options?", "> databaseChanges(nil)",
                "fetchedDatabaseChanges(modifications: [\"A\"], deletions: [])", "options?", "> databaseChanges(d1)",
                "fetchedDatabaseChanges(modifications: [\"B\"], deletions: [])", "options?",
                "willFetchRecordZoneChanges(A)", "> zoneChanges(A, nil)",
                "fetchedRecordZoneChanges(modifications: [\"a\"], deletions: [])", "options?", "> zoneChanges(A, a1)",
                "fetchedRecordZoneChanges(modifications: [], deletions: [\"b\"])", "didFetchRecordZoneChanges(A)",
                "options?", "willFetchRecordZoneChanges(B)", "> zoneChanges(B, nil)", "didFetchRecordZoneChanges(B)",
                "didFetchChanges(manual)", "< 1",
            ])
        #expect(script.machine.state.databaseToken == EngineScript.token("d2"))
        #expect(script.machine.state.zoneTokens == [zone: EngineScript.token("a2"), zoneB: EngineScript.token("z")])
        #expect(script.machine.state.unfetchedZones.isEmpty)
    }

    @Test("take prioritised zones first, and leave those outside of the scope for later")
    func scope() {
        let script = EngineScript(EngineScript.signedIn())
        let zoneC = CKRecordZone.ID(zoneName: "C")
        script.server = { request in
            if case .databaseChanges(nil) = request {
                return EngineScript.databasePage([zone, zoneB, zoneC], token: "d")
            }
            return EngineScript.friendlyServer(request)
        }
        script.onOptions = { context in
            var options = context.options
            options.prioritizedZoneIDs = [zoneC, zone]
            return options
        }
        script.fetch(.allExcluding([zone]))
        #expect(script.taken().filter { $0.hasPrefix("> zone") } == ["> zoneChanges(C, nil)", "> zoneChanges(B, nil)"])
        #expect(script.machine.state.unfetchedZones.list == [zone])
        script.fetch(.zoneIDs([zone]))
        #expect(script.taken().filter { $0.hasPrefix("> zone") } == ["> zoneChanges(A, nil)"])
    }

    @Test(
        "advance a token, and forget that a zone is to be fetched, when the delegate has handled the page and not before"
    )
    func handledFirst() throws {
        let script = EngineScript(EngineScript.signedIn())
        script.server = { request in
            switch request {
            case .databaseChanges(nil): EngineScript.databasePage([zone], token: "d1")
            case .zoneChanges: EngineScript.zonePage([Sample.id("a")], token: "a1")
            default: EngineScript.friendlyServer(request)
            }
        }
        var seen: [String] = []
        script.onEvent = { event in
            let state = script.machine.state
            switch event {
            case .fetchedDatabaseChanges: seen.append("database \(state.databaseToken == nil)")
            case .fetchedRecordZoneChanges:
                seen.append("zone \(state.zoneTokens.isEmpty && state.unfetchedZones.contains(zone))")
            case .didFetchRecordZoneChanges:
                seen.append("did \(!state.zoneTokens.isEmpty && state.unfetchedZones.isEmpty)")
            default: break
            }
        }
        script.fetch()
        #expect(seen == ["database true", "zone true", "did true"])
    }

    @Test("of some zones leave the status of those exact, and of the database not in step")
    func scopedStatus() {
        let script = EngineScript(EngineScript.signedIn())
        script.server = { request in
            switch request {
            case .databaseChanges(nil): EngineScript.databasePage([zone, zoneB], token: "d")
            case .zoneChanges: EngineScript.zonePage([Sample.id("a")], token: "z")
            default: EngineScript.friendlyServer(request)
            }
        }
        func hasAll(_ zoneID: CKRecordZone.ID?) -> Bool {
            CKSyncEngine.SyncStatus(
                .init(state: script.machine.state, knowsAllZones: script.machine.knowsAllZones), zoneID: zoneID,
                certified: nil
            ).hasAllServerChanges
        }
        #expect(!hasAll(zone) && !hasAll(nil))
        script.fetch(.zoneIDs([zone]))
        #expect(hasAll(zone) && !hasAll(zoneB) && !hasAll(nil) && !script.machine.isAtHead)
        script.fetch(.zoneIDs([zoneB]))
        #expect(hasAll(zone) && hasAll(zoneB) && hasAll(nil) && script.machine.isAtHead)
        // What is heard of one zone says nothing of the others.
        script.push(.zoneChanged(zoneB))
        #expect(hasAll(zone) && !hasAll(zoneB) && !hasAll(nil))
        script.push(.databaseChanged)
        #expect(!hasAll(zone))
        // One that fails for a zone knows all the same which zones there are.
        script.server = { request in
            if case .zoneChanges = request { return .zoneChanges(.failure(CKError(.zoneBusy))) }
            return EngineScript.friendlyServer(request)
        }
        script.fetch()
        #expect(hasAll(zone) && !hasAll(zoneB))
    }

    @Test("ask for the options before each page, and leave the rest of a zone that is not in their scope any more")
    func optionsBetweenPages() {
        let script = EngineScript(EngineScript.signedIn())
        var pages = 0
        script.server = { request in
            switch request {
            case .databaseChanges(nil): return EngineScript.databasePage([zone], token: "d1", moreComing: true)
            case .databaseChanges: return EngineScript.databasePage([zoneB], token: "d2")
            case .zoneChanges:
                pages += 1
                return EngineScript.zonePage([Sample.id("\(pages)")], token: "z\(pages)", moreComing: pages < 9)
            default: return EngineScript.friendlyServer(request)
            }
        }
        var asked = 0
        script.onOptions = { context in
            asked += 1
            var options = context.options
            if asked > 4 { options.scope = .zoneIDs([]) }
            return options
        }
        script.fetch()
        let log = script.taken().filter { $0 == "options?" || $0.hasPrefix("> ") || $0.hasPrefix("didFetchRecord") }
        #expect(
            log == [
                "> account", "options?", "> databaseChanges(nil)", "options?", "> databaseChanges(d1)", "options?",
                "> zoneChanges(A, nil)", "options?", "> zoneChanges(A, z1)", "options?",
                "didFetchRecordZoneChanges(A, error: operationCancelled)", "options?",
            ])
        #expect(script.machine.state.unfetchedZones.list == [zone, zoneB])
        #expect(script.machine.state.zoneTokens[zone] == EngineScript.token("z2"))
    }

    @Test("start over by themselves with a token that expired, once")
    func expiredTokens() {
        let state = EngineScript.signedIn { state in
            state.databaseToken = EngineScript.token("old")
            state.zoneTokens[zone] = EngineScript.token("old")
        }
        let script = EngineScript(state)
        let expired = CKError(.changeTokenExpired)
        script.server = { request in
            switch request {
            case .databaseChanges(nil): EngineScript.databasePage([zone, zoneB], token: "d")
            case .databaseChanges: .databaseChanges(.failure(expired))
            case .zoneChanges(zone, nil): EngineScript.zonePage([Sample.id("a")], token: "a")
            case .zoneChanges: .zoneChanges(.failure(expired))
            default: EngineScript.friendlyServer(request)
            }
        }
        script.fetch()
        let log = script.taken()
        #expect(
            log.filter { $0.hasPrefix("> ") } == [
                "> account", "> databaseChanges(old)", "> databaseChanges(nil)", "> zoneChanges(A, old)",
                "> zoneChanges(A, nil)", "> zoneChanges(B, nil)", "> zoneChanges(B, nil)",
            ])
        #expect(log.contains("didFetchRecordZoneChanges(A)"))
        #expect(log.contains("didFetchRecordZoneChanges(B, error: changeTokenExpired)"))
        #expect(log.last == "< 1 partialFailure")
    }

    @Test("that start over say so to the delegate, and end what they began without it")
    func startsOver() {
        let script = EngineScript(
            EngineScript.signedIn { state in
                state.zoneTokens[zone] = EngineScript.token("old")
                state.zoneTokens[zoneB] = EngineScript.token("b")
            })
        var told: [String] = []
        script.onEvent = { event in
            switch event {
            case .willFetchRecordZoneChanges(let event):
                told.append("\(event.zoneID.zoneName)\(event.startsOver ? " anew" : "")")
            case .didFetchRecordZoneChanges(let event):
                told.append("end of \(event.zoneID.zoneName)\(event.error == nil ? "" : ", failed")")
            default: break
            }
        }
        let new = CKRecordZone.ID(zoneName: "C")
        script.server = { request in
            switch request {
            case .databaseChanges: EngineScript.databasePage([zone, zoneB, new], token: "d")
            case .zoneChanges(zone, EngineScript.token("old")):
                .zoneChanges(.failure(CKError(.changeTokenExpired)))
            default: EngineScript.friendlyServer(request)
            }
        }
        script.fetch()
        #expect(
            told == [
                "A", "end of A, failed", "A anew", "end of A", "B", "end of B", "C anew", "end of C",
            ])
    }

    @Test("of the database from its start tell the deletion of each zone that the engine knows and that is not there")
    func missingZones() {
        let pending = CKRecord.ID(recordName: "pending", zoneID: zoneB)
        let script = EngineScript(
            EngineScript.signedIn { state in
                state.databaseToken = EngineScript.token("old")
                for zone in [zone, zoneB] { state.zoneTokens[zone] = EngineScript.token("z") }
                _ = state.recordChanges.add(.saveRecord(pending), id: pending, stamp: 1)
            })
        script.server = { request in
            switch request {
            case .databaseChanges(EngineScript.token("old")):
                .databaseChanges(.failure(CKError(.changeTokenExpired)))
            // The launch ends between the pages.
            case .databaseChanges(nil): EngineScript.databasePage([zone], token: "d1", moreComing: true)
            case .databaseChanges: .databaseChanges(.failure(CKError(.networkFailure)))
            default: EngineScript.friendlyServer(request)
            }
        }
        script.fetch()
        #expect(!script.taken().contains { $0.contains("deletions: [\"B\"]") })

        let kept = try! JSONEncoder().encode(CKSyncEngine.State.Serialization(script.machine.state))
        let next = EngineScript(try! JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: kept).state)
        next.server = { request in
            if case .databaseChanges = request { return EngineScript.databasePage([], token: "d2") }
            return EngineScript.friendlyServer(request)
        }
        next.fetch()
        #expect(next.taken().contains("fetchedDatabaseChanges(modifications: [], deletions: [\"B\"])"))
        #expect(next.machine.state.zoneTokens.keys.map(\.zoneName) == ["A"])
        #expect(next.pending.isEmpty)
        next.fetch()
        #expect(!next.taken().contains { $0.contains("fetchedDatabaseChanges") })
    }

    @Test("of a zone that was deleted and made again tell the deletion, and then what the new one holds")
    func zoneMadeAgain() {
        let gone = CKRecord.ID(recordName: "gone", zoneID: zone)
        let state = EngineScript.signedIn { state in
            state.databaseToken = EngineScript.token("d")
            state.zoneTokens[zone] = EngineScript.token("old")
            _ = state.recordChanges.add(.saveRecord(gone), id: gone, stamp: 1)
        }
        let script = EngineScript(state)
        script.server = { request in
            switch request {
            case .databaseChanges: EngineScript.databasePage([zone], token: "e")
            case .zoneChanges(zone, nil): EngineScript.zonePage([Sample.id("a")], token: "a")
            case .zoneChanges(zone, _):
                .zoneChanges(.failure(CKError(ServiceError(.changeTokenExpired, "", detail: .zoneMadeAgain))))
            default: EngineScript.friendlyServer(request)
            }
        }
        script.fetch()
        #expect(
            script.taken().filter { $0.contains("etch") || $0.hasPrefix("> zone") } == [
                "willFetchChanges(manual)", "fetchedDatabaseChanges(modifications: [\"A\"], deletions: [])",
                "willFetchRecordZoneChanges(A)", "> zoneChanges(A, old)",
                "didFetchRecordZoneChanges(A, error: changeTokenExpired)",
                // The database's changes know nothing of it.
                "fetchedDatabaseChanges(modifications: [\"A\"], deletions: [])",
                "willFetchRecordZoneChanges(A)", "> zoneChanges(A, old)",
                "didFetchRecordZoneChanges(A, error: changeTokenExpired)",
                "fetchedDatabaseChanges(modifications: [\"A\"], deletions: [\"A\"])",
                "willFetchRecordZoneChanges(A)", "> zoneChanges(A, nil)",
                "fetchedRecordZoneChanges(modifications: [\"a\"], deletions: [])", "didFetchRecordZoneChanges(A)",
                "didFetchChanges(manual)",
            ])
        #expect(!script.machine.state.recordChanges.changes.contains(.saveRecord(gone)))
        #expect(script.machine.state.zoneTokens == [zone: EngineScript.token("a")])
        #expect(script.machine.state.unfetchedZones.isEmpty)
    }

    @Test(
        "of a zone that is deleted and made again while they run ask why, and tell the deletion once, with the reason")
    func zoneMadeAgainMeanwhile() {
        let script = EngineScript(
            EngineScript.signedIn { state in
                state.databaseToken = EngineScript.token("d")
                state.zoneTokens[zone] = EngineScript.token("old")
            })
        var reasons: [CKDatabase.DatabaseChange.Deletion.Reason] = []
        script.onEvent = { event in
            if case .fetchedDatabaseChanges(let changes) = event { reasons += changes.deletions.map(\.reason) }
        }
        script.server = { [self] request in
            switch request {
            case .databaseChanges(EngineScript.token("d")): EngineScript.databasePage([zone], token: "e")
            case .databaseChanges(EngineScript.token("e")):
                .databaseChanges(
                    .success(
                        .init(
                            earlierDeletions: [.init(zoneID: zone, reason: .purged)],
                            modifications: [.init(zoneID: zone)], deletions: [], token: EngineScript.token("f"),
                            moreComing: false)))
            case .zoneChanges(zone, nil): EngineScript.zonePage([Sample.id("a")], token: "a")
            case .zoneChanges(zone, _):
                .zoneChanges(.failure(CKError(ServiceError(.changeTokenExpired, "", detail: .zoneMadeAgain))))
            default: EngineScript.friendlyServer(request)
            }
        }
        script.fetch()
        #expect(reasons == [.purged])
        #expect(script.log.last == "< 1")
        #expect(script.machine.state.zoneTokens == [zone: EngineScript.token("a")])
        #expect(script.machine.state.unfetchedZones.isEmpty)
    }

    @Test(
        "of a zone that this device deleted and made again tell no deletion, and keep what is to be sent to the new one"
    )
    func ownZoneMadeAgain() {
        let script = EngineScript(
            EngineScript.signedIn { state in
                state.databaseToken = EngineScript.token("d")
                state.ownDeletedZones.insert(zone)
            })
        script.add(Sample.save("b"))
        script.server = { [self] request in
            guard case .databaseChanges = request else { return EngineScript.friendlyServer(request) }
            return .databaseChanges(
                .success(
                    .init(
                        earlierDeletions: [.init(zoneID: zone, reason: .deleted)],
                        modifications: [.init(zoneID: zone)], deletions: [], token: EngineScript.token("e"),
                        moreComing: false)))
        }
        script.fetch()
        #expect(script.log.contains("fetchedDatabaseChanges(modifications: [\"A\"], deletions: [])"))
        #expect(script.pending == [Sample.save("b")])
        // The next deletion is another device's.
        #expect(script.machine.state.ownDeletedZones.isEmpty)
    }

    @Test("go on with the other zones when one fails, and end when the way to the server does")
    func failures() {
        for (code, requests, end) in [
            (CKError.Code.internalError, 2, "< 1 partialFailure"), (.networkFailure, 1, "< 1 networkFailure"),
        ] {
            let script = EngineScript(EngineScript.signedIn())
            script.server = { request in
                switch request {
                case .databaseChanges: EngineScript.databasePage([zone, zoneB], token: "d")
                case .zoneChanges(zone, _): .zoneChanges(.failure(CKError(code)))
                default: EngineScript.friendlyServer(request)
                }
            }
            script.fetch()
            let log = script.taken()
            #expect(log.filter { $0.hasPrefix("> zoneChanges") }.count == requests)
            #expect(log.contains("didFetchRecordZoneChanges(A, error: \(code))"))
            #expect(log.suffix(2) == ["didFetchChanges(manual)", end])
            #expect(script.machine.state.unfetchedZones.contains(zone))
        }
    }

    @Test("are done again after a retryable error, no sooner than the server asks")
    func retry() {
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        let busy = CKError(.requestRateLimited, message: "later", retryAfterSeconds: 5)
        script.server = { request in
            if case .databaseChanges = request { return .databaseChanges(.failure(busy)) }
            return EngineScript.friendlyServer(request)
        }
        script.start()
        let start = script.now
        script.server = EngineScript.friendlyServer
        script.push(.opened)
        script.log = []
        while !script.log.contains("> databaseChanges(nil)") { script.turnClock() }
        #expect(script.now - start >= 5_000 && script.now - start < 7_000)
    }

    @Test("come with a push, which names what is unfetched, and end a pause that waited for the network")
    func pushes() {
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        script.start()
        script.log = []
        script.push(.databaseChanged)
        #expect(script.taken().first == "willFetchChanges(scheduled)")
        script.server = { _ in nil }
        script.push(.zoneChanged(zone))
        script.push(.zoneChanged(.default))
        #expect(script.machine.state.unfetchedZones.list == [zone])
        script.answer(.databaseChanges(.failure(CKError(.networkFailure))))
        #expect(script.openRequestID == nil)
        script.push(.opened)
        #expect(script.taken().suffix(3) == ["willFetchChanges(scheduled)", "options?", "> databaseChanges(d)"])
    }

    @Test("that a push overtakes leave the zone unfetched, and are followed by another one")
    func overtaken() {
        let script = EngineScript(EngineScript.signedIn(), isAutomatic: true)
        script.server = { request in
            if case .zoneChanges = request { return nil }
            return EngineScript.friendlyServer(request)
        }
        script.start()
        script.push(.zoneChanged(zone))
        script.push(.zoneChanged(zone))
        script.answer(EngineScript.zonePage([], token: "z1"))
        #expect(script.machine.state.unfetchedZones.list == [zone])
        script.answer(EngineScript.zonePage([], token: "z2"))
        #expect(script.machine.state.unfetchedZones.isEmpty)
        #expect(script.log.filter { $0.hasPrefix("willFetchChanges") }.count == 3)
    }

    @Test("of calls that wait with the same options are one")
    func joined() {
        let script = EngineScript(EngineScript.signedIn())
        script.server = { _ in nil }
        for _ in 0..<3 { script.fetch() }
        script.fetch(.zoneIDs([zone]))
        script.server = EngineScript.friendlyServer
        script.answer(.account(.success("_ada")))
        let log = script.taken()
        #expect(log.filter { $0.hasPrefix("willFetchChanges") }.count == 2)
        #expect(log.filter { $0.hasPrefix("<") } == ["< 1", "< 2", "< 3", "< 4"])
    }

    @Test("of a zone that is gone drop what was to be sent there, but not what the delegate then adds")
    func zoneDeletion() {
        let script = EngineScript(EngineScript.signedIn { $0.zoneTokens[zone] = EngineScript.token("z") })
        script.add(Sample.save("a"), Sample.save("b", zoneB))
        script.add(zones: .saveZone(CKRecordZone(zoneID: zone)))
        script.server = { request in
            if case .databaseChanges = request { return EngineScript.databasePage([], deleted: [zone], token: "d") }
            return EngineScript.friendlyServer(request)
        }
        script.onEvent = { event in
            guard case .fetchedDatabaseChanges = event else { return }
            #expect(script.pending == [Sample.save("b", zoneB)])
            #expect(script.pendingZones.isEmpty)
            script.add(Sample.save("c"))
        }
        script.fetch()
        #expect(script.pending == [Sample.save("b", zoneB), Sample.save("c")])
        #expect(script.machine.state.zoneTokens.isEmpty)
    }

    @Test("leave a pending save of a fetched record as it is")
    func noMerging() {
        let script = EngineScript(EngineScript.signedIn { $0.unfetchedZones.insert(zone) })
        script.add(Sample.save("a"))
        script.server = { request in
            if case .zoneChanges = request { return EngineScript.zonePage([Sample.id("a")], token: "z") }
            return EngineScript.friendlyServer(request)
        }
        script.fetch()
        #expect(script.log.contains("fetchedRecordZoneChanges(modifications: [\"a\"], deletions: [])"))
        #expect(script.pending == [Sample.save("a")])
    }

    @Test("end, paired, when operations are cancelled, in whatever request", arguments: ["database", "zone"])
    func cancelled(request open: String) {
        let script = EngineScript(EngineScript.signedIn())
        script.server = { request in
            switch request {
            case .databaseChanges: open == "database" ? nil : EngineScript.databasePage([zone, zoneB], token: "d")
            case .zoneChanges: nil
            default: EngineScript.friendlyServer(request)
            }
        }
        script.fetch()
        script.fetch(.zoneIDs([zone]))
        script.log = []
        script.perform(script.machine.operationsCancelled(now: script.now))
        #expect(script.taken() == ["< 2 operationCancelled", "> cancel"])
        if open == "database" {
            script.answer(.databaseChanges(.failure(CKError(.operationCancelled))))
            #expect(script.taken() == ["didFetchChanges(manual)", "< 1 operationCancelled"])
        } else {
            // It arrived all the same.
            script.answer(EngineScript.zonePage([Sample.id("a")], token: "z"))
            #expect(
                script.taken() == [
                    "fetchedRecordZoneChanges(modifications: [\"a\"], deletions: [])", "didFetchRecordZoneChanges(A)",
                    "didFetchChanges(manual)", "< 1 operationCancelled",
                ])
        }
    }

    @Test("and sends are made under the group of their options, a named one by default")
    func operationGroups() {
        let script = EngineScript(EngineScript.signedIn { $0.unfetchedZones.insert(zone) })
        var names: [String?] = []
        script.server = { request in
            names.append(script.machine.operationGroup?.name)
            return EngineScript.friendlyServer(request)
        }
        let group = CKOperationGroup()
        group.name = "first launch"
        script.perform(script.machine.called(9, .fetch(.init(operationGroup: group)), now: script.now))
        script.add(Sample.save("a"))
        script.send()
        #expect(names == [nil, "first launch", "first launch", "CKSyncEngine-SendChanges"])
        #expect(script.machine.operationGroup == nil)
        #expect(CKSyncEngine.FetchChangesOptions().operationGroup.name == "CKSyncEngine-FetchChanges")
    }
}
