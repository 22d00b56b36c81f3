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
/// anything, and after a restart every grace begins anew. It doesn't when a database merely leaves the memory and
/// comes back: see ``UnneededBlob``.
package struct BlobIndex {
    /// Seconds that a blob is kept which nothing needs.
    package var grace: UInt32
    private var blobs = BlobTable()
    /// The blobs that nothing needs, or nothing needed when they came here; each stands here once. By when to look at
    /// them.
    private var unneeded = Heap<(due: UInt32, name: BlobName)> { $0.due < $1.due }

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
    /// How many are marked.
    private var deletingCount = 0
    /// Blobs of which nobody knows the names, until their files are found: see ``forgot(_:)``.
    private var nameless: UnneededSum?

    /// Bytes of those that nobody counts: records named them until lately, or their files were found. They lie on the
    /// disk for the grace.
    package var unneededByteCount: UInt64 {
        let counted = referencedByteCount + pendingByteCount
        return storedByteCount - min(counted, storedByteCount) + (nameless?.byteCount ?? 0)
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
    /// that was merely found may be gone by now, or cut off. Whoever has an upload become it pins it first, in the
    /// same turn: it may be about to go.
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

    /// The same for a file that was there before all uploads that are under way: it may be one of those whose names
    /// were forgotten.
    package mutating func foundFormer(_ name: BlobName, byteCount: UInt64, now: UInt32) {
        guard let sum = nameless else { return found(name, byteCount: byteCount, now: now) }
        if blobs[name] != nil { return }
        var entry = insert(name, byteCount, isPending: false)
        entry.promisedUntil = sum.promisedUntil
        blobs[name] = entry
        noteUnneeded(name, sum.since)
        // It counts by its name from now on.
        nameless = sum.without(entry.byteCount)
    }

    /// All files have been looked through: whatever is there is known.
    package mutating func foundAll() { nameless = nil }

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
        if unneeded.count > 2 * unneededCount + BlobIndex.staleMax { dropStale() }
    }

    /// So many blobs may stand in the queue that are needed by now, beside as many as are not.
    private static let staleMax = 64

    private mutating func dropStale() {
        let queued = exchange(&unneeded, with: Heap { $0.due < $1.due })
        for (due, name) in queued.elements {
            if isUnneeded(name) { unneeded.push((due: due, name: name)) } else { blobs[name]!.isQueued = false }
        }
    }

    private func isUnneeded(_ name: BlobName) -> Bool {
        blobs[name].map { $0.references == 0 && $0.pins == 0 && !$0.isDeleting } == true
    }

    private func end(ofGraceFrom time: UInt32) -> UInt32 {
        let (end, isNever) = time.addingReportingOverflow(grace)
        return isNever ? .max : end
    }

    // MARK: What goes

    /// The grace of each blob that nothing needs begins now: the database was loaded, and nobody knows since when
    /// nothing has needed it.
    ///
    /// - Complexity: O(blobs that nothing needs · log of them).
    package mutating func beginGraces(now: UInt32) {
        let queued = exchange(&unneeded, with: Heap { $0.due < $1.due })
        for (_, name) in queued.elements {
            blobs[name]!.isQueued = false
            noteUnneeded(name, now)
        }
    }

    /// What the queue holds.
    var queuedCount: Int { unneeded.count }

    /// How many blobs no record names that are not marked: some of them may be pinned.
    package var unneededCount: Int { blobs.count - referencedCount - deletingCount }

    /// The blobs that nothing needs and that are not marked, in no order, for ``restore(_:)`` when the database is
    /// loaded again.
    ///
    /// - Complexity: O(``unneededCount``).
    package var unneededBlobs: [UnneededBlob] {
        unneeded.elements.compactMap { _, name in
            guard let entry = blobs[name], isUnneeded(name) else { return nil }
            return UnneededBlob(
                name: name, byteCount: entry.byteCount, since: entry.unneededSince, promisedUntil: entry.promisedUntil,
                isDamaged: entry.isDamaged)
        }
    }

    /// What is left of that when their names are to be forgotten, together with what was forgotten before; nil for
    /// none.
    ///
    /// - Complexity: O(``unneededCount``).
    package var unneededSum: UnneededSum? {
        unneededBlobs.reduce(nameless) { sum, blob in UnneededSum(of: blob, and: sum) }
    }

    /// Whether there may be files of blobs whose names were forgotten.
    package var hasNameless: Bool { nameless != nil }

    /// Takes in what was left of blobs when the database left the memory: their files are still to be found, by
    /// ``foundFormer(_:byteCount:now:)``.
    package mutating func forgot(_ sum: UnneededSum) { nameless = sum }

    /// Takes in what nothing needed when the database left the memory: each keeps the time that it has.
    ///
    /// - Parameter former: The ``unneededBlobs`` of then. Whoever has them knows that nothing has changed since.
    package mutating func restore(_ former: [UnneededBlob]) {
        for blob in former {
            var entry = insert(blob.name, blob.byteCount, isPending: false)
            if entry.references > 0 || entry.pins > 0 || entry.isDeleting { continue }
            entry.promisedUntil = max(entry.promisedUntil, blob.promisedUntil)
            entry.isDamaged = entry.isDamaged || blob.isDamaged
            blobs[blob.name] = entry
            noteUnneeded(blob.name, blob.since)
        }
    }

    /// Marks blobs that may go, and returns them: their files are to be removed, however often that has to be tried,
    /// and then ``removed(_:)`` is called for each.
    ///
    /// - Parameter limit: How many blobs are looked at.
    package mutating func takeUnneeded(now: UInt32, limit: Int) -> [BlobName] {
        var taken: [BlobName] = []
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
                deletingCount += 1
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
        deletingCount -= 1
        blobs[name] = nil
    }
}
