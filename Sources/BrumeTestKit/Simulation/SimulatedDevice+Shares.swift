internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// Shares among the writes: of records and of whole zones, changed, deleted, and asked for where none can be.
extension SimulatedDevice {
    /// Users whom shares invite beside those of the simulation; none of them comes.
    static let guests = (1...3).map { number in "_" + String(repeating: String(number), count: 32) }

    private static func share(of record: String) -> String { "s-\(record)" }

    /// A request that does nothing but begin or end a share of a record, or end the parts of all who take part. Beside
    /// other changes few shares begin, or end while others stay.
    func changeOfShare(in zone: String) -> ZoneModification<DecodedFields> {
        let root = knownRecord(in: zone)
        let name = Self.share(of: root)
        let tag = replica.tags[zone]?[name] ?? ""
        var modification = ZoneModification<DecodedFields>(zone: ZoneID(name: zone))
        if !tag.isEmpty, generator.oneIn(2) {
            modification.deletions = [name]
            return modification
        }
        modification.saves = [RecordSave(name: name, type: Names.shareType, changeTag: tag, fields: [:])]
        var edit = ShareEdit()
        edit.publicPermission = tag.isEmpty || generator.oneIn(2) ? .readWrite : Share.Permission.none
        modification.shares[name] = ShareSave(root: tag.isEmpty ? root : "", edit: edit)
        if tag.isEmpty {
            let fields: DecodedFields = ["w": .int64(Int64(simulation.nextNumber()))]
            let rootTag = replica.tags[zone]?[root] ?? ""
            modification.saves.append(RecordSave(name: root, type: "Note", changeTag: rootTag, fields: fields))
        }
        return modification
    }

    /// Adds what a request does with shares of a zone, sometimes.
    func addShares(to modification: inout ZoneModification<DecodedFields>) {
        let sharesMuch = simulation.options.sharesMuch
        guard !modification.zone.isDefault || generator.oneIn(20), generator.oneIn(sharesMuch ? 2 : 3) else { return }
        let sharesZone = sharesMuch && !simulation.options.sharesRecords ? !generator.oneIn(8) : generator.oneIn(8)
        let root = sharesZone ? "" : generator.pick(Self.recordNames)
        let name = root.isEmpty ? Names.zoneShare : Self.share(of: root)
        let tag = replica.tags[modification.zone.name]?[name] ?? ""
        if generator.oneIn(sharesMuch ? 16 : 3) {
            modification.deletions.append(name)
            // In any order with its root, and beside a save of it.
            if generator.oneIn(3), !root.isEmpty, !modification.names.contains(root) {
                modification.deletions.insert(root, at: 0)
            }
            return
        }
        if tag.isEmpty, !root.isEmpty, !modification.names.contains(root), !generator.oneIn(10) {
            modification.saves.append(randomSave(of: root, zone: modification.zone.name, isPublic: false))
        }
        var fields: DecodedFields = [:]
        if generator.oneIn(4) {
            fields["up"] = .reference(Reference(recordName: generator.pick(Self.recordNames), deletesSelf: true))
        }
        if generator.oneIn(2) { fields["cloudkit.title"] = .string("\(simulation.nextNumber())") }
        modification.saves.insert(
            RecordSave(name: name, type: Names.shareType, changeTag: generator.oneIn(8) ? "" : tag, fields: fields),
            at: Int.random(in: 0...modification.saves.count, using: &generator))
        var edit = ShareEdit()
        for guest in Self.guests where generator.oneIn(3) {
            let permission = generator.pick([Share.Permission.none, .readOnly, .readWrite])
            edit.puts.append(.init(id: "for \(guest)", invitee: .user(guest), permission: permission))
        }
        for user in simulation.users where user != simulation.users[account] && generator.oneIn(4) {
            let role = generator.oneIn(4) ? ShareParticipant.Role.administrator : .privateUser
            edit.puts.append(.init(id: "for \(user)", invitee: .user(user), role: role, permission: .readWrite))
        }
        if generator.oneIn(sharesMuch ? 3 : 8) {
            edit.publicPermission = generator.pick(
                sharesMuch ? [Share.Permission.none, .readOnly, .readWrite, .readWrite] : [.none, .readOnly])
            edit.puts = []
        }
        if generator.oneIn(2) { edit.allowsAccessRequests = !generator.oneIn(4) }
        if generator.oneIn(4) { edit.puts.append(.init(id: "any", invitee: .oneTime, permission: .readOnly)) }
        if generator.oneIn(6) { edit.removals = ["any"] }
        modification.shares[name] = ShareSave(root: tag.isEmpty ? root : "", edit: edit)
    }
}

extension ZoneModification<DecodedFields> {
    fileprivate var names: Set<String> { Set(saves.map(\.name) + deletions) }
}
