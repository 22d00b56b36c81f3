internal import BrumeEncryption
internal import BrumeModel
internal import BrumeStore

/// What encrypted values say of the trees that they are of, and what only the server can tell of these.
extension Shard {
    /// The roots of trees by the trees' ids, of which a caller may learn.
    func ringRoots(
        _ request: FindRingRootsRequest, in loaded: LoadedDatabase, caller: Caller
    ) throws(ServiceError) -> [String] {
        let database = loaded.database
        _ = try database.zone(request.zone, for: caller).get()
        guard let zone = database.incarnation(of: request.zone, for: caller) else { return [] }
        let roots = try readKept("a ring") { () throws(EncryptionRefusal) in
            try loaded.ringHeads.roots(
                ofTrees: Set(request.treeIDs.map(EncryptedHeader.TreeID.init)), inZone: zone, of: database)
        }
        return roots.filter { database.mayLearn(ofRing: $0, inZone: request.zone, caller) }
    }

    /// Records of the caller's own that are to be encrypted anew.
    func misplacedRecords(
        _ request: ListMisplacedRecordsRequest, in loaded: LoadedDatabase, caller: Caller
    ) throws(ServiceError) -> MisplacedRecordsPage {
        let database = loaded.database
        _ = try database.zone(request.zone, for: caller).get()
        guard caller.user == database.id.owner else { throw Self.isNotOwner }
        guard let zone = database.incarnation(of: request.zone, for: caller) else { return MisplacedRecordsPage() }
        return try readKept("a ring") { () throws(EncryptionRefusal) in
            try loaded.ringHeads.misplacedRecords(from: request.start, inZone: zone, of: database)
        }
    }

    private static let isNotOwner = ServiceError(
        .permissionFailure,
        "what is to be encrypted anew in a zone is for its owner's devices alone; ask for a zone of your own")
}
