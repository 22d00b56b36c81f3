internal import BrumeModel

/// How a device comes to rest.
extension SimulatedDevice {
    /// Fetches everything that the device does not have yet.
    func catchUp(then: @escaping () -> Void) {
        fetchDatabaseChanges { [self] in catchUp(zones: zoneNames[...], then: then) }
    }

    private func catchUp(zones: ArraySlice<String>, then: @escaping () -> Void) {
        guard let zone = zones.first else { return fetchRecords(of: [Names.defaultZone], then: then) }
        fetchChanges(zone: zone, all: true) { [self] in catchUp(zones: zones.dropFirst(), then: then) }
    }

    /// Whether a device that is coming to rest tries again because the server has told it when to come back, as apps
    /// do. Its connection may have been lost, its database may have left memory, and others may be waiting for it.
    func comesAgain(after error: ServiceError, _ body: @escaping () -> Void) -> Bool {
        guard simulation.isQuiet, error.retryAfterMilliseconds > 0 else { return false }
        simulation.scheduler.after(UInt64(error.retryAfterMilliseconds) * 1_000_000, body)
        return true
    }

    /// What is wrong with the device at the end: its copy is not what the last commit left, or a push is missing.
    func problemAtTheEnd() -> String? {
        let state = timeline.states[Int(timeline.last)]
        let custom = state.zones.filter { $0.key != Names.defaultZone }
        if replica.zoneNames != Set(custom.keys) {
            return
                "convergence: device \(number) knows zones \(replica.zoneNames.sorted()), not \(custom.keys.sorted())"
        }
        for (name, zone) in custom where (replica.zones[name]?.records ?? [:]) != zone.records.mapValues(\.tag) {
            return "convergence: device \(number) does not hold \(name) as it is"
        }
        if let problem = problemWithShared { return problem }
        for scope in [DatabaseScope.private, .public] {
            let problem = pushes.problem(
                with: simulation.timeline(of: self, scope), scope, owner: simulation.owner(of: self, scope),
                device: deviceID)
            if let problem { return problem }
        }
        return nil
    }
}
