internal import BrumeModel
internal import BrumeRecord

/// Which new shares a batch makes, and of what: decided before its saves, whose order does not matter
/// (Documentation/CloudKit.md, Sharing).
///
/// A new share needs the record that it shares in its batch, since both refer to each other. It may be the share of a
/// whole zone, or one of several shares of records, never both; and a record is in one share at most.
struct SharePlan {
    /// The secrets of the new shares, by name, or why there can't be such a share.
    private var shares: [String: Result<[UInt8], ServiceError>] = [:]
    /// The new shares of records, by the record's name.
    private(set) var roots: [String: (share: String, secret: [UInt8])] = [:]

    /// A batch without new shares.
    init() {}

    init(
        of modification: ZoneModification<CheckedFields>, in zone: ZoneState, scope: DatabaseScope,
        steps: inout Int, secretOfZone: (_ incarnation: UInt64) -> [UInt8], newSecret: () -> [UInt8]
    ) {
        let saves = modification.saves
        let new = saves.filter { $0.type == Names.shareType && zone.liveSlot(of: $0.name) == nil }
        if new.isEmpty { return }
        if let refusal = SharePlan.refusal(of: zone, scope: scope) {
            for save in new { shares[save.name] = .failure(refusal) }
            return
        }
        let types = Dictionary(saves.map { ($0.name, $0.type) }) { first, _ in first }
        let isZoneSharedAnew = types[Names.zoneShare] == Names.shareType
        var count = zone.sharing.shares.count
        for save in new {
            let root = modification.shares[save.name]?.root ?? ""
            do throws(ServiceError) {
                if save.name == Names.zoneShare {
                    guard root.isEmpty else { throw SharePlan.zoneHasNoRoot }
                    guard zone.sharing.shares.isEmpty, new.count == 1 else { throw SharePlan.recordsAreShared }
                    shares[save.name] = .success(secretOfZone(zone.incarnation))
                    continue
                }
                if isZoneSharedAnew || zone.sharing.shares[Names.zoneShare] != nil { throw SharePlan.zoneIsShared }
                guard !root.isEmpty, let type = types[root] else { throw SharePlan.rootIsMissing }
                if type == Names.shareType { throw SharePlan.rootIsShare }
                if roots[root] != nil { throw SharePlan.rootIsTaken }
                count += 1
                if count > Limits.sharesPerZone { throw SharePlan.tooManyShares }
                let former = zone.liveSlot(of: root).flatMap { zone[$0].sharing?.secret } ?? []
                let secret = former.isEmpty ? newSecret() : former
                roots[root] = (save.name, secret)
                shares[save.name] = .success(secret)
            } catch {
                shares[save.name] = .failure(error)
            }
        }
        refuseSharedRoots(saves, in: zone, steps: &steps)
    }

    var isEmpty: Bool { shares.isEmpty }

    /// The secret of a new share.
    func secret(ofShare name: String) throws(ServiceError) -> [UInt8] {
        guard let secret = shares[name] else { throw SharePlan.rootIsMissing }
        return try secret.get()
    }

    private mutating func refuseSharedRoots(
        _ saves: [RecordSave<CheckedFields>], in zone: ZoneState, steps: inout Int
    ) {
        if roots.isEmpty { return }
        var parents: [String: String?] = [:]
        for save in saves {
            switch save.parent {
            case .unchanged: break
            case .removed: parents[save.name] = .some(nil)
            case .set(let parent): parents[save.name] = .some(parent)
            }
        }
        // Looking at the roots that there are costs about as much as a step up.
        steps -= zone.sharing.roots.count
        let known = steps < 0 ? [] : Set(zone.sharing.roots.values.map { zone[$0].name })
        var tree = ShareTree(roots: known, steps: steps) { name in
            parents[name] ?? zone.parent(of: name)
        }
        defer { steps = tree.stepsLeft }
        for (root, refusal) in tree.refusals(of: Set(roots.keys)) {
            if let share = roots.removeValue(forKey: root)?.share { shares[share] = .failure(refusal) }
        }
    }

    /// Why nothing is shared in a zone, or nil.
    private static func refusal(of zone: ZoneState, scope: DatabaseScope) -> ServiceError? {
        if scope == .public {
            return ServiceError(
                .badDatabase, "the public database has no shares; everybody has it, and roles say what they may do")
        }
        if zone.isDefault {
            return ServiceError(
                .invalidArguments, "nothing is shared in the default zone; move the records to a zone of their own")
        }
        if zone.name.hasPrefix(Names.ownZonePrefix) {
            return ServiceError(
                .invalidArguments,
                "nothing is shared in zones whose names begin with \"\(Names.ownZonePrefix)\"; use another zone")
        }
        return nil
    }

    private static let rootIsMissing = ServiceError(
        .invalidArguments, "a new share is saved together with its root record: put both into one request")
    private static let rootIsShare = ServiceError(
        .invalidArguments, "a share can't be shared; share the record that it is about")
    private static let rootIsTaken = ServiceError(
        .alreadyShared, "two new shares have the same root record; keep one, and add the participants to it")
    private static let zoneHasNoRoot = ServiceError(
        .invalidArguments,
        "the share \"\(Names.zoneShare)\" is of its whole zone and has no root; name the share of a record otherwise")
    private static let recordsAreShared = ServiceError(
        .invalidArguments,
        "records of the zone are shared by themselves, so the zone as a whole can't be; delete those shares before")
    private static let zoneIsShared = ServiceError(
        .serverRejectedRequest,
        "the zone is shared as a whole, and so are all its records; delete that share to share single records")
    private static let tooManyShares = ServiceError(
        .limitExceeded,
        "a zone has \(Limits.sharesPerZone) shares at most; put what else is to be shared into another zone")
}
