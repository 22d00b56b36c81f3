/// The records of one modification, by zone.
struct OutgoingBatch: Sendable {
    var zones: [OutgoingZone] = []
    /// An id that comes more than once. Results have one place for each id, so the server is not asked.
    var repeatedID: CKRecord.ID?
    /// What the server need not be asked about.
    private(set) var unsentSaves: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
    private(set) var unsentDeletions: [CKRecord.ID: Result<Void, any Error>] = [:]

    init(saving records: [CKRecord], deleting recordIDs: [CKRecord.ID]) {
        var indices: [CKRecordZone.ID: Int] = [:]
        var seen: Set<CKRecord.ID> = []
        func place(_ zones: inout [OutgoingZone], _ id: CKRecord.ID) -> Int {
            if !seen.insert(id).inserted { repeatedID = id }
            if let index = indices[id.zoneID] { return index }
            indices[id.zoneID] = zones.count
            zones.append(OutgoingZone(id: id.zoneID))
            return zones.count - 1
        }
        for record in records {
            let index = place(&zones, record.recordID)
            zones[index].saves.append(record.outgoing())
        }
        for id in recordIDs {
            let index = place(&zones, id)
            zones[index].deletions.append(id)
        }
    }

    /// Takes out what the server can't keep or would refuse the whole request for, and of an atomic zone everything
    /// beside it, as the server would.
    ///
    /// - Parameter problem: Says why the database can't have a zone.
    mutating func leaveOut(isAtomic: Bool, problem: (CKRecordZone.ID) -> String?) {
        for index in zones.indices.reversed() {
            let problem = problem(zones[index].id)
            guard problem != nil || zones[index].saves.contains(where: { $0.refusal != nil }) else { continue }
            let takesAll = problem != nil || isAtomic && !zones[index].id.isDefault
            func zoneRefusal(_ id: CKRecord.ID, _ what: String) -> CKError? {
                problem.map { CKError(.invalidArguments, message: "\(id) can't be \(what): \($0)") }
            }
            for outgoing in zones[index].saves {
                let id = outgoing.record.recordID
                let refusal = outgoing.refusal ?? zoneRefusal(id, "saved")
                guard let error = refusal ?? (takesAll ? CKError(.batchRequestFailed) : nil) else { continue }
                unsentSaves[id] = .failure(error)
            }
            zones[index].saves.removeAll { takesAll || $0.refusal != nil }
            if takesAll {
                for id in zones[index].deletions {
                    unsentDeletions[id] = .failure(zoneRefusal(id, "deleted") ?? CKError(.batchRequestFailed))
                }
                zones[index].deletions = []
            }
            if zones[index].saves.isEmpty, zones[index].deletions.isEmpty { zones.remove(at: index) }
        }
    }
}
