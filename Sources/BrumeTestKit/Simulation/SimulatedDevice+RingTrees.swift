internal import BrumeEncryption
internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// What devices ask about trees: which root one has that a value names, and which values are of other trees than
/// theirs.
extension SimulatedDevice {
    /// Asks for the roots of all trees that a zone may have, and checks that those are told of which the device may
    /// learn.
    func findRingRoots(of zone: ZoneID) {
        let (history, home) = (simulation.history, home(of: zone))
        let kept = history[home].states.last!.rings(of: zone.name)
        let trees = Self.recordNames.compactMap { history.tree(of: $0, in: kept) }
        let ids = trees.isEmpty ? [[UInt8](repeating: 7, count: EncryptedHeader.TreeID.byteCount)] : trees.map(\.bytes)
        let request = FindRingRootsRequest(zone: zone, treeIDs: ids)
        let sight = history.sight(of: home)
        call(.ringsFindRoots, coder.encodeFindRingRootsRequest(request), .none) { [self] result in
            let timeline = history[home]
            let seen = timeline.start(of: sight)
            guard case .success(let bytes) = result else { return checkRefusal(result, ofRingIn: zone, since: seen) }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try coder.decodeFindRingRootsResponse(buffer) }
            }
            guard case .success(let roots) = decoded else { return simulation.violated("roots can't be read") }
            simulation.wasAnswered()
            simulation.report.ringRootsFound += roots.count
            let caller = home == database ? nil : user
            let isTrue = timeline.wasTrue(since: seen) { state in
                // A zone that was made anew has other trees.
                let isSame = Self.recordNames.first.flatMap { history.tree(of: $0, in: state.rings(of: zone.name)) }
                let all = history.ringRoots(of: zone.name, in: state, to: caller)
                return isSame == trees.first ? all == Set(roots) : roots.isEmpty && all != nil
            }
            if !isTrue {
                simulation.violated("I1: trees of \(zone.name) have roots \(roots), which no commit since \(seen) left")
            }
        }
    }

    /// Lists the records of a zone that are to be encrypted anew, and checks that they are those.
    func listMisplacedRecords(of zone: ZoneID) {
        let (history, home) = (simulation.history, home(of: zone))
        let start = generator.oneIn(8) ? UInt32.random(in: 0...40, using: &generator) : 0
        let request = ListMisplacedRecordsRequest(zone: zone, start: start)
        let sight = history.sight(of: home)
        call(.ringsListMisplaced, coder.encodeListMisplacedRecordsRequest(request), .none) { [self] result in
            let timeline = history[home]
            let seen = timeline.start(of: sight)
            guard case .success(let bytes) = result else {
                if case .failure(let error) = result, error.code == .permissionFailure, home != database { return }
                return checkRefusal(result, ofRingIn: zone, since: seen)
            }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try coder.decodeListMisplacedRecordsResponse(buffer) }
            }
            guard case .success(var page) = decoded else { return simulation.violated("records can't be read") }
            simulation.wasAnswered()
            if simulation.options.brokenPromise == .hidesMisplaced { page.names = Array(page.names.dropLast()) }
            simulation.report.misplacedPages += 1
            simulation.report.misplacedRecords += page.names.count
            let isTrue = timeline.wasTrue(since: seen) { state in
                guard state.zones[zone.name] != nil else { return false }
                let all = history.misplacedRecords(of: zone.name, in: state)
                return start == 0 && page.next == 0 ? all == Set(page.names) : all.isSuperset(of: page.names)
            }
            if home != database || !isTrue || Set(page.names).count < page.names.count {
                simulation.violated(
                    "I1: \(page.names) of \(zone.name) are of other trees than theirs, which no commit since \(seen) left"
                )
            }
        }
    }
}
