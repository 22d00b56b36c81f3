internal import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// The trees of shared records in a snapshot.
extension StoreCoder {
    static func readTrees(
        _ message: MessageArena.Pointer<Brume__Store__V1__SnapshotBlock>, into block: inout SnapshotBlock
    ) throws(StoreCodingError) {
        block.trees = try values(message.pointee.trees, message.pointee.n_trees) { (tree) throws(StoreCodingError) in
            SnapshotTree(
                zone: tree.pointee.zone, number: tree.pointee.number,
                share: try text(tree.pointee.share, "a record name"),
                since: ChangePosition(rawValue: tree.pointee.since),
                departureFloor: ChangePosition(rawValue: tree.pointee.departure_floor),
                isEnded: tree.pointee.is_ended != 0)
        }
        block.treeMembers = try values(message.pointee.tree_members, message.pointee.n_tree_members) {
            (member) throws(StoreCodingError) in
            SnapshotTreeMember(
                zone: member.pointee.zone, user: try text(member.pointee.user, "a user record name"),
                start: ChangePosition(rawValue: member.pointee.start),
                floor: ChangePosition(rawValue: member.pointee.floor),
                ended: try values(member.pointee.ended, member.pointee.n_ended) { (part) throws(StoreCodingError) in
                    .init(
                        tree: part.pointee.tree, acceptance: ChangePosition(rawValue: part.pointee.acceptance),
                        end: ChangePosition(rawValue: part.pointee.end))
                })
        }
        block.departures = try values(message.pointee.departures, message.pointee.n_departures) {
            (departure) throws(StoreCodingError) in
            SnapshotDeparture(
                zone: departure.pointee.zone, tree: departure.pointee.tree,
                position: ChangePosition(rawValue: departure.pointee.position),
                entered: ChangePosition(rawValue: departure.pointee.entered),
                name: try text(departure.pointee.name, "a record name"),
                type: try text(departure.pointee.type, "a record type"))
        }
    }
}

extension MessageArena {
    func addTrees(of block: SnapshotBlock, to message: Pointer<Brume__Store__V1__SnapshotBlock>) {
        message.pointee.n_trees = block.trees.count
        message.pointee.trees = messages(block.trees) { tree in
            let message = make(brume__store__v1__snapshot_tree__init)
            message.pointee.zone = tree.zone
            message.pointee.number = tree.number
            message.pointee.share = data(tree.share)
            message.pointee.since = tree.since.rawValue
            message.pointee.departure_floor = tree.departureFloor.rawValue
            message.pointee.is_ended = tree.isEnded ? 1 : 0
            return message
        }
        message.pointee.n_tree_members = block.treeMembers.count
        message.pointee.tree_members = messages(block.treeMembers) { member in
            let message = make(brume__store__v1__snapshot_tree_member__init)
            message.pointee.zone = member.zone
            message.pointee.user = data(member.user)
            message.pointee.start = member.start.rawValue
            message.pointee.floor = member.floor.rawValue
            message.pointee.n_ended = member.ended.count
            message.pointee.ended = messages(member.ended) { part in
                let message = make(brume__store__v1__snapshot_ended_part__init)
                message.pointee.tree = part.tree
                message.pointee.acceptance = part.acceptance.rawValue
                message.pointee.end = part.end.rawValue
                return message
            }
            return message
        }
        message.pointee.n_departures = block.departures.count
        message.pointee.departures = messages(block.departures) { departure in
            let message = make(brume__store__v1__snapshot_departure__init)
            message.pointee.zone = departure.zone
            message.pointee.tree = departure.tree
            message.pointee.position = departure.position.rawValue
            message.pointee.entered = departure.entered.rawValue
            message.pointee.name = data(departure.name)
            message.pointee.type = data(departure.type)
            return message
        }
    }
}
