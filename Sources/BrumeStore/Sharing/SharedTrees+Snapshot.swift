internal import BrumeModel

/// What snapshots keep of a zone's trees: what the records and shares themselves do not say.
extension SharedTrees {
    /// What is kept of a record that is in a tree.
    func membership(of slot: Int32) -> (tree: UInt32, entered: ChangePosition) {
        guard let tree = tree(of: slot) else { return (0, .start) }
        return (numbers[slot], tree.entered[slot] ?? .start)
    }

    /// Takes a tree. Returns false if it can't be one.
    mutating func load(_ tree: SharedTree, number: UInt32) -> Bool {
        guard (1...UInt32.max / 2).contains(number), !tree.share.isEmpty, trees[number] == nil else { return false }
        return add(tree, number: number)
    }

    /// Takes what there is of a user's part, but for the trees that are theirs: the shares say these.
    mutating func load(_ member: TreeMember, user: String) -> Bool {
        guard !user.isEmpty, members[user] == nil, member.ended.count <= StoreLimits.endedPartsPerMember,
            member.ended.allSatisfy({ $0.acceptance < $0.end }),
            zip(member.ended, member.ended.dropFirst()).allSatisfy({ $0.end < $1.end })
        else { return false }
        add(member, user: user)
        return true
    }

    mutating func load(_ departure: SharedTree.Departure, tree number: UInt32) -> Bool {
        guard let tree = trees[number], !departure.name.isEmpty,
            departure.position > max(tree.departureFloor, tree.departures.last?.position ?? .start)
        else { return false }
        update(number) { $0.append(departure) }
        return true
    }

    /// Takes the members of all trees, and what shares say of who takes part. Returns what is wrong with it, or nil.
    mutating func finishLoading(
        _ loaded: [UInt32: [(entry: Feed.Entry, entered: ChangePosition)]],
        shares: [String: (share: Share, quiet: QuietShare?)]
    ) -> String? {
        for (number, records) in loaded {
            guard trees[number] != nil else { return "a record is in a tree that is not there" }
            let entered = records.filter { $0.entered > .start }.map { ($0.entry.slot, $0.entered) }
            update(number) { $0.load(records.map(\.entry), entered: Dictionary(uniqueKeysWithValues: entered)) }
        }
        guard numberOfShare.count == shares.count else { return "a share and its tree do not belong together" }
        for (name, share) in shares {
            guard let number = numberOfShare[name] else { return "a share has no tree" }
            if !load(share.share, quiet: share.quiet, tree: number) {
                return "a user takes part in a share, and not in its zone"
            }
        }
        if members.values.contains(where: \.parts.isEmpty) {
            return "a user takes part in a zone, and in no share of it"
        }
        return loadEndedParts() ? nil : "a tree that ended and those who are to be told of it do not belong together"
    }
}

extension SharedTree {
    init(_ tree: SnapshotTree) {
        self.init(
            share: tree.share, since: tree.since, departureFloor: tree.departureFloor, isEnded: tree.isEnded)
    }

    func snapshot(_ number: UInt32, inZone zone: UInt64) -> SnapshotTree {
        SnapshotTree(
            zone: zone, number: number, share: share, since: since, departureFloor: departureFloor, isEnded: isEnded)
    }
}

extension SharedTree.Departure {
    init(_ departure: SnapshotDeparture) {
        self.init(
            position: departure.position, entered: departure.entered, name: departure.name, type: departure.type)
    }

    func snapshot(tree: UInt32, inZone zone: UInt64) -> SnapshotDeparture {
        SnapshotDeparture(zone: zone, tree: tree, position: position, entered: entered, name: name, type: type)
    }
}

extension TreeMember {
    init(_ member: SnapshotTreeMember) {
        self.init(
            start: member.start, floor: member.floor,
            ended: member.ended.map { EndedPart(tree: $0.tree, acceptance: $0.acceptance, end: $0.end) })
    }

    func snapshot(_ user: String, inZone zone: UInt64) -> SnapshotTreeMember {
        SnapshotTreeMember(
            zone: zone, user: user, start: start, floor: floor,
            ended: ended.map { .init(tree: $0.tree, acceptance: $0.acceptance, end: $0.end) })
    }
}

extension ZoneState {
    /// Builds the trees from what was loaded. Returns what is wrong with them, or nil.
    mutating func finishLoadingTrees() -> String? {
        var shares: [String: (share: Share, quiet: QuietShare?)] = [:]
        var shown: [Int32: ChangePosition] = [:]
        for (name, slot) in sharing.shares where name != Names.zoneShare {
            guard let share = slots[slot].share else { continue }
            let quiet = QuietShare(share, at: slot, changed: slots.position(of: slot))
            shares[name] = (share, quiet)
            shown[slot] = quiet?.shown
        }
        var loaded: [UInt32: [(entry: Feed.Entry, entered: ChangePosition)]] = [:]
        for record in trees.takeLoaded() {
            let position = shown[record.slot] ?? max(slots.position(of: record.slot), record.entered)
            loaded[record.tree, default: []].append((Feed.Entry(position: position, slot: record.slot), record.entered))
        }
        if shares.isEmpty, loaded.isEmpty, trees.isEmpty { return nil }
        return trees.finishLoading(loaded, shares: shares)
    }
}
