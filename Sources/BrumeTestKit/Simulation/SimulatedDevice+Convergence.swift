internal import BrumeModel

/// Coming to rest.
extension SimulatedDevice {
    /// Fetches everything that the device does not have yet.
    func catchUp(then: @escaping () -> Void) {
        fetchDatabaseChanges { [self] in catchUp(zones: zoneNames[...], then: then) }
    }

    private func catchUp(zones: ArraySlice<String>, then: @escaping () -> Void) {
        guard let zone = zones.first else { return fetchRecords(of: [Names.defaultZone], then: then) }
        fetchChanges(zone: zone, all: true) { [self] in catchUp(zones: zones.dropFirst(), then: then) }
    }

    /// What the device holds other than the last commit left it.
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
        for scope in [DatabaseScope.private, .public] {
            let problem = pushes.problem(
                with: simulation.timeline(of: self, scope), scope, owner: simulation.owner(of: self, scope),
                device: deviceID)
            if let problem { return problem }
        }
        return nil
    }
}
