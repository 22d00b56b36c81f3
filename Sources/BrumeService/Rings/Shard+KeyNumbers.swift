internal import BrumeEncryption
internal import BrumeModel
internal import BrumeRecord
internal import BrumeStore

/// Nothing is saved under a key that somebody may have who was dropped: what a save encrypts has to be of the newest
/// key of its ring, and the ring's newest entry boxed to the keys that its members have now, all of whom take part. Nor
/// is an asset saved plain in a zone whose ring says that its assets are encrypted, whoever saves it.
extension Shard {
    /// The saves of a request that are refused for the keys of their encrypted values, or of their stamps, and the
    /// zones that take no plain asset. Values that a save does not send are as they were.
    ///
    /// A save without any costs a look at what its decoder noted; one with them what ``RingHeads`` looks up, for each
    /// tree that follows on another, and for a zone's assets once.
    ///
    /// - Throws: `limitExceeded` where the trees that the values name have too many members.
    func keyRefusals(
        of request: ModifyRecordsRequest<CheckedFields>, in loaded: LoadedDatabase, caller: Caller
    ) throws(ServiceError) -> KeyRefusals {
        var refusals = KeyRefusals()
        // A public database takes nothing that is encrypted.
        guard loaded.database.id.scope == .private else { return refusals }
        loaded.ringHeads.beginRequest()
        for place in request.zones.indices {
            let allSaves = request.zones[place].saves
            // Read in place: a copy of a save would retain each of its parts.
            let saves = allSaves.span
            for item in saves.indices where saves[item].fields.mayHoldAssets {
                if let error = plainAssetRefusal(in: request.zones[place].zone, loaded, caller) {
                    refusals.refusePlainAssets(ofZone: place, error)
                }
                break
            }
            var check: KeyCheck?
            for item in saves.indices where saves[item].fields.mayHoldEncrypted || !saves[item].stamp.isEmpty {
                if check == nil { check = KeyCheck(request.zones[place], in: loaded, caller) }
                do throws(ServiceError) {
                    let problem = try readKept("a ring, or the statements of its owner,") {
                        () throws(EncryptionRefusal) in
                        try check!.problem(with: saves[item])
                    }
                    if let problem { refusals.refuse(item, ofZone: place, problem) }
                } catch {
                    refusals.refuse(item, ofZone: place, error)
                }
                if check!.isTooCostly { throw Self.tooManyMembers }
            }
        }
        return refusals
    }

    private static let tooManyMembers = ServiceError(
        .limitExceeded,
        "the encrypted values name trees whose rings have too many members together; send them in several requests")

    /// Why a zone takes no plain asset from a caller; nil where it does, or does not exist for them.
    ///
    /// It holds for those as well who are told of no ring, and says to them that there is one.
    private func plainAssetRefusal(in zone: ZoneID, _ loaded: LoadedDatabase, _ caller: Caller) -> ServiceError? {
        guard let incarnation = loaded.database.incarnation(of: zone, for: caller) else { return nil }
        do throws(ServiceError) {
            let encryptsAssets = try readKept("a ring") { () throws(EncryptionRefusal) in
                try loaded.ringHeads.encryptsAssets(ofZone: incarnation, of: loaded.database)
            }
            return encryptsAssets ? Self.assetIsPlain : nil
        } catch {
            return error
        }
    }

    private static let assetIsPlain = ServiceError(
        .accountTemporarilyUnavailable,
        "the files of this zone are encrypted by its owner's devices, and this save has one that is not: save it on a"
            + " device of the owner's that has the keys, or save the record without the file; a device that has them and"
            + " has asked for the zone's ring before it began saves again, ten seconds later")
}

/// A look at the keys of a zone's saves, one after the other.
private struct KeyCheck {
    private let zone: ZoneID
    /// The last entry of the zone's ring that the client knows; empty where it does not say.
    private let ringEntryHash: [UInt8]
    private let loaded: LoadedDatabase
    private let caller: Caller
    /// Nil where the zone does not exist for the caller: then they are told that.
    private let incarnation: UInt64?
    /// Whether something was not looked at, since the request had cost too much before.
    private(set) var isTooCostly = false
    /// What was found of the zone's own ring.
    private var privateState: RingHeads.State?
    /// What was found last of a shared tree: mostly all values are of one.
    private var last: (treeID: EncryptedHeader.TreeID, state: RingHeads.State)?
    /// What was found of shared trees, of which each asks for all members.
    private var treeStates: [EncryptedHeader.TreeID: RingHeads.State] = [:]
    /// Which roots of shared trees have a ring that is open.
    private var openRoots: [String: Bool] = [:]

