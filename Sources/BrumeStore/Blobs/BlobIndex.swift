package import BrumeModel

/// What a database knows of its stored assets: which of them its records name, which are about to be named, and which
/// may go.
///
/// A blob goes when no record has named it, and no save or transfer has kept it, for a whole ``grace``, and nobody was
/// promised that they may still name it. It is marked first, here, on the loop that decides saves, and its file is
/// removed afterwards, on another thread. A save that meets a marked blob is refused. So there is no moment at which a
/// save can name a file that is about to go.
///
/// Times are seconds of the process's monotonic clock: neither the date of a file nor the clock on the wall deletes
/// anything, and after a restart every grace begins anew.
package struct BlobIndex {
    /// Seconds that a blob is kept which nothing needs.
    package var grace: UInt32
    private var blobs = BlobTable()
    /// The blobs that nothing needs, or nothing needed when they came here; each stands here once. By when to look at
    /// them.
    private var unneeded = Heap<(due: UInt32, name: BlobName)> { $0.due < $1.due }
    private var heldUntil: UInt32 = 0

    /// Bytes of the blobs that records name, each copy once.
    package private(set) var referencedByteCount: UInt64 = 0
    /// How many blobs records name.
    package private(set) var referencedCount = 0
    /// Bytes of those that were stored since the start and that no record has named since: somebody is about to, or
    /// never will.
    package private(set) var pendingByteCount: UInt64 = 0
    /// How often a blob has ceased to be pending.
    package private(set) var pendingEndCount: UInt64 = 0
    /// Bytes of all that are there, also of those that are about to go.
    package private(set) var storedByteCount: UInt64 = 0

    /// Bytes of those that nobody counts: records named them until lately, or their files were found. They lie on the
    /// disk for the grace.
    package var unneededByteCount: UInt64 {
        let counted = referencedByteCount + pendingByteCount
        return storedByteCount - min(counted, storedByteCount)
    }

    package init(grace: UInt32) { self.grace = grace }

    package var count: Int { blobs.count }

    /// Whether nothing is known of the blob: it was never stored, or is gone.
    package func isUnknown(_ name: BlobName) -> Bool { blobs[name] == nil }

    /// How many fields of records name a blob.
    package func referenceCount(of name: BlobName) -> Int { Int(blobs[name]?.references ?? 0) }

    /// How many fields of records name each blob, of those that any names.
    ///
    /// - Complexity: O(blobs).
    var referenceCounts: [BlobName: Int] {
        var counts: [BlobName: Int] = [:]
        blobs.forEach { name, entry in
            if entry.references > 0 { counts[name] = Int(entry.references) }
        }
        return counts
    }

    /// ``pendingByteCount``, counted anew.
    ///
    /// - Complexity: O(blobs).
    package var recountedPendingByteCount: UInt64 {
        var sum: UInt64 = 0
        blobs.forEach { _, entry in
            if entry.isPending { sum += entry.byteCount }
        }
        return sum
    }

    /// The blobs that records name, and their bytes, in the order of their names.
    ///
    /// - Complexity: O(blobs · log blobs).
    var referenced: [(name: BlobName, byteCount: UInt64)] {
        var referenced: [(name: BlobName, byteCount: UInt64)] = []
        blobs.forEach { name, entry in
            if entry.references > 0 { referenced.append((name, entry.byteCount)) }
        }
        return referenced.sorted { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }
    }

    /// About what it takes in memory.
    var approximateBytes: Int { blobs.count * BlobTable.bytesPerBlob }

    /// Whether a record may come to name the blob: it is there, and not about to go.
    package func mayBeNamed(_ name: BlobName) -> Bool {
        guard let entry = blobs[name] else { return false }
        return !entry.isDeleting && !entry.isDamaged
    }

    /// Whether the blob was stored since the start, and no record has named it since.
    package func isPending(_ name: BlobName) -> Bool { blobs[name]?.isPending == true }

    /// Whether the blob is marked, and its file is being removed.
    package func isGoing(_ name: BlobName) -> Bool { blobs[name]?.isDeleting == true }

    /// The copy of a content that further uploads of it become; nil when there is none that can be relied on. A file
    /// that was merely found may be gone by now, or cut off. Whoever has an upload become it pins it first, in the same
    /// turn: it may be about to go.
    package func copy(of checksum: AssetChecksum) -> BlobName? {
        let copies = blobs.someCopies(of: checksum).filter { copy in
            let entry = copy.entry
            return !entry.isDeleting && !entry.isDamaged && (entry.isFresh || entry.references > 0)
        }
        let copy = copies.first { $0.entry.references > 0 } ?? copies.last
        return copy.map { BlobName(checksum: checksum, generation: $0.generation) }
    }

    // MARK: What is there

    /// A blob that was stored just now, durably.
    ///
    /// - Parameter promisedUntil: Until when its uploader may name it.
    package mutating func add(_ name: BlobName, byteCount: UInt64, promisedUntil: UInt32, now: UInt32) {
        var entry = insert(name, byteCount, isPending: true)
        precondition(!entry.isDeleting, "a blob is stored under the name of one that is being deleted")
        // It may have been found before, or records may have named it, and name it no longer: it counts as what was
        // uploaded last, or deleting and uploading again would store it for nothing.
        if !entry.isPending, entry.references == 0 {
            entry.isPending = true
            pendingByteCount += entry.byteCount
        }
        entry.isFresh = true
        entry.promisedUntil = max(entry.promisedUntil, promisedUntil)
        blobs[name] = entry
        noteUnneeded(name, now)
    }

    /// A blob whose file was found. If it was not known, no record names it, and it goes unless one does in time.
    ///
    /// - Parameter byteCount: As the length of its file tells: what is in it may be damaged.
    package mutating func found(_ name: BlobName, byteCount: UInt64, now: UInt32) {
        if blobs[name] != nil { return }
        _ = insert(name, byteCount, isPending: false)
        noteUnneeded(name, now)
    }

    /// A blob can't be read. It stays for the records that name it, but no upload becomes it.
    package mutating func markDamaged(_ name: BlobName) { blobs[name]?.isDamaged = true }

    private mutating func insert(_ name: BlobName, _ byteCount: UInt64, isPending: Bool) -> BlobTable.Entry {
        if let known = blobs[name] { return known }
        // What a damaged record says of a size must not make the sums overflow.
        var entry = BlobTable.Entry(byteCount: BlobIndex.counted(byteCount))
        entry.isPending = isPending
        blobs[name] = entry
        storedByteCount += entry.byteCount
        if isPending { pendingByteCount += entry.byteCount }
        return entry
    }

    /// The bytes that are counted of a blob, by what a record says of it.
    static func counted(_ byteCount: UInt64) -> UInt64 { min(byteCount, StoreLimits.assetBytes) }

    // MARK: What needs it

    /// Lets somebody name the blob until a time, beside those who may already. False when it is not there, or about to
    /// go: then nothing is promised.
    package mutating func promise(_ name: BlobName, until time: UInt32) -> Bool {
        guard let entry = blobs[name], !entry.isDeleting else { return false }
        blobs[name]!.promisedUntil = max(entry.promisedUntil, time)
        return true
    }

    /// Keeps the blob until ``unpin(_:now:)``, for a save that is being decided or a transfer. False when it is not
    /// there, or about to go.
    package mutating func pin(_ name: BlobName) -> Bool {
        guard let entry = blobs[name], !entry.isDeleting else { return false }
        blobs[name]!.pins += 1
        return true
    }

    package mutating func unpin(_ name: BlobName, now: UInt32) {
        guard let entry = blobs[name], entry.pins > 0 else { preconditionFailure("unpin without pin") }
        blobs[name]!.pins -= 1
        noteUnneeded(name, now)
    }

    /// A record names the blob, from when its commit is applied. One that is not known becomes known: a database that
    /// is loaded learns of its blobs from its records.
    ///
    /// Whoever decides the commit has pinned it, so that it is not about to go.
    package mutating func reference(_ name: BlobName, byteCount: UInt64) {
        var entry = insert(name, byteCount, isPending: false)
        precondition(!entry.isDeleting, "a record names an asset that is being deleted")
        if entry.references == 0 {
            referencedByteCount += entry.byteCount
            referencedCount += 1
        }
        if entry.isPending { endPending(entry) }
        entry.isPending = false
        entry.references += 1
        blobs[name] = entry
    }

    /// A record names the blob no longer. To be called when that is durable: until then the record may come back.
    package mutating func release(_ name: BlobName, now: UInt32) {
        guard let entry = blobs[name], entry.references > 0 else {
            preconditionFailure("an asset is released that no record names")
        }
        blobs[name]!.references -= 1
        if entry.references > 1 { return }
        referencedByteCount -= entry.byteCount
        referencedCount -= 1
        noteUnneeded(name, now)
    }

    private mutating func endPending(_ entry: BlobTable.Entry) {
        pendingByteCount -= entry.byteCount
        pendingEndCount += 1
    }

    private mutating func noteUnneeded(_ name: BlobName, _ now: UInt32) {
        guard let entry = blobs[name], entry.references == 0, entry.pins == 0 else { return }
        blobs[name]!.unneededSince = now
        if entry.isQueued { return }
        blobs[name]!.isQueued = true
        unneeded.push((due: end(ofGraceFrom: now), name: name))
    }

    private func end(ofGraceFrom time: UInt32) -> UInt32 {
        let (end, isNever) = time.addingReportingOverflow(grace)
        return isNever ? .max : end
    }

    // MARK: What goes

    /// Every grace begins now at the earliest: the database was loaded, and nobody knows since when nothing has needed
    /// what nothing needs.
    package mutating func beginGraces(now: UInt32) { heldUntil = max(heldUntil, end(ofGraceFrom: now)) }

    /// Marks blobs that may go, and returns them: their files are to be removed, however often that has to be tried,
    /// and then ``removed(_:)`` is called for each.
    ///
    /// - Parameter limit: How many blobs are looked at.
    package mutating func takeUnneeded(now: UInt32, limit: Int) -> [BlobName] {
        var taken: [BlobName] = []
        if now < heldUntil { return taken }
        var looks = 0
        while looks < limit, let first = unneeded.first, first.due <= now {
            looks += 1
            let name = unneeded.pop().name
            guard let entry = blobs[name] else { preconditionFailure("a blob is gone that was not removed") }
            blobs[name]!.isQueued = false
            // Something needs it, and puts it here again.
            if entry.references > 0 || entry.pins > 0 { continue }
            let due = max(end(ofGraceFrom: entry.unneededSince), entry.promisedUntil)
            if due > now {
                blobs[name]!.isQueued = true
                unneeded.push((due: due, name: name))
            } else {
                blobs[name]!.isDeleting = true
                taken.append(name)
            }
        }
        return taken
    }

    /// The file of a blob that was marked is removed.
    package mutating func removed(_ name: BlobName) {
        guard let entry = blobs[name], entry.isDeleting else { preconditionFailure("a blob is removed that stays") }
        if entry.isPending { endPending(entry) }
        storedByteCount -= entry.byteCount
        blobs[name] = nil
    }
}
