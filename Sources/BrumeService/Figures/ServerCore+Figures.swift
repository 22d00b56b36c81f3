internal import BrumeLock
package import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// The figures of the whole server: the shards give their parts, each on its loop.
extension ServerCore {
    /// The parts on their way to the caller.
    private final class Collection: Sendable {
        private struct State {
            var parts: [ServerFigures] = []
            var missing: Int
        }

        private let state: Lock<State>

        init(missing: Int) { state = Lock(State(missing: missing)) }

        /// Returns all parts with the last one.
        func add(_ part: ServerFigures) -> [ServerFigures]? {
            state.withLock { state in
                state.parts.append(part)
                state.missing -= 1
                return state.missing == 0 ? state.parts : nil
            }
        }
    }

    /// Collects the parts of all shards. Any thread. `done` is called on one of the shards' loops, with what
    /// ``figures(of:at:)`` adds up; never when the server has stopped.
    package func collectFigures(_ done: @escaping @Sendable (_ parts: [ServerFigures]) -> Void) {
        let collection = Collection(missing: shards.count)
        for shard in shards {
            shard.loop.execute {
                shard.collectFigures { part in
                    if let parts = collection.add(part) { done(parts) }
                }
            }
        }
    }

    /// Adds the parts up, with what no shard counts. Any thread.
    package func figures(of parts: [ServerFigures], at nowNanoseconds: UInt64) -> ServerFigures {
        var figures = ServerFigures()
        for part in parts { figures.add(part) }
        figures.methods.sort { $0.method < $1.method }
        figures.health = health(at: nowNanoseconds)
        logs.addFigures(to: &figures)
        figures.assets.transfers = transfers.load(ordering: .relaxed)
        figures.memory.unreadAnswerBytes = shares.output.bytes
        figures.memory.unfinishedRequestBytes = shares.input.bytes
        for door in doors { door.addFigures(to: &figures) }
        figures.connections.limit = shares.bounds.all
        figures.connections.beyondAccount = shares.refusedConnections
        figures.descriptors.open = Descriptors.open
        figures.descriptors.limit = Descriptors.limit
        if let process = ProcessFigures.readOwn() {
            figures.cpuNanoseconds = process.cpuNanoseconds
            figures.memory.residentBytes = Int(clamping: process.residentBytes)
        }
        return figures
    }
}
