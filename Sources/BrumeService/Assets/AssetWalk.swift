internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// The slow walk over all databases that have anything of assets on the disk: an hour after the start, and then each
/// week. It finds what is known to nobody, such as uploads from before the start that no record names, and the assets
/// of accounts that were removed. What it finds has its grace from then on.
///
/// One database at a time is visited, on its own loop, and left when that is over: see ``AssetVisit``. What could not
/// be looked at is visited once more after an hour. While a walk goes on, it holds some 150 bytes for each database.
///
/// Belongs to one loop.
final class AssetWalk {
    private let store: any BlobStore
    private unowned let shard: Shard
    /// The databases to visit, the next one last.
    private var waiting: [DatabaseID] = []
    /// Those of which something could not be looked at; nil when these are visited once more.
    private var failed: [DatabaseID]? = []

    init(over store: any BlobStore, on shard: Shard) { (self.store, self.shard) = (store, shard) }

    func beginLater(afterMilliseconds milliseconds: UInt64) {
        _ = shard.loop.schedule(afterMilliseconds: milliseconds) { [weak self] in self?.begin() }
    }

    private var configuration: ServiceConfiguration { shard.server.configuration }

    private func begin() {
        let loop = shard.loop
        let listed = OnLoop<Result<[DatabaseID], BlobFailure>> { [weak self] in self?.listed($0) }
        store.databases { result in loop.execute { listed.body(result) } }
    }

    private func listed(_ result: Result<[DatabaseID], BlobFailure>) {
        switch result {
        case .success(let databases):
            (waiting, failed) = (databases.reversed(), [])
            visitNext()
        case .failure(let failure):
            shard.server.log.warning("the folders of assets can't be listed", [("reason", "\(failure)")])
            beginLater(afterMilliseconds: configuration.assetWalkDelayMilliseconds)
        }
    }

    private func end() {
        guard let again = failed, !again.isEmpty else {
            return beginLater(afterMilliseconds: configuration.assetWalkMilliseconds)
        }
        (waiting, failed) = (again.reversed(), nil)
        visitNext(afterMilliseconds: configuration.assetWalkDelayMilliseconds)
    }

    private func visitNext(afterMilliseconds milliseconds: UInt64) {
        _ = shard.loop.schedule(afterMilliseconds: milliseconds) { [weak self] in self?.visitNext() }
    }

    private func visitNext() {
        guard let id = waiting.popLast() else { return end() }
        let (store, loop, owner) = (store, shard.loop, shard.server.shard(of: id))
        let ended = OnLoop<Bool> { [weak self] isWhole in
            if !isWhole { self?.failed?.append(id) }
            self?.visitNext(afterMilliseconds: ServiceLimits.assetVisitPauseMilliseconds)
        }
        owner.loop.execute {
            AssetVisit.begin(to: id, on: owner, in: store, looksThroughFolder: true) { isWhole in
                loop.execute { ended.body(isWhole) }
            }
        }
    }
}
