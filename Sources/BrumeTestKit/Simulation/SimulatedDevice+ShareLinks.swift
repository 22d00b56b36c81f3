internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// Where a URL of a share was seen.
struct KnownShare {
    let url: String
    let database: DatabaseID
    let zone: String
    let name: String
}

/// The URLs of shares, which devices of all accounts follow.
extension SimulatedDevice {
    /// The most URLs that are passed on; later ones take the places of earlier ones.
    private static let knownShares = 32

    /// Passes on the URL of a share that the device was shown.
    func tell(of record: Record, in zone: String) {
        guard let url = record.shareDetails?.url else { return }
        let known = KnownShare(url: url, database: database, zone: zone, name: record.system.name)
        if simulation.knownShares.contains(where: { $0.url == url && $0.name == known.name }) { return }
        if simulation.knownShares.count < Self.knownShares {
            simulation.knownShares.append(known)
        } else {
            simulation.knownShares[Int.random(in: 0..<Self.knownShares, using: &generator)] = known
        }
    }

    /// Follows a URL that somebody was shown, or asks for access by it.
    func followLink() {
        guard let known = simulation.knownShares.randomElement(using: &generator) else { return }
        if generator.oneIn(3) { return askForAccess(known) }
        let request = ShareMetadataRequest(url: known.url, wantsRoot: true)
        let sight = simulation.history.sight(of: known.database)
        let visitor = ShareVisitor(user: simulation.users[account], handles: [])
        call(.sharesMetadata, coder.encodeShareMetadataRequest(request), .none) { [self] result in
            switch result {
            case .failure(let error):
                // A damaged database is another fault.
                if error.code == .invalidArguments {
                    simulation.violated("a share's URL is refused: \(error.message)")
                }
            case .success(let bytes):
                let decoded = bytes.withUnsafeBytes { buffer in
                    Result { () throws(ServiceError) in try coder.decodeShareMetadataResponse(buffer) }
                }
                guard case .success(let metadata) = decoded else {
                    return simulation.violated("an answer can't be read")
                }
                simulation.wasAnswered()
                simulation.report.linksFollowed += 1
                check(metadata, known, visitor, since: simulation.history[known.database].start(of: sight))
            }
        }
    }

    /// I14: what a URL leads to is what some commit left, and whoever is shown it was let in.
    private func check(
        _ metadata: ShareMetadata<Record>, _ known: KnownShare, _ visitor: ShareVisitor, since sequence: UInt64
    ) {
        let wasTrue = simulation.history[known.database].wasTrue(since: sequence) { state in
            guard let records = state.zones[metadata.zone.name]?.records,
                let version = records[metadata.share.system.name], let share = version.share
            else { return false }
            let isManager = share.isManaged(by: visitor.user, owner: known.database.owner)
            guard metadata.share.system.changeTag == (isManager ? version.tag : version.shownTag) else { return false }
            let root = records.first { $0.value.record.share == metadata.share.system.name }
            guard root?.key ?? "" == metadata.root, root?.value.tag == metadata.rootRecord?.system.changeTag else {
                return false
            }
            return switch share.standing(of: visitor, through: share.secret, owner: known.database.owner) {
            case .owner: metadata.role == .owner
            case .accepted(let participant), .invited(let participant): participant.permission == metadata.permission
            case .welcome: metadata.role == .publicUser && share.publicPermission == metadata.permission
            case .mayNeedVerification, .stranger: false
            }
        }
        if !wasTrue || metadata.zone.owner != known.database.owner {
            simulation.violated("I14: the URL of \(known.name) leads to what no commit since \(sequence) left")
        }
    }

    private func askForAccess(_ known: KnownShare) {
        call(.sharesRequestAccess, coder.encodeRequestAccessRequest(url: known.url), .none) { [self] result in
            switch result {
            case .success: simulation.report.accessRequests += 1
            case .failure(let error):
                if error.code == .invalidArguments || error.code == .unknownItem {
                    simulation.violated("a request for access is answered with \(error.code)")
                }
            }
        }
    }
}
