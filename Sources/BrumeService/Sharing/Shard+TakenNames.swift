internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Users learn which names there are among records that are not shared with them, because saves under these fail: so
/// many an account in a minute.
extension Shard {
    func takenNames(for identity: Identity) -> TakenNameRoom {
        guard case .account(let name) = identity.role else { return .unlimited }
        let now = loop.nowNanoseconds
        return TakenNameRoom(
            left: server.takenNames.left(for: name, nowNanoseconds: now),
            retryAfterMilliseconds: MinuteCounts.restMilliseconds(nowNanoseconds: now))
    }

    func noteTakenNames(in results: [ZoneModificationResult<SharedBytes>], told identity: Identity) {
        guard case .account(let name) = identity.role else { return }
        server.takenNames.note(name, times: TakenNameRoom.count(in: results), nowNanoseconds: loop.nowNanoseconds)
    }
}