    init(_ modification: borrowing ZoneModification<CheckedFields>, in loaded: LoadedDatabase, _ caller: Caller) {
        (zone, ringEntryHash) = (modification.zone, modification.ringEntryHash)
        (self.loaded, self.caller) = (loaded, caller)
        incarnation = loaded.database.incarnation(of: zone, for: caller)
    }

    /// Why a save is refused, or nil.
    mutating func problem(with save: borrowing RecordSave<CheckedFields>) throws(EncryptionRefusal) -> ServiceError? {
        guard let incarnation else { return nil }
        if !save.stamp.isEmpty {
            // Whatever is none was refused before.
            let header = save.stamp.withUnsafeBytes { try? EncryptedHeader(ofStamp: $0) }
            if let header, let problem = try problem(with: header, incarnation) { return problem }
        }
        guard save.fields.mayHoldEncrypted else { return nil }
        var found: Result<ServiceError?, EncryptionRefusal> = .success(nil)
        var isPrivate = false
        save.fields.puts.forEachEncryptedHeader { header in
            do throws(EncryptionRefusal) {
                if !header.isShared { isPrivate = true }
                guard let problem = try problem(with: header, incarnation) else { return true }
                found = .success(problem)
            } catch {
                found = .failure(error)
            }
            return false
        }
        if let problem = try found.get() { return problem }
        guard isPrivate, !loaded.ringHeads.testOnly_weaknesses.contains(.takesZoneKeys) else { return nil }
        return try isShared(save, incarnation) ? Self.isOfSharedTree : nil
    }

    /// Whether a save is of a record in a tree that is shared, and whose ring is open, as far as what is stored says:
    /// where its parent comes with the same request, its device decides alone.
    private mutating func isShared(
        _ save: borrowing RecordSave<CheckedFields>, _ incarnation: UInt64
    ) throws(EncryptionRefusal) -> Bool {
        guard let root = loaded.database.sharedRoot(ofRecord: save.name, save.parent, inZone: incarnation) else {
            return false
        }
        if let known = openRoots[root] { return known }
        let isOpen = try loaded.ringHeads.hasOpenRing(ofTree: root, inZone: incarnation, of: loaded.database)
        openRoots[root] = isOpen
        return isOpen
    }

    private mutating func problem(
        with header: EncryptedHeader, _ incarnation: UInt64
    ) throws(EncryptionRefusal) -> ServiceError? {
        let state: RingHeads.State
        if !header.isShared, let privateState {
            state = privateState
        } else if header.isShared, let last, last.treeID == header.treeID {
            state = last.state
        } else if header.isShared, let found = treeStates[header.treeID] {
            state = found
            last = (header.treeID, state)
        } else {
            state = try loaded.ringHeads.state(for: header, inZone: incarnation, of: loaded.database) { [self] root in
                loaded.database.mayLearn(ofRing: root, inZone: zone, caller)
            }
            if header.isShared {
                last = (header.treeID, state)
                // A request may name any number of trees that don't exist, which are looked up at no cost.
                if state != .none, state != .tooCostly { treeStates[header.treeID] = state }
            } else {
                privateState = state
            }
        }
        switch state {
        case .tooCostly:
            isTooCostly = true
            return nil
        case .none: return Self.hasNoRing
        case .due: return Self.isDue
        case .newest(let number, let entryHash):
            // A tree's ring is another one than the zone's, which the client's hash is of.
            let isSameRing = header.isShared || ringEntryHash.isEmpty || ringEntryHash == entryHash
            return isSameRing && number == header.keyNumber ? nil : Self.isAnotherKey
        }
    }

    private static let hasNoRing = ServiceError(
        .accountTemporarilyUnavailable,
        "there is no ring that this could be encrypted with, or it was closed: fetch the zone's ring and the tree's,"
            + " begin one if there is none, encrypt again, and save again", detail: .keysChanged)
    private static let isOfSharedTree = ServiceError(
        .accountTemporarilyUnavailable,
        "the record is shared with others, who don't have the zone's key that this was encrypted with: fetch the tree's"
            + " ring, encrypt again with its newest key, and save again", detail: .keysChanged)
    private static let isAnotherKey = ServiceError(
        .accountTemporarilyUnavailable,
        "the zone's ring has another key than this was encrypted with: fetch the ring, encrypt again, and save again",
        detail: .keysChanged)
    private static let isDue = ServiceError(
        .accountTemporarilyUnavailable,
        "since the ring's last entry keys of a member were replaced, or a member takes part no more: fetch the ring,"
            + " have a device of the owner's or of a writer's append the next entry, encrypt again, and save again",
        detail: .keysChanged)
}
