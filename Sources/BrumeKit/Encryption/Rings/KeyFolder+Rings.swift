internal import BrumeSystem

/// The rings of zones in a key folder.
extension KeyFolder {
    /// A ring's file as it was read.
    struct LoadedRing: Sendable {
        var kept = KeptRing()
        /// The file's head, which has the checksum of what is in it; nil where there is none.
        var head: [UInt8]?
    }

    /// Reads what is kept of a ring. Makes nothing where there is no folder.
    func loadRing(at ring: RingPlace) throws(KeyFolderProblem) -> Attempt<LoadedRing> {
        let attempt = try load(
            ringPath(ring), bytesLimit: KeyLimits.ringFileBytesMax,
            remedy: "put it back from a backup, or remove it: then this device knows no more of the zone's keys than "
                + "the server shows"
        ) { (bytes) throws(KeyFile.Refusal) in
            try RingFile.decode(bytes, ring: ring, place: place)
        }
        switch attempt {
        case .done(let file?): return .done(LoadedRing(kept: file.value, head: file.head))
        case .done(nil): return .done(LoadedRing())
        case .locked: return .locked
        }
    }

    /// Keeps a ring in the place of what was read.
    ///
    /// - Returns: The new head; nil where another process has written meanwhile, and nothing was changed.
    func writeRing(
        _ kept: KeptRing, at ring: RingPlace, over head: [UInt8]?
    ) throws(KeyFolderProblem) -> Attempt<[UInt8]?> {
        var file = RingFile.encode(kept, ring: ring, place: place)
        defer { file.wipe() }
        return try replace(ringPath(ring), over: head, with: file.bytes)
    }

    /// The head of a ring's file as it is now; nil where there is none.
    func ringHead(at ring: RingPlace) throws(KeyFolderProblem) -> [UInt8]? { try head(ofFile: ringPath(ring)) }

    /// Whether anything is kept of a ring.
    func hasRing(at ring: RingPlace) -> Bool { FileSystem.exists(ringPath(ring)) }

    private func ringPath(_ ring: RingPlace) -> String { "\(path)/\(RingFile.path(ring, place: place))" }
}
