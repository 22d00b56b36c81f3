import BrumeRandom
import BrumeTesting
import CloudKit
import Testing

/// What apps do with records.
extension KeyWorld {
    static let names = (0..<8).map { "item\($0)" }

    /// Something that an app, or a person, does on a device.
    @MainActor struct Action {
        let name: String
        let member: Member
        /// Whether it has to succeed where nothing comes between.
        var isSure = false
        let body: @MainActor () async throws -> Void
    }

    private func names(for member: Member, in records: [String: Shown]) -> [String] {
        records.keys.filter { member.user == "ada" || isShared($0, in: records) }.sorted()
    }

    private func isSure(_ member: Member) -> Bool { member.user == "ada" && member.isLetIn }

    func create(by member: Member) -> Action {
        Action(name: "make", member: member, isSure: isSure(member)) { [self] in
            let records = try await shown()
            guard let name = Self.names.first(where: { records[$0] == nil }) else { return }
            let parents = names(for: member, in: records)
            // What is not below anything is in a zone that is shared as a whole.
            let isChild = shared == .record || random.oneIn(2)
            if isChild, parents.isEmpty { return }
            let record = try makeRecord(name, below: isChild ? random.pick(parents) : nil, for: member)
            note("\(member.device) makes \(name) below \(record.parent?.recordID.recordName ?? "nothing")")
            try await database(of: member).save(record)
        }
    }

    private func existing(for member: Member) async throws -> CKRecord? {
        let names = names(for: member, in: try await shown())
        return names.isEmpty ? nil : try await database(of: member).record(for: id(random.pick(names), for: member))
    }

    func edit(by member: Member) -> Action {
        Action(name: "edit", member: member, isSure: isSure(member)) { [self] in
            guard let record = try await existing(for: member) else { return }
            let name = record.recordID.recordName
            let values = newValues(of: name, [random.pick(Self.fields + ["photo"])])
            note("\(member.device) sets \(values) of \(name)")
            try set(values, of: record)
            try await database(of: member).save(record)
        }
    }

    /// A device that was let in by nobody, or any other, changes what is plain, and loses nothing.
    func editPlain(by member: Member) -> Action {
        let policy = random.pick([
            CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys,
        ])
        // Where all is sent, so are encrypted values that a device which was removed still reads.
        let isSure = member.user == "ada" && (member.isLetIn || policy != .allKeys)
        return Action(name: "edit plain", member: member, isSure: isSure) { [self] in
            guard let record = try await existing(for: member) else { return }
            note("\(member.device) changes what is plain in \(record.recordID.recordName), \(policy)")
            record["color"] = "green"
            try set([:], of: record)
            let results = try await database(of: member).modifyRecords(
                saving: [record], deleting: [], savePolicy: policy, atomically: true)
            _ = try results.saveResults[record.recordID]?.get()
        }
    }

    func move(by member: Member) -> Action {
        Action(name: "move", member: member, isSure: isSure(member)) { [self] in
            let records = try await shown()
            guard let name = records.keys.filter({ $0.hasPrefix("item") }).sorted().randomElement(using: &random)
            else { return }
            let parents = records.keys.filter { !isBelow($0, name, in: records) }.sorted()
            let parent = random.pick(parents)
            let record = try await database(of: member).record(for: id(name, for: member))
            note("\(member.device) moves \(name) below \(parent)")
            record.setParent(id(parent, for: member))
            try set(random.oneIn(3) ? newValues(of: name, ["text"]) : [:], of: record)
            try await database(of: member).save(record)
        }
    }

    private func isBelow(_ name: String, _ other: String, in records: [String: Shown]) -> Bool {
        var next: String? = name
        while let name = next {
            if name == other { return true }
            next = records[name]?.parent
        }
        return false
    }

    func delete(by member: Member) -> Action {
        Action(name: "delete", member: member) { [self] in
            let records = try await shown()
            let parents = Set(records.values.compactMap(\.parent))
            let leaves = records.keys.filter { $0.hasPrefix("item") && !parents.contains($0) }.sorted()
            guard let name = leaves.randomElement(using: &random) else { return }
            note("\(member.device) deletes \(name)")
            try await database(of: member).deleteRecord(withID: id(name, for: member))
        }
    }

    func encryptAnew(by member: Member) -> Action {
        Action(name: "encrypt anew", member: member, isSure: member.isLetIn) { [self] in
            note("\(member.device) encrypts anew")
            let done = try await member.device.privateCloudDatabase.reencryptRecords(in: zone.zoneID)
            note("  \(done.count), and not \(done.failures.keys.map(\.recordName).sorted())")
        }
    }

    // MARK: Without a network

    /// The app changes a record while the device has no network.
    func writeOffline(by member: Member) -> Action {
        Action(name: "write offline", member: member) { [self] in
            guard member.unsent.count < 3, let record = try await existing(for: member) else { return }
            let name = record.recordID.recordName
            let values = newValues(of: name, [random.pick(Self.fields)])
            note("\(member.device) writes \(values) of \(name), to be sent later")
            member.unsent.append((record, values))
        }
    }

    /// What was written offline is sent, as far as its record is still there; what others have written since stays.
    func sendUnsent(by member: Member) -> Action {
        Action(name: "send", member: member) { [self] in
            while let (record, values) = member.unsent.first {
                note("\(member.device) sends \(values) of \(record.recordID.recordName)")
                try set(values, of: record)
                do {
                    try await database(of: member).save(record)
                } catch let error as CKError where error.code == .serverRecordChanged {
                    guard let newer = error.serverRecord else { throw error }
                    note("  which somebody has changed")
                    member.unsent[0].record = newer
                    continue
                } catch let error as CKError where [.unknownItem, .zoneNotFound].contains(error.code) {
                    note("  \(error.code)")
                }
                member.unsent.removeFirst()
            }
        }
    }
}
