package import BrumeModel
package import BrumeSystem

/// The loops of a server: one for each shard, and three for what no client's call may wait for.
package struct ServerLoops {
    package let shards: [EventLoop]
    /// Runs what may wait for a disk and belongs to no database: the operator's requests.
    package let admin: EventLoop
    /// Runs what may wait for a disk, and nobody waits for: snapshots, and their check.
    package let background: EventLoop
    /// Loads databases that would hold up the loop they belong to, one after the other.
    package let loader: EventLoop

    /// Makes the loops. None of them runs yet.
    ///
    /// - Throws: When the process has no descriptors left, which says nothing about what is on the disk.
    package init(shards count: Int) throws(SystemError) {
        var shards: [EventLoop] = []
        for index in 0..<count { shards.append(try EventLoop(name: "loop \(index)")) }
        self.shards = shards
        admin = try EventLoop(name: "admin")
        background = try EventLoop(name: "snapshots")
        loader = try EventLoop(name: "loader")
    }

    /// The index of the shard that owns a database.
    package func shard(of database: DatabaseID) -> Int { Placement(of: database).shard(of: shards.count) }

    /// All loops, those of the shards first.
    package var all: [EventLoop] { shards + [admin, background, loader] }
}
